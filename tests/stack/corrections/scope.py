"""What can be cancelled: an execution, a branch of it, one attempt of a task.

A state runs in a thread that nobody can kill, so everything that waits asks its scope.
Cancelling a scope cancels the scopes inside it and wakes whoever waits: nobody polls, for
with hundreds of executions polling would take the machine.
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
        self.first_error = None  # used by Map: the error that stopped its other items
        self.point = None  # the state that it is in, for redrive.py
        self.resume = None  # the state that it goes on from, when redriven
        self.done = False  # used by Parallel: the branch has its result
        self.result = None
        self.execution = None  # the ARN, of a scope without parent
        self.abandoned = False  # what it waits for goes on when it is cancelled: a habit of habits.py
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
        """Call `listener` once it is cancelled, also when it was before."""
        self._listeners.append(listener)
        try:
            if self.cancelled:
                listener()
            yield
        finally:
            self._listeners.remove(listener)

    def wait(self, seconds):
        """Sleep; raise Stopped as soon as the scope is cancelled."""
        if self._cancelled.wait(max(seconds, 0)):
            raise Stopped()

    def close(self):
        if self.parent and self in self.parent.children:
            self.parent.children.remove(self)


def current():
    return _current.get()


def abandoned():
    """Whether what this thread waits for goes on although nothing waits for it any more."""
    here = current()
    return bool(here and here.abandoned)


def enter(scope):
    """Make `scope` the current one of this thread; `leave(token)` undoes it."""
    return _current.set(scope)


def leave(token):
    _current.reset(token)


def telling(listener):
    """As Scope.telling, of this thread's scope."""
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
    """Run in a thread that keeps the account, region and scope of this one."""
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(function, *arguments), daemon=True)
    thread.start()
    return thread
