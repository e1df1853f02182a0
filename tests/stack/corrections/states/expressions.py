"""JSONata expressions of a state.

AWS: an expression fails the state with States.QueryEvaluationError if it returns nothing, a value that is not JSON, or
  another type than its field has. The cause and the history name the state, the expression and the field.
  https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
AWS: the version is JSONata 2.0.6, which has no operators `??` and `?:`, unlike 2.1.
  https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
AWS: an evaluation may take up to one second.
ministack 1.5.33: the causes name no field. The limit is one second of wall-clock time, so on a busy machine an
  expression fails that only waited for the processor. Here the limit is 30 s, which no probe shows. The emulator also makes
  a parser for each thread, which takes longer than parsing. Here threads share one parser and take turns.
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
    """An expression that fails its state. `location` is the field of the expression."""

    def __init__(self, text, location=None):
        super().__init__(QUERY_ERROR, text)
        self.location = location
        self.noted = False  # whether the history has the error


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
    """Returns the value of an expression as JSON. Raises QueryError."""
    expression = text[2:-2].strip()
    prefix = f"The JSONata expression '{expression}' specified for the field '{location}'"
    try:
        parsed = _parse(expression, timeout=_MILLIS)
        parsed.output_convert_nulls = False
        sfn._register_sfn_jsonata_functions(parsed)
        parsed.register_lambda("parse", _parse_json)
        parsed.register_lambda("eval", _no_eval)
        value = parsed.evaluate(None, {name: NULL if value is None else value for name, value in bindings.items()})
    except Exception as problem:  # any exception of the engine is an error of the expression
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
    """Refuses $eval, which AWS does not support: https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html"""
    raise ValueError("$eval is not supported: use $parse")


def _parse_json(text):
    """Implements $parse. The emulator's own returns nothing for the text `null`."""
    value = sfn._sfn_jsonata_parse(text)
    return NULL if value is None else value


def _null(value):
    if value is NULL:
        return None
    raise TypeError(value)


def template(value, bindings, location):
    """Returns a value with all its expressions evaluated."""
    if is_expression(value):
        return evaluate(value, bindings, location)
    if isinstance(value, dict):
        return {key: template(item, bindings, f"{location}/{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [template(item, bindings, f"{location}[{index}]") for index, item in enumerate(value)]
    return value


def of_type(expected, value, source, location):
    """Returns the value of a field. Raises QueryError if it does not have the expected JSON type."""
    found = sfn._json_type(value)
    if found == expected:
        return value
    text = source[2:-2].strip() if is_expression(source) else json.dumps(source)
    shown = json.dumps(value, separators=(",", ":"))
    raise QueryError(f"The JSONata expression '{text}' specified for the field '{location}' returned an unexpected result "
                     f"type. Expected '{expected}', but was '{found}' for value: {shown}", location)


def apply():
    jsonata.Jsonata.jsonata = staticmethod(_parse)
