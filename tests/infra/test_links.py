#!/usr/bin/env python3
"""Every link between the pages has a target, and every page is in the contents of the site.

`test_links.py --write` writes the index of the decision records.
"""
import re
import subprocess
import sys
import unittest
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUMMARY = ROOT / "docs" / "SUMMARY.md"
DECISIONS = ROOT / "shared" / "decisions"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def pages():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md"],
                            capture_output=True, text=True, check=True)
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).exists()]


@cache
def without_code(path):
    return re.sub(r"(?ms)^ *```.*?^ *```", "", path.read_text())


@cache
def anchors(path):
    """Returns the anchors that GitHub gives the headings of a page."""
    found = set()
    for heading in re.findall(r"^#+ +(.+)$", without_code(path), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        same = sum(1 for known in found if re.fullmatch(rf"{re.escape(name)}(-\d+)?", known))
        found.add(f"{name}-{same}" if same else name)
    return found


def index():
    """Returns the index of the decision records, without its introduction."""
    rows = []
    for record in sorted(DECISIONS.glob("0*.md")):
        number, _, title = record.read_text().splitlines()[0].removeprefix("# ").partition(": ")
        rows.append(f"- [{number}]({record.name}): {title}\n")
    return "".join(rows)


class Links(unittest.TestCase):
    def test_each_link_leads_to_a_file_and_to_a_heading_of_it(self):
        dead = []
        for page in pages():
            text = re.sub(r"`[^`\n]*`", "", without_code(page))
            for link in LINK.findall(text):
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                if re.match(r"[a-z]+:", link):
                    continue
                if not target.exists():
                    dead.append(f"{page.relative_to(ROOT)}: {link}: no such file")
                elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                    dead.append(f"{page.relative_to(ROOT)}: {link}: no such heading")
        self.assertEqual(dead, [])

    def test_each_page_of_the_docs_is_in_the_contents_once(self):
        linked = [(SUMMARY.parent / link).resolve() for link in LINK.findall(SUMMARY.read_text())]
        docs = {page for page in pages() if page.is_relative_to(SUMMARY.parent) and page != SUMMARY}
        self.assertEqual(len(linked), len(set(linked)))
        self.assertEqual(docs - set(linked), set())

    def test_each_decision_record_is_in_their_index(self):
        self.assertTrue((DECISIONS / "README.md").read_text().endswith(index()), "run test_links.py --write")


if __name__ == "__main__":
    if "--write" in sys.argv:
        page = DECISIONS / "README.md"
        introduction = page.read_text().partition("- [")[0]
        page.write_text(introduction + index())
    else:
        unittest.main()
