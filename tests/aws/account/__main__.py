"""Runs the account probes, prints PASS, FAIL or SKIPPED for each, and deletes all that they created."""
import argparse
import concurrent.futures
import os
import signal
import sys

from . import children, events, tasks, workflows  # noqa: F401  (each registers its probes)
from .registry import FREE, PROBES, Skipped
from .scratch import Scratch, Stopped, caller

CREATES = """The probes create, under names that begin with lockstep-verify- and a random part:
  1 IAM role, 2 Lambda functions, some 25 state machines and 10 SQS queues, 4 EventBridge rules,
  2 log groups, 1 SNS topic, 2 schedules that fire once, 1 DynamoDB table with one item;
  with --subnets also 1 ECS cluster, 5 task definitions and 5 Fargate tasks of 0.25 vCPU for a few minutes.
They delete all of this at their end, also after a failure, Ctrl-C or SIGTERM. What AWS itself creates stays: the
rules StepFunctionsGetEventsForECSTaskRule for runTask.sync and
StepFunctionsGetEventsForStepFunctionsExecutionRule for startExecution.sync, and deregistered task definitions for some hours.
The caller needs permission to create all this. A run takes up to ten minutes and costs a few cents."""


def parse():
    parser = argparse.ArgumentParser(
        prog="verify", description=__doc__, epilog=CREATES, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--confirm", action="store_true", help="create resources in the account; without this flag only those probes run that need no resources")
    parser.add_argument("--list", action="store_true", help="list the probes")
    parser.add_argument("--subnets", default="", help="subnets for Fargate tasks, separated by commas")
    parser.add_argument("--security-groups", default="", help="security groups of the tasks, separated by commas (default: the VPC's)")
    parser.add_argument("--public-ip", action="store_true", help="give the tasks public IP addresses: for subnets without a NAT gateway or endpoints")
    parser.add_argument("--image", default="public.ecr.aws/docker/library/busybox:stable",
                        help="image with /bin/sh and sleep (default %(default)s)")
    parser.add_argument("--minutes", type=float, default=3, help="minutes for which timers are watched (default %(default)s)")
    parser.add_argument("names", nargs="*", metavar="PROBE", help="probes to run (default: all)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(PROBES):
        parser.error(f"no such probe: {' '.join(sorted(unknown))}; --list names them")
    return options


def outcome(name, scratch):
    """Runs one probe. Returns its line, and whether it failed."""
    try:
        note = PROBES[name](scratch)
    except Skipped as reason:
        return f"SKIPPED {name}: {reason}", False
    except Stopped:
        return f"SKIPPED {name}: the run was stopped", False
    except Exception as error:  # any error is the result of the probe
        why = " ".join(str(error).split()) or type(error).__name__
        return f"FAIL {name}: {why[:400]}", True
    return f"PASS {name}" + (f" ({note})" if note else ""), False


def ignore_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def run(names, scratch):
    """Runs the probes in parallel, since most of them wait most of the time. Returns how many failed."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        running = [pool.submit(outcome, name, scratch) for name in names]
        try:
            for done in concurrent.futures.as_completed(running):
                line, bad = done.result()
                failed += bad
                print(line, flush=True)
        except BaseException:
            # Nothing may interrupt the deletions that follow.
            ignore_signals()
            scratch.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return failed


def scratch_of(options):
    return Scratch(options, local=bool(os.environ.get("AWS_ENDPOINT_URL")))


def main():
    options = parse()
    if options.list:
        print("\n".join(sorted(PROBES)))
        return 0
    where, known = caller()
    print(f"verify: {where}", flush=True)
    if not options.confirm:
        bad = known and run(sorted(FREE.intersection(options.names or FREE)), scratch_of(options))
        print(f"{CREATES}\nverify: nothing was created. To run it: make verify-aws CONFIRM=yes")
        return 1 if bad else 2
    if not known:
        print("verify: nothing was created: the credentials are missing, or AWS does not accept them")
        return 2
    # A shell without job control lets background processes ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    scratch = scratch_of(options)
    print(f"verify: names begin with {scratch.prefix}", flush=True)
    failed = 0
    try:
        failed = run(options.names or sorted(PROBES), scratch)
    except KeyboardInterrupt:
        print("verify: stopped; deleting what was created", flush=True)
        failed = 1
    finally:
        ignore_signals()
        left = scratch.clean_up()
    for what, why in left:
        print(f"LEFT {what}: {why}")
    print(f"verify: {failed} failed, {len(left)} left over")
    return 1 if failed or left else 0


if __name__ == "__main__":
    sys.exit(main())
