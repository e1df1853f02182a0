#!/usr/bin/env python3
"""Writes docs/performance.md, benches/README.md and the charts from benches/results/*.json: report.py [--check]

With --check nothing is written: exit 1 names each file that is not what the results give. docs/performance.md has the results that
SUMMARIES names. benches/README.md has how each result is measured, and the others.

A file of results has id, title, date, machine, against (optional), note, chart (optional: the figures to draw) and rows. A
row has figure, subject, unit, median, min, max, n and ratio; an exact count has only median and n."""
import argparse
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from lib.chart import chart  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
ROW_FIELDS = {"figure", "subject", "unit", "median", "n"}
FIELDS = {"id", "title", "date", "machine", "note", "rows"}
MOST_BARS = 30
INTRODUCTION = """# Performance

What Lockstep takes, beside other locks. `make bench` measures again and writes this page; [benches](../benches/README.md) has how each figure is
measured, and figures of single parts.

| question | sections |
|---|---|
| What does a run cost? | [what guarded runs cost](#what-guarded-runs-cost), [requests of each step](#requests-of-each-step), [write units of a step](#write-units-of-a-step) |
| How long does a lock take? | [acquire and release](#latency-of-an-acquire-and-a-release), [warm calls](#warm-calls), [cold start](#cold-start), [`lockstep run`](#time-of-lockstep-run----true) |
| How soon does the next run begin? | [hand-over](#hand-over-to-the-next-run), [recovery from a death](#recovery-from-a-death), [eviction](#eviction-to-sigterm) |
| How many starts does it bear? | [on one lock at once](#starts-on-one-lock-at-once), [on 10,000 locks](#10000-locks-with-64-clients), [in one account](#scale-and-quotas) |
| How large is it? | [memory and size](#memory-and-size), [memory of `lockstep run`](#memory-of-lockstep-run), [a lock's item](#size-of-a-locks-item) |

Absolute times hold for one machine, and none was taken on AWS. Ratios, CPU and exact counts carry over better; a ratio below 1.2 is noise on a shared
machine.
"""
# What a reader of the page has to know of a result, in the order of the page.
SUMMARIES = {
    "cost": "Dollars of 1,000 runs whose work succeeds, and what AWS bills of one run; [cost](cost.md) says what is not in it. A skip, and an hour in the "
            "queue, is what a second run adds to the run that holds the lock.",
    "requests": "Requests to DynamoDB, failed ones included. A release that ends a waiting heartbeat also calls SendTaskSuccess once.",
    "write-units": "Computed by DynamoDB's rules from the items before and after.",
    "pair-latency": "One client on one lock. At +5 ms each request is delayed, as a network does. The subjects with a history item and an index write what "
                    "Lockstep's table keeps besides.",
    "warm-calls": "Calls to processes that have answered before.",
    "cold-start": "New processes of the functions, beside DynamoDB Local with TLS. What Lambda itself takes to start one is not in it.",
    "command-time": "From the start of the process to its exit, on a lock that is free.",
    "hand-over": "From the call of release-lock to the first state of the next run after its acquire, on the emulator of Step Functions. One waiter is "
                 "woken from the queue, the other asks every 3 s.",
    "recovery": "From the end of the container or of the execution to the next run, which waits in the queue. Where the events are lost, the sweep finds "
                "the holder after its lease, 3 s here: a lease of a minute adds up to a minute.",
    "eviction": "From the call of operate that evicts a working run to SIGTERM in its container.",
    "storm": "In simulated time, under DynamoDB's limit of 1,000 write units a second for each partition key, until the answer to the last start.",
    "many": "In simulated time, under the same limit: each client acquires and releases its part of the locks, which are new.",
    "scale": "Simulated: the starts a second at which more than 1 % of the requests of one limit are throttled. [Scale and quotas](scale.md) has the limits.",
    "memory-and-size": "Memory of the processes of the warm calls; zip and binary as deployed.",
    "command-memory": "Peak memory while the command sleeps.",
    "item-size": "Bytes by DynamoDB's rules. Holders are execution ARNs of 105 characters; a workflow's heartbeat adds about 1,000 bytes to each.",
}
METHODS = """# How the figures are measured

`make bench` measures, `benches/report.py` writes this page and [docs/performance.md](../docs/performance.md) from `benches/results`. *Ratio* is the median divided by
the median of the result's reference subject, for the same figure.
"""


class ResultError(Exception):
    """The fault of a file of results."""


def read(folder):
    """Reads the results of a folder, in the order of their ids."""
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stem)
    return [check(path, json.loads(path.read_text())) for path in paths]


def check(path, result):
    missing = FIELDS - result.keys()
    if missing:
        raise ResultError(f"{path.name} lacks {', '.join(sorted(missing))}")
    if result["id"] != path.stem:
        raise ResultError(f"{path.name}: id is {result['id']}, but must be {path.stem}, because it names the chart")
    for number, row in enumerate(result["rows"]):
        missing = ROW_FIELDS - row.keys()
        if missing:
            raise ResultError(f"{path.name}: row {number} lacks {', '.join(sorted(missing))}")
    return result


def figures(result):
    return list(dict.fromkeys(row["figure"] for row in result["rows"]))


def charted(result):
    """Returns the figures of the chart: those that the file names, or the first ones that fit."""
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
    """The section of a result on the page for readers."""
    return "\n".join([f"## {result['title']}", "", SUMMARIES[result["id"]], "", *measured(result, "images"), ""])


def method(result):
    """The section of a result on the page for contributors, with its figures if the other page has none of them."""
    machine = [] if result["id"] in SUMMARIES else measured(result, "../docs/images") + [""]
    note = re.sub(r"\]\((?=[\w-]+\.md)", "](../docs/", result["note"])
    return "\n".join([f"## {result['title']}", "", note, "", *machine])


def measured(result, images):
    picture = f"![{result['title']}: bars of the medians]({images}/{image(result)})"
    ratio = f" The ratio is to *{result['against']}*." if result.get("against") else ""
    return [f"<!-- generated from benches/results/{result['id']}.json -->", picture, "", *table(result), "",
            f"Measured on {result['date']}: {result['machine']}.{ratio}", "<!-- end -->"]


def image(result):
    return f"bench-{result['id']}.svg"


def render(results):
    """Path → text, for the pages and every chart."""
    known = {result["id"]: result for result in results}
    files = {"docs/performance.md": "\n".join([INTRODUCTION, *(section(known[name]) for name in SUMMARIES if name in known)]),
             "benches/README.md": "\n".join([METHODS, *map(method, results)])}
    for result in results:
        files[f"docs/images/{image(result)}"] = chart(result, charted(result))
    return files


def differences(files, root):
    """The files that are missing, are old, or belong to no result."""
    wrong = [name for name, text in files.items()
             if not (root / name).exists() or (root / name).read_text() != text]
    return wrong + [name for name in left_over(files, root)]


def left_over(files, root):
    found = (f"docs/images/{path.name}" for path in sorted((root / "docs/images").glob("bench-*.svg")))
    return [name for name in found if name not in files]


def write(files, root):
    for name in left_over(files, root):
        (root / name).unlink()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def main(words=None, root=ROOT):
    parser = argparse.ArgumentParser(prog="benches/report.py", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the files instead of writing them")
    options = parser.parse_args(words)
    try:
        files = render(read(root / "benches/results"))
    except ResultError as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    if not options.check:
        write(files, root)
        return 0
    wrong = differences(files, root)
    for name in wrong:
        print(f"{name} is not what benches/results gives: run `benches/report.py`", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
