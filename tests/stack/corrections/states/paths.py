"""JSONPath on the input (`$`), the context object (`$$`) and variables (`$name`).

AWS: a path to one place fails the state with States.Runtime if the place does not exist. The value of a path to several places is
  an array of those that exist, which may be empty.
  https://docs.aws.amazon.com/step-functions/latest/dg/amazon-states-language-paths.html
"""
import functools
import re

_ROOT = re.compile(r"\$\$|\$[A-Za-z_]\w*|\$")
_NAME = re.compile(r"[^.\[\]()'\" ]+")
_INDEX = re.compile(r"-?\d+")
_SLICE = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d+))?")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_TOKEN = re.compile(r"\s*(&&|\|\||==|!=|<=|>=|=~|<|>|!|\(|\)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|/(?:[^/\\]|\\.)*/i?"
                    r"|-?\d+(?:\.\d+)?|true|false|null|[@$][\w.\[\]'\"*]*)")


class Missing(Exception):
    """The path leads to a place that does not exist. The text names the path up to the first missing step."""

    def __init__(self, steps, index):
        shown = "".join(f"[{key!r}]" if isinstance(key, str) else f"[{key}]" for _, key in steps[:index + 1])
        last = index == len(steps) - 1
        super().__init__(f"No results for path: ${shown}" if last else f"Missing property in path ${shown}")


def is_path(text):
    return isinstance(text, str) and text.startswith("$")


def find(path, roots):
    """Returns the value at a path. `roots` has variables by name, the input under `` and the context object under `$`."""
    root, steps = _parse(path)
    if root not in roots:
        raise Missing([("key", root)], 0)
    values, definite = [roots[root]], all(kind in ("key", "index") for kind, _ in steps)
    for index, (kind, key) in enumerate(steps):
        values = [found for value in values for found in _step(kind, key, value, roots)]
        if definite and not values:
            raise Missing(steps, index)
    return values[0] if definite else values


@functools.lru_cache(4096)
def _parse(path):
    root = _ROOT.match(path)
    if not root:
        raise Missing([("key", path)], 0)
    steps, at = [], root.end()
    while at < len(path):
        step, at = _parse_step(path, at)
        steps.append(step)
    return root.group(0)[1:], tuple(steps)


def _parse_step(path, at):
    if path.startswith("..", at):
        name = _NAME.match(path, at + 2)
        if name:
            return ("deep", name.group(0)), name.end()
        return ("deep", None), at + 2
    if path.startswith(".*", at) or path.startswith("[*]", at):
        return ("all", None), at + (2 if path[at] == "." else 3)
    if path[at] == "." and at + 1 < len(path) and path[at + 1] != "[":
        name = _NAME.match(path, at + 1)
        if name:
            return ("key", name.group(0)), name.end()
    at += path[at] == "."
    end = _closing(path, at)
    return _bracket(path[at + 1:end].strip()), end + 1


def _closing(path, at):
    depth, quote = 0, None
    for end in range(at, len(path)):
        char = path[end]
        if quote:
            quote = None if char == quote and path[end - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        else:
            depth += (char == "[") - (char == "]")
            if not depth:
                return end
    raise Missing([("key", path)], 0)


def _bracket(text):
    if text.startswith("?"):
        return "filter", text[1:].strip()
    quoted = _QUOTED.findall(text)
    if quoted:
        names = tuple((one or other).replace("\\'", "'") for one, other in quoted)
        return ("key", names[0]) if len(names) == 1 else ("union", names)
    if _INDEX.fullmatch(text):
        return "index", int(text)
    if "," in text:
        return "union", tuple(int(part) for part in text.split(","))
    begin, end, step = _SLICE.fullmatch(text).groups()
    return "slice", slice(*(int(part) if part else None for part in (begin, end, step)))


def _step(kind, key, value, roots):
    if kind == "key":
        return [value[key]] if isinstance(value, dict) and key in value else []
    if kind == "index":
        return [value[key]] if isinstance(value, list) and -len(value) <= key < len(value) else []
    if kind == "slice":
        return value[key] if isinstance(value, list) else []
    if kind == "union":
        return [found for one in key for found in _step("key" if isinstance(one, str) else "index", one, value, roots)]
    if kind == "deep":
        return _below(value, key)
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return items if kind == "all" else [item for item in items if _Condition(key, item, roots).holds()]


def _below(value, key):
    found = [value] if key is None else _step("key", key, value, {})
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found + [one for child in children for one in _below(child, key)]


class _Condition:
    """A filter: comparisons of `@` with literals, joined by && and ||."""

    def __init__(self, text, item, roots):
        self.tokens, self.item, self.roots = _TOKEN.findall(text), item, roots

    def holds(self):
        found = self._any()
        return bool(found)

    def _take(self, *wanted):
        if self.tokens and (not wanted or self.tokens[0] in wanted):
            return self.tokens.pop(0)
        return None

    def _any(self):
        found = self._all()
        while self._take("||"):
            found = self._all() or found
        return found

    def _all(self):
        found = self._one()
        while self._take("&&"):
            found = self._one() and found
        return found

    def _one(self):
        if self._take("!"):
            return not self._one()
        if self._take("("):
            found = self._any()
            self._take(")")
            return found
        there, left = self._operand()
        operator = self._take("==", "!=", "<", ">", "<=", ">=", "=~")
        if not operator:
            return there
        return there and _compare(operator, left, self._operand()[1])

    def _operand(self):
        token = self._take()
        if token[0] in "@$":
            try:
                return True, find("$" + token[1:], {**self.roots, "": self.item} if token[0] == "@" else self.roots)
            except Missing:
                return False, None
        if token[0] in "'\"":
            return True, token[1:-1].replace("\\'", "'")
        if token[0] == "/":
            body, _, flag = token[1:].rpartition("/")
            return True, re.compile(body, re.I if flag else 0)
        return True, {"true": True, "false": False, "null": None}.get(token, None) if token.isalpha() else float(token)


def _compare(operator, left, right):
    if operator == "=~":
        return isinstance(left, str) and bool(right.fullmatch(left))
    if operator in ("==", "!="):
        return (left == right) == (operator == "==")
    if isinstance(left, str) != isinstance(right, str) or left is None or right is None:
        return False
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator]


def assign(path, document, value):
    """Implements ResultPath: returns the document with the value at a place, which is created if it does not exist."""
    if path is None:
        return document
    steps = _parse(path)[1]
    return _put(document, [key for _, key in steps], value) if steps else value


def _put(document, keys, value):
    if not keys:
        return value
    if isinstance(keys[0], int) and isinstance(document, list):
        made = list(document)
        made[keys[0]] = _put(made[keys[0]], keys[1:], value)
        return made
    made = dict(document) if isinstance(document, dict) else {}
    made[keys[0]] = _put(made.get(keys[0]), keys[1:], value)
    return made
