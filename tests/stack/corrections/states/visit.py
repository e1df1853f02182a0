"""One visit of a state, and the values that its fields can use.

AWS: `$states` has the input, the context object and, if the state has them, result and errorOutput.
  https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
AWS: the context object names the execution with its role, the state machine, the state, and the item of a Map.
  https://docs.aws.amazon.com/step-functions/latest/dg/input-output-contextobject.html
AWS: the variables that a state assigns are available from the next state on. A branch and an item have their own variables. The
  limit is 256 KiB for a variable, and also for all variables of one Assign together.
  https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
"""
import copy

from ministack.services import stepfunctions as sfn

from .. import scope
from . import expressions, paths, templates
from .trail import compact

RUNTIME = "States.Runtime"
MOST_BYTES = 262_144
TOO_LARGE = "States.DataLimitExceeded"


class Line:
    """A line of states: those of an execution, of a branch or of an item."""

    def __init__(self, trail, context, variables, language):
        self.trail, self.context, self.variables, self.language = trail, context, variables, language
        self.visit = None

    def fork(self, trail):
        return Line(trail, copy.deepcopy(self.context), copy.deepcopy(self.variables), self.language)


class Visit:
    def __init__(self, line, name, state, data):
        self.line, self.name, self.state, self.input = line, name, state, data
        self.trail, self.context, self.execution = line.trail, line.context, line.trail.execution
        self.jsonata = (state.get("QueryLanguage") or line.language) == "JSONata"
        self.kind = state.get("Type")
        self.before = self.entered = self.trail.last
        self.assigned = {}
        line.visit = self
        line.context["State"] = {"Name": name, "EnteredTime": sfn.now_iso()}

    @property
    def next(self):
        return None if self.state.get("End") else self.state.get("Next")

    def template(self, value, location, **states):
        """Returns the value of a JSONata field."""
        bound = {"input": self.input, "context": self.context, **states}
        try:
            return expressions.template(value, {**self.line.variables, "states": bound}, location)
        except expressions.QueryError as error:
            raise self.noted(error) from None

    def field(self, name, expected):
        """Returns the value of a JSONata field. Fails the state if it does not have the expected JSON type."""
        value = self.template(self.state[name], name)
        try:
            return expressions.of_type(expected, value, self.state[name], name)
        except expressions.QueryError as error:
            raise self.noted(error) from None

    def noted(self, error):
        """Adds an error to the history, and returns it."""
        error.cause = self.cause(error.cause)
        place = {"location": error.location} if error.location else {}
        # The failure of a field that is evaluated at the state's entry follows the event before the entry.
        beside = self.trail.last == self.entered and self.kind != "Wait"
        self.trail.add("EvaluationFailed", {"error": error.error, "cause": error.cause, "state": self.name, **place},
                       previous=self.before if beside else None)
        return error

    def cause(self, text):
        return f"An error occurred while executing the state '{self.name}' (entered at the event id #{self.entered}). {text}"

    def broken(self, text):
        """Returns the error of a definition that does not fit its data. No Retry and no Catch applies to it."""
        return scope.TaskError(RUNTIME, self.cause(text))

    def roots(self, data, context=None):
        return {**self.line.variables, "": data, "$": context or self.context}

    def reference(self, path, data):
        """Returns the value at a path of the definition."""
        if path.startswith("States."):
            return self.payload({"value.$": path}, data)["value"]
        try:
            return paths.find(path, self.roots(data))
        except paths.Missing as missing:
            raise self.broken(f"Invalid path '{path}' : {missing}") from None

    def selected(self, name, data):
        """Returns what InputPath or OutputPath selects."""
        path = self.state.get(name, "$")
        return {} if path is None else self.reference(path, data)

    def payload(self, template, data, context=None):
        """Returns the value of a payload template in JSONPath."""
        try:
            return templates.resolve(template, self.roots(data, context))
        except templates.Unresolved as problem:
            raise self.broken(str(problem)) from None
        except templates.IntrinsicFailure as problem:
            raise scope.TaskError("States.IntrinsicFailure", self.cause(str(problem))) from None

    def assign(self, fields, data, **states):
        """Assigns the variables of a state, a rule or a catcher. `data` is the value of `$` in JSONPath."""
        template = fields.get("Assign")
        if template:
            made = self.template(template, "Assign", **states) if self.jsonata else self.payload(template, data)
            if is_too_large(made):
                raise scope.TaskError(TOO_LARGE, f"The variables that the state '{self.name}' assigns exceed the maximum number of bytes "
                                                 "service limit.")
            self.assigned.update(made)

    def output(self, fields, default, **states):
        """Returns the JSONata Output of a state, a rule or a catcher."""
        return self.template(fields["Output"], "Output", **states) if "Output" in fields else default

    def finished(self, result, original=None):
        """Assigns the variables of a state with this result, and returns its output."""
        if self.jsonata:
            output = self.output(self.state, result, result=result)
            self.assign(self.state, None, result=result)
            return output
        self.assign(self.state, result)
        if self.state.get("ResultSelector"):
            result = self.payload(self.state["ResultSelector"], result)
        document = self.input if original is None else original
        output = paths.assign(self.state.get("ResultPath", "$"), document, result)
        return self.selected("OutputPath", output)


def too_large(name):
    return scope.TaskError(TOO_LARGE, f"The state/task '{name}' returned a result with a size exceeding the maximum number "
                                      "of bytes service limit.")


def is_too_large(value):
    return len(compact(value).encode()) > MOST_BYTES
