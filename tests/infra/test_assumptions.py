"""tests/aws/assumptions.toml names probes that exist and all account probes, and docs/aws-assumptions.md has what is written from it.

Run by infra/validate. `test_assumptions.py --write` writes the page's parts between `<!-- written from … -->` and `<!-- end -->`.
"""

import ast
import re
import sys
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "aws-assumptions.md"
SOURCE = ROOT / "tests" / "aws" / "assumptions.toml"
WRITTEN_PART = re.compile(r"(<!-- written from tests/aws/assumptions\.toml(?:: (\w+))? -->\n).*?(?=<!-- end -->)", re.DOTALL)
NEEDED = {"does", "source", "otherwise", "known"}
LINK = re.compile(r"\]\(([^)#]+)")


def assumptions():
    return tomllib.loads(SOURCE.read_text())["assumption"]


def only_an_account():
    return [one for one in assumptions() if one["known"] == "account"]


def count():
    """What the page says of all behaviours."""
    every, open_ones = len(assumptions()), len(only_an_account())
    return (f"The design counts on {every} behaviours. AWS states {every - open_ones} of them, or answered so to a public test:\n"
            f"[assumptions.toml](../tests/aws/assumptions.toml) lists all, each with its source, its probes and what follows if it is not so. "
            f"**{open_ones}** are left.\n")


def table():
    """The behaviours that only an account can settle, each with its probes."""
    lines = ["| AWS does this | if it does not | probe |", "|---|---|---|"]
    for one in only_an_account():
        cells = [one["does"], one["otherwise"], ", ".join(f"`{name}`" for name in one["account"])]
        lines.append(f"| {' | '.join(cells)} |")
    return re.sub(r"\]\((?!https:)", "](../", "\n".join(lines)).replace("](../docs/", "](") + "\n"


def written(page):
    return WRITTEN_PART.sub(lambda match: match[1] + (table() if match[2] else count()), page)


def trees(folder, pattern):
    """Yields the modules of a folder as syntax trees. Unlike an import, this needs no packages."""
    for path in sorted((ROOT / folder).glob(pattern)):
        yield path, ast.parse(path.read_text())


def emulator_probes():
    """Returns every test of the local stack's probes, as module.test."""
    return {f"{path.stem.removeprefix('probe_')}.{node.name}"
            for path, tree in trees("tests/stack/probes", "probe_*.py") for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def account_probes():
    """Returns the names under which account probes are registered."""
    return {decorator.args[0].value
            for _, tree in trees("tests/aws/account", "*.py") for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) for decorator in node.decorator_list
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "probe"}


class Assumptions(unittest.TestCase):
    def test_the_page_has_what_is_written_from_the_assumptions(self):
        self.assertEqual([None, "account"], [match[2] for match in WRITTEN_PART.finditer(PAGE.read_text())])
        self.assertEqual(written(PAGE.read_text()), PAGE.read_text(), "test_assumptions.py --write")

    def test_every_assumption_is_complete(self):
        self.assertGreater(len(assumptions()), 30)
        for one in assumptions():
            self.assertEqual(NEEDED, set(one) - {"emulator", "account"}, one)
            self.assertRegex(one["known"], r"^(documented|account|recorded: test_\w+, 20\d\d-\d\d-\d\d)$", one["does"])
            self.assertTrue(one["does"] and one["otherwise"], one)

    def test_every_assumption_has_a_page_of_aws(self):
        for one in assumptions():
            self.assertTrue(one["source"], one["does"])
            for source in one["source"]:
                self.assertRegex(source, r"^\[.+\]\(https://(docs\.aws\.amazon\.com|repost\.aws/knowledge-center)/[^)]+\)$", one["does"])

    def test_links_lead_to_files(self):
        for one in assumptions():
            for path in LINK.findall(one["does"] + one["otherwise"]):
                self.assertTrue((ROOT / path).is_file(), f"{one['does']}: {path}")

    def test_named_probes_exist(self):
        for kind, known in (("emulator", emulator_probes()), ("account", account_probes())):
            for one in assumptions():
                self.assertLessEqual(set(one.get(kind, [])), known, one["does"])

    def test_every_account_probe_is_named(self):
        self.assertEqual(account_probes(), {name for one in assumptions() for name in one.get("account", [])})

    def test_what_an_account_must_settle_has_a_probe_for_it(self):
        for one in only_an_account():
            self.assertTrue(one.get("account"), one["does"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(PAGE.read_text()))
        sys.exit(0)
    sys.exit(unittest.main())
