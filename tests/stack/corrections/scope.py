"""Scopes, which can be cancelled: an execution, a branch, or one attempt of a task.

A state runs in a thread, and a thread cannot be killed, so everything that waits uses a scope.
Cancelling a scope cancels the scopes inside it, and wakes their threads. No thread polls, because
polling by hundreds of executions would use up the machine.
"""
import contextlib
import contextvars
import threading
import time

from ministack.services import stepfunctions

TaskError = stepfunctions._ExecutionError
_current = contextvars.ContextVar("scope", default=None)


class Stopped(TaskError):
    """Raised in a thread whose scope was cancelled. No Retry and no Catch sees it."""
    NAME = "(stopped)"

    def __init__(self):
        super().__init__(self.NAME, "")


class Scope:
    def __init__(self, parent=None):
        self.parent = parent
        self.children = []
        self.first_error = None  # of a Map: the error that stopped its other items
        self.point = None  # the current state, for redrive.py
        self.resume = None  # the state at which a redriven scope continues
        self.done = False  # of a Parallel: whether the branch has its result
        self.result = None
        self.execution = None  # the ARN of the execution, if the scope has no parent
        self.abandoned = False  # whether the work of the scope continues after its cancellation: a habit of habits.py
        self._cancelled = threading.Event()
        self._listeners = []
        if parent:
            parent.children.append(self)
            if parent.cancelled:
                self._cancelled.set()

    @property
    def cancelled(self):
        return self._cancelled.is_set()

    def cancel(self):
        self._cancelled.set()
        for listener in list(self._listeners):
            listener()
        for child in list(self.children):
            child.cancel()

    @contextlib.contextmanager
    def telling(self, listener):
        """Calls `listener` when the scope is cancelled, or at once if it is cancelled already."""
        self._listeners.append(listener)
        try:
            if self.cancelled:
                listener()
            yield
        finally:
            self._listeners.remove(listener)

    def wait(self, seconds):
        """Sleeps. Raises Stopped as soon as the scope is cancelled."""
        if self._cancelled.wait(max(seconds, 0)):
            raise Stopped()

    def close(self):
        if self.parent and self in self.parent.children:
            self.parent.children.remove(self)


def current():
    return _current.get()


def abandoned():
    """Returns whether the work that this thread waits for continues after the cancellation of the thread's scope."""
    here = current()
    return bool(here and here.abandoned)


def enter(scope):
    """Makes `scope` the current scope of this thread. `leave` restores the scope before, with the token that this returns."""
    return _current.set(scope)


def leave(token):
    _current.reset(token)


def telling(listener):
    """Scope.telling for this thread's scope."""
    scope = current()
    return scope.telling(listener) if scope else contextlib.nullcontext()


def check():
    scope = current()
    if scope and scope.cancelled:
        raise Stopped()


def pause(seconds):
    scope = current()
    if scope:
        scope.wait(seconds)
    else:
        time.sleep(max(seconds, 0))


def in_thread(function, *arguments):
    """Runs a function in a new thread with the account, Region and scope of this one."""
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(function, *arguments), daemon=True)
    thread.start()
    return thread
