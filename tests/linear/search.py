"""Searches a legal order of a history.

An operation takes effect at one moment between its call and its return. A request without an answer takes effect at any moment
until it has arrived, or never. The search goes through calls and returns in the order of time, and lets an operation take effect
only when its return demands it, so that few orders remain (Wing and Gong's search with Lowe's memory). After a dead end, the
search goes back to the last choice. It never tries a configuration twice.
"""
from collections import deque
from typing import NamedTuple, Optional

from history import History, Operation
from model import Lock, State, facts_of

INVOKED, RETURNED, SETTLED = 0, 1, 2

# Answers of operations that change nothing. Such an operation takes effect as soon as its answer is right.
READS = {("acquire", "queued"), ("acquire", "skipped"), ("heartbeat", "ended"), ("heartbeat", "lost")}


class Undecided(Exception):
    """The history takes more steps than allowed. The text says how far the search got."""


class TooManySteps(Exception):
    """The search of one lock takes more steps than allowed."""


class Event(NamedTuple):
    """A moment of an operation, and the operations that may take effect then."""
    time: int
    kind: int
    operation: Operation
    # Operations that are called and not yet returned, and whose answer is known.
    pending: tuple
    # Operations with requests that may take effect without an answer.
    open: tuple
    # The grants, as (token, holder), that answers to later calls show to be held, sorted.
    shown: tuple


class Violation(NamedTuple):
    """No legal order leads past an event."""
    lock: str
    event: Event
    states: list
    before: list

    def __str__(self) -> str:
        lines = [f"lock {self.lock}: no order of the operations explains {self.event.operation}"]
        lines += [f"  possible before it: {described(state)}" for state in self.states[:4]]
        lines += [f"  before: {operation}" for operation in self.before]
        return "\n".join(lines)


class Verdict(NamedTuple):
    """The result for one history."""
    violation: Optional[Violation]
    operations: int
    longest: int
    steps: int


def described(state: State) -> str:
    holders = ", ".join(f"{held.name} ({held.token}, until {held.end})" for held in state.holders)
    return f"held by [{holders}], waiting [{', '.join(state.queue)}], last token {state.last_token}"


def check(history: History, most: int) -> Verdict:
    """Judges `history`, lock by lock, in at most `most` steps. Raises Undecided."""
    steps = longest = 0
    for lock in history.permits:
        operations = history.of_lock(lock)
        longest = max(longest, len(operations))
        search = Search(Lock(history, lock, facts_of(operations)), operations, most - steps)
        violation = search.run(lock)
        steps += search.steps
        if violation:
            return Verdict(violation, len(history.operations), longest, steps)
    return Verdict(None, len(history.operations), longest, steps)


def events_of(operations: list) -> list:
    """Returns all events in the order of time. At the same time calls come first, so that operations overlap if they can."""
    moments = []
    for operation in operations:
        moments.append((operation.invoked, INVOKED, operation.number, operation))
        moments.append((operation.returned, RETURNED, operation.number, operation))
        if operation.may_stray and operation.call != "heartbeat":
            moments.append((operation.settled, SETTLED, operation.number, operation))
    events, pending, open_ = [], [], []
    for time, kind, _, operation in sorted(moments, key=lambda moment: moment[:3]):
        if kind == INVOKED:
            pending += [operation] if operation.answer is not None else []
            open_ += [operation] if operation.call != "heartbeat" else []
        events.append(Event(time, kind, operation, tuple(pending), tuple(open_), ()))
        if kind == RETURNED:
            pending = [other for other in pending if other is not operation]
        if kind == SETTLED or (kind == RETURNED and not operation.may_stray):
            open_ = [other for other in open_ if other is not operation]
    later = set()
    for at in reversed(range(len(events))):
        events[at] = events[at]._replace(shown=tuple(sorted(later)))
        if events[at].kind == INVOKED:
            later |= set(shown_by(events[at].operation))
    return events


def shown_by(operation: Operation):
    """Yields the grants, as (token, holder), that the answer to `operation` shows to be held when it takes effect."""
    answer = operation.answer or {}
    if "oldest" in answer:
        yield answer["oldest"]["token"], answer["oldest"]["holder"]
    status = answer.get("status")
    if status == "renewed" or (status == "released" and not answer["alreadyReleased"]):
        yield operation.token, operation.holder
    if status == "alreadyHeld":
        yield answer["token"], operation.holder


def is_doomed(event: Event, state: State, done: frozenset) -> bool:
    """Returns whether an answer that is still to be explained shows a grant that is over, or one that can no longer be made."""
    held = {(holder.token, holder.name) for holder in state.holders}
    for grant in event.shown:
        if grant[0] > state.last_token:
            break
        if grant not in held:
            return True
    for operation in event.pending:
        if operation.number not in done:
            if any(grant[0] <= state.last_token and grant not in held for grant in shown_by(operation)):
                return True
            if operation.answer["status"] == "granted" and operation.answer["token"] <= state.last_token:
                return True
    return False


