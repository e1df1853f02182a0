"""Functions.

AWS: a state whose function Lambda refuses to invoke fails with Lambda. and the name of Lambda's
  exception: TooManyRequestsException when it is throttled, ServiceException when Lambda itself fails.
  https://docs.aws.amazon.com/step-functions/latest/dg/sfn-best-practices.html#bp-lambda-serviceexception
ministack 1.5.33: names both Lambda.Unknown.

Not differences of behaviour but of speed: a warm invocation on AWS takes a few ms, here
  70 ms, because the runtime API's small answers wait for Nagle's algorithm (40 ms) and the
  emulator for log lines (lambda_logs.py). Each idle environment looks ten times a second for
  work. And AWS has room for 1000 environments; here invocations beyond LOCKSTACK_ENVIRONMENTS
  wait for one to be free.
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

_WAIT_SECONDS = 60  # then it is throttled: two functions that wait for each other must not wait for ever
_stock_call = sfn._call_lambda
_stock_execute = lambda_svc._execute_function_dispatch
_stock_env = lambda_svc._provided_worker_env
_stock_handler = lambda_runtime.ProvidedWorker._build_handler_class
_environments = threading.BoundedSemaphore(int(os.environ.get("LOCKSTACK_ENVIRONMENTS") or 40))
_ports = {}  # access key of an environment: port of its runtime API
intercept = []  # called with a function's name and event; the first answer that is not None is the invocation's result


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
        scope.check()  # the attempt that asked may be over by now
        return _stock_execute(function, config, event, *more)
    finally:
        _environments.release()


def _environment_with_own_keys(config, code_dir, port):
    """As on AWS each environment has credentials of its own, so that a request shows its environment."""
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
    """A queue whose readers look less often; what is put wakes them at once all the same."""

    def __init__(self, queue):
        self._queue = queue

    def get(self, timeout):
        return self._queue.get(timeout=20 * timeout)


def _evict_expired_sessions():
    """As shipped, but other threads may add sessions meanwhile."""
    for key, session in list(sts._sessions.items()):
        if sts._session_expired(session):
            sts._sessions.pop(key, None)


def environment_of(access_key):
    """The environment that an access key was given to, and None when it is gone."""
    port = _ports.get(access_key)
    with lambda_runtime._lock:
        everyone = [worker for workers in lambda_runtime._workers.values() for worker in workers]
    for worker in everyone:
        server = getattr(worker, "_server", None)
        if port and server and server.server_address[1] == port:
            return worker
    return None


def function_of(headers):
    """The name of the function whose environment sent a request; None when it was none."""
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
