"""Parses just enough of JSONata to remove one element of an object or an array in an expression."""

PAIRS = {"{": "}", "[": "]", "(": ")"}


def elements(text):
    """Returns (begin, end) of each top-level element of every `{…}` and `[…]` in `text`.

    The end includes the comma after the element, and the begin of the last element includes the comma before it, so that the
    text without the element is still an expression. Subscripts (`value[0]`, `value[Name = 'x']`) are not lists. A list of one
    element is left out.
    """
    found = []
    for begin, end in brackets(text):
        if text[begin] == "(" or (text[begin] == "[" and is_subscript(text, begin)):
            continue
        commas = [at for at in top_level(text, begin + 1, end) if text[at] == ","]
        if not commas:
            continue
        for number, at in enumerate([begin, *commas]):
            last = number == len(commas)
            found.append((at, end) if last else (at + 1, commas[number] + 1))
    return found


def brackets(text):
    """Returns (begin, end) of each pair of brackets, in the order of the begins."""
    stack, pairs = [], []
    for at in code(text, 0, len(text)):
        if text[at] in PAIRS:
            stack.append(at)
        elif stack and text[at] == PAIRS[text[stack[-1]]]:
            pairs.append((stack.pop(), at))
    return sorted(pairs)


def top_level(text, begin, end):
    """Yields the indexes between `begin` and `end` that are not inside brackets, a string or a pattern."""
    depth = 0
    for at in code(text, begin, end):
        if text[at] in PAIRS:
            depth += 1
        elif text[at] in PAIRS.values():
            depth -= 1
        elif depth == 0:
            yield at


def code(text, begin, end):
    """Yields the indexes that are not inside a string or a regular expression."""
    at = begin
    while at < end:
        if text[at] in "'\"`" or (text[at] == "/" and begins_pattern(text, at)):
            at = closing(text, at)
        else:
            yield at
        at += 1


def closing(text, begin):
    """Returns the end of the string or pattern that begins at `begin`."""
    at = begin + 1
    while at < len(text) and text[at] != text[begin]:
        at += 2 if text[at] == "\\" else 1
    return at


def begins_pattern(text, at):
    """Returns whether a slash begins a pattern. After a value, a slash divides."""
    return not ends_value(text[:at])


def is_subscript(text, at):
    before = text[:at].split()
    return ends_value(text[:at]) and before[-1] not in ("in", "and", "or")


def ends_value(text):
    """Returns whether the text ends with a name, a number, a string or a closing bracket."""
    last = text.rstrip()[-1:]
    return bool(last) and (last.isalnum() or last in "_)]}'\"`$")
