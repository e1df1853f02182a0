#!/usr/bin/env python3
"""Tests of the reader of committed figures."""
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from lib import figures  # noqa: E402

TEXT = """# Why.
[sizes]
"zip" = { value = 1000, tolerance = "2%" }
"crates" = { value = 151, tolerance = "0" }

[other]
"zip" = { value = 7, tolerance = "1" }
"""


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "figures.toml"
        self.path.write_text(TEXT)

    def check(self, counted, section="sizes", accept=False):
        with mock.patch.dict(os.environ, {"LOCKSTEP_FIGURES": "accept" if accept else ""}):
            figures.check(section, counted, self.path)

    def test_a_count_within_the_tolerance_passes_and_writes_nothing(self):
        for size in (980, 1020):
            self.check({"zip": size, "crates": 151}, accept=True)

        self.assertEqual(self.path.read_text(), TEXT)

    def test_a_failure_names_the_figure_both_counts_and_make_figures(self):
        for counted, expected in [({"zip": 979, "crates": 151}, "zip: committed 1000, counted 979"),
                                  ({"zip": 1000, "crates": 150}, "crates: committed 151, counted 150"),
                                  ({"zip": 1000}, "crates: committed 151, not counted"),
                                  ({"zip": 1000, "crates": 151, "new": 1}, "new: not committed, counted 1")]:
            with self.assertRaisesRegex(figures.FigureError, expected) as failed:
                self.check(counted)
            self.assertIn("make figures", str(failed.exception))

    def test_accepting_changes_only_what_differs(self):
        self.check({"zip": 1001, "crates": 152, "new": 1}, accept=True)

        new = '"crates" = { value = 152, tolerance = "0" }\n"new" = { value = 1, tolerance = "0" }'
        self.assertEqual(self.path.read_text(), TEXT.replace('"crates" = { value = 151, tolerance = "0" }', new))

    def test_accepting_adds_a_section(self):
        self.check({"a": 1}, "new", accept=True)

        self.assertEqual(self.path.read_text(), f'{TEXT}\n[new]\n"a" = {{ value = 1, tolerance = "0" }}\n')


if __name__ == "__main__":
    unittest.main()
