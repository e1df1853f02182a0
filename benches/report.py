#!/usr/bin/env python3
"""Writes docs/performance.md and its charts from benches/results/*.json: report.py [--check]

With --check nothing is written: exit 1 names each file that is not what the results give.

A file of results has id, title, date, machine, against (optional), note, and rows of figure, subject, unit, median,
min, max, n and ratio. Exact counts have median and n only. `chart` may list the figures of the chart."""
import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from lib.chart import chart  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ROW_FIELDS = {"figure", "subject", "unit", "median", "n"}
FIELDS = {"id", "title", "date", "machine", "note", "rows"}
MOST_BARS = 30
INTRODUCTION = """# Performance

Shows what Lockstep takes in dollars, time, requests and memory, beside other locks. `make bench` measures again and writes this page.

| question | sections |
|---|---|
| What does a run cost? | [what guarded runs cost](#what-guarded-runs-cost), [requests of each step](#requests-of-each-step), [write units of a step](#write-units-of-a-step) |
| How long does a lock take? | [acquire and release](#latency-of-an-acquire-and-a-release), [warm calls](#warm-calls), [cold start](#cold-start), [`lockstep run`](#time-of-lockstep-run----true) |
| How soon does the next run begin? | [hand-over](#hand-over-to-the-next-run), [recovery from a death](#recovery-from-a-death), [eviction](#eviction-to-sigterm) |
| How many starts does it bear? | [on one lock at once](#starts-on-one-lock-at-once), [on 10,000 locks](#10000-locks-with-64-clients), [in one account](#scale-and-quotas) |
| How large is it? | [memory and size](#memory-and-size), [memory of `lockstep run`](#memory-of-lockstep-run), [a lock's item](#size-of-a-locks-item) |

Absolute times hold for one machine. Ratios, CPU and exact counts carry over better; a ratio below 1.2 is noise on a shared machine. *Ratio* is the
median divided by the median of the section's reference subject, for the same figure.
"""


class ResultError(Exception):
    """A file of results that cannot be reported."""


def read(folder):
    """The results of a folder, in the order of their ids."""
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stem)
    return [check(path, json.loads(path.read_text())) for path in paths]


def check(path, result):
    missing = FIELDS - result.keys()
    if missing:
        raise ResultError(f"{path.name} lacks {', '.join(sorted(missing))}")
    if result["id"] != path.stem:
        raise ResultError(f"{path.name} has the id {result['id']}, which names its chart: it must be {path.stem}")
    for number, row in enumerate(result["rows"]):
        missing = ROW_FIELDS - row.keys()
        if missing:
            raise ResultError(f"{path.name}: row {number} lacks {', '.join(sorted(missing))}")
    return result


def figures(result):
    return list(dict.fromkeys(row["figure"] for row in result["rows"]))


def charted(result):
    """The figures of the chart: those that the file names, else the first ones that fit."""
    if "chart" in result:
        return result["chart"]
    chosen, bars = [], 0
    for figure in figures(result):
        bars += sum(row["figure"] == figure for row in result["rows"])
        if chosen and bars > MOST_BARS:
            break
        chosen.append(figure)
    return chosen


def number(value, unit=""):
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.15g}"
    return f"{text} {unit}".rstrip()


def cell(row, field):
    return number(row[field]) if field in row else ""


def table(result):
    lines = ["| figure | subject | median | min | max | n | ratio |", "|---|---|--:|--:|--:|--:|--:|"]
    last = None
    for row in result["rows"]:
        figure = row["figure"] if row["figure"] != last else ""
        last = row["figure"]
        cells = [figure, row["subject"], number(row["median"], row["unit"]),
                 cell(row, "min"), cell(row, "max"), cell(row, "n"), cell(row, "ratio")]
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |")
    return lines


def section(result):
    beside = f" Measured beside: {result['against']}." if result.get("against") else ""
    picture = f"![{result['title']}: bars of the medians](images/{image(result)})"
    return "\n".join([
        f"## {result['title']}", "", result["note"] + beside, "", picture, "", *table(result), "",
        f"Measured on {result['date']}: {result['machine']}.", ""])


def image(result):
    return f"bench-{result['id']}.svg"


def render(results):
    """Path under docs → text, for the page and every chart."""
    files = {"performance.md": "\n".join([INTRODUCTION, *map(section, results)])}
    for result in results:
        files[f"images/{image(result)}"] = chart(result, charted(result))
    return files


def differences(files, docs):
    """The files that are missing, are old, or belong to no result."""
    wrong = [name for name, text in files.items()
             if not (docs / name).exists() or (docs / name).read_text() != text]
    return wrong + [name for name in left_over(files, docs)]


def left_over(files, docs):
    found = (f"images/{path.name}" for path in sorted((docs / "images").glob("bench-*.svg")))
    return [name for name in found if name not in files]


def write(files, docs):
    for name in left_over(files, docs):
        (docs / name).unlink()
    for name, text in files.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text)


def main(words=None, root=ROOT):
    parser = argparse.ArgumentParser(prog="benches/report.py", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    options = parser.parse_args(words)
    try:
        files = render(read(root / "benches/results"))
    except ResultError as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    if not options.check:
        write(files, root / "docs")
        return 0
    wrong = differences(files, root / "docs")
    for name in wrong:
        print(f"docs/{name} is not what benches/results gives: run `benches/report.py`", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
