"""The history of an execution, as lines of events.

AWS: each event names the previous event of its own branch or item. The first event of a branch or item names the event that
  started it. The event of the first state names 0.
  https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
"""
import json
import threading
import zlib
from collections.abc import MutableSequence

from ministack.services import stepfunctions as sfn

_lock = threading.Lock()
_WHOLE = {"truncated": False}


class Packed(MutableSequence):
    """The compressed events of an execution that has ended, because a test suite starts thousands of executions."""

    def __init__(self, events):
        self._bytes, self._count = zlib.compress(json.dumps(list(events)).encode(), 1), len(events)

    def _events(self):
        return json.loads(zlib.decompress(self._bytes))

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        return self._events()[index]

    def __iter__(self):
        return iter(self._events())

    def _changed(self, change):
        events = self._events()
        change(events)
        Packed.__init__(self, events)

    def insert(self, index, event):
        self._changed(lambda events: events.insert(index, event))

    def __setitem__(self, index, event):
        self._changed(lambda events: events.__setitem__(index, event))

    def __delitem__(self, index):
        self._changed(lambda events: events.__delitem__(index))


def pack(execution):
    """Compresses the history of an execution that has ended."""
    with _lock:
        execution["events"] = Packed(execution["events"])


def unpack(execution):
    """Decompresses the history, so that a redrive can append events."""
    with _lock:
        execution["events"] = list(execution["events"])


class Trail:
    def __init__(self, execution, last=0):
        self.execution, self.last, self.tail = execution, last, last

    def add(self, kind, details=None, field=None, previous=None, aside=False):
        """Appends an event. The next event of the line follows it, unless it is `aside`. `tail` is the last event of either kind."""
        event = {"timestamp": sfn.now_iso(), "type": kind}
        event["previousEventId"] = self.last if previous is None else previous
        if details is not None:
            event[field or f"{kind[:1].lower()}{kind[1:]}EventDetails"] = details
        with _lock:
            event["id"] = len(self.execution["events"]) + 1
            self.execution["events"].append(event)
        self.tail = event["id"]
        if not aside:
            self.last = event["id"]
        return event

    def fork(self):
        return Trail(self.execution, self.last)


def whole(name, value):
    """Returns the fields of a value and of its details, which say that the value is not truncated."""
    return {name: value if isinstance(value, str) else compact(value), f"{name}Details": _WHOLE}


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def failed(error):
    """Returns the error and the cause for an event, without those that are missing or empty."""
    return {key: value for key, value in (("error", error.error), ("cause", error.cause)) if value}


def _add_event(execution, kind, details=None):
    """Adds an event of the emulator itself, such as that of a stop, which belongs to no state."""
    event = Trail(execution).add(kind)
    for field, values in (details or {}).items():
        event[field] = {key: value for key, value in values.items() if value not in (None, "")}
    return event


def apply():
    sfn._add_event = _add_event
