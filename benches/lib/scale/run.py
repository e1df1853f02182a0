"""Guarded runs: each start passes through the states of exclusive-run, with the retries of the definition."""
from dataclasses import dataclass

from .settings import REFUSED, UNAVAILABLE
from .sweep import async_wait

# A throttled caller waits up to 5 seconds, and each further time up to twice as long, at most 5 minutes, with full jitter.
# EventBridge Scheduler's own times are not published.
CALLER_FIRST, CALLER_MOST = 5.0, 300.0
# The time of a request to the table, and the time of Lambda for a new environment before the function's own start. AWS
# publishes no figures, only "single-digit milliseconds" for the first.
TABLE_MS, PREPARE_MS = 5.0, 200.0
# The share of events of stopped tasks that reach the reaper before the release: an assumption.
EVENT_FIRST = 0.5
# Requests of the reaper for the event of a stopped task: it reads the run and the record, and reads and writes the note of the
# task.
REAPER_REQUESTS = 4


@dataclass(frozen=True)
class Load:
    """The starts of a simulation: their times, their locks, and how long their work takes."""
    times: object
    locks: object
    work: object
    event_first: float = EVENT_FIRST
    table_ms: float = TABLE_MS
    prepare_ms: float = PREPARE_MS


class Run:
    __slots__ = ("lock", "wanted", "tries", "granted", "beat", "lease_end", "ended", "released", "due", "blame",
                 "waits_for_beat", "failed", "starts")

    def __init__(self, lock, wanted):
        self.lock, self.wanted, self.tries, self.starts = lock, wanted, 0, 0
        self.granted = self.beat = self.lease_end = self.due = 0.0
        self.ended = self.released = self.waits_for_beat = self.failed = False
        self.blame = None


class Call:
    """One call of a function by a state.

    since   time of the first attempt
    by      the quota that throttled an attempt first, or None
    then    what follows the call, if it is not the run's usual next step
    """
    __slots__ = ("run", "step", "tries", "sdk", "since", "then", "by", "cold", "granted")

    def __init__(self, run, step, since, then):
        self.run, self.step, self.since, self.then = run, step, since, then
        self.tries = self.sdk = 0
        self.by, self.cold, self.granted = None, False, False


