#!/usr/bin/env python3
"""Tests of benches/scale: its buckets, arrivals, knees and scenarios, and that it reads each setting from its source."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import shutil
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from random import Random

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from lib.scale import arrivals, bucket, knee, page, quotas, scenario, settings, sweep  # noqa: E402
from lib.scale.region import Options, Region  # noqa: E402
from lib.scale.run import Load, Runs  # noqa: E402

ROOT = HERE.parent
SETTINGS = settings.read(ROOT)
DATE, QUOTAS = quotas.read(HERE / "quotas.toml")
SOURCES = ("infra/template.yaml", "statemachines/exclusive-run.asl.json", "core/src/store.rs",
           "shared/src/service/reap.rs", "shared/src/service/reap/sweep.rs", "shared/src/contract/options/check.rs",
           "core/src/domain/time.rs", "core/src/domain/lease.rs", "core/src/domain/decide.rs", "shared/src/aws.rs",
           *(f"benches/results/{name}.json"
             for name in ("requests", "write-units", "item-size", "warm-calls", "cold-start")))


def program():
    """Imports benches/scale, a script without a suffix."""
    loader = importlib.machinery.SourceFileLoader("scale_program", str(HERE / "scale"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("scale_program", loader))
    loader.exec_module(module)
    return module


class Buckets(unittest.TestCase):
    def test_a_full_bucket_gives_its_size_at_once_and_then_its_rate(self):
        tokens = bucket.TokenBucket(10, 2)

        at_once = sum(tokens.take(0.0) for _ in range(20))
        later = sum(tokens.take(3.0) for _ in range(20))

        self.assertEqual((at_once, later), (10, 6))

    def test_a_bucket_fills_to_its_size_and_no_further(self):
        tokens = bucket.TokenBucket(5, 100)

        self.assertEqual(sum(tokens.take(3600.0) for _ in range(50)), 5)

    def test_a_refused_request_takes_nothing(self):
        tokens = bucket.TokenBucket(10, 1)
        tokens.take(0.0, 8)

        refused = tokens.take(0.0, 3)

        self.assertEqual((refused, tokens.take(0.0, 2)), (False, True))

    def test_requests_that_wait_queue_in_their_order_at_the_rate(self):
        tokens = bucket.TokenBucket(2, 4)

        waits = [tokens.reserve(0.0) for _ in range(5)]

        self.assertEqual(waits, [0.0, 0.0, 0.25, 0.5, 0.75])

    def test_a_bucket_without_rate_or_size_is_refused(self):
        for size, rate in ((0, 1), (1, 0), (-1, 1)):
            with self.assertRaisesRegex(ValueError, f"size {size} and rate {rate}"):
                bucket.TokenBucket(size, rate)

    def test_each_half_hour_a_table_grows_to_twice_its_peak_up_to_its_quota(self):
        table = bucket.OnDemand(100, 350)
        rates = []
        for half_hour in range(4):
            for _ in range(1_000):
                table.take(half_hour * 1800.0 + 5)
            rates.append(table.rate)

        self.assertEqual(rates, [100, 200, 350, 350])

    def test_a_meter_has_the_busiest_second_and_the_first_throttled_request(self):
        meter = bucket.Meter()
        for now in (0.1, 0.9, 1.2, 1.3, 1.4, 7.0):
            meter.use(now)
        for now in (1.4, 7.0):
            meter.throttle(now)

        self.assertEqual((meter.asked, meter.peak, meter.first, meter.share()), (6, 3, 1.4, 2 / 6))

    def test_a_percentile_counts_requests_without_a_delay_as_zero(self):
        values = [bucket.percentile([5.0, 3.0], share, 98) for share in (0.5, 0.97, 0.98, 0.99)]

        self.assertEqual(values, [0.0, 0.0, 3.0, 5.0])


class Arrivals(unittest.TestCase):
    def test_paced_starts_have_the_rate_and_even_distances(self):
        times = list(arrivals.paced(4, 10))

        self.assertEqual((len(times), {later - time for time, later in zip(times, times[1:])}), (40, {0.25}))

    def test_starts_at_random_have_the_rate_and_the_same_seed_the_same_times(self):
        one, same, other = (list(arrivals.poisson(100, 100, Random(seed))) for seed in (1, 1, 2))

        self.assertEqual(one, same)
        self.assertNotEqual(one, other)
        self.assertAlmostEqual(len(one), 10_000, delta=400)
        self.assertTrue(all(0 < time < 100 for time in one))

    def test_an_even_choice_has_all_locks_and_a_skewed_one_the_first_most(self):
        even, skewed = arrivals.uniform(50, Random(1)), arrivals.zipf(50, 1.0, Random(1))
        evenly, skewedly = [even() for _ in range(20_000)], [skewed() for _ in range(20_000)]

        self.assertEqual(set(evenly), set(range(50)))
        self.assertAlmostEqual(evenly.count(0), 400, delta=100)
        self.assertAlmostEqual(skewedly.count(0) / skewedly.count(9), 10, delta=2)

    def test_each_start_has_a_lock_of_its_own(self):
        choose = arrivals.each_once()

        self.assertEqual([choose() for _ in range(3)], [0, 1, 2])


class Knees(unittest.TestCase):
    def test_the_knee_is_found_from_any_guess(self):
        for knee_at in (0.3, 47.0, 9_000.0):
            for guess in (0.1, 50.0, 12_000.0):
                found = knee.search(lambda rate: rate > knee_at, guess, 20_000)

                self.assertLessEqual(found, knee_at)
                self.assertGreater(found * (1 + knee.TOLERANCE), knee_at)

    def test_a_limit_that_is_not_reached_has_no_knee(self):
        self.assertIsNone(knee.search(lambda rate: False, 50, 20_000))

    def test_the_knee_of_a_quota_is_its_rate_and_follows_it(self):
        probe = knee.Probe(QUOTAS, SETTINGS, Options(), 5)
        half = {"start": replace(QUOTAS["start"], rate=150)}
        halved = knee.Probe(QUOTAS | half, SETTINGS, Options(), 5)

        self.assertAlmostEqual(probe.knee("start", 100, 1_000), 300, delta=12)
        self.assertAlmostEqual(halved.knee("start", 100, 1_000), 150, delta=6)

    def test_one_lock_allows_as_many_pairs_as_its_partition_has_units_for(self):
        fits = QUOTAS["partition"].rate / SETTINGS.units["pair"]

        self.assertAlmostEqual(knee.pairs(QUOTAS, SETTINGS), fits, delta=fits * 0.03)


class Simulation(unittest.TestCase):
    WORLD = scenario.World(rate=20, locks=200, seconds=60, work=5, seed=3)

    def simulate(self, table=QUOTAS, world=WORLD, chosen=scenario.SCENARIOS[0]):
        return scenario.simulate(chosen, world, table, SETTINGS, False, lambda text: None)

    def test_the_same_seed_gives_the_same_figures_and_another_seed_others(self):
        other = replace(self.WORLD, seed=4)

        self.assertEqual(self.simulate(), self.simulate())
        self.assertNotEqual(self.simulate(), self.simulate(world=other))

    def test_without_throttling_each_start_works_or_is_skipped(self):
        one = self.simulate()

        self.assertEqual((one["failed"], one["first"], one["lapsed"]), ({}, None, 0))
        self.assertLess(one["waiting"], 3)
        self.assertGreater(one["skipped"], 0)

    def test_the_smallest_quota_is_exhausted_first_and_delays_runs(self):
        small = replace(QUOTAS["start"], rate=5, size=5)

        one = self.simulate(QUOTAS | {"start": small})

        self.assertEqual(one["order"], ["start"])
        self.assertGreater(one["limits"]["start"]["throttled"], 0)
        self.assertGreater(one["delay"][1], 1)

    def test_a_run_whose_run_task_is_throttled_begins_its_work_later(self):
        few = replace(QUOTAS["run-task"], rate=5, size=5)
        fargate = next(one for one in scenario.SCENARIOS if one.tasks)

        one = self.simulate(QUOTAS | {"run-task": few}, chosen=fargate)

        self.assertEqual(one["failed"], {})
        self.assertGreater(one["limits"]["run-task"]["throttled"], 100)
        self.assertGreater(one["delay"][1], 1)

    def test_five_minutes_of_throttled_run_task_fail_a_run_and_free_its_lock(self):
        none = QUOTAS | {"run-task": replace(QUOTAS["run-task"], rate=1e-6, size=1)}
        region = Region(none, SETTINGS, Options(limited=frozenset({"run-task"})), 1)
        runs = Runs(region, Load(iter([0.0]), arrivals.one(), lambda: 10.0), sweep.Sweep(region, 5.0))
        self.assertTrue(region.take("run-task"))
        runs.begin()
        region.clock.run(220)
        self.assertEqual((runs.failed, len(runs.holders)), ({}, 1))
        region.clock.run(400)

        self.assertEqual((runs.failed, runs.holders, runs.begun), ({"run-task": 1}, {}, []))

    def test_a_run_has_the_transitions_and_calls_of_the_page_on_ways(self):
        region = Region(QUOTAS, SETTINGS, Options(limited=frozenset()), 1)
        looked_for = sweep.Sweep(region, 5.0)
        runs = Runs(region, Load(iter([0.0]), arrivals.one(), lambda: 10.0), looked_for)
        runs.begin()
        region.clock.run(60)
        states = SETTINGS.before_lock + SETTINGS.before_work + SETTINGS.after_work

        self.assertIn(f"| of a batch | {states} | 3 |",
                      (ROOT / "docs/which-way.md").read_text())
        self.assertEqual(region.meters["invocations"].asked, 3 + 1)
        self.assertEqual((runs.ended, region.levels["open"]), (1, 0))

    def test_a_sweep_stops_at_its_time_limit_and_the_next_one_continues(self):
        region = Region(QUOTAS, SETTINGS, Options(limited=frozenset()), 1)
        slow = sweep.Sweep(region, 1_000.0)
        runs = Runs(region, Load(arrivals.together(2_000), arrivals.each_once(), lambda: 1_500.0), slow)
        runs.begin()
        slow.begin()
        region.clock.run(SETTINGS.lease + 240)
        past = [one for one in slow.sweeps if one["due"]]

        self.assertFalse(past[0]["finished"])
        self.assertLess(past[0]["checked"], 300)
        self.assertGreater(past[1]["checked"], 0)
        self.assertGreater(past[0]["seconds"], SETTINGS.sweep_most)


class Sources(unittest.TestCase):
    """Reads copies of the sources that differ in one place."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in SOURCES:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)

    def read_with(self, name, old, new):
        target = self.root / name
        text = (ROOT / name).read_text()
        self.assertIn(old, text)
        target.write_text(text.replace(old, new))
        try:
            return settings.read(self.root)
        finally:
            target.write_text(text)

    def test_each_setting_follows_its_file(self):
        template, definition = "infra/template.yaml", "statemachines/exclusive-run.asl.json"
        cases = (
            (template, "rate(1 minute)", "rate(7 minutes)", "sweep_every", 420),
            (template, "reaper/bootstrap.zip\n      Timeout: 60", "reaper/bootstrap.zip\n      Timeout: 77",
             "reaper_timeout", 77),
            (template, "MemorySize: 256", "MemorySize: 512", "memory", 512),
            (definition, "maxHeartbeatSeconds : 900", "maxHeartbeatSeconds : 450", "beat_most", 450),
            (definition, "/ 3000", "/ 8000", "beat_share", 8),
            (definition, "3 * ($beat + 1)", "5 * ($beat + 1)", "lease_beats", 5),
            ("core/src/store.rs", "SHARDS: u8 = 8", "SHARDS: u8 = 16", "shards", 16),
            ("core/src/store.rs", "DUE_PAGE: usize = 50", "DUE_PAGE: usize = 25", "page", 25),
            ("shared/src/service/reap.rs", "AT_ONCE: usize = 8", "AT_ONCE: usize = 32", "at_once", 32),
            ("shared/src/service/reap/sweep.rs", "TIME_MAX: Seconds = Seconds::of(40)",
             "TIME_MAX: Seconds = Seconds::of(50)", "sweep_most", 50),
            ("shared/src/contract/options/check.rs", "HEARTBEAT_OF_WORK: i64 = 300", "HEARTBEAT_OF_WORK: i64 = 90", "heartbeat", 90),
            ("core/src/domain/time.rs", "Seconds::of(2 * CLOCK_SKEW", "Seconds::of(3 * CLOCK_SKEW", "dead_after", 3),
            ("shared/src/aws.rs", "with_max_attempts(3)", "with_max_attempts(5)", "sdk_attempts", 5),
        )
        for name, old, new, setting, expected in cases:
            with self.subTest(setting):
                self.assertNotEqual(getattr(SETTINGS, setting), expected)
                self.assertEqual(getattr(self.read_with(name, old, new), setting), expected)

    def test_units_and_calls_follow_the_measurements(self):
        more = '"figure": "release", "subject": "Lockstep", "unit": "write units", "median": '
        units = self.read_with("benches/results/write-units.json", more + "5", more + "9").units

        self.assertGreater(units["release"], SETTINGS.units["release"])
        self.assertEqual(set(SETTINGS.calls), {"acquire", "heartbeat", "release", "reaper"})

    def test_the_retries_are_those_of_the_definition(self):
        definition = "statemachines/exclusive-run.asl.json"
        changed = self.read_with(definition, '"MaxAttempts": 12', '"MaxAttempts": 2')
        waits = [changed.retries[settings.REFUSED]["acquire"].wait(number, Random(1)) for number in (1, 2, 3)]

        self.assertIsNone(waits[2])
        self.assertTrue(all(0 <= wait <= 2 for wait in waits[:2]))
        self.assertEqual(SETTINGS.retries[settings.UNAVAILABLE]["heartbeat"].wait(100, Random(1)), 1)

    def test_an_error_names_the_setting_that_its_file_lacks(self):
        definition = "statemachines/exclusive-run.asl.json"
        cases = (("core/src/store.rs", "const SHARDS", "const PARTS", "store.rs"),
                 ("infra/template.yaml", "  Sweep:\n", "  Sweeps:\n", "template.yaml, Sweep"),
                 (definition, '"Default": "Acquire Lock"', '"Default": "Reject Input"',
                  "Check Input does not lead to Acquire Lock"))
        for name, old, new, expected in cases:
            with self.subTest(expected), self.assertRaisesRegex(settings.SettingError, expected):
                self.read_with(name, old, new)

    def test_a_guarded_hour_has_the_heartbeats_of_the_decision_record(self):
        record = next((ROOT / "shared/decisions").glob("0067-*.md")).read_text()
        age = beats = 0
        while age < 3_600:
            beats, age = beats + 1, age + SETTINGS.beat(age)

        self.assertIn(f"A guarded hour has {beats} heartbeats", " ".join(record.split()))


