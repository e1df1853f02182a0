"""Lines of states that run in parallel: the branches of a Parallel, the items of a Map.

AWS: if one line fails, the state fails at once, and the other lines are stopped.
  https://docs.aws.amazon.com/step-functions/latest/dg/state-parallel.html
AWS: the history has an Aborted event for each state that was stopped in this way, after the events of the failure (recorded:
  test_service_lambda_map_timeout, 2024-03-10).
"""
import itertools
import queue

from .. import redrive, scope

_ABORTED = ("Task", "Wait", "Parallel", "Map")


class Siblings:
    """Runs lines in parallel. `work(line, index, go_on)` runs one; `go_on` is the (state, input) at which a redrive continues, or None."""

    def __init__(self, visit, count, most, work):
        self.visit, self.work = visit, work
        self.scopes = [scope.Scope(scope.current()) for _ in range(count)]
        self.results, self.lines = [None] * count, [None] * count
        self._slots = min(count, most)
        self._next = itertools.count(self._slots)
        self._ended = queue.Queue()
        self._earlier = redrive.enter_branches(self.scopes)

    def run(self, note_aborted=lambda index: None):
        for first in range(self._slots):
            scope.in_thread(self._slot, first, self.visit.trail.fork())
        try:
            with scope.telling(lambda: self._ended.put((None, scope.Stopped(), None))):
                for _ in self.results:
                    index, error, last = self._ended.get()
                    if error:
                        self._cancel()
                        if index is not None:
                            self.visit.trail.last = last
                            self._note(index, note_aborted)
                        raise error
                    self.visit.trail.last = last
        finally:
            self._cancel(close=True)
        return self.results

    def _slot(self, first, trail):
        """Runs lines one after the other until none is left. The history of each follows that of the line before."""
        for index in itertools.chain([first], self._next):
            if index >= len(self.results):
                return
            error = self._one(index, trail)
            self._ended.put((index, error, trail.last if error else trail.tail))
            if error:
                return

    def _one(self, index, trail):
        own = self.scopes[index]
        token = scope.enter(own)
        line = self.lines[index] = self.visit.line.fork(trail)
        try:
            go_on = redrive.begin_of(self._earlier[index], own, line)
            if not own.done:
                scope.check()
                own.result = self.work(line, index, go_on)
                own.done = True
            self.results[index] = own.result
            return None
        except scope.TaskError as error:
            return error
        except Exception as problem:  # any other error fails the state, too
            return scope.TaskError("States.Runtime", str(problem))
        finally:
            scope.leave(token)

    def _cancel(self, close=False):
        for one in self.scopes:
            if close:
                one.close()
            elif not one.done:
                one.cancel()

    def _note(self, failed, note_aborted):
        """Adds the events of the states that a failure stopped."""
        for index, line in enumerate(self.lines):
            if index != failed and line and not self.scopes[index].done:
                if line.visit and line.visit.kind in _ABORTED:
                    self.visit.trail.add(f"{line.visit.kind}StateAborted", aside=True)
                note_aborted(index)
        if self.lines[failed].visit and self.lines[failed].visit.kind == "Task":
            self.visit.trail.add("TaskStateAborted", aside=True)
