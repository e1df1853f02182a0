#!/usr/bin/env python3
"""Compares the time and the memory of `lockstep run -- true` with those of `true`: command.py RESULTS RIVALS LOCKSTEP TABLE

  RESULTS    the folder that gets command-time.json and command-memory.json
  RIVALS     the folder into which benches/rivals/pairs/install has installed boto3
  LOCKSTEP   the static `lockstep` command
  TABLE      a lock table of DynamoDB Local

The environment must be that of a local stack.
"""
import json
import os
import statistics
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

ROUNDS = 60
TRUE = "true"
SLEEP = 0.4
TIME_NOTE = (
    "From spawn to exit, each in its own process; the subjects take turns. `over true` is the time of a round minus that of"
    " `true` in the same round. CPU is user and system time of the process and of its children that it has waited for."
    " The lock is free and exists. boto3 is benches/rivals/pairs/wrap.py, which does not renew.")
MEMORY_NOTE = (
    "VmHWM of the processes while the command sleeps: of `lockstep run`, of the watchdog that it starts, and of"
    " the wrapper in Python.")


def environment():
    keep = ("PATH", "HOME", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION")
    found = {name: os.environ[name] for name in keep if name in os.environ}
    return {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", **found}


def timed(command, env):
    """Runs a command, and returns its wall-clock and CPU milliseconds."""
    begin = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, env, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    wall = (time.perf_counter() - begin) * 1000
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, (usage.ru_utime + usage.ru_stime) * 1000


def peak_mb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def peaks(command, env):
    """Returns the peak memory in MB of a command's process, and the sum for its children that run the same program."""
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(SLEEP)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    own = os.readlink(f"/proc/{process.pid}/exe")
    same = [child for child in children if os.readlink(f"/proc/{child}/exe") == own]
    found = peak_mb(process.pid), sum(peak_mb(child) for child in same)
    process.wait()
    return found


def row(figure, subject, unit, samples, base=None):
    middle = statistics.median(samples)
    fields = {"figure": figure, "subject": subject, "unit": unit, "median": round(middle, 3),
              "min": round(min(samples), 3), "max": round(max(samples), 3), "n": len(samples)}
    if base:
        fields["ratio"] = round(middle / statistics.median(base), 3)
    return fields


def noise(rows_of_samples):
    """Returns a sentence that says how far the medians of the four quarters of each row are apart."""
    spreads = []
    for samples in rows_of_samples:
        size = len(samples) // 4
        medians = [statistics.median(samples[at * size:(at + 1) * size]) for at in range(4)]
        spreads.append(100 * (max(medians) - min(medians)) / statistics.median(samples))
    return (f" Noise: the medians of the four quarters of a row differ by {statistics.median(spreads):.0f} % (median of"
            f" the rows), at most {max(spreads):.0f} %.")


def machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), os.uname().machine)
    return f"{os.cpu_count()} cores, {model}; DynamoDB Local beside the measurement"


def write(folder, name, title, against, note, rows):
    head = {"id": name, "title": title, "date": f"{datetime.now(timezone.utc):%Y-%m-%d}", "machine": machine(),
            "against": against, "note": note}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    laid_out = ",\n".join(f"    {json.dumps(each)}" for each in rows)
    lines.append(f'  "rows": [\n{laid_out}\n  ]')
    (Path(folder) / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"\n{title}")
    for each in rows:
        print(f"  {json.dumps(each)}")


def measure_time(folder, subjects, env):
    samples = {name: [] for name in subjects}
    for round_ in range(ROUNDS + 1):
        for name, command in subjects.items():
            measured = timed(command, env)
            if round_ > 0:  # the first round creates items and fills caches
                samples[name].append(measured)
    rows = []
    for at, figure in ((0, "wall"), (1, "CPU")):
        base = [each[at] for each in samples[TRUE]]
        for name, taken in samples.items():
            rows.append(row(figure, name, "ms", [each[at] for each in taken], base if at == 0 else None))
        for name, taken in samples.items():
            if name != TRUE:
                over = [each[at] - zero for each, zero in zip(taken, base)]
                rows.append(row(f"{figure} over true", name, "ms", over))
    series = [[each[at] for each in taken] for taken in samples.values() for at in (0, 1)]
    write(folder, "command-time", "Time of `lockstep run -- true`", TRUE, TIME_NOTE + noise(series), rows)


def measure_memory(folder, lockstep, python, env):
    guards, watchdogs, wrappers = [], [], []
    for _ in range(7):
        guard, watchdog = peaks([*lockstep, "sleep", "0.8"], env)
        guards.append(guard)
        watchdogs.append(watchdog)
        wrappers.append(peaks([*python, "sleep", "0.8"], env)[0])
    rows = [row("peak", "lockstep run", "MB", guards), row("peak", "lockstep run, watchdog", "MB", watchdogs),
            row("peak", "boto3 wrapper", "MB", wrappers)]
    write(folder, "command-memory", "Memory of `lockstep run`", "", MEMORY_NOTE, rows)


def main():
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    folder, rivals, binary, table = sys.argv[1:]
    env = environment() | {"LOCKSTEP_TABLE": table}
    lockstep = [binary, "run", "--lock", "command", "--"]
    wrapper = str(Path(__file__).resolve().parent / "rivals" / "pairs" / "wrap.py")
    python = [f"{rivals}/python/bin/python", wrapper, table, "command"]
    subjects = {TRUE: [TRUE], "lockstep run": [*lockstep, TRUE], "boto3 wrapper": [*python, TRUE]}
    measure_time(folder, subjects, env)
    measure_memory(folder, lockstep, python, env)


if __name__ == "__main__":
    main()
