#!/usr/bin/env python3
"""Phrases that had to be read twice do not come back, and names of tests stay short (docs/writing.md)."""
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Each phrase with what to write instead. A phrase that is clear in most places does not belong here.
PHRASES = {
    r"what (?:came|becomes|has become) of": "response of …, result of …",
    r"(?:is|counts|are|reads) as none\b": "counts as no …",
    r"\bitems? of before\b|\bversions? of before\b": "items written by earlier versions",
    r"\bmade free\b": "freed",
    r"\bcalled so\b": "of this name",
    r"\bso many\b|\bso long as that\b": "the number, and its unit",
    r"\bthe same again\b": "the same value",
    r"\bcannot be learnt\b": "cannot be determined",
    r"\bfor ever\b": "forever",
    r"\bof the wish\b|\bthe wish to\b": "the request",
    r"\bdoes what\b.*\bleave": "runs …",
}
# Files that quote the phrases, and files that are no longer changed.
LEFT_OUT = ("docs/writing.md", "tests/infra/test_words.py", "tests/reading/", "benches/results/")
KINDS = (".rs", ".md", ".asl.json", ".yaml", ".ts", ".py", ".sh")
NAME_MAX = 69


def files(*endings):
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if name.endswith(endings) and not name.startswith(LEFT_OUT) and (ROOT / name).exists():
            yield name, (ROOT / name).read_text()


class Words(unittest.TestCase):
    def test_no_phrase_that_has_to_be_read_twice_comes_back(self):
        found = []
        for name, text in files(*KINDS):
            for number, line in enumerate(text.splitlines(), 1):
                for phrase, better in PHRASES.items():
                    if re.search(phrase, line, re.IGNORECASE):
                        found.append(f"{name}:{number}: {line.strip()} (write: {better})")
        self.assertEqual(found, [])

    def test_the_name_of_a_test_has_less_than_70_characters(self):
        found = []
        for name, text in files(".rs"):
            for test in re.findall(r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn (\w+)", text):
                if len(test) > NAME_MAX:
                    found.append(f"{name}: {test}")
        for name, text in files(".py"):
            found += [f"{name}: {test}" for test in re.findall(r"^ *def (test_\w+)", text, re.MULTILINE) if len(test) > NAME_MAX]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
