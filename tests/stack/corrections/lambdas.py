"""Lambda functions: their refusals, their environments and their speed.

AWS: a state whose function Lambda refuses to invoke fails with `Lambda.` and the name of Lambda's
  exception: TooManyRequestsException if it is throttled, ServiceException if Lambda itself fails.
  https://docs.aws.amazon.com/step-functions/latest/dg/sfn-best-practices.html#bp-lambda-serviceexception
ministack 1.5.33: the error of both is Lambda.Unknown.

The other corrections concern the speed, not the behaviour:
- A warm invocation takes a few ms on AWS, but 70 ms in the emulator. Small answers of its runtime API wait 40 ms for
  Nagle's algorithm, and it waits for log lines (lambda_logs.py).
- Each idle environment of the emulator polls for work ten times a second.
- AWS allows 1000 environments. Here, invocations beyond LOCKSTACK_ENVIRONMENTS wait for a free environment.
"""
import hashlib
import json
import os
import re
import socketserver
import threading

from ministack.core import lambda_runtime
from ministack.services import lambda_svc, sts
from ministack.services import stepfunctions as sfn

from . import scope

_WAIT_SECONDS = 60  # then an invocation is throttled, so that functions that wait for each other end
_stock_call = sfn._call_lambda
_stock_execute = lambda_svc._execute_function_dispatch
_stock_env = lambda_svc._provided_worker_env
_stock_handler = lambda_runtime.ProvidedWorker._build_handler_class
_environments = threading.BoundedSemaphore(int(os.environ.get("LOCKSTACK_ENVIRONMENTS") or 40))
_ports = {}  # port of an environment's runtime API, by the environment's access key
intercept = []  # called with a function's name and event; the first result that is not None becomes that of the invocation


def _call_lambda(function, event):
    try:
        return _stock_call(function, event)
    except scope.TaskError as error:
        if error.error != "Lambda.Unknown":
            raise
        raise scope.TaskError(_service_error(error.cause), error.cause) from None


def _service_error(cause):
    try:
        name = json.loads(cause).get("__type")
    except (ValueError, AttributeError):
        name = None
    return f"Lambda.{name}" if name else "Lambda.Unknown"


def _execute(function, config, event, *more):
    for look in intercept:
        result = look(config.get("FunctionName"), event)
        if result is not None:
            return result
    if not _environments.acquire(timeout=_WAIT_SECONDS):
        return lambda_svc._throttle_response("ConcurrentInvocationLimitExceeded", "Rate Exceeded.")
    try:
        scope.check()  # the attempt of the state may have ended during the wait
        return _stock_execute(function, config, event, *more)
    finally:
        _environments.release()


def _environment_with_own_keys(config, code_dir, port):
    """Gives each environment its own credentials, as AWS does, so that a request shows its environment."""
    env = _stock_env(config, code_dir, port)
    session = sts._sessions.get(env.get("AWS_ACCESS_KEY_ID"))
    if not session:
        return env
    digest = hashlib.sha256(f"{env['AWS_ACCESS_KEY_ID']}:{port}".encode()).hexdigest()
    access_key = f"ASIA{digest[:16].upper()}"
    sts.register_session(access_key, {**session, "SecretAccessKey": digest, "SessionToken": digest[::-1]})
    _ports[access_key] = port
    return {**env, "AWS_ACCESS_KEY_ID": access_key, "AWS_SECRET_ACCESS_KEY": digest, "AWS_SESSION_TOKEN": digest[::-1]}


class _Patient:
    """A queue whose readers poll less often. A new entry still wakes them at once."""

    def __init__(self, queue):
        self._queue = queue

    def get(self, timeout):
        return self._queue.get(timeout=20 * timeout)


def _evict_expired_sessions():
    """Evicts expired sessions like the emulator, but allows other threads to add sessions during the loop."""
    for key, session in list(sts._sessions.items()):
        if sts._session_expired(session):
            sts._sessions.pop(key, None)


def environment_of(access_key):
    """Returns the environment that has an access key, or None if it has ended."""
    port = _ports.get(access_key)
    with lambda_runtime._lock:
        everyone = [worker for workers in lambda_runtime._workers.values() for worker in workers]
    for worker in everyone:
        server = getattr(worker, "_server", None)
        if port and server and server.server_address[1] == port:
            return worker
    return None


def function_of(headers):
    """Returns the name of the function whose environment sent a request, or None if another client sent it."""
    key = re.search(r"Credential=([^/]+)/", headers.get("authorization", ""))
    worker = environment_of(key.group(1)) if key else None
    return worker.func_name if worker else None


def apply():
    socketserver.StreamRequestHandler.disable_nagle_algorithm = True
    lambda_runtime.ProvidedWorker._build_handler_class = (
        lambda worker, generation, pending: _stock_handler(worker, generation, _Patient(pending)))
    sts._evict_expired_sessions = _evict_expired_sessions
    sfn._call_lambda = _call_lambda
    lambda_svc._execute_function_dispatch = _execute
    lambda_svc._provided_worker_env = _environment_with_own_keys
