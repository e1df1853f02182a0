"""docs/scale.md says how many of each kind of resource a stack takes of an account's quotas.

Run by infra/validate with the Python of cfn-lint.
"""

import re
import sys
import unittest
from collections import Counter

import yaml
from test_pages import ROOT, Loader

PAGE = ROOT / "docs" / "scale.md"


class Quotas(unittest.TestCase):
    def test_page_counts_what_a_stack_takes(self):
        template = yaml.load((ROOT / "infra" / "template.yaml").read_text(), Loader)
        made = Counter(one["Type"] for one in template["Resources"].values())
        [table] = re.findall(r"<!-- what a stack takes -->\n(.*?)<!-- end -->", PAGE.read_text(), flags=re.DOTALL)
        stated = {kind: int(count) for kind, count in re.findall(r"\(`(AWS::[\w:]+)`\) \| (\d+) \|", table)}
        self.assertEqual(len(stated), len(table.splitlines()) - 2, "a row has no kind or no count")
        # Of the account's log policies, which have a row because other software uses them up, a stack takes none.
        self.assertEqual({**made, "AWS::Logs::ResourcePolicy": 0}, stated, "a kind of resource has no row, or another count")

    def test_no_function_reserves_concurrency(self):
        self.assertIn("No function has reserved concurrency", PAGE.read_text())
        self.assertNotIn("ReservedConcurrentExecutions", (ROOT / "infra" / "template.yaml").read_text())


if __name__ == "__main__":
    sys.exit(unittest.main())
