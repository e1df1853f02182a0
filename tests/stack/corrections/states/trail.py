"""The history of an execution, as lines of events.

AWS: each event names the one before it: that of its own branch or item, which begins at the event that started it.
  The first state's event names 0.
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
    """The events of an execution that has ended, compressed: a suite starts thousands. A redrive appends to them."""

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
    """Compress the history of an execution that has ended."""
    with _lock:
        execution["events"] = Packed(execution["events"])


def unpack(execution):
    """Make room for the events of a redrive."""
    with _lock:
        execution["events"] = list(execution["events"])


class Trail:
    def __init__(self, execution, last=0):
        self.execution, self.last, self.tail = execution, last, last

    def add(self, kind, details=None, field=None, previous=None, aside=False):
        """Append an event. The line goes on behind it, unless it is only noted `aside`; `tail` is the last of both."""
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
    """A value and the note that it is not cut."""
    return {name: value if isinstance(value, str) else compact(value), f"{name}Details": _WHOLE}


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def failed(error):
    """Error and cause of an event; one that is absent or empty is not named."""
    return {key: value for key, value in (("error", error.error), ("cause", error.cause)) if value}


def _add_event(execution, kind, details=None):
    """The events that the emulator adds by itself, of a stop for one, belong to no state."""
    event = Trail(execution).add(kind)
    for field, values in (details or {}).items():
        event[field] = {key: value for key, value in values.items() if value not in (None, "")}
    return event


def apply():
    sfn._add_event = _add_event
