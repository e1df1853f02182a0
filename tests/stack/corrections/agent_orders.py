"""What tests order of and learn from the container agent: faults, shorter minutes, the journal of its calls.

admin.py and faults.py take the orders. Not a correction: nothing happens until it is asked for.
"""
import copy
import threading
import time

# What the agent says of itself, and what ECS answers as a failure with status 200.
AGENT = ("DEPLOYMENT_BLOCKED", "THROTTLED", "TASK_NOT_VALID", "400", "403", "500", "504", "hang")
PROTECTION = ("DEPLOYMENT_BLOCKED", "THROTTLED", "TASK_NOT_VALID")
_FIELDS = {"minuteSeconds", "task"}

_lock = threading.Lock()
_faults = []  # {"agent" or "protection": REASON, "times", "task", "method", "mentioning"}
_fired = []
_calls = []  # the journal, oldest first
_minutes = {}  # task ARN, None for all others: how many real seconds its minute of protection has


class Refused(Exception):
    """The order makes no sense; the text says why."""


def order(request):
    """Make the next calls fail: {"agent": REASON} those of the endpoint, {"protection": REASON} all."""
    kind = "agent" if "agent" in request else "protection"
    reason, times = str(request[kind]), request.get("times", 1)
    known = AGENT if kind == "agent" else PROTECTION
    if reason not in known or not isinstance(times, int) or times < 1:
        raise Refused(f"{kind} needs one of {', '.join(known)}, and times of at least 1")
    with _lock:
        _faults.append({kind: reason, "times": times, "task": request.get("task"), "method": request.get("method"),
                        "mentioning": str(request.get("mentioning", ""))})


def take(kind, task, method, text):
    """The fault that was ordered for such a call, None when there is none."""
    if not _faults:
        return None
    with _lock:
        for fault in _faults:
            if (kind in fault and fault["task"] in (None, task) and fault["method"] in (None, method)
                    and fault["mentioning"] in text):
                fault["times"] -= 1
                if not fault["times"]:
                    _faults.remove(fault)
                _fired.append({"fault": kind, **fault, "task": task})
                return fault[kind]
    return None


def status():
    """(what is ordered, what has fired)"""
    with _lock:
        return copy.deepcopy((_faults, _fired))


def clear_faults():
    with _lock:
        _faults.clear()
        _fired.clear()


def minute_seconds(task):
    return _minutes.get(task, _minutes.get(None, 60))


def settle(request):
    """{"minuteSeconds": SECONDS, "task": ARN or none for all}"""
    seconds = request.get("minuteSeconds")
    if set(request) - _FIELDS or isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0:
        raise Refused('give {"minuteSeconds": a number above 0}, and a "task" if it is for one only')
    _minutes[request.get("task")] = seconds


def record(task, container, method, body):
    """Note a call, and return its entry, which gets `status` and `answer` when it is answered."""
    entry = {"time": time.time_ns() // 1_000_000, "task": task, "container": container, "method": method, "body": body,
             "status": None, "answer": None}
    with _lock:
        _calls.append(entry)
    return entry


def journal(task=None):
    """What was called, oldest first, and what a minute lasts."""
    with _lock:
        calls = copy.deepcopy([call for call in _calls if task in (None, call["task"])])
    return {"calls": calls, "minuteSeconds": minute_seconds(task)}


def clear(task=None):
    """Forget the journal and the length of minutes, of one task or of all."""
    with _lock:
        _calls[:] = [call for call in _calls if task not in (None, call["task"])]
        if task is None:
            _minutes.clear()
        else:
            _minutes.pop(task, None)
