"""The entries of by-hand.toml match the current code."""
import pathlib
import tempfile
import unittest

from .. import byhand
from ..settings import ROOT


def read(file):
    path = ROOT / file
    return path.read_text() if path.exists() else None


class ByHand(unittest.TestCase):
    def test_every_entry_changes_the_current_code(self):
        found, wrong = byhand.mutants(read)

        self.assertEqual(wrong, [])
        self.assertTrue(found)

    def test_an_entry_whose_text_no_file_has_is_a_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "by-hand.toml"
            path.write_text('[[mutant]]\nname = "old"\nfile = "a.rs"\nfind = "gone"\nreplace = ""\n')

            found, wrong = byhand.mutants(lambda _: "the code", path)

        self.assertEqual((found, len(wrong)), ([], 1))
        self.assertIn("occurs in a.rs 0 times", wrong[0])


if __name__ == "__main__":
    unittest.main()
