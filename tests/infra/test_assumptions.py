"""docs/aws-assumptions.md names probes that exist, all account probes, and counts its rows right.

Run by infra/validate.
"""

import ast
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "aws-assumptions.md"
CELLS = ["AWS does this", "source", "if it does not", "emulator", "account", "known"]


def rows():
    """The cells of every row, below the heads of the tables."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row != CELLS and not set("".join(row)) <= {"-"}]


def trees(folder, pattern):
    """The modules of a folder as syntax trees: nothing has to be installed to read them."""
    for path in sorted((ROOT / folder).glob(pattern)):
        yield path, ast.parse(path.read_text())


def emulator_probes():
    """Every test of the local stack's probes, as module.test."""
    return {f"{path.stem.removeprefix('probe_')}.{node.name}"
            for path, tree in trees("tests/stack/probes", "probe_*.py") for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def account_probes():
    """Every name that an account probe is registered under."""
    return {decorator.args[0].value
            for _, tree in trees("tests/aws/account", "*.py") for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) for decorator in node.decorator_list
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "probe"}


def named(cell):
    return re.findall(r"`([^`]+)`", cell)


class Assumptions(unittest.TestCase):
    def test_every_row_has_all_cells(self):
        self.assertGreater(len(rows()), 30)
        for row in rows():
            self.assertEqual(len(CELLS), len(row), row[0])
            self.assertRegex(row[5], r"^(documented|account|recorded: test_\w+, 20\d\d-\d\d-\d\d)$", row[0])
            self.assertTrue(row[2], row[0])

    def test_every_row_has_its_page(self):
        for row in rows():
            self.assertRegex(row[1], r"\(https://(docs\.aws\.amazon\.com|repost\.aws/knowledge-center)/[^)]+\)", row[0])

    def test_named_probes_exist(self):
        emulator, account = emulator_probes(), account_probes()
        for row in rows():
            for cell, known in ((row[3], emulator), (row[4], account)):
                self.assertTrue(named(cell) or cell == "–", f"{row[0]}: {cell}")
                self.assertLessEqual(set(named(cell)), known, row[0])

    def test_every_account_probe_is_named(self):
        self.assertEqual(account_probes(), {name for row in rows() for name in named(row[4])})

    def test_what_an_account_must_settle_has_a_probe_for_it(self):
        for row in rows():
            self.assertTrue(row[5] != "account" or named(row[4]), row[0])

    def test_last_sentence_counts_the_rows(self):
        count = re.search(r"Of these (\d+) behaviours, \*\*(\d+)\*\* can only be settled by an account", PAGE.read_text())
        self.assertIsNotNone(count, "the page does not end with its count")
        open_rows = [row for row in rows() if row[5] == "account"]
        self.assertEqual((len(rows()), len(open_rows)), (int(count[1]), int(count[2])))


if __name__ == "__main__":
    sys.exit(unittest.main())
