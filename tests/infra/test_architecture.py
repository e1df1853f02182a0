"""ARCHITECTURE has the items of the table, and the attributes of the lock item, as the code that writes them lists them.

Run by infra/validate. `test_architecture.py --write` writes the tables between `<!-- written from FILE: FUNCTION -->` and `<!-- end -->`, from
the list in the documentation of the function, and the block of a `<!-- written from FILE -->` from the documentation of the module.
"""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
ITEM = "shared/src/store/dynamodb/item.rs"
LAYOUT = "shared/src/store/dynamodb.rs"
WRITTEN_BLOCK = re.compile(rf"(<!-- written from {LAYOUT} -->\n).*?(?=<!-- end -->)", re.DOTALL)
WRITTEN_PART = re.compile(r"(<!-- written from (shared/[\w/.]+): (\w+) -->\n).*?(?=<!-- end -->)", re.DOTALL)
# The functions that write the attributes of each list.
WRITERS = {"record_item": ("record_item", "expectation_values", "key"), "lease_values": ("lease_values", "work_values")}


def source():
    return (ROOT / ITEM).read_text()


def listed(function):
    """The names and the meaning of each item of the list in a function's documentation."""
    said = re.search(rf"((?:^///.*\n)+)(?:pub\(super\) )?fn {function}\b", source(), re.MULTILINE)[1]
    lines = re.sub(r"\n {2,}", " ", re.sub(r"^/// ?", "", said, flags=re.MULTILINE))
    return re.findall(r"^- (`.+?`): (.+)$", lines, re.MULTILINE)


def attributes(function):
    """The names that a function writes: texts, and constants of the file."""
    text = source()
    body = re.search(rf"^(?:pub\(super\) )?fn {function}\b.*?^}}", text, re.MULTILINE | re.DOTALL)[0]
    constants = dict(re.findall(r'^pub\(super\) const (\w+): &str = "(\w+)"', text, re.MULTILINE))
    names = re.findall(r'\(\s*(?:"(\w+)"|([A-Z_]{3,})),', body)
    # `since` is inside of `call`.
    return {name or constants[constant] for name, constant in names} - {"since"}


def written(page):
    def table(match):
        rows = [f"| {names} | {meaning} |\n" for names, meaning in listed(match[3])]
        return "".join([match[1], "| attribute | meaning |\n|---|---|\n", *rows])

    def block(match):
        lines = re.search(r"^//! (```text\n(?://!.*\n)+?//! ```\n)", (ROOT / LAYOUT).read_text(), re.MULTILINE)[1]
        return match[1] + re.sub(r"^//! ", "", lines, flags=re.MULTILINE)
    return WRITTEN_BLOCK.sub(block, WRITTEN_PART.sub(table, page))


class Architecture(unittest.TestCase):
    def test_the_tables_have_the_lists_of_the_code(self):
        page = PAGE.read_text()
        self.assertEqual(1, len(WRITTEN_BLOCK.findall(page)))
        self.assertEqual([(ITEM, function) for function in WRITERS], [match.groups()[1:] for match in WRITTEN_PART.finditer(page)])
        self.assertEqual(written(page), page, "test_architecture.py --write")

    def test_each_attribute_that_is_written_is_in_its_list(self):
        for function, writers in WRITERS.items():
            wrote = set().union(*map(attributes, writers))
            names = {name for cell, _ in listed(function) for name in re.findall(r"`(\w+)`", cell)}
            self.assertEqual(wrote, names, function)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(PAGE.read_text()))
        sys.exit(0)
    sys.exit(unittest.main())
