"""Counts what AWS bills of runs, and computes the dollars."""
import json
import math
import re
import tomllib
from collections import Counter
from pathlib import Path

from . import figures, rows

ROOT = Path(__file__).resolve().parent.parent.parent
AGAINST = "exclusive-run"
CONTAINER = "lockstep run"
SECONDS = {"5 min": 300, "1 h": 3600, "24 h": 86_400}
WAIT, SKIP = "an hour in the queue", "a skip"
# Runs whose counts are a difference: the figure of [runs] that has both runs, and the runs to subtract from it.
PARTS = {SKIP: ("1 h and a skip", ("1 h",)), WAIT: ("1 h and 5 min after its turn", ("1 h", "5 min"))}
RUNS = 1000
TRANSITION, WRITES, READS = "state transition", "write request unit", "read request unit"
CALLS = "Lambda request"
# The functions whose calls are billed. Their durations were measured.
FUNCTIONS = ("acquire-lock", "heartbeat", "release-lock", "reaper")
GOALS = [("dollars of 1,000 runs of 1 h", 0.42), ("state transitions of 1 h", 14), ("state transitions of 24 h", 118),
         ("history events of 24 h", 700)]


class CostError(Exception):
    """A cost that cannot be computed."""


class Report:
    """The rows of the report, and the counts and prices behind them."""

    def __init__(self):
        self.prices = tomllib.loads((ROOT / "benches/prices.toml").read_text())
        self.runs, self.steps = figures.read("runs"), figures.read("steps")
        self.calls = Calls(self.prices)
        self.counts = {}
        for way in (AGAINST, "weave"):
            for run in SECONDS:
                self.counts[way, run] = self.of_workflow(way, run)
        for run, (both, parts) in PARTS.items():
            counts = self.of_workflow(AGAINST, both)
            for part in parts:
                counts.subtract(self.counts[AGAINST, part])
            self.counts[AGAINST, run] = counts
        self.counts |= {(CONTAINER, run): counts for run, counts in self.of_container().items()}
        for name, rival in tomllib.loads((ROOT / "benches/rivals/cost.toml").read_text()).items():
            self.counts |= {(name, run): counts for run, counts in of_rival(rival).items()}
        self.samples = self.rows()
        self.place = f"counts on virtual time; prices of {self.prices['region']}, {self.prices['date']}"
        self.note = self.describe()

    def of_workflow(self, way, run):
        """Returns what AWS bills for a run of [runs]: the counts of the run itself, and those of its steps."""
        prefix = f"{way}, {run}: "
        counted = {name.removeprefix(prefix): count for name, count in self.runs.items() if name.startswith(prefix)}
        if not counted:
            raise CostError(f"[runs] of benches/figures.toml has no figure {prefix!r}: run `make figures`")
        counts = Counter({TRANSITION: counted["state transitions"], "history event": counted["history events"],
                          "custom event": counted.get("PutEvents", 0)})
        requests = 0
        for step, times in counted.items():
            of_step = self.of_step(step)
            requests += times * of_step.pop("request", 0)
            for what, count in of_step.items():
                counts[what] += times * count
        if requests != counted["requests to the table"]:
            raise CostError(f"{prefix}the simulation counts {counted['requests to the table']} requests to the table, "
                            f"the steps of benches/figures.toml have {requests}")
        counts["request to the table"] = requests
        for function in FUNCTIONS:
            calls = counted.get(f"invocations of {function}", 0)
            counts[CALLS] += calls
            for kind in ("warm", "cold"):
                counts[f"Lambda ms, {kind}"] += calls * self.calls.ms(function, kind)
        return counts

    def of_step(self, step):
        """Returns the requests and the units of a step. They are empty for a name that is not a step."""
        prefix, counts = f"{step}: ", Counter()
        for name, count in self.steps.items():
            if name.startswith(prefix):
                what = name.removeprefix(prefix)
                counts[{"write units": WRITES, "read units": READS}.get(what, "request")] += count
        return counts

    def of_container(self):
        """Returns the counts of `lockstep run`, which renews its lease at the pace of the default --lease."""
        def sum_of(**steps):
            counts = Counter()
            for step, times in steps.items():
                for what, count in self.of_step(f"container: {STEPS_OF_CONTAINER[step]}").items():
                    counts["request to the table" if what == "request" else what] += times * count
            return counts
        beat = beat_of_container()
        runs = {run: sum_of(acquire=1, renew=math.floor(seconds / beat), release=1) for run, seconds in SECONDS.items()}
        return runs | {WAIT: sum_of(queue=1, poll=polls_of_container(3600))}

    def dollars(self, counts):
        """Returns the dollars of 1,000 runs by service. Every call is billed as a cold start."""
        price = {name: price["dollars"] / price["per"] for name, price in self.prices["price"].items()}
        seconds = counts["Lambda ms, cold"] / 1000
        parts = {
            "Step Functions": counts[TRANSITION] * price[TRANSITION],
            "Lambda": counts[CALLS] * price[CALLS] + self.calls.gigabytes * seconds * price["Lambda GB-second, arm64"],
            "DynamoDB": counts[WRITES] * price[WRITES] + counts[READS] * price[READS],
            "EventBridge": counts["custom event"] * price["custom event"],
        }
        return {service: dollars * RUNS for service, dollars in parts.items()}

    def rows(self):
        samples = rows.Samples()
        for (way, run), counts in self.counts.items():
            samples.add(f"{run}, 1,000 runs", way, "dollars", round(sum(self.dollars(counts).values()), 4))
        for (way, run), counts in self.counts.items():
            for service, dollars in self.dollars(counts).items():
                if run == "1 h" and dollars:
                    samples.add(f"{run}, of which {service}", way, "dollars", round(dollars, 5))
        for (way, run), counts in self.counts.items():
            for what, count in counts.items():
                if count:
                    samples.add(f"{run}: {plural(what)}", way, "", count)
        return samples

    def describe(self):
        own = self.counts[AGAINST, "1 h"]
        values = [sum(self.dollars(own).values()), own[TRANSITION], self.counts[AGAINST, "24 h"][TRANSITION],
                  self.counts[AGAINST, "24 h"]["history event"]]
        goals = [f"{goal}: {value:.3g}, at most {most:g}, {'met' if value <= most else 'NOT met'}"
                 for (goal, most), value in zip(GOALS, values)]
        beats = self.runs[f"{AGAINST}, 1 h: renew"]
        per = self.prices["price"][TRANSITION]
        ends = 2 * RUNS * per["dollars"] / per["per"]
        paragraphs = [
            f"""Dollars of 1,000 runs whose work succeeds, and what AWS bills of one run. The task, log lines, the sweep of the stack
            (one call a minute) and alarms are left out, and so are free tiers. The rows of a skip and of an hour in the queue show
            what a second run adds while another run holds the lock. An hour in the queue includes the hand-over, but not the work.""",
            f"""Goals of exclusive-run: {"; ".join(goals)}. Of the {own[TRANSITION]} transitions of an hour {beats} are
            heartbeats. AWS does not document whether the start and the end of an execution are transitions too: they would add
            {ends:g} dollars.""",
            f"""exclusive-run and weave are executed on virtual time, and the requests of their steps are counted on DynamoDB Local.
            Tests compare all counts with benches/figures.toml. A sealed task token is assumed to have {sealed_characters():,}
            characters, with which a heartbeat is {self.steps["renew: write units"]} write units. The work of weave is one Wait
            state: without a task, the reaper gets no event. By calculation, `lockstep run` renews every
            {beat_of_container():.1f} s, and asks {polls_of_container(3600)} times in an hour in the queue. The counts of the
            semaphore and of fixed heartbeats are constants in benches/rivals/cost.toml. The semaphore has no heartbeat and no
            queue.""",
            f"""*Lambda ms* is the duration in `cold-start.json` or `warm-calls.json` times {self.calls.factor:.1f}: one vCPU is
            {self.calls.factor:.1f} times the CPU of a function of {self.calls.megabytes} MB. This assumes that a call only
            computes; nothing was timed on AWS. The dollars bill every call as a cold start, on arm64."""]
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


