"""Makes mutants of Rust code that cargo-mutants does not make: without a statement, a list element or a filter.

Large parts of the protocol are data: a guard is a list of clauses, and an update is a list of assignments. A missing clause is
the most dangerous mistake there."""
import re

from .mutant import Mutant
from .source import Source

# The beginning of a statement with an effect only: an assignment or a call.
DOES = re.compile(r"\*?[a-z_]\w*(?:\.|::|\(|\s*(?:[-+*/|&]|)=[^=])")
NOT_DOES = re.compile(r"(?:let|return|use|break|continue|pub|const|static|type|mod|fn|if|match|for|while|loop|drop)\b|\w+!|tracing::")
ELEMENT = re.compile(r"[A-Z]\w*::|\([A-Z]\w*::")
FILTER = re.compile(r"\.(?:filter|take_while|skip_while)\(")
NUMBER = re.compile(r"(?<![\w.\"])(\d[\d_]*)(?![\w.])")


def mutants(file, text):
    """Returns all mutants of one source file, in the order of their places."""
    source = Source(text)
    found = [*statements(source), *elements(source), *filters(source), *numbers(source)]
    return [mutant(source, file, *each) for each in sorted(found)]


def mutant(source, file, begin, end, new, change):
    text = source.text
    first = source.line(begin)
    line = " ".join(text.splitlines()[first - 1].split())
    return Mutant("rust", file, source.scope(begin), change, line, text[:begin] + new + text[end:],
                  lines=(first, source.line(end)), edit=(begin, end, new))


def statements(source):
    """Yields a change for each statement that assigns or calls: without the statement."""
    code = source.code
    for begin, end, _ in source.functions:
        starts = {begin + 1}
        for at in source.outside(begin + 1, end):
            if code[at] in "{};":
                starts.add(at + 1)
        # Statements are also in the blocks of closures and of arguments.
        for inner, close in source.ends.items():
            if begin < inner < close < end and code[inner] == "{":
                starts |= {inner + 1, close + 1}
                starts |= {at + 1 for at in source.outside(inner + 1, close) if code[at] in "{};"}
        for start in starts:
            start += len(code[start:end]) - len(code[start:end].lstrip())
            if DOES.match(code, start) and not NOT_DOES.match(code, start):
                stop = statement_end(source, start, end)
                if stop and innermost(source, start) == (begin, end):
                    yield start, stop, "", f"without the statement {shortened(source.text[start:stop])}"


def statement_end(source, start, end):
    """Returns the index after the semicolon, or None for the value of a block, which has none."""
    at = start
    while at < end:
        char = source.code[at]
        if char == ";":
            return at + 1
        if char == "," or char in "})]":
            return None
        at = source.ends.get(at, at) + 1
    return None


def innermost(source, at):
    """Returns the innermost function around `at`, so that statements of a nested function are found once."""
    around = [(begin, end) for begin, end, _ in source.functions if begin < at < end]
    return max(around, default=None)


def elements(source):
    """Yields a change for each clause, assignment or effect in a list of several: without the element."""
    code = source.code
    for begin, end in source.ends.items():
        if code[begin] != "[" or not source.scope(begin):
            continue
        commas = [at for at in source.outside(begin + 1, end) if code[at] == "," and not in_braces(source, begin, at)]
        cuts = [begin + 1, *(at + 1 for at in commas), end]
        parts = [(left, right) for left, right in zip(cuts, cuts[1:]) if code[left:right].strip()]
        for left, right in parts if len(parts) > 1 else []:
            left += len(code[left:right]) - len(code[left:right].lstrip())
            if ELEMENT.match(code, left):
                yield left, right, "", f"without the element {shortened(source.text[left:right].rstrip(', '))}"


def in_braces(source, begin, at):
    return any(begin < inner < at < close for inner, close in source.ends.items() if source.code[inner] == "{")


def filters(source):
    """Yields a change for each filter: without the filter."""
    for found in FILTER.finditer(source.code):
        end = source.ends[found.end() - 1] + 1
        if source.scope(found.start()):
            yield found.start(), end, "", f"without {shortened(source.text[found.start():end])}"


def numbers(source):
    """Yields a change for each number above one: ten times as large."""
    for found in NUMBER.finditer(source.code):
        if int(found[1].replace("_", "")) > 1 and not source.code[:found.start()].rstrip().endswith((";", "#[")):
            yield found.start(), found.end(), f"(10 * {found[1]})", f"{found[1]} becomes ten times as large"


def shortened(text, most=70):
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
