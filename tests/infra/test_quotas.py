"""docs/scale.md counts how many resources of each kind in infra/quotas.toml a stack takes from an account's quotas.

Run by infra/validate with the Python of cfn-lint. `test_quotas.py --write` writes the table.
"""

import re
import shlex
import sys
import tomllib
import unittest
from collections import Counter

import yaml
from test_pages import ROOT, Loader, wrong_flags

PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- what a stack takes -->\n", "<!-- end -->"


def quotas():
    return tomllib.loads((ROOT / "infra" / "quotas.toml").read_text())["quota"]


def made():
    template = yaml.load((ROOT / "infra" / "template.yaml").read_text(), Loader)
    return Counter(one["Type"] for one in template["Resources"].values())


def written(page):
    """Returns the page with the correct table."""
    lines = ["| of the account | a stack takes | default quota | used |", "|---|--:|---|---|"]
    for one in quotas():
        used = f"`{one['used']}`" if "used" in one else ""
        lines.append(f"| {one['what']} (`{one['kind']}`) | {made()[one['kind']]} | {one['quota']} | {used} |")
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n".join(lines) + "\n" + END + rest.partition(END)[2]


class Quotas(unittest.TestCase):
    maxDiff = None

    def test_page_counts_what_a_stack_takes(self):
        self.assertEqual(written(PAGE.read_text()), PAGE.read_text(), "run test_quotas.py --write")

    def test_every_kind_of_resource_has_an_entry(self):
        # A stack takes no log policy of the account. These have an entry because other software uses them up.
        listed = [one["kind"] for one in quotas()]
        self.assertEqual(sorted([*made(), "AWS::Logs::ResourcePolicy"]), sorted(listed))

    def test_what_is_used_is_a_command_of_aws(self):
        for one in quotas():
            self.assertEqual("used" in one, not one["quota"].startswith("none"), one["kind"])
            if "used" in one:
                self.assertEqual([], wrong_flags(shlex.split(one["used"])), one["used"])
                self.assertRegex(one["quota"], r"\]\(https://docs\.aws\.amazon\.com/")

    def test_no_function_reserves_concurrency(self):
        self.assertIn("No function has reserved concurrency", PAGE.read_text())
        self.assertNotIn("ReservedConcurrentExecutions", (ROOT / "infra" / "template.yaml").read_text())


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(written(PAGE.read_text()))
    else:
        sys.exit(unittest.main())
