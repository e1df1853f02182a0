"""docs/scale.md and benches/scale.md: hand-written text with places that the results fill, and the check that it is up to date."""
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import report  # noqa: E402
from .quotas import label  # noqa: E402
from .scenario import SCENARIOS  # noqa: E402

PLACE = re.compile(r"<!-- scale: ([\w -]+) -->(\n?)(.*?)<!-- end -->", re.DOTALL)
# The table of a scenario shows a limit whose peak use is above this share of it.
WORTH_SHOWING = 0.2
PAGES = ("docs/scale.md", "benches/scale.md")


class PageError(Exception):
    """The reason why the page cannot be filled."""


def fill(text, values):
    """Returns the text with a value at each place. A value stays within its line, or has lines of its own."""
    def put(match):
        name, line, _ = match.groups()
        if name not in values:
            raise PageError(f"a page has a place for {name}, but must have one of: {', '.join(sorted(values))}")
        return f"<!-- scale: {name} -->{line}{values[name]}{line}<!-- end -->"

    return PLACE.sub(put, text)


def number(value):
    return "–" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:,.15g}"


def table(head, rows):
    """Returns a Markdown table. Columns whose names begin with > are aligned to the right."""
    lines = ["| " + " | ".join(name.lstrip(">") for name in head) + " |",
             "|" + "|".join("--:" if name.startswith(">") else "---" for name in head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def of_quotas(quotas):
    def pair(rate, size):
        return number(rate) + (f" (bucket {number(size)})" if size != rate else "")

    rows = []
    for quota in quotas.values():
        default = quota.values()
        others, raised = quota.values(other=True), quota.values(raised=True)
        rows.append([f"[{quota.service}: {quota.name}]({quota.source})", quota.unit, pair(*default),
                     "the same" if others == default else pair(*others), "–" if raised == default else pair(*raised),
                     "yes" if quota.adjustable else "no", quota.code, quota.verified, quota.note])
    return table(["limit", "unit", ">default", ">other Regions", ">raised", "adjustable", "code", "verified", "note"], rows)


def of_knees(result, quotas):
    lengths = sorted(result["knees"], key=int)
    short, long = (result["knees"][length] for length in lengths)
    others = result["other Regions"]
    names = sorted({*short, *long}, key=lambda name: (short.get(name) or long.get(name) or 1e9, name))
    rows = [[label(quotas, name), number(short.get(name)), number(others.get(name, short.get(name))),
             number(long.get(name, short.get(name)))] for name in names]
    works = [f">work of {length} s" for length in lengths]
    return table(["limit", works[0], f"{works[0]}, other Regions", works[1]], rows)


def seconds(pair):
    return " / ".join(f"{number(value)} s" for value in pair)


def limit_cells(one):
    asked = f"{number(one['throttled'])} of {number(one['asked'])}" if one["throttled"] else "none"
    bucket = f" (bucket {number(one['size'])})" if one["size"] != one["quota"] else ""
    return [number(one["quota"]) + bucket, number(one["peak"]), asked, seconds(one["delay"]) if one["throttled"] else "–"]


def of_scenario(both, quotas):
    """Returns a row for each limit that throttled or nearly did, under the default quotas or the raised ones."""
    rows = []
    for name in quotas:
        default, raised = (both[key]["limits"][name] for key in ("default", "raised"))
        used = max(one["peak"] / one["quota"] for one in (default, raised)) > WORTH_SHOWING
        if default["limited"] and (used or default["throttled"] or raised["throttled"]):
            rows.append([label(quotas, name), *limit_cells(default), *limit_cells(raised)])
    after = [">raised", ">peak", ">throttled", ">delay p50 / p99"]
    return table(["limit", ">quota", ">peak", ">throttled", ">delay p50 / p99", *after], rows)


def of_runs(result, quotas):
    rows = []
    for scenario in SCENARIOS:
        for name in ("default", "raised"):
            one = result["scenarios"][scenario.id][name]
            rows.append([scenario.title if name == "default" else "", name, *of_outcomes(one),
                         label(quotas, one["first"]) if one["first"] else "none"])
    outcomes = [">starts", ">work begun", ">skipped", "failed", ">not yet", ">leases ended", ">start to work, p50 / p99",
                ">locks checked of those due"]
    return table(["scenario", "quotas", *outcomes, "exhausted first"], rows)


def of_outcomes(one):
    failed = ", ".join(f"{number(count)} at {step}" for step, count in one["failed"].items()) or "none"
    sweeps = [f"{number(past['checked'])} of {number(past['due'])}" for past in one["sweeps"]]
    counts = [number(one[name]) for name in ("starts", "begun", "skipped")]
    return [*counts, failed, number(one["waiting"]), number(one["lapsed"]), seconds(one["delay"]),
            sweeps[-1] if sweeps else "none ended"]


SHOWN = {"sweep_every": "seconds between sweeps", "sweep_most": "seconds after which a sweep begins with no further lock",
         "reaper_timeout": "time-out of the reaper, in seconds", "memory": "memory of a function, in MB",
         "at_once": "locks that a sweep checks at once", "page": "locks of a page of the index",
         "shards": "shards of the index", "lease": "first lease, in seconds",
         "heartbeat": "time to the second heartbeat, in seconds",
         "beat_most": "longest time between heartbeats, in seconds", "sdk_attempts": "attempts of the SDK at a request"}


def values(result, quotas):
    """Returns the text for each place of the page."""
    facts, assumed = result["settings"], result["assumed"]
    even = result["scenarios"]["uniform"]["raised"]["limits"]
    units, sweep = facts["units"], result["sweep"]
    figures = {
        **{name: result["world"][name] for name in ("rate", "locks", "seconds", "work", "seed")},
        "skips of one lock": result["skips"]["partition"], "skips": result["skips"]["put-events"],
        "pairs": result["pairs"], "shards": facts["shards"],
        "sweep live": sweep["live"], "sweep dead": sweep["dead"], "sweep throttled": sweep["dead, throttled"],
        "units of a run": sum(units[step] for step in ("acquire", "heartbeat", "release", "note")),
        "units of a heartbeat": units["heartbeat"], "units of a release": units["release"],
        "units of a refusal": units["refused"],
        "concurrency": even["concurrency"]["peak"], "writes": even["table-write"]["peak"],
        "table ms": assumed["table_ms"], "prepare ms": assumed["prepare_ms"],
    }
    scenarios = {f"scenario {name}": of_scenario(both, quotas) for name, both in result["scenarios"].items()}
    settings = table(["setting", ">value"], [[words, number(facts[name])] for name, words in SHOWN.items()])
    return {name: number(value) for name, value in figures.items()} | scenarios | {
        "date": result["date"], "quotas": of_quotas(quotas), "knees": of_knees(result, quotas),
        "runs": of_runs(result, quotas), "settings": settings}


def expected(root, quotas):
    target = root / "benches/results/scale.json"
    if not target.exists():
        raise PageError(f"{target.relative_to(root)} is missing: run `benches/scale`")
    result = json.loads(target.read_text())
    known = values(result, quotas)
    return result, {root / page: fill((root / page).read_text(), known) for page in PAGES}


def write(root, quotas):
    """Fills the pages, and has the report write the chart."""
    _, texts = expected(root, quotas)
    for page, text in texts.items():
        page.write_text(text)
    return report.main([], root)


def check(root, settings, date, quotas):
    """Names what the pages, the results and the sources do not agree on."""
    result, texts = expected(root, quotas)
    wrong = [f"{page.relative_to(root)} is not what benches/results/scale.json gives: run `benches/scale --write`"
             for page, text in texts.items() if text != page.read_text()]
    now = json.loads(json.dumps(settings.facts(), default=vars))
    old = result["settings"]
    wrong += [f"{name} is {value}, but the results are of {old.get(name)}: run `make bench-scale`"
              for name, value in now.items() if value != old.get(name)]
    if date != result["date"]:
        wrong.append(f"benches/quotas.toml is of {date}, the results of {result['date']}: run `make bench-scale`")
    for line in wrong:
        print(f"scale: {line}", file=sys.stderr)
    return 1 if wrong else 0


def show(scenario, both, quotas):
    """Returns the figures of a scenario as text for a terminal."""
    lines = [f"{scenario.id}: {scenario.title}"]
    for name in ("default", "raised"):
        one = both[name]
        lines.append(f"  {name}: {one['starts']:,} starts, work begun {one['begun']:,}, skipped {one['skipped']:,}, failed "
                     f"{sum(one['failed'].values()):,}, not yet {one['waiting']:,}; to work {seconds(one['delay'])}")
        for limit in one["order"]:
            quota, peak, throttled, delay = limit_cells(one["limits"][limit])
            used = f"peak {peak}, quota {quota}, throttled {throttled}, delay {delay}"
            lines.append(f"    {label(quotas, limit)}: {used}")
    return "\n".join(lines) + "\n"
