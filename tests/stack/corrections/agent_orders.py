"""Orders of tests to the container agent (faults, shorter minutes of protection), and the journal of its calls.

Not a correction: without an order, nothing changes. admin.py and faults.py receive the orders.
"""
import copy
import threading
import time

# The faults of the endpoint, and those that ECS itself returns as failures with status 200.
AGENT = ("DEPLOYMENT_BLOCKED", "THROTTLED", "TASK_NOT_VALID", "400", "403", "500", "504", "hang")
PROTECTION = ("DEPLOYMENT_BLOCKED", "THROTTLED", "TASK_NOT_VALID")
_FIELDS = {"minuteSeconds", "task"}

_lock = threading.Lock()
_faults = []  # {"agent" or "protection": REASON, "times", "task", "method", "mentioning"}
_fired = []
_calls = []  # the journal, oldest first
_minutes = {}  # real seconds of a minute of protection, by task ARN; None is the key for all other tasks


class Refused(Exception):
    """The order is invalid. The text says why."""


def order(request):
    """Lets the next calls fail: those of the endpoint for {"agent": REASON}, all for {"protection": REASON}."""
    kind = "agent" if "agent" in request else "protection"
    reason, times = str(request[kind]), request.get("times", 1)
    known = AGENT if kind == "agent" else PROTECTION
    if reason not in known or not isinstance(times, int) or times < 1:
        raise Refused(f"{kind} needs one of {', '.join(known)}, and times of at least 1")
    with _lock:
        _faults.append({kind: reason, "times": times, "task": request.get("task"), "method": request.get("method"),
                        "mentioning": str(request.get("mentioning", ""))})


def take(kind, task, method, text):
    """Takes the fault that was ordered for such a call, and returns its reason. Returns None if there is no fault."""
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
    """Returns (orders that are left, faults that have occurred)."""
    with _lock:
        return copy.deepcopy((_faults, _fired))


def clear_faults():
    with _lock:
        _faults.clear()
        _fired.clear()


def minute_seconds(task):
    return _minutes.get(task, _minutes.get(None, 60))


def settle(request):
    """Sets the length of a minute: {"minuteSeconds": SECONDS, "task": ARN}. Without `task`, for all tasks."""
    seconds = request.get("minuteSeconds")
    if set(request) - _FIELDS or isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0:
        raise Refused('minuteSeconds must be a number above 0, and the only other field is task')
    _minutes[request.get("task")] = seconds


def record(task, container, method, body):
    """Records a call, and returns its entry. The caller sets `status` and `answer` of the entry later."""
    entry = {"time": time.time_ns() // 1_000_000, "task": task, "container": container, "method": method, "body": body,
             "status": None, "answer": None}
    with _lock:
        _calls.append(entry)
    return entry


def journal(task=None):
    """Returns the calls, oldest first, and the real seconds of a minute."""
    with _lock:
        calls = copy.deepcopy([call for call in _calls if task in (None, call["task"])])
    return {"calls": calls, "minuteSeconds": minute_seconds(task)}


def clear(task=None):
    """Removes the journal and the length of minutes, of one task or of all."""
    with _lock:
        _calls[:] = [call for call in _calls if task not in (None, call["task"])]
        if task is None:
            _minutes.clear()
        else:
            _minutes.pop(task, None)
