"""infra/examples/table.yaml has the lock table of infra/template.yaml and nothing else, so that a table which outlived its stack can be
imported into a new one. `test_import.py --write` writes it from the template. Run by infra/validate with the Python of cfn-lint.
"""

import re
import sys
import unittest

from test_lint import ROOT, load

TEMPLATE = ROOT / "infra" / "template.yaml"
TABLE = ROOT / "infra" / "examples" / "table.yaml"
HEAD = """\
AWSTemplateFormatVersion: "2010-09-09"
Description: Lockstep - the lock table alone, to import a table that outlived its stack into a new stack

# Import a table with this template, then deploy infra/template.yaml to the same stack: docs/upgrade.md, "Come back". A change set that
# imports can create nothing else, so the other resources are not here.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources.html
"""


def block(name, text):
    """Returns an entry of a mapping of the template, with its indentation."""
    return re.search(rf"^  {name}:.*?(?=^  \w|^  #|^$)", text, re.MULTILINE | re.DOTALL)[0]


def written():
    text = TEMPLATE.read_text()
    return (f"{HEAD}\nParameters:\n{block('KmsKeyArn', text)}\nConditions:\n{block('Encrypts', text)}\nResources:\n{block('LockTable', text)}")


class Import(unittest.TestCase):
    def test_the_template_of_the_table_is_that_of_the_stack(self):
        self.assertEqual(TABLE.read_text(), written(), "run tests/infra/test_import.py --write")
        table, stack = load("infra/examples/table.yaml"), load("infra/template.yaml")
        self.assertEqual(table["Resources"], {"LockTable": stack["Resources"]["LockTable"]})

    def test_cloudformation_can_import_the_table(self):
        # A resource without a DeletionPolicy cannot be imported.
        table = load("infra/examples/table.yaml")
        self.assertEqual(table["Resources"]["LockTable"]["DeletionPolicy"], "Retain")
        self.assertNotIn("Transform", table)
        self.assertNotIn("Outputs", table)


if __name__ == "__main__":
    if "--write" in sys.argv:
        TABLE.write_text(written())
    else:
        unittest.main()
