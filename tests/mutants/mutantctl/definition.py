"""Makes mutants of a state machine's definition. Each changes the meaning of the definition in one place."""
import copy
import json

from . import jsonata
from .mutant import Mutant

OUTCOMES = ("succeeded", "failed", "stopping")
TIMEOUTS = ("TimeoutSeconds", "HeartbeatSeconds")
PATTERNS = (".sync", ".waitForTaskToken")
ATTEMPTS = 3


def mutants(file, text):
    """Returns all mutants of the definition `text` in `file`, in the order of its states."""
    document = json.loads(text)
    found = []
    for path, scope in scopes(document):
        for name, state in scope.items():
            for place, change, value in of_state(state, list(scope)):
                part, line = described(state, place)
                changed = json.dumps(replaced(document, [*path, name, *place], value), indent=2) + "\n"
                found.append(Mutant("definition", file, where([*path, name]), f"{part} {change}", line, changed))
    return found


class Gone:
    """Stands for the new value of something that is removed."""


def scopes(node, path=()):
    """Yields each `States` of the document, with the path to it. A transition leads to a state of the same `States`."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "States":
                yield (*path, key), value
            yield from scopes(value, (*path, key))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from scopes(value, (*path, number))


def of_state(state, names):
    """Yields the changes of one state: (place in the state, description, new value)."""
    yield from retries(state)
    yield from catches(state)
    yield from choices(state)
    yield from retargeted(state, names)
    yield from times(state)
    yield from integration(state)
    yield from assigned(state)
    yield from arguments(state)
    if "Output" in state:
        yield ("Output",), "is dropped", Gone


def retries(state):
    for number, retrier in enumerate(state.get("Retry", [])):
        place = ("Retry", number)
        yield place, "is dropped", Gone
        yield from errors(place, retrier)
        if retrier.get("MaxAttempts") != ATTEMPTS:
            yield (*place, "MaxAttempts"), f"becomes {ATTEMPTS}", ATTEMPTS


def catches(state):
    for number, catcher in enumerate(state.get("Catch", [])):
        place = ("Catch", number)
        yield place, "is dropped", Gone
        yield from errors(place, catcher)


def errors(place, handler):
    names = handler["ErrorEquals"]
    for name in names if len(names) > 1 else []:
        rest = [other for other in names if other != name]
        yield (*place, "ErrorEquals"), f"is without {name}", rest


def listed(handler):
    names = handler["ErrorEquals"]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def choices(state):
    for number, rule in enumerate(state.get("Choices", [])):
        place = ("Choices", number)
        yield place, "is dropped", Gone
        yield (*place, "Condition"), "always holds", "{% true %}"
        inner = expression(rule["Condition"])
        yield (*place, "Condition"), "is negated", f"{{% $not({inner}) %}}"
        yield from within((*place, "Condition"), rule["Condition"])


def retargeted(state, names):
    for place, target in transitions(state):
        for name in names:
            if name != target:
                yield place, f"leads to {name}", name


def transitions(state):
    """Yields the transitions of the state: (place, name of the target)."""
    for key in ("Next", "Default"):
        if key in state:
            yield (key,), state[key]
    for part in ("Choices", "Catch"):
        # Several rules that lead to the same state count as one transition.
        seen = set()
        for number, entry in enumerate(state.get(part, [])):
            if entry["Next"] not in seen:
                seen.add(entry["Next"])
                yield (part, number, "Next"), entry["Next"]


def times(state):
    for key in TIMEOUTS:
        value = state.get(key)
        if isinstance(value, str):
            inner = expression(value)
            yield (key,), "is ten times as long", f"{{% 10 * ({inner}) %}}"
            yield (key,), "is a tenth", f"{{% $ceil(({inner}) / 10) %}}"
        elif value is not None:
            yield (key,), "is ten times as long", 10 * value
            yield (key,), "is a tenth", max(1, value // 10)
    if state.get("Type") == "Wait" and "Timestamp" in state:
        inner = expression(state["Timestamp"])
        yield ("Timestamp",), "is an hour later", f"{{% $fromMillis($toMillis({inner}) + 3600000) %}}"


def integration(state):
    resource = state.get("Resource", "")
    for pattern in PATTERNS:
        base, dot, _ = resource.rpartition(pattern)
        if dot:
            yield ("Resource",), f"is without {pattern}", base


def assigned(state):
    holders = [((), state)]
    for part in ("Choices", "Catch"):
        holders += [((part, number), entry) for number, entry in enumerate(state.get(part, []))]
    for place, holder in holders:
        for name, value in holder.get("Assign", {}).items():
            yield (*place, "Assign", name), "is not assigned", Gone
            yield from within((*place, "Assign", name), value)


def arguments(state):
    for key in ("Arguments", "Output"):
        if key in state:
            yield from fields((key,), state[key])


def fields(place, value):
    """Yields changes that drop a field of an object, and changes of an outcome into each other outcome, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "FunctionName":
                yield (*place, key), "is dropped", Gone
                yield from fields((*place, key), inner)
    elif value in OUTCOMES:
        for other in OUTCOMES:
            if other != value:
                yield place, f"becomes {other}", other
    else:
        yield from within(place, value)


def within(place, value):
    """Yields changes that drop an element of an object or a list inside an expression."""
    if not is_expression(value):
        return
    for begin, end in jsonata.elements(value):
        dropped = " ".join(value[begin:end].strip(" ,").split())
        yield place, f"is without {shortened(dropped)}", value[:begin] + value[end:]


def is_expression(value):
    return isinstance(value, str) and value.startswith("{%") and value.endswith("%}")


def expression(value):
    return value[2:-2].strip() if is_expression(value) else json.dumps(value)


def shortened(text, most=60):
    return text if len(text) <= most else text[: most - 1] + "…"


def replaced(document, path, value):
    """Returns a copy of the document with `value` at `path`."""
    document = copy.deepcopy(document)
    node = document
    for key in path[:-1]:
        node = node[key]
    if value is Gone:
        del node[path[-1]]
        # ASL allows no empty list, and an empty `Assign` has no effect.
        if not node and path[-2:-1] and path[-2] in ("Retry", "Catch", "Choices", "Assign"):
            return replaced(document, path[:-1], Gone)
    else:
        node[path[-1]] = value
    return document


def where(path):
    """Returns the names of the state and of the states around it, without the numbers of branches."""
    return "/".join(part for part in path if isinstance(part, str) and part not in ("States", "Branches"))


def described(state, place):
    """Returns the name of a place in a state, and a line that tells it from similar places.

    Neither contains a number, so both stay the same if an entry is added before the place.
    """
    part, *rest = place
    if not rest:
        return part, ""
    if part not in ("Retry", "Catch", "Choices"):
        return ".".join(map(str, place)), ""
    number, *rest = rest
    entry = state[part][number]
    line = shortened(expression(entry["Condition"]), 100) if part == "Choices" else listed(entry)
    return ".".join([part, *map(str, rest)]), line