class Table(unittest.TestCase):
    ROW = {"id": "one", "service": "S", "name": "N", "kind": "bucket", "unit": "u", "rate": 1, "size": 2,
           "raised_rate": 3, "raised_size": 4, "adjustable": True, "code": "", "verified": "page", "note": "",
           "source": "https://docs.aws.amazon.com/"}

    def test_the_error_of_a_row_names_field_and_rule(self):
        cases = (({"rate": "1"}, "rate is '1', but must be of type int"), ({"kind": "speed"}, "kind is 'speed'"),
                 ({"verified": "maybe"}, "verified is 'maybe'"), ({"source": "a page"}, "must be the URL"),
                 ({"limit": 4}, "unknown fields: limit"))
        for change, expected in cases:
            with self.subTest(expected), self.assertRaisesRegex(quotas.QuotaError, expected):
                quotas.check("quotas.toml", self.ROW | change)

    def test_other_regions_have_the_default_where_the_table_names_no_other(self):
        plain = quotas.check("quotas.toml", self.ROW)
        other = quotas.check("quotas.toml", self.ROW | {"other_rate": 9})

        self.assertEqual((plain.values(other=True), other.values(other=True)), ((1, 2), (9, 2)))
        self.assertEqual(plain.values(raised=True), (3, 4))


