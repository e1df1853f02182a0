"""Plays one execution of a definition, with random answers of the services."""
import contextvars

from corrections import scope
from corrections.states import expressions, machine, tasks, trail, visit
from ministack.services import stepfunctions as sfn

from . import services

_STEPS = 150  # an execution with more steps only repeats its waits
# The errors that are faults of an expression. An error that it raises on purpose is not a fault.
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
        """Runs the definition, and returns the faults of its expressions."""
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
            pass  # the end of an execution is not judged
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
        """Replaces services, timers and limits by random values."""
        tasks._invoke = lambda _, call, resource, arguments, limits: self._answer(resource, arguments)
        sfn._read_map_items = lambda *_: services.items()
        sfn._scaled_sleep = lambda seconds: self._step()
        # Branches run one after the other, so that the same seed gives the same run.
        scope.in_thread = lambda function, *arguments: contextvars.copy_context().run(function, *arguments)
        expressions.evaluate = self._evaluated

    def _answer(self, resource, arguments):
        self._step()
        return services.answer(self.draw, resource, arguments)

    def _step(self):
        self.left -= 1
        if self.left < 0:
            raise scope.Stopped()  # ends the execution, because no Retry and no Catch applies to it

    def _evaluated(self, text, bindings, location):
        self.seen.add(text)
        self.branches.text = text
        self.redrives += self.draw.chance(0.03)  # sometimes simulates a redrive in this state
        context = bindings["states"]["context"]
        count = {"RedriveCount": self.redrives} if self.redrives or self.counted else {}
        known = {**context, "Execution": {**context["Execution"], **count}}
        return _evaluate(text, {**bindings, "states": {**bindings["states"], "context": known}}, location)