class Runs:
    """All runs of one simulation."""

    def __init__(self, region, load, sweep):
        self.region, self.load, self.sweep = region, load, sweep
        self.clock, self.random, self.settings = region.clock, region.random, region.settings
        self.holders = {}
        self.begun, self.skipped, self.failed, self.lapsed, self.ended = [], 0, {}, 0, 0
        self.arrived = self.unended = 0
        self.times = iter(load.times)

    def begin(self):
        for time in self.times:
            self.clock.at(time, self.arrive, time)
            return

    def arrive(self, time):
        self.begin()
        self.arrived += 1
        run = Run(self.load.locks(), time)
        self.clock.after(self.region.wait("scheduler"), self.start, run)

    def start(self, run):
        blocked = "start" if not self.region.take("start") else "open" if not self.region.rise("open") else None
        if blocked:
            run.blame = run.blame or blocked
            most = min(CALLER_MOST, CALLER_FIRST * 2 ** min(run.tries, 10))
            run.tries += 1
            return self.clock.after(self.random.uniform(0, most), self.start, run)
        if run.blame:
            self.region.meters[run.blame].delay(self.clock.now - run.wanted)
        self.states(self.settings.before_lock, self.call, run, "acquire")

    def states(self, count, then, *given):
        """Enters `count` states, then calls `then`. Above the quota of transitions this waits."""
        seconds = self.region.wait("transition", count)
        if seconds > 0:
            self.clock.after(seconds, then, *given)
        else:
            then(*given)

    # ---- calls of functions ----

    def call(self, run, step, then=None):
        self.try_call(Call(run, step, self.clock.now, then))

    def try_call(self, call):
        blocked, call.cold = self.region.enter(call.step)
        if blocked:
            call.by = call.by or blocked
            return self.again(call, REFUSED)
        call.sdk = 0
        self.attempt(call)

    def attempt(self, call):
        """Makes the call's write. If it is throttled, the SDK retries while the function waits."""
        blocked = self.write(call)
        if blocked:
            call.by, call.sdk = call.by or blocked, call.sdk + 1
            if call.sdk < self.settings.sdk_attempts:
                return self.clock.after(self.region.sdk_wait(call.sdk), self.attempt, call)
            self.region.leave(call.step)
            return self.again(call, UNAVAILABLE)
        self.commit(call)
        self.clock.after(self.seconds(call.step, call.cold), self.answered, call)

    def seconds(self, step, cold, requests=0):
        known = self.settings.calls[step]
        own = known["cold"] + self.load.prepare_ms if cold else known["warm"]
        return (own + self.load.table_ms * (known["requests"] + requests)) / 1000

    def again(self, call, error):
        call.tries += 1
        wait = self.settings.retries[error][call.step].wait(call.tries, self.random)
        if wait is None:
            return self.give_up(call)
        self.clock.after(wait, self.states, 1, self.try_call, call)

    def write(self, call):
        units, lock = self.settings.units, call.run.lock
        if call.step == "acquire":
            free = lock not in self.holders
            return self.region.write(lock, units["acquire" if free else "refused"], units["entry"] if free else 0)
        if call.run.released:
            return None
        return self.region.write(lock, units[call.step], units["entry"] if call.step == "release" else 0)

    def commit(self, call):
        run, now = call.run, self.clock.now
        if call.step == "acquire":
            call.granted = run.lock not in self.holders
            if call.granted:
                run.granted, run.lease_end = now, now + self.settings.lease
                self.holders[run.lock] = run
                self.sweep.grant(run)
        elif call.step == "release":
            run.released = True
            self.holders.pop(run.lock, None)
        elif not run.released:
            if now > run.lease_end:
                self.lapsed += 1
            run.beat = self.settings.beat(now - run.granted)
            run.lease_end = now + self.settings.lease_of(run.beat)

    def answered(self, call):
        self.region.leave(call.step)
        if call.by:
            self.region.meters[call.by].delay(self.clock.now - call.since)
        run = call.run
        if call.then:
            return self.states(2, call.then, run)
        if call.step == "acquire":
            return self.granted(run) if call.granted else self.skip(run)
        if call.step == "release":
            return self.end_state(run, 1)
        if run.released:
            # The heartbeat that finds its run released ends its own state.
            return self.end(run)
        self.clock.after(run.beat, self.next_beat, run)

    def give_up(self, call):
        """Fails the execution after the last retry of a state. After a failed release, the reaper frees the lock."""
        run = call.run
        self.failed[call.step] = self.failed.get(call.step, 0) + 1
        run.failed = True
        self.end(run)
        if call.step == "release":
            self.clock.after(1, self.recovered, run)

    def recovered(self, run):
        run.released = True
        if self.holders.get(run.lock) is run:
            del self.holders[run.lock]

    # ---- the life of a run ----

    def skip(self, run):
        self.skipped += 1
        self.region.take("put-events")
        self.region.wait("rules")
        holder = self.holders.get(run.lock)
        if holder is not None and self.clock.now - self.renewed(holder) > self.overdue(holder):
            for name in ("describe", "ecs-read", "ecs-read"):
                self.described(name)
        self.states(self.settings.after_skip, self.end, run)

    def renewed(self, run):
        return run.lease_end - self.settings.lease_of(run.beat)

    def overdue(self, run):
        return min(run.beat, self.settings.overdue_most) + self.settings.overdue_slack

    def granted(self, run):
        self.states(self.settings.before_work, self.hold, run)

    def hold(self, run):
        """Starts both branches: the work and the heartbeats."""
        self.work(run)
        self.call(run, "heartbeat")

    def work(self, run):
        if self.region.take("run-task"):
            if run.starts:
                self.region.meters["run-task"].delay(self.clock.now - run.granted)
            self.begun.append(self.clock.now - run.wanted)
            return self.clock.after(self.load.work(), self.worked, run)
        run.starts += 1
        if run.starts > self.settings.starts:
            run.failed = True
            self.failed["run-task"] = self.failed.get("run-task", 0) + 1
            return self.states(3, self.call, run, "release")
        wait = min(self.settings.start_most, self.settings.start_first * 2 ** (run.starts - 1))
        self.states(2, self.clock.after, wait * self.random.uniform(0.75, 1.25), self.confirm, run)

    def confirm(self, run):
        self.states(1, self.call, run, "heartbeat", self.work)

    def next_beat(self, run):
        if not run.ended:
            self.states(1, self.call, run, "heartbeat")

    def worked(self, run):
        self.clock.after(self.region.wait("rules"), self.event, run, 0, True)
        self.states(self.settings.after_work, self.call, run, "release")

    def end_state(self, run, attempt):
        """Ends the waiting heartbeat by SendTaskSuccess. If all attempts are throttled, the next heartbeat ends the execution."""
        if run.ended:
            return
        if self.region.take("end-state"):
            if run.blame == "end-state":
                self.region.meters["end-state"].delay(self.clock.now - run.due)
            return self.end(run)
        if attempt == 1:
            run.blame, run.due = "end-state", self.clock.now
        if attempt < self.settings.sdk_attempts:
            return self.clock.after(self.region.sdk_wait(attempt), self.end_state, run, attempt + 1)
        run.waits_for_beat = True
        self.unended += 1

    def end(self, run):
        if run.ended:
            return
        run.ended = True
        if run.waits_for_beat:
            self.region.meters["end-state"].delay(self.clock.now - run.due)
        self.ended += 1
        self.region.fall("open")
        if run.failed:
            # The event of a failed execution starts the reaper.
            self.clock.after(self.region.wait("rules"), self.event, run, 0, False)

    # ---- the reaper, on the event of a stopped task or of a failed execution ----

    def event(self, run, tries, of_task):
        blocked, cold = self.region.enter("reaper")
        if blocked:
            return self.clock.after(self.random.uniform(0, async_wait(tries)), self.event, run, tries + 1, of_task)
        seconds = self.seconds("reaper", cold, REAPER_REQUESTS)
        self.region.take("table-read", REAPER_REQUESTS - 1)
        if of_task:
            self.region.write(run.lock, self.settings.units["note"])
        if of_task and self.random.random() < self.load.event_first:
            # The event came before the release, so the lock still has its holder, and the reaper checks it.
            seconds += sum(self.described(name) for name in ("describe", "ecs-read", "ecs-read"))
        self.clock.after(seconds, self.region.leave, "reaper")

    def described(self, name):
        """Makes a call that reads evidence, and returns the seconds of its attempts. Without evidence the holder stays."""
        seconds = self.load.table_ms / 1000
        for attempt in range(1, self.settings.sdk_attempts):
            if self.region.take(name):
                return seconds
            seconds += self.region.sdk_wait(attempt)
        self.region.take(name)
        return seconds
