"""Probes of the behaviour that the design assumes for executions that another execution starts."""
from .registry import check, probe
from .workflows import failed_with

# Catches every error, and adds it to the input of the state Read.
CAUGHT = {"ErrorEquals": ["States.ALL"], "Output": "{% $merge([$states.input, $states.errorOutput]) %}", "Next": "Read"}


def starting(scratch, child, name, **fields):
    """Returns a Task state that starts an execution with a name and waits for its end."""
    return {"Type": "Task", "Resource": scratch.integration("states:startExecution.sync:2"), "End": True,
            "TimeoutSeconds": 60, "Arguments": {"StateMachineArn": child, "Name": name, "Input": {}}, **fields}


def reading(scratch, execution):
    """Returns a Task state that describes an execution."""
    return {"Type": "Task", "Resource": scratch.integration("aws-sdk:sfn:describeExecution"), "End": True,
            "TimeoutSeconds": 15, "Arguments": {"ExecutionArn": execution}}


def execution_of(machine, name):
    return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"


def errors(scratch, states, data=None):
    """Runs the states, and returns the output of the last one."""
    ended = scratch.ended(scratch.start(scratch.machine(states), data), 90)
    check(ended["status"] == "SUCCEEDED", f"{ended['status']}: {ended.get('error')}: {ended.get('cause')}")
    return ended["output"]


@probe("failed-child-has-its-own-error-in-its-description")
def failed_child_is_described(scratch):
    child, name = scratch.machine({"Fail": {"Type": "Fail", "Error": "Etl.Odd", "Cause": "row 7"}}), scratch.name("child")
    seen = "{% $states.input.Error & ' ' & $states.result.Status & ' ' & $states.result.Error & ' ' & $states.result.Cause %}"
    states = {"Run": starting(scratch, child, name, Catch=[CAUGHT]),
              "Read": {**reading(scratch, execution_of(child, name)), "Output": seen}}
    found = errors(scratch, states)
    check(found == '"States.TaskFailed FAILED Etl.Odd row 7"', found)


@probe("child-with-the-name-of-one-that-is-over-is-refused")
def used_name_is_refused(scratch):
    child, name = scratch.machine({"Done": {"Type": "Succeed"}}), scratch.name("child")
    api = scratch.client("stepfunctions")
    first = api.start_execution(stateMachineArn=child, name=name, input='{"first": true}')["executionArn"]
    scratch.ended(first)
    states = {"Run": starting(scratch, child, name, Catch=[CAUGHT]),
              "Read": {"Type": "Pass", "Output": "{% $states.input.Error %}", "End": True}}
    found = errors(scratch, states)
    check(found == '"StepFunctions.ExecutionAlreadyExistsException"', found)


@probe("unknown-execution-has-its-error-name")
def unknown_execution(scratch):
    child = scratch.machine({"Done": {"Type": "Succeed"}})
    ended = scratch.ended(scratch.start(scratch.machine({"Read": reading(scratch, execution_of(child, "none"))})))
    failed_with(ended, "Sfn.ExecutionDoesNotExistException")


@probe("denied-start-of-a-child-has-its-error-name")
def denied_start(scratch):
    child = scratch.machine({"Done": {"Type": "Succeed"}})
    other = child.rpartition(":")[0] + ":not-" + child.rpartition(":")[2]
    ended = scratch.ended(scratch.start(scratch.machine({"Run": starting(scratch, other, scratch.name("child"))})))
    failed_with(ended, "StepFunctions.AWSStepFunctionsException")


@probe("stopped-caller-stops-its-child")
def stopped_caller(scratch):
    child, name = scratch.machine({"Wait": {"Type": "Wait", "Seconds": 120, "End": True}}), scratch.name("child")
    api, arn = scratch.client("stepfunctions"), execution_of(child, name)
    caller = scratch.start(scratch.machine({"Run": starting(scratch, child, name)}))

    def runs():
        found = api.list_executions(stateMachineArn=child, statusFilter="RUNNING")["executions"]
        return arn in (one["executionArn"] for one in found)
    scratch.wait_for(runs, "child")
    api.stop_execution(executionArn=caller)
    check(scratch.ended(arn)["status"] == "ABORTED", "the child was not stopped")
