"""Map states.

https://docs.aws.amazon.com/step-functions/latest/dg/state-map.html
AWS: the items must be an array (recorded: test_map_state_items_input_types, 2024-11-19). At most 40 items of an inline
  Map run at once.
  https://docs.aws.amazon.com/step-functions/latest/dg/state-map-inline.html
AWS: if the path of a number leads to something else, the state fails with States.Runtime (recorded:
  test_max_concurrency_path, 2024-06-19).
"""
from .. import scope
from . import attempts, distributed, expressions, paths
from .siblings import Siblings
from .trail import compact
from .visit import RUNTIME

run_states = None  # set by machine.py, which runs this
_MOST_INLINE = 40


def run(visit):
    return attempts.run(visit, lambda: _attempt(visit), lambda: visit.trail.add("MapStateFailed"))


def _attempt(visit):
    processor = visit.state.get("ItemProcessor") or visit.state.get("Iterator") or {}
    data = visit.input if visit.jsonata else visit.selected("InputPath", visit.input)
    if (processor.get("ProcessorConfig") or {}).get("Mode") == "DISTRIBUTED":
        return visit.finished(distributed.run(visit, processor, data, run_states))
    items = items_of(visit, data)
    visit.trail.add("MapStateStarted", {"length": len(items)})
    most = limit(visit, "MaxConcurrency", data) or _MOST_INLINE

    def work(line, index, go_on):
        named = {"name": visit.name, "index": index}
        line.trail.add("MapIterationStarted", named)
        try:
            begin = go_on or (processor["StartAt"], input_of(visit, line, items, index, data))
            result = run_states(line, processor["States"], *begin, entered=bool(go_on))
        except scope.Stopped:
            raise
        except scope.TaskError:
            line.trail.add("MapIterationFailed", named, aside=True)
            raise
        line.trail.add("MapIterationSucceeded", named, aside=True)
        return result

    def note_aborted(index):
        visit.trail.add("MapIterationAborted", {"name": visit.name, "index": index}, aside=True)

    results = Siblings(visit, len(items), most, work).run(note_aborted)
    visit.trail.add("MapStateSucceeded", aside=True)
    return visit.finished(results)


def items_of(visit, data):
    if not visit.jsonata:
        path = visit.state.get("ItemsPath", "$")
        items = visit.reference(path, data)
        if not isinstance(items, list):
            raise scope.TaskError(RUNTIME, f"Reference path \"{path.replace('$$', '$')}\" must point to array.")
        return items
    if "Items" in visit.state:
        return visit.field("Items", "array")
    if not isinstance(data, list):
        raise visit.noted(expressions.QueryError(f"Map state input must be an array but was: {compact(data)}"))
    return data


def input_of(visit, line, items, index, data):
    """Returns the input of an item."""
    line.context["Map"] = {"Item": {"Index": index, "Value": items[index]}}
    selector = visit.state.get("ItemSelector") or visit.state.get("Parameters")
    if not selector:
        return items[index]
    if visit.jsonata:
        return visit.template(selector, "ItemSelector", context=line.context)
    return visit.payload(selector, data, line.context)


def limit(visit, name, data, kind=int):
    """Returns a number from the definition, from an expression or from a path, or None if the state has none."""
    path = visit.state.get(f"{name}Path")
    if path is not None:
        try:
            value = paths.find(path, visit.roots(data))
        except paths.Missing:
            value = None
        number = _number(value, kind)
        if number is None:
            shown = value if isinstance(value, str) else compact(value)
            raise visit.broken(f"The {name}Path field refers to value \"{shown}\" which is not a valid "
                               f"{'integer' if kind is int else 'float'}: {path}")
        return number
    if isinstance(visit.state.get(name), str):
        return visit.field(name, "number")
    return visit.state.get(name)


def _number(value, kind):
    """Returns a number, also if it is text (recorded: test_reference_in_map_state, 2024-11-13), or None if it is no number."""
    try:
        return None if isinstance(value, (bool, dict, list)) or value is None else kind(str(value))
    except ValueError:
        return None
