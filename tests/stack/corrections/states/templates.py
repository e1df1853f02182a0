"""Payload templates and intrinsic functions of JSONPath states.

AWS: a field whose name ends in .$ has the value of a path, a variable or an intrinsic function.
  https://docs.aws.amazon.com/step-functions/latest/dg/amazon-states-language-intrinsic-functions.html
"""
from ministack.services import stepfunctions as sfn

from . import paths
from .trail import compact


class Unresolved(Exception):
    """A path of a template has no value."""


class IntrinsicFailure(Exception):
    """An intrinsic function has invalid arguments."""


def resolve(template, roots):
    if isinstance(template, list):
        return [resolve(item, roots) for item in template]
    if not isinstance(template, dict):
        return template
    return {key[:-2] if key.endswith(".$") else key:
            _value(key, value, roots) if key.endswith(".$") else resolve(value, roots)
            for key, value in template.items()}


def _value(key, text, roots):
    try:
        if text.startswith("States."):
            return _call(sfn._parse_intrinsic_call(text, 0)[0], roots)
        return paths.find(text, roots)
    except paths.Missing:
        shown = compact(roots[""])
        raise Unresolved(
            f"The JSONPath '{text}' specified for the field '{key}' could not be found in the input '{shown}'") from None


def _call(node, roots):
    _, name, arguments = node
    given = [("num", _argument(argument, roots)) for argument in arguments]
    try:
        if name == "States.Format":
            given[1:] = [("num", value if isinstance(value, str) else compact(value)) for _, value in given[1:]]
        return sfn._exec_intrinsic(("call", name, given), None, None)
    except Exception as problem:  # the emulator's functions may raise any Python exception
        raise IntrinsicFailure(f"{name} failed: {problem}") from None


def _argument(argument, roots):
    kind, value = argument[:2]
    if kind == "call":
        return _call(argument, roots)
    return paths.find(value, roots) if kind == "path" else value
