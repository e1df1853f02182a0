"""Choice states.

AWS: Assign and Output of a rule apply if the rule matches, and those of the state if no rule matches. A path without a
  value fails the state, except for IsPresent. A comparison with a value of another type is false.
  https://docs.aws.amazon.com/step-functions/latest/dg/state-choice.html
"""
import re

from ministack.services import stepfunctions as sfn

from .. import scope
from . import expressions, paths

_NONE = object()
_COMPARED = {"Equals": lambda a, b: a == b, "LessThan": lambda a, b: a < b, "GreaterThan": lambda a, b: a > b,
             "LessThanEquals": lambda a, b: a <= b, "GreaterThanEquals": lambda a, b: a >= b}
_TYPED = {"String": lambda value: value if isinstance(value, str) else None,
          "Numeric": lambda value: value if sfn._is_num(value) else None,
          "Boolean": lambda value: value if isinstance(value, bool) else None,
          "Timestamp": lambda value: sfn._parse_ts(value) if sfn._is_timestamp(value) else None}
_TESTS = {"IsNull": lambda value: value is None, "IsNumeric": sfn._is_num, "IsString": lambda value: isinstance(value, str),
          "IsBoolean": lambda value: isinstance(value, bool), "IsTimestamp": sfn._is_timestamp}
_OPERATOR = re.compile(r"(String|Numeric|Boolean|Timestamp)(Equals|LessThanEquals|GreaterThanEquals|LessThan|GreaterThan)(Path)?")


def run(visit):
    state, effective = visit.state, visit.input
    if not visit.jsonata:
        effective = visit.selected("InputPath", visit.input)
    for rule in state.get("Choices", []):
        if _condition(visit, rule) if visit.jsonata else _holds(visit, rule, effective):
            return _left(visit, rule, effective), rule["Next"]
    if state.get("Default"):
        return _left(visit, state, effective), state["Default"]
    raise scope.TaskError("States.NoChoiceMatched", visit.cause("Failed to transition out of the state. The state does not "
                                                                "point to a next state."))


def _left(visit, fields, effective):
    visit.assign(fields, effective)
    return visit.output(fields, effective) if visit.jsonata else visit.selected("OutputPath", effective)


def _condition(visit, rule):
    location = f"Choices[{visit.state['Choices'].index(rule)}]/Condition"
    value = visit.template(rule["Condition"], location)
    if isinstance(value, bool):
        return value
    try:
        return expressions.of_type("boolean", value, rule["Condition"], location)
    except expressions.QueryError as error:
        raise visit.noted(error) from None


def _holds(visit, rule, data):
    if "And" in rule:
        return all(_holds(visit, one, data) for one in rule["And"])
    if "Or" in rule:
        return any(_holds(visit, one, data) for one in rule["Or"])
    if "Not" in rule:
        return not _holds(visit, rule["Not"], data)
    try:
        value = paths.find(rule["Variable"], visit.roots(data))
    except paths.Missing:
        value = _NONE
    if "IsPresent" in rule:
        return (value is not _NONE) == rule["IsPresent"]
    if value is _NONE:
        raise visit.broken(f"Invalid path '{rule['Variable']}': The choice state's condition path references an "
                           "invalid value.")
    for name, test in _TESTS.items():
        if name in rule:
            return bool(test(value)) == rule[name]
    if "StringMatches" in rule:
        return isinstance(value, str) and bool(_pattern(rule["StringMatches"]).fullmatch(value))
    return _compare(visit, rule, value, data)


def _compare(visit, rule, value, data):
    name = next(name for name in rule if _OPERATOR.fullmatch(name))
    kind, operator, by_path = _OPERATOR.fullmatch(name).groups()
    left, right = (_TYPED[kind](side) for side in (value, visit.reference(rule[name], data) if by_path else rule[name]))
    return left is not None and right is not None and _COMPARED[operator](left, right)


def _pattern(text):
    """Returns the regular expression of a StringMatches pattern. `*` matches any text, and a backslash before it escapes it."""
    parts = re.findall(r"\\(.)|(\*)|(.)", text, re.S)
    return re.compile("".join(".*" if star else re.escape(escaped or char) for escaped, star, char in parts), re.S)