class Calls:
    """How long a call of a function takes, as AWS bills it."""

    def __init__(self, prices):
        self.megabytes = int(found(r"^    MemorySize: (\d+)$", ROOT / "infra/template.yaml"))
        self.gigabytes = self.megabytes / 1024
        self.factor = prices["lambda"]["mb_of_a_vcpu"] / self.megabytes
        self.warm = medians("warm-calls", "warm call, p50")
        init = medians("cold-start", "spawn to the request for an event (init)")
        first = medians("cold-start", "first answer")
        self.cold = {function: init[function] + first[function] for function in FUNCTIONS}

    def ms(self, function, kind):
        return math.ceil(getattr(self, kind)[function] * self.factor)


STEPS_OF_CONTAINER = {"acquire": "acquire a free lock", "renew": "renew", "release": "release",
                      "queue": "enter the queue", "poll": "poll in the queue"}


def of_rival(rival):
    """Returns the counts of each run from the rival's constants: those of a run, and those that grow with its time."""
    def after(seconds, more):
        counts = Counter(rival["run"])
        if more:
            for what, count in more.items():
                if what != "seconds":
                    counts[what] += round(count * seconds / more["seconds"])
        return counts
    runs = {run: after(seconds, rival.get("every")) for run, seconds in SECONDS.items()}
    if "waiting" in rival:
        waited = after(3600, rival["waiting"])
        waited.subtract(rival["run"])
        runs[WAIT] = waited
    return runs


