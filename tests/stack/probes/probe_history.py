"""states/trail.py, calls.py, siblings.py and machine.py: histories as AWS wrote them.

Recorded on AWS (tests/aws/services/stepfunctions/v2 of https://github.com/localstack/localstack):
test_run_task_sync, 2024-02-23; test_fixed_timeout_service_lambda and test_service_lambda_map_timeout, 2024-03-10;
test_map_state_legacy_reentrant, 2024-05-03; test_map_state_retry, 2023-07-18; test_parallel_state_catch, 2023-12-16;
test_raise_exception, 2024-11-28; test_stop_execution, 2024-05-06.
"""
import json

from . import batches
from .executions import details, history, line, of_kind
from .functions import function_arn, recorder
from .support import Probe, client, ended, jsonata, machine, start, wait_for

FAIL = {"Type": "Fail", "Error": "Probe.Failed", "Cause": "on purpose"}
INVOKE = "arn:aws:states:::lambda:invoke"
PASS = {"Type": "Pass", "End": True}


def of(states, data=None, **fields):
    execution = start(machine(jsonata(states, **fields)), data)
    ended(execution, 40)
    return history(execution)


def machine_of(states):
    return {"StartAt": next(iter(states)), "States": states}


class Calls(Probe):
    def test_call_has_its_service_its_parameters_its_limits_and_its_answer(self):
        name = recorder()
        state = {"Type": "Task", "Resource": INVOKE, "TimeoutSeconds": 30, "HeartbeatSeconds": 20, "End": True,
                 "Arguments": {"FunctionName": name, "Payload": {"a": 1}}}
        events = of({"Call": state})
        place = {"resourceType": "lambda", "resource": "invoke"}
        self.assertEqual(["1<0 ExecutionStarted", "2<0 TaskStateEntered", "3<2 TaskScheduled", "4<3 TaskStarted",
                          "5<4 TaskSucceeded", "6<5 TaskStateExited", "7<6 ExecutionSucceeded"], line(events))
        asked = details(events[2])
        self.assertEqual({**place, "region": "us-east-1", "timeoutInSeconds": 30, "heartbeatInSeconds": 20},
                         {key: value for key, value in asked.items() if key != "parameters"})
        self.assertEqual(state["Arguments"], json.loads(asked["parameters"]))
        self.assertEqual(place, details(events[3]))
        self.assertEqual({"truncated": False}, details(events[4])["outputDetails"])

    def test_function_by_its_arn_has_events_of_its_own(self):
        events = of({"Call": {"Type": "Task", "Resource": function_arn(recorder()), "Arguments": {"a": 1}, "End": True}})
        self.assertEqual(["LambdaFunctionScheduled", "LambdaFunctionStarted", "LambdaFunctionSucceeded"],
                         [event["type"] for event in events[2:5]])
        self.assertEqual({"a": 1}, json.loads(details(events[2])["input"]))

    def test_time_out_has_its_own_event_with_an_error_and_no_cause(self):
        wait = machine(jsonata({"Wait": {"Type": "Wait", "Seconds": 20, "End": True}}))
        events = of({"Call": {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "TimeoutSeconds": 1,
                              "Arguments": {"StateMachineArn": wait}, "End": True}})
        self.assertEqual(["TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskTimedOut", "ExecutionFailed"],
                         [event["type"] for event in events[2:]])
        self.assertEqual({"error": "States.Timeout", "resourceType": "states", "resource": "startExecution.sync:2"},
                         details(events[5]))
        self.assertEqual({"error": "States.Timeout"}, details(events[6]))

    def test_events_of_a_retry_follow_the_failure(self):
        call = {"Type": "Task", "Resource": INVOKE, "Arguments": {"FunctionName": "none"}, "End": True,
                "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]}
        self.assertEqual(["3<2 TaskScheduled", "4<3 TaskStarted", "5<4 TaskFailed", "6<5 TaskScheduled", "7<6 TaskStarted",
                          "8<7 TaskFailed", "9<8 ExecutionFailed"], line(of({"Call": call}))[2:])

    def test_task_that_is_waited_for_is_submitted_and_names_who_started_it(self):
        events = of({"Run": batches.run_state(batches.task_definition(), SECONDS=0.1)})
        kinds = [event["type"] for event in events]
        self.assertEqual(["TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded", "TaskStateExited"], kinds[2:7])
        self.assertEqual("AWS Step Functions", json.loads(details(events[2])["parameters"])["StartedBy"])
        submitted, result = (json.loads(details(events[index])["output"]) for index in (4, 5))
        self.assertEqual([], submitted["Failures"])
        self.assertEqual(result["TaskArn"], submitted["Tasks"][0]["TaskArn"])


class Maps(Probe):
    def test_events_of_items_one_by_one_follow_each_other(self):
        each = {"Type": "Map", "Items": [7, 8], "MaxConcurrency": 1, "ItemProcessor": machine_of({"P": PASS}), "End": True}
        self.assertEqual(
            ["2<0 MapStateEntered", "3<2 MapStateStarted", "4<3 MapIterationStarted", "5<4 PassStateEntered",
             "6<5 PassStateExited", "7<6 MapIterationSucceeded", "8<6 MapIterationStarted", "9<8 PassStateEntered",
             "10<9 PassStateExited", "11<10 MapIterationSucceeded", "12<11 MapStateSucceeded", "13<11 MapStateExited",
             "14<13 ExecutionSucceeded"], line(of({"Each": each}))[1:])

    def test_attempt_that_fails_is_followed_by_the_next(self):
        each = {"Type": "Map", "Items": [1], "ItemProcessor": machine_of({"F": FAIL}), "End": True,
                "Retry": [{"ErrorEquals": ["Probe.Failed"], "IntervalSeconds": 1, "MaxAttempts": 1}]}
        events = of({"Each": each})
        self.assertEqual(
            ["3<2 MapStateStarted", "4<3 MapIterationStarted", "5<4 FailStateEntered", "6<5 MapIterationFailed",
             "7<5 MapStateStarted", "8<7 MapIterationStarted", "9<8 FailStateEntered", "10<9 MapIterationFailed",
             "11<9 MapStateFailed", "12<11 ExecutionFailed"], line(events)[2:])
        self.assertEqual({"name": "Each", "index": 0}, details(events[3]))

    def test_states_that_a_failure_stops_are_aborted(self):
        states = {"Which": {"Type": "Choice", "Choices": [{"Condition": "{% $states.input = 1 %}", "Next": "Soon"}],
                            "Default": "Long"},
                  "Soon": {"Type": "Wait", "Seconds": 1, "Next": "F"}, "F": FAIL,
                  "Long": {"Type": "Wait", "Seconds": 30, "End": True}}
        events = of({"Each": {"Type": "Map", "Items": [0, 1], "ItemProcessor": machine_of(states), "End": True}})
        self.assertEqual(["MapIterationFailed", "WaitStateAborted", "MapIterationAborted", "MapStateFailed", "ExecutionFailed"],
                         [event["type"] for event in events[-5:]])
        self.assertEqual(1, len({event["previousEventId"] for event in events[-5:-1]}))


class Branches(Probe):
    def test_states_of_all_branches_are_in_the_history(self):
        branch = machine_of({"A": {"Type": "Pass", "Next": "B"}, "B": PASS})
        events = of({"Both": {"Type": "Parallel", "Branches": [branch, branch], "End": True}})
        begun = of_kind(events, "ParallelStateStarted")[0]["id"]
        entered = of_kind(events, "PassStateEntered")
        self.assertEqual(4, len(entered))
        self.assertEqual(2, len([event for event in entered if event["previousEventId"] == begun]))
        self.assertEqual(["ParallelStateSucceeded", "ParallelStateExited", "ExecutionSucceeded"],
                         [event["type"] for event in events[-3:]])

    def test_failure_that_is_caught_leaves_the_state(self):
        caught = [{"ErrorEquals": ["States.ALL"], "Next": "Last"}]
        events = of({"Both": {"Type": "Parallel", "Branches": [machine_of({"F": FAIL})], "Catch": caught, "Next": "Last"},
                     "Last": {"Type": "Succeed"}})
        self.assertEqual(["3<2 ParallelStateStarted", "4<3 FailStateEntered", "5<4 ParallelStateFailed",
                          "6<5 ParallelStateExited"], line(events)[2:6])


class Ends(Probe):
    def test_stop_follows_no_state_and_has_only_the_given_details(self):
        arn = start(machine(jsonata({"Wait": {"Type": "Wait", "Seconds": 20, "End": True}})))
        wait_for(lambda: of_kind(history(arn), "WaitStateEntered"), "the state")
        client("stepfunctions").stop_execution(executionArn=arn)
        last = history(arn)[-1]
        self.assertEqual(("ExecutionAborted", 0, {}), (last["type"], last["previousEventId"], details(last)))

    def test_redriven_states_are_in_the_history(self):
        call = {"Type": "Task", "Resource": INVOKE, "End": True, "Arguments": {
            "FunctionName": "{% $states.context.Execution.RedriveCount = 0 ? 'none' : $states.input.name %}"}}
        arn = start(machine(jsonata({"Call": call})), {"name": recorder()})
        self.assert_failed(ended(arn), "Lambda.ResourceNotFoundException")
        client("stepfunctions").redrive_execution(executionArn=arn)
        self.assertEqual("SUCCEEDED", ended(arn)["status"])
        self.assertEqual(["ExecutionFailed", "ExecutionRedriven", "TaskScheduled", "TaskStarted", "TaskSucceeded",
                          "TaskStateExited", "ExecutionSucceeded"], [event["type"] for event in history(arn)][-7:])
