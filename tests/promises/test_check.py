#!/usr/bin/env python3
"""Tests that each rule of the ledger's check can fail, and how pages are split into statements."""
import sys
import tempfile
import unittest
from datetime import date
from pathlib import Path

sys.dont_write_bytecode = True
import judges  # noqa: E402
import ledger  # noqa: E402
from pages import statements  # noqa: E402
from rules import complaints_of  # noqa: E402

PAGE = """# Title

What it is.

## Promised

- **One.** It holds. It [is](a.md) `never`
  lost: 0.5 s.

| what dies | then |
|---|---|
| the host | the next run |

Not tested here: a host.

    indented code

```sh
# a comment
```

## Other

To come.
"""
FILES = {
    "README.md": "# A\n\nRead it.\n",
    "docs/a.md": PAGE,
    "docs/b.md": "# B\n",
    "core/src/lib.rs": "",
    "core/src/domain/lease.rs": "fn f() { a < b }\n",
    "core/src/domain/tests/lease.rs": "#[test]\nfn it_holds() {}\n",
    "shared/src/task.rs": "mod tests {\n    #[test]\n    fn it_is_told() {}\n}\n\n#[test]\n#[ignore]\nfn it_takes_hours() {}\n",
    "tests/model/main.rs": "",
    "tests/e2e/main.rs": "#[test]\n#[ignore]\nfn it_takes_hours() {}\n",
    "tests/model/cases/mutants.rs": "faults! {\n    fn it_is_found:\n        1, [A] => Lost, RULE;\n}\n",
    "tests/iam/evaluate.py": "MAY = {}\nclass Roles:\n    def test_all(self): pass\n",
    "tests/mutants/by-hand.toml": '[[mutant]]\nname = "no slack"\nfile = "core/src/domain/lease.rs"\nfind = "a < b"\nreplace = "a"\n',
    "tests/promises/pages.toml": ('pending = ["docs/b.md"]\n[page."README.md"]\ncovered = []\npending = []\nnone = [""]\n'
                                  '[page."docs/a.md"]\ncovered = ["Promised"]\npending = ["Other"]\nnone = [""]\n'),
    "tests/promises/a.toml": ('[[promise]]\nid = "holds"\ntext = "It holds."\njudges = ["core::domain::tests::lease::it_holds"]\n'
                              'mutant = "no slack"\n'
                              '[[promise]]\nid = "never"\ntext = "It is `never` lost: 0.5 s."\njudges = ["tests/iam/evaluate.py::MAY"]\n'
                              'unseen = "needs a deployed stack"\n'
                              '[[promise]]\nid = "host"\ntext = "the host | the next run"\nunjudged = "Not tested here: a host."\n'),
}
LEDGER = "tests/promises/a.toml"
PAGES = "tests/promises/pages.toml"
SEEN = "tests/promises/seen.toml"
# A change (file, old text, new text), and the beginning of the only complaint that follows.
CASES = [
    ("docs/a.md", "It holds.", "It holds. It lasts.", 'docs/a.md: "Promised": no entry has: It lasts.'),
    ("docs/a.md", "| the host |", "| a disk | no run |\n| the host |", 'docs/a.md: "Promised": no entry has: a disk | no run'),
    ("docs/a.md", "## Other", "## Another\n\nIt waits.\n\n## Other", 'docs/a.md: section "Another" is in no list of pages.toml'),
    ("docs/a.md", "To come.", "", 'docs/a.md: section "Other" is in pages.toml, but not on the page'),
    (PAGES, '["docs/b.md"]', "[]", "docs/b.md is neither covered nor pending in pages.toml"),
    (PAGES, '["docs/b.md"]', '["docs/b.md", "docs/c.md"]', "docs/c.md is in pages.toml, but does not exist"),
    (LEDGER, "tests::lease::it_holds", "tests::lease::it_held", "holds: core::domain::tests::lease::it_held: there is no such test"),
    (LEDGER, "tests/iam/evaluate.py::MAY", "kernel::it_holds", "never: kernel::it_holds: a judge is LEVEL::MODULE::TEST"),
    (LEDGER, "evaluate.py::MAY", "evaluate.py::MUST", "never: tests/iam/evaluate.py::MUST: evaluate.py has no MUST"),
    (LEDGER, "evaluate.py", "eval.py", "never: tests/iam/eval.py::MAY: there is no such file"),
    (LEDGER, '["tests/iam/evaluate.py::MAY"]', '["e2e::it_takes_hours"]', "never: e2e::it_takes_hours: the test is ignored"),
    (LEDGER, '["tests/iam/evaluate.py::MAY"]\nunseen = "needs a deployed stack"', "[]", "never: needs either judges, or unjudged"),
    (LEDGER, 'unseen = "needs a deployed stack"', "", "never: needs a mutant, or unseen with the reason"),
    (LEDGER, '["tests/iam/evaluate.py::MAY"]', '["core::domain::tests::lease::it_holds"]',
     "never: needs a mutant, since it has a judge on a level that `make promises-seen` runs: core"),
    (LEDGER, 'mutant = "no slack"', 'mutant = "no slack"\nunseen = "it is hard"', "holds: has both a mutant and unseen"),
    (LEDGER, 'unjudged = "Not tested here: a host."', 'unjudged = "Not tested here: a host."\njudges = ["tests/iam/evaluate.py::MAY"]',
     "host: needs either judges, or unjudged"),
    (LEDGER, '"no slack"', '"no lease"', 'holds: there is no mutant "no lease"'),
    (LEDGER, '"no slack"', '"model Lost"', 'holds: none of its judges is on a level that "model Lost" reaches: model'),
    (LEDGER, 'id = "host"', 'id = "never"', "a.toml: never: two entries have this id"),
    (LEDGER, 'id = "host"', 'id = "host"\nwhy = ""', "a.toml: host: unknown fields: why"),
    ("tests/mutants/by-hand.toml", "a < b", "a > b", 'holds: there is no mutant "no slack"'),
    (SEEN, "no slack", "no lease", "holds: seen.toml has another mutant or judge than its entry"),
    (SEEN, "it_holds", "it_held", "holds: seen.toml has another mutant or judge than its entry"),
]
AGAIN = "run `make promises-seen`"
# A change of docs/a.md with two complaints, because one text is missing and another is new.
CHANGED = ("It holds.", "It held.", ['docs/a.md: "Promised": no entry has: It held.',
                                     "holds: on no page: It holds. (most similar: It held.)"])


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in FILES.items():
            self.write(name, text)
        self.folder = self.root / "tests" / "promises"

    def see(self):
        seen = {"mutant": "no slack", "judge": "core::domain::tests::lease::it_holds", "date": date(2026, 1, 2).isoformat()}
        ledger.keep_seen({"holds": seen}, self.folder)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def changed(self, name, old, new):
        """Returns the complaints after a change of one text in a file."""
        judges.tests.cache_clear()
        judges.names.cache_clear()
        path = self.root / name
        before = path.read_text()
        self.assertEqual(before.count(old), 1, f"{name}: {old}")
        path.write_text(before.replace(old, new))
        found = complaints_of(ledger.load(self.folder), self.root)
        path.write_text(before)
        return found

    def test_a_correct_ledger_has_no_complaint(self):
        self.see()

        self.assertEqual(complaints_of(ledger.load(self.folder), self.root), [])
        self.assertEqual(ledger.load(self.folder).seen["holds"]["date"], "2026-01-02")

    def test_a_broken_rule_has_one_complaint(self):
        for name, old, new, expected in CASES:
            with self.subTest(expected):
                self.see()
                found = self.changed(name, old, new)
                if name != SEEN:
                    # Leaves out the complaint that seen.toml no longer matches the changed entry.
                    found = [line for line in found if not line.endswith(AGAIN)]

                self.assertEqual([line[:len(expected)] for line in found], [expected])

    def test_a_judge_of_the_promise_must_have_failed_on_its_mutant(self):
        missing = f"holds: none of its judges was seen to fail on its mutant: {AGAIN}"
        self.assertEqual(complaints_of(ledger.load(self.folder), self.root), [missing])
        self.see()

        found = self.changed(SEEN, "[holds]", "[held]")

        self.assertEqual(found, [f"held: seen.toml has another mutant or judge than its entry: {AGAIN}", missing])

    def test_a_changed_statement_is_a_fault_of_the_page_and_of_the_entry(self):
        self.see()
        old, new, expected = CHANGED

        self.assertEqual(self.changed("docs/a.md", old, new), expected)

    def test_the_page_of_an_unjudged_promise_must_call_it_untested(self):
        for said in ("Not tested here: a disk.", "It is hard."):
            with self.subTest(said):
                found = self.changed(LEDGER, "Not tested here: a host.", said)

                self.assertTrue(any(line.startswith("host: ") for line in found), found)
                self.assertIn('docs/a.md: "Promised": no entry has: Not tested here: a host.', found)

    def test_a_judge_may_be_a_row_of_a_macro_or_in_a_module_of_its_file(self):
        self.see()
        for judge in ("model::cases::mutants::it_is_found", "shared::task::tests::it_is_told",
                      "tests/iam/evaluate.py::Roles.test_all"):
            with self.subTest(judge):
                found = self.changed(LEDGER, "tests/iam/evaluate.py::MAY", judge)
                self.assertFalse([line for line in found if "there is no such test" in line], found)
        found = self.changed(LEDGER, "tests/iam/evaluate.py::MAY", "shared::task::it_is_told")
        self.assertTrue([line for line in found if "there is no such test" in line], found)


class Pages(unittest.TestCase):
    def test_a_page_has_a_statement_for_each_sentence_and_each_row(self):
        found = [(statement.section, statement.text) for statement in statements("a", PAGE)]

        self.assertEqual(found, [
            ("", "What it is."), ("Promised", "It holds."), ("Promised", "It is `never` lost: 0.5 s."),
            ("Promised", "the host | the next run"), ("Promised", "Not tested here: a host."), ("Other", "To come.")])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=0))
