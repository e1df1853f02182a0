"""Just enough of JSONata's syntax to take one element out of an object or an array in an expression."""

PAIRS = {"{": "}", "[": "]", "(": ")"}


def elements(text):
    """The top-level elements of every `{…}` and `[…]` in `text`: (begin of the element, its end).

    An end includes the comma behind the element, or the begin the comma before the last one, so that
    the text without the element is still an expression. Subscripts (`value[0]`, `value[Name = 'x']`)
    are no lists, and a list of one element stays whole.
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
    """The begin and the end of each pair of brackets, in the order of their begins."""
    stack, pairs = [], []
    for at in code(text, 0, len(text)):
        if text[at] in PAIRS:
            stack.append(at)
        elif stack and text[at] == PAIRS[text[stack[-1]]]:
            pairs.append((stack.pop(), at))
    return sorted(pairs)


def top_level(text, begin, end):
    """The indexes between `begin` and `end` that stand in no bracket, string or pattern."""
    depth = 0
    for at in code(text, begin, end):
        if text[at] in PAIRS:
            depth += 1
        elif text[at] in PAIRS.values():
            depth -= 1
        elif depth == 0:
            yield at


def code(text, begin, end):
    """The indexes that stand in no string and no regular expression."""
    at = begin
    while at < end:
        if text[at] in "'\"`" or (text[at] == "/" and begins_pattern(text, at)):
            at = closing(text, at)
        else:
            yield at
        at += 1


def closing(text, begin):
    """The end of the string or pattern that begins here."""
    at = begin + 1
    while at < len(text) and text[at] != text[begin]:
        at += 2 if text[at] == "\\" else 1
    return at


def begins_pattern(text, at):
    """A slash divides after a value, and begins a pattern after anything else."""
    return not ends_value(text[:at])


def is_subscript(text, at):
    before = text[:at].split()
    return ends_value(text[:at]) and before[-1] not in ("in", "and", "or")


def ends_value(text):
    """Whether the text ends with a name, a number, a string or a closing bracket."""
    last = text.rstrip()[-1:]
    return bool(last) and (last.isalnum() or last in "_)]}'\"`$")