class Memory:
    """The configurations that were tried.

    If two configurations differ only in times and in the last token, the one with the smaller values allows everything that the
    other allows, because its leases may end sooner and more tokens are left. So the other one is never tried.
    """

    def __init__(self):
        self.known = {}
        self.all = []

    def add(self, configuration) -> bool:
        """Adds a configuration, unless a known one allows as much. Returns whether it was added."""
        state, done = configuration
        names = tuple((held.name, held.token) for held in state.holders)
        bounds = (state.since, state.last_token, *(held.end for held in state.holders))
        known = self.known.setdefault((names, state.queue, state.ended, done), [])
        if any(all(mine <= its for mine, its in zip(other, bounds)) for other in known):
            return False
        known.append(bounds)
        self.all.append(configuration)
        return True


class Search:
    """The search on one lock. A configuration is a state and the pending operations that took effect."""

    def __init__(self, lock: Lock, operations: list, most: int):
        self.lock, self.most, self.steps = lock, most, 0
        self.events = events_of(operations)

    def run(self, name: str) -> Optional[Violation]:
        """Returns the event that no order leads past, or None. Raises Undecided."""
        seen = [Memory() for _ in range(len(self.events) + 1)]
        try:
            if not self.events or self.reaches_end(seen):
                return None
        except TooManySteps as error:
            raise Undecided(f"after {self.most} steps; {self.violation(name, seen)}") from error
        return self.violation(name, seen)

    def reaches_end(self, seen: list) -> bool:
        """Returns whether a configuration explains all events. Fills `seen` with the configurations before each event."""
        paths = [self.after(0, (State(), frozenset()))]
        while paths:
            configuration, at = next(paths[-1], None), len(paths)
            if configuration is None:
                paths.pop()
            elif seen[at].add(configuration):
                if at == len(self.events):
                    return True
                paths.append(self.after(at, configuration))
        return False

    def violation(self, name: str, seen: list) -> Violation:
        furthest = max((at for at, memory in enumerate(seen) if memory.all), default=0)
        event = self.events[furthest]
        returned = [other.operation for other in self.events[:furthest] if other.kind == RETURNED]
        states = sorted({state for state, _ in seen[furthest].all}, key=repr) or [State()]
        return Violation(name, event, states, returned[-12:])

    def after(self, at, configuration):
        """Yields the configurations after event `at`, those of the fewest steps first."""
        event = self.events[at]
        state, done = self.settle_reads(event, *configuration)
        if event.kind == INVOKED:
            yield (self.lock.forget(state, event.time), done)
        elif event.kind == RETURNED and event.operation.answer is not None:
            for state, done in self.until_done(event, (state, done)):
                yield (state, done - {event.operation.number})
        elif event.kind == SETTLED:
            yield (state, done)
            yield from self.until_stray(event, (state, done))
        else:
            yield (state, done)

    def until_done(self, event, start):
        """Yields the configurations in which the operation of `event` has just taken effect."""
        number, seen, left = event.operation.number, Memory(), deque([start])
        while left:
            configuration = left.popleft()
            if number in configuration[1]:
                yield configuration
                continue
            for following, _ in self.live(event, configuration):
                if seen.add(following):
                    left.append(following)

    def until_stray(self, event, start):
        """Yields the configurations in which a request of the operation of `event` has just taken effect without an answer."""
        seen, left = Memory(), deque([start])
        while left:
            for following, cause in self.live(event, left.popleft()):
                if cause is event.operation:
                    yield following
                if seen.add(following):
                    left.append(following)

    def live(self, event, configuration):
        """Yields the steps that do not contradict later answers."""
        for following, cause in self.steps_from(event, configuration):
            if not is_doomed(event, *following):
                yield following, cause

    def steps_from(self, event, configuration):
        """Yields the configurations after one step, each with the operation whose unanswered request made the step, or None."""
        state, done = configuration
        for operation in event.pending:
            if operation.number not in done:
                after = self.lock.answered(state, operation, event.time)
                if after:
                    yield self.step(event, after, done | {operation.number}), None
        for operation in event.open:
            if operation.number not in done or operation.may_stray:
                has_answered = operation.number in done or operation not in event.pending
                for after in self.lock.strays(state, operation, has_answered, event.time):
                    yield self.step(event, after, done), operation
        for after in self.lock.by_itself(state, event.time):
            yield self.step(event, after, done), None

    def step(self, event, state, done):
        self.steps += 1
        if self.steps > self.most:
            raise TooManySteps
        return self.settle_reads(event, state, done)

    def settle_reads(self, event, state, done):
        """Returns the configuration after each pending operation that changes nothing and whose answer is right in `state`."""
        for operation in event.pending:
            if (operation.call, operation.answer["status"]) in READS and operation.number not in done:
                if self.lock.answered(state, operation, event.time):
                    done = done | {operation.number}
        return (state, done)
