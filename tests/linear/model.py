"""A lock as its documentation describes it: permits, a queue, fencing tokens, and leases that end.

Written from docs/guarantees.md and docs/reference.md, not from the code. `Lock` computes which states may follow a state:
- after an operation whose answer the client got,
- after a request whose answer was lost,
- after a step of Lockstep itself.
"""
from typing import Iterator, NamedTuple, Optional

from history import History, Operation

# "a lease counts as over two seconds after its end" (docs/guarantees.md).
GRACE_MILLIS = 2000

# How far tokens may run ahead of all clocks: a grant in the same millisecond gets the last token plus one.
TOKENS_AHEAD = 50


class Holder(NamedTuple):
    """A holder of a permit. Its token is 0 if no client saw the token."""
    name: str
    token: int
    # The end of the lease that the holder was told, or the earliest end that the lease can have.
    end: int


class State(NamedTuple):
    """A lock at a moment."""
    holders: tuple = ()
    queue: tuple = ()
    last_token: int = 0
    # The true time is at least this, in microseconds: the operation that took effect last was not called before it.
    since: int = 0
    # The grants, as (holder, token), whose runs have reported their end, by a release or after the loss of the lease.
    # `forget` removes those that no later operation asks about.
    ended: frozenset = frozenset()


class Facts(NamedTuple):
    """What the whole history shows of the runs of a lock, by holder."""
    # The tokens that a client got or sent.
    tokens: dict
    # When the last acquire returned. After this time, the holder no longer waits.
    waited: dict
    # The end of the holder's wait, if it gave one.
    patience: dict
    # When the last operation settled.
    last: dict


def facts_of(operations: list) -> Facts:
    tokens, waited, patience, last = {}, {}, {}, {}

    def told(holder, token):
        tokens.setdefault(holder, set()).add(token)

    for operation in operations:
        holder, answer = operation.holder, operation.answer or {}
        last[holder] = max(last.get(holder, 0), operation.settled)
        if operation.call == "acquire":
            waited[holder] = max(waited.get(holder, 0), operation.returned)
        if operation.wait_until is not None:
            patience[holder] = operation.wait_until
        for token in (operation.token, answer.get("token", 0)):
            if token:
                told(holder, token)
        oldest = answer.get("oldest")
        if oldest:
            told(oldest["holder"], oldest["token"])
    return Facts({holder: sorted(all_) for holder, all_ in tokens.items()}, waited, patience, last)


