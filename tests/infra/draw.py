#!/usr/bin/env python3
"""Draws groups of statements from the pages by a seed, so that somebody who did not write them can check them against the code.

    tests/infra/draw.py SEED COUNT

A group is a paragraph, an item of a list or a row of a table. Leaves out code, and pages that a command writes."""
import random
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = {"performance.md", "transcripts.md"}


def groups():
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        if page.name in WRITTEN:
            continue
        text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for group in re.split(r"\n\s*\n|\n(?=- |\| |\d+\. )", text):
            line = " ".join(group.split())
            if len(line) > 120 and not re.match(r"#|\|[-: |]+\|$", line):
                yield f"{page.relative_to(ROOT)}: {line}"


def main(seed, count):
    for number, group in enumerate(random.Random(int(seed)).sample(list(groups()), int(count)), 1):
        print(f"{number}. {group}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
