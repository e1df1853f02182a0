"""Audits an account with 100,000 executions, and checks the figures and the number of requests."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import account
import count
from stackctl.settings import ROOT, architecture

COMMAND = ROOT / "target" / f"{'aarch64' if architecture() == 'arm64' else 'x86_64'}-unknown-linux-gnu/debug/lockstep"
PREFIX = "audited-"
KINDS = ["apart", "at times", "apart", "twice", "by chance", "apart", "always", "apart"]


def plan():
    """Yields 200 state machines with 100,000 runs: one has 30,000, nine have 5,000, and the rest are small."""
    sizes = [30_000] + [5_000] * 9 + [130] * 189 + [430]
    for n, size in enumerate(sizes):
        minutes = 30 * 24 * 60 // size
        schedule = None
        if n % 4 == 0:
            schedule = f"rate({minutes} minutes)" if n % 8 else "cron(0 * * * ? *)"
        yield f"{PREFIX}{n:03d}", KINDS[n % len(KINDS)], size, schedule


def audit(*flags):
    return [COMMAND, "audit", "--prefix", PREFIX, "--output", "json", *map(str, flags)]


def timed(*flags):
    begin = time.monotonic()
    done = subprocess.run(audit(*flags), capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), time.monotonic() - begin, done.stderr


def pages(state):
    """Returns the number of pages in the state file: all lines but the first."""
    return max(state.read_text().count("\n") - 1, 0) if state.exists() else 0


def interrupted(state, after):
    """Starts an audit, and interrupts it once its state has `after` pages. Returns the number of pages in the state."""
    process = subprocess.Popen(audit("--rate", 50, "--state", state), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 300
    while pages(state) < after:
        assert process.poll() is None and time.monotonic() < end, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "resume" in said, (process.returncode, said)
    return pages(state)


def compared(report, made):
    """Checks each figure of the report, and returns the number of state machines."""
    audited = {machine["name"]: machine for machine in report["stateMachines"]}
    assert audited.keys() == made.keys(), f"{len(audited)} audited, {len(made)} made"
    for name, runs in made.items():
        expected, found = count.figures(runs), count.reported(audited[name])
        assert expected == found, f"{name}: counted {expected}, reported {found}"
    return len(audited)


def main():
    begin = time.monotonic()
    made = account.make(list(plan()), int(time.time() * 1000) - 60_000)
    runs = sum(map(len, made.values()))
    print(f"audit-scale: {len(made)} state machines with {runs} runs put into the stack in {time.monotonic() - begin:.0f} s")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-audit-"))
    page, state = folder / "audit.html", folder / "audit.state"
    report, took, said = timed("--html", page)
    machines = compared(report, made)
    overlapping = sum(machine["overlaps"]["runs"] > 0 for machine in report["stateMachines"])
    print(f"audit-scale: {machines} state machines as counted, {overlapping} with overlaps; {report['requests']} requests "
          f"in {took:.0f} s at the default pace; page of {page.stat().st_size // 1024} KiB")
    print("".join(f"audit-scale:   {line}\n" for line in said.splitlines()[-2:]), end="")
    left = interrupted(state, report["requests"] // 2)
    report, took, _ = timed("--rate", 50, "--state", state)
    compared(report, made)
    asked = pages(state) - left
    assert report["requests"] == asked, f"{report['requests']} requests for {asked} missing pages"
    print(f"audit-scale: interrupted with {left} pages, resumed with {report['requests']} requests in {took:.0f} s, the same figures")
    report, took, _ = timed("--state", state)
    assert report["requests"] == 0
    print(f"audit-scale: a third audit from the state in {took:.1f} s without a request")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("AWS_REGION", "us-east-1")
    sys.exit(main())