class Lock:
    """The rules of one lock."""

    def __init__(self, history: History, name: str, facts: Facts):
        self.permits, self.lease, self.skew = history.permits[name], history.lease, history.skew
        self.facts = facts

    # Steps with an answer

    def answered(self, state: State, operation: Operation, now: int) -> Optional[State]:
        """Returns the state after `operation` took effect, no later than `now`. Returns None if its answer is impossible."""
        rule = getattr(self, f"{operation.call}_{operation.answer['status']}")
        return rule(called_by(state, operation.invoked), operation, operation.answer, now)

    def acquire_granted(self, state, operation, answer, now):
        name = operation.holder
        if self.is_free_for(state, name):
            return self.grant(state, name, answer["token"], answer["expiresAt"], now)
        return None

    def acquire_alreadyHeld(self, state, operation, answer, _now):
        return told_end(state, operation.holder, answer["token"], answer["expiresAt"])

    def acquire_queued(self, state, operation, answer, _now):
        name = operation.holder
        shown = name in state.queue and state.queue.index(name) + 1 == answer["position"]
        shown = shown and len(state.queue) == answer["queueLength"] and shows_oldest(state, answer)
        return state if shown else None

    def acquire_skipped(self, state, operation, answer, _now):
        name = operation.holder
        shown = not holds(state, name) and name not in state.queue and not self.is_free_for(state, name)
        shown = shown and len(state.holders) == answer["held"] and len(state.queue) == answer["queueLength"]
        return state if shown and shows_oldest(state, answer) else None

    def acquire_gaveUp(self, state, operation, answer, now):
        name = operation.holder
        if holds(state, name) or self.is_free_for(state, name) or not self.is_past(operation.wait_until, now):
            return None
        after = left(state, name)
        shown = len(after.queue) == answer["queueLength"] and shows_oldest(state, answer)
        return after if shown else None

    def heartbeat_renewed(self, state, operation, answer, _now):
        return told_end(state, operation.holder, operation.token, answer["expiresAt"])

    def heartbeat_ended(self, state, operation, _answer, _now):
        return state if has_ended(state, operation) else None

    def heartbeat_lost(self, state, operation, _answer, _now):
        return state if is_lost(state, operation) else None

    def release_released(self, state, operation, answer, _now):
        if answer["alreadyReleased"]:
            return state if has_ended(state, operation) else None
        held = lease(state, operation.holder, operation.token)
        return reported(without(state, held), operation) if held else None

    def release_lost(self, state, operation, _answer, _now):
        return reported(state, operation) if is_lost(state, operation) else None

    # Steps of requests without an answer

    def strays(self, state: State, operation: Operation, has_answered: bool, now: int) -> Iterator[State]:
        """Yields the states after a request of `operation` to which the client got no answer."""
        name, state = operation.holder, called_by(state, operation.invoked)
        status = None if has_answered or operation.answer is None else operation.answer["status"]
        if operation.call == "release":
            if status in (None, "released") and not has_ended(state, operation):
                held = lease(state, operation.holder, operation.token)
                yield reported(without(state, held) if held else state, operation)
        elif operation.call == "acquire" and not holds(state, name):
            if name in state.queue:
                if status in (None, "gaveUp") and self.is_past(operation.wait_until, now):
                    yield left(state, name)
            elif not self.is_free_for(state, name):
                # The request takes a place in the queue before the answer of the call is decided.
                if operation.queue and status != "skipped":
                    yield state._replace(queue=state.queue + (name,))
            elif status is None:
                # The request contains its token, which is a time within the call.
                yield from self.grants(state, name, min(now, operation.returned))
            elif status == "alreadyHeld":
                after = self.grant(state, name, operation.answer["token"], operation.answer["expiresAt"], now)
                if after:
                    yield after

    # Steps of Lockstep itself

    def by_itself(self, state: State, now: int) -> Iterator[State]:
        """Yields the states after a hand-over, after the end of a lease, and after the dismissal of a waiter that no longer asks."""
        if state.queue and len(state.holders) < self.permits:
            first = state.queue[0]
            if not holds(state, first):
                yield from self.grants(state._replace(queue=state.queue[1:]), first, now)
            if self.facts.waited.get(first, 0) < now or self.is_past(self.facts.patience.get(first), now):
                yield state._replace(queue=state.queue[1:])
        for held in state.holders:
            if self.may_end(held, now):
                end = (held.end + GRACE_MILLIS - self.skew) * 1000
                yield without(called_by(state, end), held)

    def may_end(self, held: Holder, now: int) -> bool:
        """Returns whether a clock may be past the end of the lease of `held` and the grace after it."""
        return now / 1000 + self.skew >= held.end + GRACE_MILLIS

    # Parts of these steps

    def is_past(self, end: Optional[int], now: int) -> bool:
        return end is not None and now / 1000 + self.skew >= end

    def is_free_for(self, state, name):
        """Returns whether a permit is free and nobody waits before `name`."""
        return len(state.holders) < self.permits and (not state.queue or state.queue[0] == name)

    def grants(self, state, name, now):
        """Yields the states after a grant that its holder does not know yet: one for each token of the holder, and one for 0."""
        end = state.since // 1000 + self.lease - self.skew
        for token in (*self.facts.tokens.get(name, ()), 0):
            after = self.grant(state, name, token, end, now)
            if after:
                yield after

    def grant(self, state, name, token, end, now):
        if holds(state, name) or (token and token <= state.last_token):
            return None
        # A token is the time of its grant, or one more than the last token.
        if max(token, state.last_token) > now / 1000 + self.skew + TOKENS_AHEAD:
            return None
        queue = tuple(waiter for waiter in state.queue if waiter != name)
        holders = tuple(sorted(state.holders + (Holder(name, token, end),)))
        return state._replace(holders=holders, queue=queue, last_token=max(token, state.last_token))

    def forget(self, state: State, now: int) -> State:
        """Returns the state without the reported ends that no later operation asks about."""
        ended = frozenset(end for end in state.ended if self.facts.last.get(end[0], 0) >= now)
        return state if ended == state.ended else state._replace(ended=ended)


def called_by(state, time):
    """Returns the state with a true time of at least `time`."""
    return state if state.since >= time else state._replace(since=time)


def holds(state, name):
    return any(held.name == name for held in state.holders)


def lease(state, name, token):
    return next((held for held in state.holders if held.name == name and held.token == token), None)


def told_end(state, name, token, end):
    held = lease(state, name, token)
    if not held:
        return None
    holders = tuple(other._replace(end=end) if other == held else other for other in state.holders)
    return state._replace(holders=holders)


def left(state, name):
    return state._replace(queue=tuple(waiter for waiter in state.queue if waiter != name))


def without(state, held):
    return state._replace(holders=tuple(other for other in state.holders if other != held))


def has_ended(state, operation):
    return (operation.holder, operation.token) in state.ended


def reported(state, operation):
    """Returns the state after a run has reported its end. After the loss of a lease, the report is kept too."""
    return state._replace(ended=state.ended | {(operation.holder, operation.token)})


def is_lost(state, operation):
    """Returns whether the lease is gone and the run has not reported its end."""
    return not lease(state, operation.holder, operation.token) and not has_ended(state, operation)


def shows_oldest(state, answer):
    """Returns whether the holder that an answer names is the oldest one, or whether there is none and the answer names none."""
    oldest = answer.get("oldest")
    if oldest is None:
        return not state.holders
    if not lease(state, oldest["holder"], oldest["token"]):
        return False
    return all(held.token >= oldest["token"] for held in state.holders if held.token)
