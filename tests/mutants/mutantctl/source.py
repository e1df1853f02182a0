"""Just enough of Rust's syntax to find statements, list elements and functions in a source file."""
import re

PAIRS = {"{": "}", "[": "]", "(": ")"}
# Comments, strings and characters; a lifetime has no second quote.
OPAQUE = re.compile(r"""//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:u\{[^}]*\}|.)|[^'\\\n])'""", re.DOTALL)
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{")
FUNCTION = re.compile(r"\bfn\s+(\w+)")
IMPL = re.compile(r"^\s*impl\b([^{;]*)\{", re.MULTILINE)
GENERIC = re.compile(r"<[^<>]*>")


class Source:
    """A source file: its text, and the same with comments, strings and tests blanked out."""

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
        """The body of each function: (begin, end, name). A declaration without a body has none."""
        found = []
        for match in pattern.finditer(self.code):
            body = next((at for at in self.outside(match.end(), len(self.code)) if self.code[at] in "{;"), None)
            if body is not None and self.code[body] == "{":
                found.append((body, self.ends[body], match[1]))
        return found

    def outside(self, begin, end):
        """The indexes that stand in no `(` or `[` which opens behind `begin`."""
        at = begin
        while at < end:
            if self.code[at] in "([" and at in self.ends:
                at = self.ends[at]
            else:
                yield at
            at += 1

    def scope(self, at):
        """The name of the function around `at`, with its type: `Lease::is_dead`."""
        names = [[name for begin, end, name in spans if begin < at < end] for spans in (self.impls, self.functions)]
        return "::".join(found[-1] for found in names if found)

    def line(self, at):
        """The number of the line, from 1."""
        return self.text.count("\n", 0, at) + 1


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def closings(code):
    """The index of each opening bracket → that of its closing one."""
    stack, ends = [], {}
    for at, char in enumerate(code):
        if char in PAIRS:
            stack.append(at)
        elif char in PAIRS.values() and stack:
            ends[stack.pop()] = at
    return ends


def type_of(header):
    """The type of an impl, without generics: `impl<S: Store> Port for Twin<S>` is `Twin`."""
    while GENERIC.search(header):
        header = GENERIC.sub("", header)
    header = header.split(" where ")[0].split(" for ")[-1]
    words = re.findall(r"[\w:]+", header)
    return words[-1].split("::")[-1] if words else ""
