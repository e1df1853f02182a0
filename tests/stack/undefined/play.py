"""One execution of a definition, on drawn answers."""
import contextvars

from corrections import scope
from corrections.states import expressions, machine, tasks, trail, visit
from ministack.services import stepfunctions as sfn

from . import services

_STEPS = 150  # more than that is a circle of waits
# What an expression says by itself, and what it cannot help, is no fault of it.
_FAULTS = ("returned nothing (undefined)", "returned an unsupported result type", "returned an unexpected result type",
           "threw an error during evaluation")
_ON_PURPOSE = "D3137"
_evaluate = expressions.evaluate

machine.apply()


class Play:
    def __init__(self, definition, draw, seen, branches):
        self.definition, self.draw, self.seen, self.branches = definition, draw, seen, branches
        self.left, self.redrives = _STEPS, 0
        self.counted = draw.chance(0.5)  # whether an execution without a redrive has a count
        self.faults = []

    def run(self, data):
        """Faults of the expressions that were evaluated."""
        execution = {"executionArn": "arn:aws:states:eu-west-1:1:execution:m:e", "stateMachineArn": "m", "name": "e", "events": [],
                     "status": "RUNNING", "startDate": "2026-03-01T06:00:00.000Z", "input": trail.compact(data)}
        context = {"Execution": {"Id": execution["executionArn"], "Input": data, "Name": "e", "StartTime": execution["startDate"],
                                 "RoleArn": "r"},
                   "StateMachine": {"Id": "m", "Name": "m"}}
        line = visit.Line(trail.Trail(execution), context, {}, self.definition.get("QueryLanguage", "JSONPath"))
        self._take_over()
        token = scope.enter(scope.Scope())
        try:
            machine.run_states(line, self.definition["States"], self.definition["StartAt"], data)
        except scope.TaskError:
            pass  # how an execution ends is not judged here
        finally:
            scope.leave(token)
        for event in execution["events"]:
            if event["type"] == "EvaluationFailed":
                self._judge(event["evaluationFailedEventDetails"])
        return self.faults

    def _judge(self, failed):
        if any(fault in failed["cause"] for fault in _FAULTS) and _ON_PURPOSE not in failed["cause"]:
            self.faults.append((failed["state"], failed.get("location"), failed["cause"]))

    def _take_over(self):
        """Put the draw in the place of services, timers and limits."""
        tasks._invoke = lambda _, call, resource, arguments, limits: self._answer(resource, arguments)
        sfn._read_map_items = lambda *_: services.items()
        sfn._scaled_sleep = lambda seconds: self._step()
        # One branch after the other, so that a run of the same seed is the same.
        scope.in_thread = lambda function, *arguments: contextvars.copy_context().run(function, *arguments)
        expressions.evaluate = self._evaluated

    def _answer(self, resource, arguments):
        self._step()
        return services.answer(self.draw, resource, arguments)

    def _step(self):
        self.left -= 1
        if self.left < 0:
            raise scope.Stopped()  # far enough: no Retry and no Catch sees it

    def _evaluated(self, text, bindings, location):
        self.seen.add(text)
        self.branches.text = text
        self.redrives += self.draw.chance(0.03)  # as if a redrive entered the state
        context = bindings["states"]["context"]
        count = {"RedriveCount": self.redrives} if self.redrives or self.counted else {}
        known = {**context, "Execution": {**context["Execution"], **count}}
        return _evaluate(text, {**bindings, "states": {**bindings["states"], "context": known}}, location)
