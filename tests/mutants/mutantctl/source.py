"""Parses just enough of Rust to find statements, list elements and functions in a source file."""
import re

PAIRS = {"{": "}", "[": "]", "(": ")"}
# Comments, strings and characters. A lifetime does not match, because it has no second quote.
OPAQUE = re.compile(r"""//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:u\{[^}]*\}|.)|[^'\\\n])'""", re.DOTALL)
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{")
FUNCTION = re.compile(r"\bfn\s+(\w+)")
IMPL = re.compile(r"^\s*impl\b([^{;]*)\{", re.MULTILINE)
GENERIC = re.compile(r"<[^<>]*>")


class Source:
    """A source file: its text, and its code with comments, strings and tests replaced by spaces."""

    def __init__(self, text):
        self.text = text
        self.code = OPAQUE.sub(lambda found: blank(found[0]), text)
        self.ends = closings(self.code)
        for module in TEST_MODULE.finditer(self.code):
            begin, end = module.start(), self.ends[module.end() - 1] + 1
            self.code = self.code[:begin] + blank(self.code[begin:end]) + self.code[end:]
        self.functions = self.spans(FUNCTION)
        self.impls = [(match.end() - 1, self.ends[match.end() - 1], type_of(match[1]))
                      for match in IMPL.finditer(self.code)]

    def spans(self, pattern):
        """Returns (begin, end, name) of the body of each function. Leaves out declarations without a body."""
        found = []
        for match in pattern.finditer(self.code):
            body = next((at for at in self.outside(match.end(), len(self.code)) if self.code[at] in "{;"), None)
            if body is not None and self.code[body] == "{":
                found.append((body, self.ends[body], match[1]))
        return found

    def outside(self, begin, end):
        """Yields the indexes from `begin` to `end` that are not inside a `(` or `[` which opens in this range."""
        at = begin
        while at < end:
            if self.code[at] in "([" and at in self.ends:
                at = self.ends[at]
            else:
                yield at
            at += 1

    def scope(self, at):
        """Returns the name of the function around `at`, with its type: `Lease::is_dead`."""
        names = [[name for begin, end, name in spans if begin < at < end] for spans in (self.impls, self.functions)]
        return "::".join(found[-1] for found in names if found)

    def line(self, at):
        """Returns the number of the line at an index, from 1."""
        return self.text.count("\n", 0, at) + 1


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def closings(code):
    """Returns the index of the closing bracket by the index of the opening one."""
    stack, ends = [], {}
    for at, char in enumerate(code):
        if char in PAIRS:
            stack.append(at)
        elif char in PAIRS.values() and stack:
            ends[stack.pop()] = at
    return ends


def type_of(header):
    """Returns the type of an impl, without generics: `Twin` for `impl<S: Store> Port for Twin<S>`."""
    while GENERIC.search(header):
        header = GENERIC.sub("", header)
    header = header.split(" where ")[0].split(" for ")[-1]
    words = re.findall(r"[\w:]+", header)
    return words[-1].split("::")[-1] if words else ""
