"""JSONata expressions of a state.

AWS: an expression that returns nothing, something that is not JSON, or another type than its field has fails the
  state with States.QueryEvaluationError; cause and history name the state, the expression and the field.
  https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
AWS: expressions are those of JSONata 2.0.6, so without the operators `??` and `?:` of 2.1.
  https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
AWS: evaluating one may take up to a second.
ministack 1.5.33: its causes name no field. It takes that second by the clock, so that on a busy machine an expression
  fails which only waited for its turn: here it may take 30 s, and no probe shows it. It also makes a parser for each
  thread, which costs more than to parse: here threads take turns.
"""
import collections
import json

import jsonata
from ministack.services import stepfunctions as sfn

from .. import scope

NULL = jsonata.utils.Utils.NULL_VALUE
QUERY_ERROR = "States.QueryEvaluationError"
_MILLIS = 30_000
_parse_stock = jsonata.Jsonata.jsonata
_parsers = collections.deque()
_LATER = ("??", "?:")
_of_thread = jsonata.Jsonata.PARSER


class QueryError(scope.TaskError):
    """An expression that fails its state; `location` is its field."""

    def __init__(self, text, location=None):
        super().__init__(QUERY_ERROR, text)
        self.location = location
        self.noted = False  # whether the history has it


def _parse(expression, timeout=None, **named):
    try:
        _of_thread.parser = _parsers.pop()
    except IndexError:
        _of_thread.parser = jsonata.parser.Parser()
        _of_thread.parser.symbol_table.update(dict.fromkeys(_LATER))
    try:
        return _parse_stock(expression, timeout=timeout and _MILLIS, **named)
    finally:
        _parsers.append(_of_thread.parser)
        del _of_thread.parser


def is_expression(value):
    return isinstance(value, str) and value.startswith("{%") and value.endswith("%}")


def evaluate(text, bindings, location):
    """The value of an expression, as JSON; raises QueryError."""
    expression = text[2:-2].strip()
    prefix = f"The JSONata expression '{expression}' specified for the field '{location}'"
    try:
        parsed = _parse(expression, timeout=_MILLIS)
        parsed.output_convert_nulls = False
        sfn._register_sfn_jsonata_functions(parsed)
        parsed.register_lambda("parse", _parse_json)
        parsed.register_lambda("eval", _no_eval)
        value = parsed.evaluate(None, {name: NULL if value is None else value for name, value in bindings.items()})
    except Exception as problem:  # whatever the engine raises is an error of the expression
        code = getattr(problem, "error", None)
        reason = f"{code}: {problem}" if isinstance(code, str) else str(problem)
        raise QueryError(f"{prefix} threw an error during evaluation. {reason}", location) from None
    if value is None:
        raise QueryError(f"{prefix} returned nothing (undefined).", location)
    try:
        return json.loads(json.dumps(value, default=_null))
    except (TypeError, ValueError):
        raise QueryError(f"{prefix} returned an unsupported result type.", location) from None


def _no_eval(*_):
    """AWS has no $eval: https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html"""
    raise ValueError("$eval is not supported: use $parse")


def _parse_json(text):
    """$parse: the emulator's returns nothing for the text null."""
    value = sfn._sfn_jsonata_parse(text)
    return NULL if value is None else value


def _null(value):
    if value is NULL:
        return None
    raise TypeError(value)


def template(value, bindings, location):
    """A value with each expression in it evaluated."""
    if is_expression(value):
        return evaluate(value, bindings, location)
    if isinstance(value, dict):
        return {key: template(item, bindings, f"{location}/{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [template(item, bindings, f"{location}[{index}]") for index, item in enumerate(value)]
    return value


def of_type(expected, value, source, location):
    """The value of a field that must have this JSON type."""
    found = sfn._json_type(value)
    if found == expected:
        return value
    text = source[2:-2].strip() if is_expression(source) else json.dumps(source)
    shown = json.dumps(value, separators=(",", ":"))
    raise QueryError(f"The JSONata expression '{text}' specified for the field '{location}' returned an unexpected result "
                     f"type. Expected '{expected}', but was '{found}' for value: {shown}", location)


def apply():
    jsonata.Jsonata.jsonata = staticmethod(_parse)