class Page(unittest.TestCase):
    def test_a_filled_place_can_be_filled_again(self):
        text = "a <!-- scale: rate -->–<!-- end --> b\n<!-- scale: knees -->\nold\n<!-- end -->\n"

        once = page.fill(text, {"rate": "7", "knees": "| t |"})

        self.assertEqual(once, "a <!-- scale: rate -->7<!-- end --> b\n<!-- scale: knees -->\n| t |\n<!-- end -->\n")
        self.assertEqual(page.fill(once, {"rate": "7", "knees": "| t |"}), once)

    def test_an_error_names_a_place_without_a_value(self):
        with self.assertRaisesRegex(page.PageError, "a place for speed, but must have one of: rate"):
            page.fill("<!-- scale: speed -->1<!-- end -->", {"rate": "1"})

    def test_the_committed_page_results_and_sources_agree(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = page.check(ROOT, SETTINGS, DATE, QUOTAS)

        self.assertEqual((status, errors.getvalue()), (0, ""))

    def test_the_check_names_a_setting_that_changed_since_the_results(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = page.check(ROOT, replace(SETTINGS, shards=99), "2001-01-01", QUOTAS)

        self.assertEqual(status, 1)
        self.assertIn("shards is 99", errors.getvalue())
        self.assertIn("quotas.toml is of 2001-01-01", errors.getvalue())


class Command(unittest.TestCase):
    def test_the_error_of_an_option_names_its_rule(self):
        for words, expected in ((["--rate", "0"], "--rate: is 0, but must be a whole number from 1"),
                                (["--write", "--rate", "5"], "--write and --check take no other setting")):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit):
                program().arguments(words)
            self.assertIn(expected, errors.getvalue())

    def test_only_shows_one_scenario_and_writes_nothing(self):
        shown = io.StringIO()
        before = json.loads((HERE / "results/scale.json").read_text())
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
            status = program().main(["--only", "uniform", "--rate", "5", "--seconds", "10"])

        self.assertEqual(status, 0)
        self.assertIn("uniform: starts spread evenly", shown.getvalue())
        self.assertEqual(json.loads((HERE / "results/scale.json").read_text()), before)


if __name__ == "__main__":
    unittest.main()
