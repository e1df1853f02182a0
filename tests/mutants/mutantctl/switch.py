"""Puts many mutants into one build. An environment variable selects the mutant that is active.

A build for one mutant takes seconds to minutes, and its tests take much less. So the body of a function gets a
copy of itself for each of its mutants, behind a match on a number that the process reads once:

    { match crate::mutation::active() { 7 => return { body with mutant 7 }, _ => {} } body }

One build then serves all mutants of a level. The place of a compiler error shows which copy does not compile.
That copy is removed, and its mutant is unviable, because the function itself would not compile with the change
either. This is not true for constant functions and for functions that return an unnamed type. Mutants of these
functions, and mutants outside of functions, are built one by one."""
import bisect
import re
from collections import defaultdict

from .source import Source

VARIABLE = "LOCKSTEP_MUTANT"
# The crate that defines the switch, and the crate that re-exports it for crates that do not depend on the first.
LIBRARY, FACADE = "core/src/lib.rs", "shared/src/lib.rs"
MODULE = """
#[doc(hidden)]
pub mod mutation {
    static ACTIVE: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    pub fn active() -> u32 {
        *ACTIVE.get_or_init(|| std::env::var("%s").map_or(0, |text| text.parse().unwrap_or(0)))
    }
}
""" % VARIABLE
EXPORT = "\n#[doc(hidden)]\npub use lockstep_core::mutation;\n"
# The name of the crate with the switch in the code of a folder.
ROOTS = {"core": "crate", "weave": "lockstep", "cli": "lockstep"}
SIGNATURE_ENDS = re.compile(r"[;{}]")
UNNAMED = re.compile(r"->\s*(?:&\s*(?:mut\s+)?)?impl\b")


class Switch:
    """Files of the tree with mutants behind the switch. `numbers` has the number of each mutant, from 1."""

    def __init__(self, mutants, read):
        self.read, self.numbers, self.places = read, {}, {}
        sources = {}
        for mutant in mutants:
            if mutant.edit and mutant.file.endswith(".rs"):
                if mutant.file not in sources:
                    sources[mutant.file] = Source(read(mutant.file))
                body = body_of(sources[mutant.file], mutant)
                if body:
                    self.numbers[mutant] = len(self.numbers) + 1
                    self.places[mutant] = body
        self.regions = {}

    def drop(self, mutant):
        del self.numbers[mutant]

    def files(self):
        """Returns the texts of the files with their mutants, by file, and remembers the place of each mutant."""
        # Includes files whose last mutant was dropped, so that they are written without it.
        by_file = {mutant.file: defaultdict(list) for mutant in self.places}
        for mutant in self.numbers:
            by_file[mutant.file][self.places[mutant]].append(mutant)
        texts, self.regions = {}, {}
        for file, bodies in by_file.items():
            texts[file], self.regions[file] = self.compose(file, bodies)
        for library, part in ((LIBRARY, MODULE), (FACADE, EXPORT)):
            texts[library] = texts.get(library, self.read(library)) + part
        return texts

    def compose(self, file, bodies):
        """Returns the text of a file, and the regions of the copies as (first byte, byte after the last, mutant)."""
        text, parts, regions, size, last = self.read(file), [], [], 0, 0

        def put(part):
            nonlocal size
            parts.append(part)
            size += len(part.encode())

        root = ROOTS.get(file.split("/")[0], "lockstep_core")
        for (begin, end), mutants in sorted(bodies.items()):
            put(text[last:begin + 1])
            put(f" match {root}::mutation::active() {{")
            for mutant in mutants:
                at, to, new = mutant.edit
                put(f" {self.numbers[mutant]} => return {{")
                first = size
                put(text[begin + 1:at] + new + text[to:end])
                regions.append((first, size, mutant))
                put("},")
            put(" _ => {} }")
            last = begin + 1
        put(text[last:])
        return "".join(parts), regions

    def guilty(self, places):
        """Returns the mutants at these places, which are (file, byte)."""
        found = {}
        for file, byte in places:
            regions = self.regions.get(file, [])
            at = bisect.bisect([first for first, _, _ in regions], byte) - 1
            if at >= 0 and byte < regions[at][1]:
                found[regions[at][2]] = None
        return list(found)


def body_of(source, mutant):
    """Returns (begin, end) of the body of the function around the mutant, or None if the function cannot have a switch."""
    at, to, _ = mutant.edit
    around = [(begin, end) for begin, end, _ in source.functions if begin < at and to <= end]
    if not around:
        return None
    begin, end = max(around)
    # A nested function would get its copies twice.
    if any(begin < inner < end or inner < begin < close for inner, close, _ in source.functions):
        return None
    before = source.code[:begin]
    cut = max((found.end() for found in SIGNATURE_ENDS.finditer(before)), default=0)
    signature = before[cut:]
    if re.search(r"\bconst\s+(?:async\s+|unsafe\s+)*fn\b", signature) or UNNAMED.search(signature):
        return None
    return begin, end
