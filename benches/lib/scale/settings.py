"""Reads the settings of Lockstep that the simulation needs, each from the file that decides it."""
import json
import math
import re
from dataclasses import asdict, dataclass

GRANTED = ["Check Input", "Acquire Lock", "Lock Is Ours", "Run Exclusively"]
WORK = ["Begin Work", "Run Batch", "Was Work Stopped", "Release Lock"]
AGAIN = ["May Start Again", "Wait For Capacity", "Confirm Lease", "Is Lease Held", "Run Batch"]
SKIPPED = ["Check Input", "Acquire Lock", "Lock Is Ours", "Report Skip"]
KB = 1024
# The error of a state if Lambda does not start its function, and the error if DynamoDB throttles the function.
REFUSED, UNAVAILABLE = "Lambda.TooManyRequestsException", "Lockstep.Unavailable"


class SettingError(Exception):
    """A setting that its file does not have."""


@dataclass(frozen=True)
class Retry:
    """A retry rule of a state."""
    interval: float
    attempts: int
    rate: float
    most: float
    jitter: bool

    def wait(self, number, random):
        """Returns the seconds before retry `number`, or None after the last one."""
        if number > self.attempts:
            return None
        # The power would overflow for the most attempts that a retrier may allow. 60 is enough for the longest wait.
        wait = min(self.most, self.interval * self.rate ** min(number - 1, 60))
        return random.uniform(0, wait) if self.jitter else wait


@dataclass(frozen=True)
class Settings:
    sweep_every: int
    sweep_most: int
    lock_most: int
    reaper_timeout: int
    reaper_reserved: bool
    memory: int
    shards: int
    page: int
    at_once: int
    dead_after: int
    look_again: int
    overdue_most: int
    overdue_slack: int
    lease: int
    heartbeat: int
    beat_share: int
    beat_most: int
    lease_beats: int
    sdk_attempts: int
    before_lock: int
    before_work: int
    after_work: int
    after_skip: int
    starts: int
    start_first: int
    start_most: int
    retries: dict
    calls: dict
    units: dict

    def beat(self, age):
        """Returns the seconds until the next heartbeat of a run of that age, as the definition computes them."""
        most = max(self.heartbeat, self.beat_most)
        return math.floor(min(most, self.heartbeat + max(0.0, age) / self.beat_share))

    def lease_of(self, beat):
        """Returns the seconds of the lease that a heartbeat sets if the next one follows in `beat` seconds."""
        return max(self.lease, self.lease_beats * (beat + 1)) if beat > self.heartbeat else self.lease

    def facts(self):
        """Returns all settings but the durations of calls, which change with every measurement."""
        known = asdict(self)
        return {name: value for name, value in known.items() if name != "calls"}


def read(root):
    template = text(root / "infra/template.yaml")
    definition = json.loads(text(root / "statemachines/exclusive-run.asl.json"))
    results = root / "benches/results"
    return Settings(**of_template(template), **of_source(root), **of_definition(definition),
                    calls=calls(results), units=units(results))


def text(path):
    try:
        return path.read_text()
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror}") from error


def found(pattern, where, content):
    match = re.search(pattern, content, re.MULTILINE)
    if not match:
        raise SettingError(f"{where}: nothing matches {pattern}")
    return match.group(1)


def number(pattern, where, content):
    return int(found(pattern, where, content).replace("_", "").replace(",", ""))


def block(name, content):
    """Returns the lines of a resource of the template."""
    return found(rf"^  {name}:\n((?:    .*\n|\n)+)", f"infra/template.yaml, {name}", content)


def of_template(template):
    reaper, sweep = block("ReaperFunction", template), block("Sweep", template)
    found(r"BillingMode: (PAY_PER_REQUEST)", "infra/template.yaml, LockTable", block("LockTable", template))
    return {
        "sweep_every": 60 * number(r"ScheduleExpression: rate\((\d+) minutes?\)", "infra/template.yaml, Sweep", sweep),
        "reaper_timeout": number(r"^      Timeout: (\d+)", "infra/template.yaml, ReaperFunction", reaper),
        "reaper_reserved": "ReservedConcurrentExecutions" in reaper,
        "memory": number(r"^    MemorySize: (\d+)", "infra/template.yaml, Globals", template),
    }


def of_source(root):
    def constant(file, name, shape):
        pattern = rf"^(?:pub )?(?:\(super\) )?const {name}: \w+ = {shape};"
        return number(pattern, file, text(root / file))

    seconds, plain = r"Seconds::of\(([\d_]+)\)", r"([\d_]+)"
    check = "shared/src/contract/options/check.rs"
    heartbeat, time = constant(check, "HEARTBEAT_OF_WORK", plain), text(root / "core/src/domain/time.rs")
    skews = number(r"DEAD_AFTER: Seconds = Seconds::of\((\d+) \* CLOCK_SKEW", "core/src/domain/time.rs", time)
    sweep = "shared/src/service/reap/sweep.rs"
    overdue = [constant("core/src/domain/lease.rs", name, seconds) for name in ("OVERDUE_MAX", "OVERDUE_SLACK")]
    return {
        "sweep_most": constant(sweep, "TIME_MAX", seconds),
        "lock_most": constant(sweep, "LOCK_TIME", r"Duration::from_secs\((\d+)\)"),
        "shards": constant("core/src/store.rs", "SHARDS", plain),
        "page": constant("core/src/store.rs", "DUE_PAGE", plain),
        "at_once": constant("shared/src/service/reap.rs", "AT_ONCE", plain),
        "look_again": constant("core/src/domain/decide.rs", "LOOK_AGAIN", seconds),
        "dead_after": skews * constant("core/src/domain/time.rs", "CLOCK_SKEW", seconds),
        "overdue_most": overdue[0],
        "overdue_slack": overdue[1],
        "lease": heartbeat * number(r"seconds\((\d+) \* heartbeat\)", check, text(root / check)),
        "heartbeat": heartbeat,
        "sdk_attempts": number(r"with_max_attempts\((\d+)\)", "shared/src/aws.rs", text(root / "shared/src/aws.rs")),
    }


