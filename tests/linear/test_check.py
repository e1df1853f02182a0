#!/usr/bin/env python3
"""Tests that the checker tells small legal histories from illegal ones."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from history import Malformed, millis, read  # noqa: E402
from search import Undecided, check  # noqa: E402

# 2026-01-01T00:00:00Z in milliseconds. The times of the tests are seconds after this time.
START = 1_767_225_600_000
FOREVER = 10_000


def at(seconds):
    return int((START + seconds * 1000) * 1000)


def clock(seconds):
    """Returns a time in the format of a response."""
    whole, part = divmod(round(seconds * 1000), 1000)
    hours, rest = divmod(whole, 3600)
    return f"2026-01-01T{hours:02}:{rest // 60:02}:{rest % 60:02}.{part:03}Z"


def token(number):
    """Returns the token of the grant at that second."""
    return START + number * 1000


def operation(call, holder, begin, end, answer, settled=None, **more):
    return {"lock": "l", "holder": holder, "call": call, "invoked": at(begin), "returned": at(end),
            "settled": at(end if settled is None else settled), "strays": int(settled is not None), "answer": answer,
            **more}


def granted(holder, begin, end, number, lease=30, status="granted", **more):
    answer = {"status": status, "grant": {"token": token(number)}, "expiresAt": clock(lease)}
    return operation("acquire", holder, begin, end, answer, **more)


def skipped(holder, begin, end, held, oldest=None, waiting=0):
    return operation("acquire", holder, begin, end,
                     {"status": "skipped", "held": held, "queueLength": waiting, **named(oldest)})


def queued(holder, begin, end, position, waiting, oldest, **more):
    answer = {"status": "queued", "position": position, "queueLength": waiting, **named(oldest)}
    return operation("acquire", holder, begin, end, answer, queue=True, **more)


def gave_up(holder, begin, end, until, waiting, oldest):
    answer = {"status": "gaveUp", "queueLength": waiting, **named(oldest)}
    return operation("acquire", holder, begin, end, answer, queue=True, waitUntil=START + until * 1000)


def named(oldest):
    return {} if oldest is None else {"holder": oldest[0], "since": clock(oldest[1])}


def renewed(holder, begin, end, number, lease, **more):
    answer = {"status": "renewed", "expiresAt": clock(lease)}
    return operation("heartbeat", holder, begin, end, answer, token=token(number), **more)


def lost(call, holder, begin, end, number):
    answer = {"status": "lost", "holders": []} if call == "release" else {"error": "Lockstep.LeaseLost"}
    return operation(call, holder, begin, end, answer, token=token(number))


def released(holder, begin, end, number, already=False):
    answer = {"status": "released", "heldSeconds": 1.5, "alreadyReleased": already}
    return operation("release", holder, begin, end, answer, token=token(number))


def unknown(call, holder, begin, end, number=0, settled=None, **more):
    return operation(call, holder, begin, end, None, settled, token=token(number), **more)


def lines(operations, permits=1, skew=1000):
    header = {"locks": {"l": permits}, "leaseMillis": 30_000, "skewMillis": skew}
    return [json.dumps(header)] + [json.dumps({"op": n, **one}) for n, one in enumerate(operations)]


# Name: permits, operations.
LEGAL = {
    "nothing happens": (1, []),
    "a permit is released and granted again": (1, [
        granted("a", 0, 1, 1), released("a", 2, 3, 1), granted("b", 4, 5, 4), released("b", 6, 7, 4)]),
    "calls that overlap take effect in another order than they were made": (1, [
        skipped("c", 0, 9, 1, ("a", 3)), granted("a", 2, 4, 3)]),
    "as many runs hold the lock as it has permits": (2, [
        granted("a", 0, 1, 1), granted("b", 1, 2, 2), skipped("c", 3, 4, 2, ("a", 1))]),
    "a later answer shows a grant whose answer was lost": (1, [
        unknown("acquire", "a", 0, 1), skipped("b", 2, 3, 1, ("a", 1)), granted("a", 4, 5, 1, status="alreadyHeld")]),
    "a request that was lost has no effect": (1, [unknown("acquire", "a", 0, 1), granted("b", 2, 3, 2)]),
    "a late request takes effect before it has settled": (1, [
        unknown("acquire", "a", 0, 3, settled=6), granted("b", 2, 3, 2), released("b", 4, 5, 2),
        skipped("c", 7, 8, 1, ("a", 2.5))]),
    "a request takes a place in the queue after its call has given up": (1, [
        granted("a", 0, 1, 1), {**gave_up("b", 9, 12, 9, 0, ("a", 1)), "strays": 1},
        skipped("c", 13, 14, 1, ("a", 1), waiting=1)]),
    "a lost release takes effect": (1, [
        granted("a", 0, 1, 1), unknown("release", "a", 2, 3, 1), granted("b", 4, 5, 4),
        released("a", 6, 7, 1, already=True)]),
    "waiters get their turn in the order of their tickets": (1, [
        granted("a", 0, 1, 1), queued("b", 2, 3, 1, 1, ("a", 1)), queued("c", 4, 5, 2, 2, ("a", 1)),
        released("a", 6, 7, 1), granted("b", 8, 9, 7, status="alreadyHeld", queue=True),
        queued("c", 10, 11, 1, 1, ("b", 7)), released("b", 12, 13, 7),
        granted("c", 14, 15, 13, status="alreadyHeld", queue=True)]),
    "a waiter that no longer asks is dismissed or handed a permit that ends": (1, [
        granted("a", 0, 1, 1), queued("b", 2, 3, 1, 1, ("a", 1)), queued("c", 4, 5, 2, 2, ("a", 1)),
        released("a", 6, 7, 1), granted("c", 20, 21, 20, queue=True)]),
    "a waiter gives up": (1, [
        granted("a", 0, 1, 1), queued("b", 2, 3, 1, 1, ("a", 1)), gave_up("b", 9, 10, 9, 0, ("a", 1)),
        skipped("c", 11, 12, 1, ("a", 1))]),
    "a lease that has ended, with the grace, is granted to others": (1, [
        granted("a", 0, 1, 1, lease=4), granted("b", 5, 5.1, 5), lost("heartbeat", "a", 6, 7, 1),
        lost("release", "a", 8, 9, 1)]),
    "a lease that has ended is renewed while no other run has it": (1, [
        granted("a", 0, 1, 1, lease=4), renewed("a", 8, 9, 1, 12), skipped("b", 10, 11, 1, ("a", 1))]),
    "a release and a heartbeat are repeated": (1, [
        granted("a", 0, 1, 1), released("a", 2, 3, 1), released("a", 4, 5, 1, already=True),
        operation("heartbeat", "a", 6, 7, {"status": "ended"}, token=token(1))]),
    "a release whose first attempt got no answer finds its own effect": (1, [
        granted("a", 0, 1, 1), released("a", 2, 3, 1, already=True), granted("b", 4, 5, 4)]),
    "the end of a run is reported after the loss of its lease, and again": (1, [
        granted("a", 0, 1, 1, lease=4), granted("b", 8, 9, 8), lost("release", "a", 10, 11, 1),
        released("a", 12, 13, 1, already=True),
        operation("heartbeat", "a", 14, 15, {"status": "ended"}, token=token(1))]),
    "a late request puts a run that has ended into the queue, and it is dismissed": (1, [
        granted("a", 0, 1, 1), queued("b", 2, 3, 1, 1, ("a", 1), settled=11), released("a", 4, 5, 1),
        granted("b", 6, 7, 5, status="alreadyHeld", queue=True), released("b", 8, 8.5, 5),
        granted("c", 9, 10, 9), skipped("d", 12, 13, 1, ("c", 9), waiting=1), released("c", 14, 15, 9),
        granted("e", 16, 17, 16)]),
}

ILLEGAL = {
    "one permit is granted twice": (1, [granted("a", 0, 1, 1), granted("b", 2, 3, 2)]),
    "three hold two permits": (2, [granted("a", 0, 1, 1), granted("b", 1, 2, 2), granted("c", 3, 4, 3)]),
    "one run is granted two permits": (2, [granted("a", 0, 1, 1), granted("a", 2, 3, 2)]),
    "a token is used again": (1, [granted("a", 0, 1, 1), released("a", 2, 3, 1), granted("b", 4, 5, 1)]),
    "a token is smaller than the one before": (1, [granted("a", 0, 1, 2), released("a", 2, 3, 2), granted("b", 4, 5, 1)]),
    "the same grant has another token in a later answer": (1, [
        granted("a", 0, 1, 1), granted("a", 2, 3, 2, status="alreadyHeld")]),
    "a waiter overtakes": (1, [
        granted("a", 0, 1, 1), queued("b", 2, 3, 1, 1, ("a", 1)), queued("c", 4, 5, 2, 2, ("a", 1)),
        released("a", 6, 7, 1), granted("c", 8, 9, 7, status="alreadyHeld", queue=True),
        queued("b", 10, 11, 1, 1, ("c", 7))]),
    "a waiter that asks loses its place": (1, [
        granted("a", 0, 1, 1), queued("b", 2, 3, 1, 1, ("a", 1)), queued("c", 4, 5, 1, 1, ("a", 1)),
        queued("b", 6, 7, 2, 2, ("a", 1))]),
    "a run passes the queue": (1, [
        granted("a", 0, 1, 1), queued("b", 2, 3, 1, 1, ("a", 1)), released("a", 4, 5, 1), granted("c", 6, 7, 6),
        queued("b", 8, 9, 1, 1, ("c", 6))]),
    "a lease is granted to others before its end": (1, [granted("a", 0, 1, 1, lease=4), granted("b", 4, 4.9, 4)]),
    "a lease is granted to others before the end that a renewal set": (1, [
        granted("a", 0, 1, 1, lease=4), renewed("a", 2, 3, 1, 6), unknown("heartbeat", "a", 3, 4, 1),
        granted("b", 6, 6.9, 6)]),
    "a lost lease is renewed": (1, [
        granted("a", 0, 1, 1, lease=4), granted("b", 8, 9, 8), renewed("a", 10, 11, 1, 14)]),
    "a lost lease is released": (1, [granted("a", 0, 1, 1, lease=4), granted("b", 8, 9, 8), released("a", 10, 11, 1)]),
    "a lease is lost while it is live": (1, [granted("a", 0, 1, 1), lost("heartbeat", "a", 2, 3, 1)]),
    "a free lock is refused": (1, [granted("a", 0, 1, 1), released("a", 2, 3, 1), skipped("b", 4, 5, 1, ("a", 1))]),
    "an answer names a holder that holds nothing": (1, [granted("a", 0, 1, 1), skipped("b", 2, 3, 1, ("x", 1))]),
    "a release without effect": (1, [granted("a", 0, 1, 1), released("a", 2, 3, 1), skipped("b", 4, 5, 1, ("a", 1))]),
    "a release without an end before it is a repetition": (1, [
        granted("a", 0, 1, 1), operation("heartbeat", "a", 2, 3, {"status": "ended"}, token=token(1))]),
    "a lost request takes effect after it has settled": (1, [
        unknown("acquire", "a", 0, 1), granted("b", 2, 3, 2), released("b", 4, 5, 2), skipped("c", 6, 7, 1, ("a", 5))]),
    "a waiter gives up before its time": (1, [granted("a", 0, 1, 1), gave_up("b", 2, 3, 9, 0, ("a", 1))]),
    "a call without a stray request takes a place after it has given up": (1, [
        granted("a", 0, 1, 1), gave_up("b", 9, 12, 9, 0, ("a", 1)), skipped("c", 13, 14, 1, ("a", 1), waiting=1)]),
    "a run gives up although a permit is free": (1, [gave_up("b", 10, 11, 9, 0, None)]),
    "a grant from before the call": (1, [granted("a", 0, 1, 1), released("a", 3, 4, 1), granted("b", 2, 2.5, 2)]),
}


class Histories(unittest.TestCase):
    def verdict(self, permits, operations):
        return check(read(lines(operations, permits)), 100_000).violation

    def test_legal_histories_have_an_order(self):
        for name, (permits, operations) in LEGAL.items():
            with self.subTest(name):
                self.assertEqual(str(self.verdict(permits, operations)), "None")

    def test_illegal_histories_have_none(self):
        for name, (permits, operations) in ILLEGAL.items():
            with self.subTest(name):
                self.assertIsNotNone(self.verdict(permits, operations))

    def test_the_operation_that_cannot_be_explained_is_named(self):
        violation = self.verdict(*ILLEGAL["one permit is granted twice"])
        self.assertIn("explains operation 1", str(violation))
        self.assertIn(f"held by [a ({token(1)}", str(violation))

    def test_the_bound_of_clocks_decides_when_a_lease_may_end(self):
        operations = [granted("a", 0, 1, 1, lease=4), granted("b", 5, 5.1, 5)]
        for skew, legal in [(1000, True), (800, False)]:
            with self.subTest(skew):
                violation = check(read(lines(operations, 1, skew)), 100_000).violation
                self.assertEqual(violation is None, legal)

    def test_locks_are_judged_one_by_one(self):
        header = {"locks": {"l": 1, "m": 1}, "leaseMillis": 30_000, "skewMillis": 1000}
        operations = [granted("a", 0, 1, 1), {**granted("b", 2, 3, 2), "lock": "m"}]
        text = [json.dumps(header)] + [json.dumps({"op": n, **one}) for n, one in enumerate(operations)]
        self.assertIsNone(check(read(text), 100_000).violation)

    def test_a_search_that_takes_too_long_has_no_verdict(self):
        operations = [unknown("acquire", f"h{n}", n, n + 1, settled=FOREVER) for n in range(8)]
        operations += [skipped("x", 20, 21, 1, ("nobody", 1))]
        with self.assertRaises(Undecided):
            check(read(lines(operations, permits=8)), 200)


class Lines(unittest.TestCase):
    def test_the_error_of_a_bad_line_names_the_line(self):
        good = granted("a", 0, 1, 1)
        for broken in [{**good, "call": "steal"}, {**good, "lock": "x"}, {**good, "returned": 0},
                       {**good, "answer": {"status": "granted"}}, {**good, "answer": {"status": "odd"}}]:
            with self.subTest(str(broken)), self.assertRaisesRegex(Malformed, "^line 2: "):
                read(lines([broken]))
        with self.assertRaises(Malformed):
            read([])

    def test_times_are_read_to_the_millisecond(self):
        self.assertEqual(millis("2026-01-01T00:00:01.234Z"), START + 1234)
        self.assertEqual(millis("2026-01-01T00:00:01Z"), START + 1000)


class Command(unittest.TestCase):
    def test_the_exit_code_tells_the_verdict(self):
        cases = [(LEGAL["nothing happens"], 0), (ILLEGAL["a token is used again"], 1), (None, 2)]
        for case, code in cases:
            with self.subTest(code), tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
                file.write("\n".join(lines(case[1], case[0])) if case else "no history")
                file.flush()
                ended = subprocess.run([HERE / "check", file.name], capture_output=True, text=True, check=False)
                self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main()
