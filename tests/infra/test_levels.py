#!/usr/bin/env python3
"""CONTRIBUTING lists the levels of tests, each with the sentence that its own files begin with.

`test_levels.py --write` writes the list between `<!-- written from the heads of the levels -->` and `<!-- end -->`.
"""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
WRITTEN_PART = re.compile(r"(<!-- written from the heads of the levels -->\n).*?(?=<!-- end -->)", re.DOTALL)
# In the order of what a failure costs to find; the proofs on a deployed stack follow by name.
FIRST = ["tests/contract/main.rs", "tests/property/main.rs", "tests/model/main.rs", "tests/simulation/main.rs", "tests/integration/main.rs",
         "tests/stack/undefined/__init__.py", "tests/stack/probes/__init__.py", "tests/aws/account/__init__.py", "infra/cdk/check",
         "tests/cli/main.rs", "tests/e2e/main.rs"]


def files():
    others = {str(path.relative_to(ROOT)) for name in ("main.rs", "prove", "evaluate") for path in ROOT.glob(f"tests/*/{name}")}
    return [*FIRST, *sorted(others - set(FIRST))]


def head(name):
    """The first sentence of a file: of its `//!` lines, its docstring, or the comment below its first line."""
    text = (ROOT / name).read_text()
    if name.endswith(".py"):
        said = text.split('"""')[1]
    else:
        mark = "//! " if name.endswith(".rs") else "# "
        said = " ".join(line.removeprefix(mark) for line in re.match(rf"(?:#!.*\n)?((?:{mark}.*\n)+)", text)[1].splitlines())
    return re.split(r"(?<=\.) (?=[A-Z-])", " ".join(said.split()))[0].rstrip(".")


def written(page):
    rows = [f"| `{name.rpartition('/')[0]}` | {head(name)} |\n" for name in files()]
    return WRITTEN_PART.sub(lambda match: "".join([match[1], "| level | what it does |\n|---|---|\n", *rows]), page)


class Levels(unittest.TestCase):
    maxDiff = None

    def test_the_list_has_each_level_with_its_own_sentence(self):
        page = PAGE.read_text()
        self.assertEqual(1, len(WRITTEN_PART.findall(page)))
        self.assertEqual(written(page), page, "test_levels.py --write")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(PAGE.read_text()))
        sys.exit(0)
    sys.exit(unittest.main())
