"""Runs the probes on the stack that the environment names: python -m probes [MODULE ...]

With LOCKSTACK_PROBE_STOCK=1 the emulator has no corrections, and the probes of corrections are expected to fail. If one
passes, this version of the emulator no longer needs its correction.
"""
import concurrent.futures
import importlib
import os
import pkgutil
import sys
import time
import unittest
from pathlib import Path

STOCK = bool(os.environ.get("LOCKSTACK_PROBE_STOCK"))
RETRIED = 3  # if more probes fail, none is repeated


def modules(wanted):
    found = [info.name for info in pkgutil.iter_modules([str(Path(__file__).parent)])
             if info.name.startswith("probe_")]
    chosen = [name for name in found if not wanted or name.removeprefix("probe_") in wanted]
    if not chosen or len(chosen) < len(set(wanted)):
        sys.exit(f"probe: choose from {' '.join(name.removeprefix('probe_') for name in found)}")
    return chosen


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def run_case(case):
    result = unittest.TestResult()
    case.run(result)
    return case, result


def again(outcomes):
    """Repeats the probes that failed, one at a time, because probes with time limits may fail on a busy machine."""
    failed = [case for case, result in outcomes if problems_of(result)]
    if STOCK or len(failed) > RETRIED:
        return outcomes
    second = {case: run_case(case)[1] for case in failed}
    for case, result in second.items():
        if not problems_of(result):
            print(f"FLAKY, passed the second time: {name_of(case)}\n{problems_of(dict(outcomes)[case])[0][1]}")
    return [(case, second.get(case, result)) for case, result in outcomes]


def name_of(case):
    return case.id().removeprefix("probes.probe_")


def problems_of(result):
    return result.failures + result.errors


def stock_line(case, name, problems):
    if not case.corrected:
        return f"{'MISSING   ' if problems else 'as shipped'} {name}"
    if not problems:
        return f"NOT NEEDED {name}"
    text = problems[0][1].splitlines()
    reason = next((line for line in reversed(text) if line.split(":")[0].endswith(("Error", "Exception"))), text[-1])
    return f"needed     {name}: {reason[:150]}"


def main():
    loader = unittest.TestLoader()
    wanted = sys.argv[1:]
    suite = [loader.loadTestsFromModule(importlib.import_module(f"probes.{name}")) for name in modules(wanted)]
    begin = time.monotonic()
    # Probes wait most of the time, so they run in parallel.
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        chosen = [case for case in cases(suite) if wanted or not case.slow]
        outcomes = list(pool.map(run_case, chosen))
    failed = unneeded = 0
    for case, result in again(outcomes):
        name, problems = name_of(case), problems_of(result)
        failed += bool(problems)
        unneeded += case.corrected and not problems
        if STOCK:
            print(stock_line(case, name, problems))
        elif problems:
            print(f"FAILED {name}\n{problems[0][1]}")
        else:
            print(f"ok     {name}")
    passed = len(outcomes) - failed
    print(f"in {time.monotonic() - begin:.0f} s")
    if STOCK:
        print(f"{unneeded} probes of corrections pass without them")
        return 0
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