def beat_of_container():
    """Returns the seconds between renewals: a third of the lease in the record, which is --lease without DEAD_AFTER."""
    lease = found(r'value_name = "TIME", default_value = "(\d+)s", value_parser = parse::lease', ROOT / "cli/src/args/run.rs")
    skew, times = (found(pattern, ROOT / "core/src/domain/time.rs") for pattern in (
        r"CLOCK_SKEW: Seconds = Seconds::of\((\d+)\)", r"DEAD_AFTER: Seconds = Seconds::of\((\d+) \* CLOCK_SKEW"))
    return (int(lease) - int(times) * int(skew)) / 3


def sealed_characters():
    return int(found(r"const SEALED: usize = (\d+);", ROOT / "tests/integration/cost/scene.rs"))


def polls_of_container(seconds):
    """Returns the number of requests in a wait.

    The interval between requests is the time waited divided by POLL_SHARE. It is at least POLL_INTERVAL, and at most
    POLL_INTERVAL_MAX and a quarter of the lease. Jitter shortens it by an eighth on average.
    """
    source = ROOT / "cli/src/lease/acquire.rs"
    first, most = (int(found(rf"const {name}: Duration = Duration::from_secs\((\d+)\)", source))
                   for name in ("POLL_INTERVAL", "POLL_INTERVAL_MAX"))
    share = int(found(r"const POLL_SHARE: u32 = (\d+);", source))
    most = min(most, 3 * beat_of_container() / 4)
    waited = polls = 0
    while waited < seconds:
        waited += 7 / 8 * min(most, max(first, waited / share))
        polls += 1
    return polls


def found(pattern, path):
    match = re.search(pattern, path.read_text(), re.MULTILINE)
    if match is None:
        raise CostError(f"{path.relative_to(ROOT)} has no line like {pattern!r}, which the cost is computed from")
    return match[1]


def medians(name, figure):
    result = json.loads((ROOT / f"benches/results/{name}.json").read_text())
    return {row["subject"]: row["median"] for row in result["rows"] if row["figure"] == figure}


def plural(what):
    """Returns the plural of a count's name: `history event` → `history events`."""
    head, comma, rest = what.partition(",")
    return f"{head}s{comma}{rest}".replace("request to the tables", "requests to the table").replace("mss", "ms")
