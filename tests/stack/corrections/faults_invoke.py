"""Invocations of functions that fail on order, with the error name that a state gets.

Not a correction: without an order, nothing happens. faults.py receives the orders.
AWS: a state whose invocation Lambda refuses fails with `Lambda.` and the name of the exception. A state whose function fails
  has the function's errorType as Error, and the function's answer as JSON in Cause.
  https://docs.aws.amazon.com/step-functions/latest/dg/connect-lambda.html
  https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html#API_Invoke_Errors
"""
import json
import threading
import time

from ministack.services import lambda_svc

from . import lambdas

_SHORT = {"throttle": "Lambda.TooManyRequestsException", "service": "Lambda.ServiceException"}
# The answer of lambda_runtime when a handler panics. Its errorType is the type of the panic's payload.
_PANIC = {"errorType": "alloc::boxed::Box<dyn core::any::Any + core::marker::Send>",
          "errorMessage": "Lambda panicked: on order"}
_STATUS = {"InvalidRequestContentException": 400, "ResourceNotFoundException": 404, "ResourceConflictException": 409,
           "TooManyRequestsException": 429, "EC2ThrottledException": 502, "KMSAccessDeniedException": 502}

_lock = threading.Lock()
_orders = []  # {"function", "times" or "until", "with", "mentioning"}
_fired = []
_stock_invoke = lambda_svc._invoke


class Refused(Exception):
    """The order cannot be carried out; the text names the field."""


def order(function, request):
    reason = str(request.get("with", "throttle"))
    if reason not in ("throttle", "service", "panic") and "." not in reason:
        raise Refused("with must be throttle, service, panic, or the name of an error of a state, which has a dot")
    found = {"function": function, "with": reason, "mentioning": str(request.get("mentioning", ""))}
    if "seconds" in request:
        found["until"] = time.monotonic() + float(request["seconds"])
    else:
        found["times"] = int(request.get("times", 1))
        if found["times"] < 1:
            raise Refused("times must be at least 1")
    with _lock:
        _orders.append(found)


def status():
    """Returns (orders that are left, invocations that have failed)."""
    with _lock:
        return [dict(one) for one in _orders], [dict(one) for one in _fired]


def clear():
    with _lock:
        _orders.clear()
        _fired.clear()


def _take(name, event, of_lambda=None):
    """Takes the order for such an invocation, and returns its reason, or None. `of_lambda` limits it to refusals of Lambda itself."""
    if not _orders:
        return None
    text, now = json.dumps(event), time.monotonic()
    with _lock:
        _orders[:] = [one for one in _orders if one.get("until", now + 1) > now]
        found = next((one for one in _orders if one["function"] == name and one["mentioning"] in text
                      and (not of_lambda or _exception(one["with"]))), None)
        if not found:
            return None
        if "times" in found:
            found["times"] -= 1
            if not found["times"]:
                _orders.remove(found)
        _fired.append({"fault": "fail", **found})
        return found["with"]


def _exception(reason):
    """Returns the name of Lambda's exception, or None if the function itself fails."""
    full = _SHORT.get(reason, reason)
    return full.removeprefix("Lambda.") if full.startswith("Lambda.") else None


def _fail_invocation(name, event):
    """Returns the result of an invocation by a state or by an asynchronous call, if an order lets it fail."""
    reason = _take(name, event)
    if reason is None:
        return None
    if reason == "throttle":
        return lambda_svc._throttle_response("ReservedFunctionConcurrentInvocationLimitExceeded", "Rate Exceeded.")
    exception = _exception(reason)
    if exception:
        body = {"__type": exception, "message": "On order."}
    else:
        body = _PANIC if reason == "panic" else {"errorType": reason, "errorMessage": "On order."}
    return {"body": body, "error": True, "log": ""}


async def _invoke(name, event, headers, *more, **named):
    asynchronous = headers.get("x-amz-invocation-type") in ("Event", "DryRun")
    reason = None if asynchronous else _take(name, event, of_lambda=True)
    if reason is None:
        return await _stock_invoke(name, event, headers, *more, **named)
    exception = _exception(reason)
    body = json.dumps({"Type": "User", "message": "On order."}).encode()
    return _STATUS.get(exception, 500), {"Content-Type": "application/json", "x-amzn-errortype": exception}, body


def apply():
    lambdas.intercept.append(_fail_invocation)
    lambda_svc._invoke = _invoke