def of_definition(definition):
    where = "statemachines/exclusive-run.asl.json"
    states = definition["States"]
    follow(where, states, GRANTED)
    follow(where, states, SKIPPED)
    branches = states["Run Exclusively"]["Branches"]
    work = branches[0]["States"]
    follow(where, work, WORK)
    keep = branches[1]["States"]["Keep Lease"]
    call = json.dumps(keep["Arguments"])
    follow(where, work, AGAIN)
    pause = work["Wait For Capacity"]["Seconds"]
    split = WORK.index("Run Batch") + 1
    return {
        "before_lock": GRANTED.index("Acquire Lock") + 1,
        # The last 1 is Keep Lease, which begins in parallel with the work.
        "before_work": len(GRANTED) - GRANTED.index("Acquire Lock") - 1 + split + 1,
        "after_work": len(WORK) - split,
        "after_skip": len(SKIPPED) - SKIPPED.index("Acquire Lock") - 1,
        "beat_most": number(r"maxHeartbeatSeconds : (\d+)", where, keep["TimeoutSeconds"]),
        "beat_share": number(r"\$answer\.grant\.token\]\) / (\d+)", where, keep["TimeoutSeconds"]) // 1000,
        "lease_beats": number(r"(\d+) \* \(\$beat \+ 1\)", where, call),
        "starts": number(r"\$starts < (\d+)", where, json.dumps(work["May Start Again"])),
        "start_first": number(r"(\d+) \* \$power\(2, \$starts - 1\)", where, pause),
        "start_most": number(r"\$min\(\[(\d+), ", where, pause),
        "retries": {error: {"acquire": retry(states["Acquire Lock"], error), "heartbeat": retry(keep, error),
                            "release": retry(work["Release Lock"], error)} for error in (REFUSED, UNAVAILABLE)},
    }


def follow(where, states, names):
    """Raises SettingError if the definition does not lead from each of these states to the next."""
    for one, other in zip(names, names[1:]):
        state = states.get(one, {})
        rules = [state, *state.get("Choices", [])]
        next_ones = [rule.get(key) for rule in rules for key in ("Next", "Default")]
        if other not in next_ones:
            raise SettingError(f"{where}: {one} does not lead to {other}, as the simulation has it")


def retry(state, error):
    """Returns the first retry rule of the state that names the error or States.ALL."""
    for rule in state.get("Retry", []):
        if error in rule["ErrorEquals"] or rule["ErrorEquals"] == ["States.ALL"]:
            return Retry(rule.get("IntervalSeconds", 1), rule.get("MaxAttempts", 3), rule.get("BackoffRate", 2.0),
                         rule.get("MaxDelaySeconds", 31_622_400), rule.get("JitterStrategy") == "FULL")
    raise SettingError(f"statemachines/exclusive-run.asl.json: a state that calls a function does not retry {error}")


def rows(results, name, subject="Lockstep"):
    content = json.loads(text(results / f"{name}.json"))
    return content["note"], {row["figure"]: row["median"] for row in content["rows"] if row["subject"] == subject}


def calls(results):
    """Returns for each function the milliseconds of a warm call and of a cold start, and its requests to the table."""
    _, requests = rows(results, "requests")
    steps = {"acquire": ("acquire-lock", requests["acquire, free"]),
             "heartbeat": ("heartbeat", requests["renew with a waiting beat"]),
             "release": ("release-lock", requests["release with a waiting beat"])}
    known = {}
    for step, (function, count) in steps.items():
        _, warm = rows(results, "warm-calls", function)
        _, cold = rows(results, "cold-start", function)
        known[step] = {"warm": warm["warm call, p50"], "cold": cold["spawn to first answer"], "requests": count}
    _, warm = rows(results, "warm-calls", "reaper")
    _, cold = rows(results, "cold-start", "reaper")
    return known | {"reaper": {"warm": warm["warm call, p50"], "cold": cold["spawn to first answer"], "requests": 0}}


def units(results):
    """Returns the write units of the table and of the index of due locks, for each step of a workflow's run.

    The measured units are those of a lock without a task token. The note of item-size.json says how many bytes a token adds
    to the item. The first transaction of a release with a task token fails, and AWS bills it like one that succeeds."""
    note, sizes = rows(results, "item-size")
    _, measured = rows(results, "write-units")
    bare = sizes["1 holder, 0 waiting"]
    token = number(r"adds about ([\d,]+) bytes", "benches/results/item-size.json", note)
    item, with_token = -(-bare // KB), -(-(bare + token) // KB)
    entry = measured["acquire"] - item
    history = (measured["release"] - entry - 2 * item) // 2
    transaction = 2 * (with_token + history)
    return {"acquire": item, "refused": with_token, "heartbeat": with_token, "release": 2 * transaction, "entry": entry,
            "reschedule": with_token, "note": history, "pair": measured["acquire"] + measured["release"] - 2 * entry}
