"""Nested executions: integrations.py, machine_roles.py, managed_rules.py, sdk_calls.py, and how executions.py and redrive.py
describe nested executions."""
import json
import time

from .functions import role_that_may
from .probe_habits import HabitProbe
from .support import (Probe, client, ended, jsonata, machine, output, queue, queue_arn, receive, rule_to, run, start,
                      unique, wait_for)

START = "arn:aws:states:::states:startExecution"
WAIT = {"Wait": {"Type": "Wait", "Seconds": 15, "End": True}}
BRIEF = {"Wait": {"Type": "Wait", "Seconds": 2, "End": True}}
ECHO = {"Echo": {"Type": "Pass", "End": True}}
FAIL = {"Fail": {"Type": "Fail", "Error": "{% $states.input.error %}", "Cause": "{% $states.input.cause %}"}}
EXISTS = "StepFunctions.ExecutionAlreadyExistsException"
RULES = "arn:aws:events:*:*:rule/StepFunctionsGetEventsFor"
MANAGED = (["events:PutTargets", "events:PutRule", "events:DescribeRule"], f"{RULES}StepFunctionsExecutionRule")


def nested(child, kind=".sync:2", data=None, name=None, **fields):
    """Returns a state that starts another state machine."""
    named = {"Name": name} if name else {}
    return {"Type": "Task", "Resource": START + kind, "End": True,
            "Arguments": {"StateMachineArn": child, "Input": {} if data is None else data, **named}, **fields}


def catching(state):
    """Returns states whose output is the failure of `state`."""
    caught = {"ErrorEquals": ["States.ALL"], "Output": "{% $states.errorOutput %}", "Next": "Caught"}
    return {"Run": {**state, "Catch": [caught]}, "Caught": {"Type": "Pass", "End": True}}


def failure(state, data=None):
    """Returns Error and Cause of a state's failure, as a Catch gets them."""
    response = output(run(jsonata(catching(state)), data))
    return response["Error"], response["Cause"]


def execution_of(machine_arn, name):
    return f"{machine_arn.replace(':stateMachine:', ':execution:')}:{name}"


def described(execution):
    try:
        return client("stepfunctions").describe_execution(executionArn=execution)
    except client("stepfunctions").exceptions.ExecutionDoesNotExist:
        return None


def appears(execution):
    return wait_for(lambda: described(execution), execution)


def children(machine_arn):
    return client("stepfunctions").list_executions(stateMachineArn=machine_arn)["executions"]


class Results(Probe):
    DESCRIBED = ["ExecutionArn", "Input", "InputDetails", "Name", "Output", "OutputDetails", "RedriveCount",
                 "RedriveStatus", "RedriveStatusReason", "StartDate", "StateMachineArn", "Status", "StopDate"]

    def test_result_is_the_description_of_the_child(self):
        child, name = machine(jsonata(ECHO)), unique()
        for kind, response in ((".sync:2", {"a": 1}), (".sync", '{"a":1}')):
            result = output(run(jsonata({"Run": nested(child, kind, {"a": 1}, name + kind[5:].replace(":", "-"))})))
            self.assertEqual(self.DESCRIBED, list(result), kind)
            self.assertEqual(child, result["StateMachineArn"])
            self.assertEqual(execution_of(child, result["Name"]), result["ExecutionArn"])
            self.assertTrue(result["Name"].startswith(name), result)
            self.assertEqual(response, result["Input"], kind)
            self.assertEqual({"a": 1}, json.loads(result["Output"]) if kind == ".sync" else result["Output"])
            self.assertEqual(("SUCCEEDED", 0, {"Included": True}),
                             tuple(result[field] for field in ("Status", "RedriveCount", "OutputDetails")))
            self.assertLess(abs(result["StopDate"] - time.time() * 1000), 20_000)  # milliseconds

    def test_output_may_be_empty_or_large_but_not_larger_than_a_result(self):
        for value in (None, {}, [], ""):
            child = machine(jsonata({"Echo": {"Type": "Pass", "Output": value, "End": True}}))
            self.assertEqual(value, output(run(jsonata({"Run": nested(child)})))["Output"])
        text = "{% $join($map([1..$states.input.n], function($n) { '0123456789' })) %}"
        child = machine(jsonata({"Echo": {"Type": "Pass", "Output": text, "End": True}}))
        large = output(run(jsonata({"Run": nested(child, data={"n": 24_000})})))
        self.assertEqual(240_000, len(large["Output"]))
        self.assertEqual("States.DataLimitExceeded", failure(nested(child, data={"n": 26_200}))[0])

    def test_start_without_a_wait_returns_the_execution(self):
        child, name = machine(jsonata(WAIT)), unique()
        result = output(run(jsonata({"Run": nested(child, "", name=name)})))
        self.assertEqual({"ExecutionArn", "SdkHttpMetadata", "SdkResponseMetadata", "StartDate"}, set(result))
        self.assertEqual(execution_of(child, name), result["ExecutionArn"])
        self.assertLess(abs(result["StartDate"] - time.time() * 1000), 20_000)
        client("stepfunctions").stop_execution(executionArn=result["ExecutionArn"])


class Failures(Probe):
    DESCRIBED = ["ExecutionArn", "Input", "InputDetails", "Name", "RedriveCount", "RedriveStatus", "StartDate",
                 "StateMachineArn", "Status", "StopDate"]

    def test_failed_child_fails_the_task(self):
        child = machine(jsonata(FAIL))
        for data in ({"error": "Probe.Child", "cause": "why"}, {"error": "States.Timeout", "cause": "late"}):
            error, cause = failure(nested(child, data=data))
            response = json.loads(cause)
            self.assertEqual("States.TaskFailed", error)
            self.assertEqual(["Cause", "Error", *self.DESCRIBED], list(response))
            self.assertEqual((data["error"], data["cause"], "FAILED", "REDRIVABLE"),
                             tuple(response[field] for field in ("Error", "Cause", "Status", "RedriveStatus")))
            self.assertEqual(data, json.loads(response["Input"]))  # text, also for .sync:2

    def test_timed_out_child_fails_the_task_without_an_error_of_its_own(self):
        child, name = machine(jsonata(WAIT, TimeoutSeconds=1)), unique()
        error, cause = failure(nested(child, name=name))
        self.assertEqual("States.TaskFailed", error)
        self.assertEqual(self.DESCRIBED, list(json.loads(cause)))
        self.assertEqual("TIMED_OUT", json.loads(cause)["Status"])
        response = described(execution_of(child, name))
        self.assertEqual("TIMED_OUT", response["status"])
        self.assertFalse({"error", "cause", "output", "outputDetails"} & set(response), response)

    def test_aborted_child_fails_the_task_with_the_error_of_the_stop(self):
        child = machine(jsonata(WAIT))
        for stop in ({"error": "Probe.Stopped", "cause": "on purpose"}, {}):
            name = unique()
            execution = start(machine(jsonata(catching(nested(child, name=name)))))
            appears(execution_of(child, name))
            client("stepfunctions").stop_execution(executionArn=execution_of(child, name), **stop)
            response = output(ended(execution))
            self.assertEqual("States.TaskFailed", response["Error"])
            response = json.loads(response["Cause"])
            self.assertEqual(("ABORTED", stop.get("error"), stop.get("cause")),
                             (response["Status"], response.get("Error"), response.get("Cause")))
            self.assertEqual(2 * bool(stop), len(set(response) - set(self.DESCRIBED)))

    def test_refused_start_has_the_name_of_its_exception(self):
        child = machine(jsonata(ECHO))
        for state, error in ((nested(child + "-none"), "StepFunctions.StateMachineDoesNotExistException"),
                             (nested(child, name="n" * 81), "StepFunctions.InvalidNameException"),
                             (nested(child, "", name="a:b"), "StepFunctions.InvalidNameException")):
            self.assertEqual(error, failure(state)[0])


class Names(Probe):
    def test_child_that_runs_with_the_same_input_is_waited_for(self):
        child, name = machine(jsonata(BRIEF)), unique()
        parent = machine(jsonata({"Run": nested(child, name=name)}))
        first = start(child, name=name)
        results = [output(ended(execution)) for execution in (start(parent), start(parent))]
        self.assertEqual(results[0], results[1])
        self.assertEqual(first, results[0]["ExecutionArn"])

    def test_closed_child_and_another_input_exist_already(self):
        child, name = machine(jsonata(ECHO)), unique()
        output(run(jsonata({"Run": nested(child, name=name)})))
        for kind in (".sync:2", ".sync", ""):
            error, cause = failure(nested(child, kind, name=name))
            self.assertEqual(EXISTS, error, kind)
            self.assertIn(f"'{execution_of(child, name)}'", cause)
            self.assertIn("Error Code: ExecutionAlreadyExists", cause)
        child = machine(jsonata(WAIT))
        first = start(child, {"a": 1}, name=name)
        self.assertEqual(EXISTS, failure(nested(child, data={"a": 2}, name=name))[0])
        self.assertEqual("RUNNING", described(first)["status"])
        client("stepfunctions").stop_execution(executionArn=first)


class Stops(HabitProbe):
    corrected = True

    def started(self, *states):
        """Starts a parent whose branches are the states. Returns the parent and its running child."""
        child, name = machine(jsonata(WAIT)), unique()
        branches = [{"StartAt": "Run", "States": {"Run": nested(child, name=name)}}, *states]
        parent = start(machine(jsonata({"Both": {"Type": "Parallel", "Branches": branches, "End": True}})))
        appears(execution_of(child, name))
        return parent, execution_of(child, name)

    def assert_stopped(self, child, parent):
        response = ended(child, 3)
        self.assertEqual("ABORTED", response["status"])
        self.assertNotIn("error", response)
        self.assertEqual(f"The Task state in AWS Step Functions execution [{parent}] which was managing this "
                         "resource was aborted", response["cause"])

    def test_stopped_parent_stops_its_child(self):
        parent, child = self.started()
        client("stepfunctions").stop_execution(executionArn=parent)
        self.assert_stopped(child, parent)

    def test_cut_branch_stops_its_child(self):
        fails = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 1, "Next": "Fail"},
                                               "Fail": {"Type": "Fail", "Error": "Probe.Branch", "Cause": ""}}}
        parent, child = self.started(fails)
        self.assert_stopped(child, parent)
        self.assert_failed(ended(parent), "Probe.Branch")

    def timed_out(self):
        child, name = machine(jsonata(WAIT)), unique()
        parent = start(machine(jsonata({"Run": nested(child, name=name, data={"mark": name}, TimeoutSeconds=1)})))
        return parent, execution_of(child, name)

    def test_timed_out_task_stops_its_child(self):
        parent, child = self.timed_out()
        self.assert_failed(ended(parent), "States.Timeout")
        self.assert_stopped(child, parent)

    def test_timed_out_parent_stops_its_child(self):
        child, name = machine(jsonata(WAIT)), unique()
        parent = start(machine(jsonata({"Run": nested(child, name=name)}, TimeoutSeconds=1)))
        self.assertEqual("TIMED_OUT", ended(parent)["status"])
        self.assert_stopped(execution_of(child, name), parent)

    def test_child_outlives_the_timeout_of_its_state(self):
        with self.habit("sync-timeout-stops-nothing", "probe-"):
            parent, child = self.timed_out()
            self.assert_failed(ended(parent), "States.Timeout")
        time.sleep(0.3)
        self.assertEqual("RUNNING", described(child)["status"])
        client("stepfunctions").stop_execution(executionArn=child)


class Redrives(Probe):
    def setUp(self):
        self.states = client("stepfunctions")

    def test_redriven_parent_evaluates_the_name_of_its_child_again(self):
        child, name = machine(jsonata(FAIL)), unique()
        counted = f"{{% '{name}-' & $states.context.Execution.RedriveCount %}}"
        parent = start(machine(jsonata({
            "First": {"Type": "Pass", "Assign": {"error": "Probe.First"}, "Next": "Run"},
            "Run": nested(child, name=counted, data={"error": "{% $error %}", "cause": "why"})})))
        self.assert_failed(ended(parent), "States.TaskFailed")
        self.states.redrive_execution(executionArn=parent)
        response = ended(parent)
        self.assert_failed(response, "States.TaskFailed")
        self.assertEqual((f"{name}-1", "Probe.First", 0),
                         tuple(json.loads(response["cause"])[field] for field in ("Name", "Error", "RedriveCount")))
        self.assertEqual({f"{name}-0", f"{name}-1"}, {one["name"] for one in children(child)})

    def test_redriven_parent_finds_the_closed_child_of_the_same_name(self):
        child = machine(jsonata(FAIL))
        parent = start(machine(jsonata({"Run": nested(child, name=unique(), data={"error": "A", "cause": "b"})})))
        self.assert_failed(ended(parent), "States.TaskFailed")
        self.states.redrive_execution(executionArn=parent)
        self.assert_failed(ended(parent), EXISTS)

    def test_child_is_redriven_alone(self):
        child, name = machine(jsonata(FAIL)), unique()
        parent = start(machine(jsonata({"Run": nested(child, name=name, data={"error": "A", "cause": "b"})})))
        self.assert_failed(ended(parent), "States.TaskFailed")
        self.states.redrive_execution(executionArn=execution_of(child, name))
        response = ended(execution_of(child, name))
        self.assertEqual(("FAILED", 1), (response["status"], response["redriveCount"]))
        self.assertEqual(0, described(parent)["redriveCount"])


class Inputs(Probe):
    corrected = False

    def test_input_is_what_the_caller_passes_and_nothing_more(self):
        child, passed = machine(jsonata(ECHO)), "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"
        for given in ({}, {"a": [1, {"b": None}]}):
            self.assertEqual(given, output(run(jsonata({"Run": nested(child, data=given)})))["Output"])
        execution = start(machine(jsonata({"Run": nested(child, data={passed: "{% $states.context.Execution.Id %}"})})))
        self.assertEqual({passed: execution}, output(ended(execution))["Output"])


class StatusChanges(Probe):
    def test_status_changes_of_a_child_are_events(self):
        url, child, name = queue(), machine(jsonata(ECHO)), unique()
        rule_to(queue_arn(url), {"source": ["aws.states"], "detail": {"stateMachineArn": [child],
                                                                      "status": ["SUCCEEDED"]}})
        parent = start(machine(jsonata({"Run": nested(child, name=name, data={"lock": "nightly"})})))
        result, detail = output(ended(parent)), receive(url)["detail"]
        self.assertEqual((execution_of(child, name), name, child, "SUCCEEDED"), tuple(
            detail[field] for field in ("executionArn", "name", "stateMachineArn", "status")))
        self.assertEqual({"lock": "nightly"}, json.loads(detail["input"]))
        self.assertEqual((result["StartDate"], result["StopDate"]), (detail["startDate"], detail["stopDate"]))


class SdkCalls(HabitProbe):
    corrected = True

    def test_unknown_execution_has_the_name_of_the_sdk(self):
        arn = execution_of(machine(jsonata(ECHO)), "never")
        self.assertEqual("Sfn.ExecutionDoesNotExistException", failure(describing(arn))[0])

    def test_execution_is_described(self):
        child, name = machine(jsonata(FAIL)), unique()
        ended(start(child, {"error": "Probe.Child", "cause": "why"}, name=name))
        response = output(run(jsonata({"Describe": describing(execution_of(child, name))})))
        self.assertEqual(["Cause", "Error", *Failures.DESCRIBED], sorted(response))
        self.assertEqual(("FAILED", "Probe.Child", "why", {"Included": True}), tuple(
            response[field] for field in ("Status", "Error", "Cause", "InputDetails")))
        self.assertRegex(response["StopDate"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual({"error": "Probe.Child", "cause": "why"}, json.loads(response["Input"]))

    def test_execution_that_runs_has_no_end(self):
        child = start(machine(jsonata(WAIT)))
        response = output(run(jsonata({"Describe": describing(child)})))
        self.assertEqual("RUNNING", response["Status"])
        self.assertFalse({"StopDate", "Output", "OutputDetails", "Error", "Cause"} & set(response), response)
        client("stepfunctions").stop_execution(executionArn=child)


    def test_description_lags_behind_as_any_other(self):
        mark = unique()
        child = start(machine(jsonata(ECHO)), {"mark": mark})
        ended(child)
        # The description of the parent does not contain the text, so it does not lag.
        check = machine(jsonata({"Describe": {**describing(child), "Output": "{% $states.result.Status %}"}}))
        with self.habit("describe-lags", mark, seconds=20):
            self.assertEqual("RUNNING", output(ended(start(check))))
        self.assertEqual("SUCCEEDED", output(ended(start(check))))


def describing(execution):
    return {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sfn:describeExecution", "End": True,
            "Arguments": {"ExecutionArn": execution}}


class Roles(Probe):
    """A role that lacks one right."""

    def test_start_needs_a_right_to_the_machine(self):
        child, other = machine(jsonata(ECHO)), machine(jsonata(ECHO))
        may = role_that_may(MANAGED, ("states:StartExecution", child), ("states:DescribeExecution", "*"))
        self.assertEqual("SUCCEEDED", ended(start(machine(jsonata({"Run": nested(child)}), may)))["status"])
        for kind in (".sync:2", ""):
            response = ended(start(machine(jsonata({"Run": nested(other, kind)}), may)))
            self.assert_failed(response, "StepFunctions.AWSStepFunctionsException")
            self.assertIn(f"is not authorized to perform: states:StartExecution on resource: {other}", response["cause"])
        self.assertEqual([], children(other))

    def test_end_of_a_child_is_not_seen_without_a_right(self):
        child, name = machine(jsonata(ECHO)), unique()
        may = role_that_may(MANAGED, ("states:StartExecution", child),
                            ("states:DescribeExecution", execution_of(child, "another")))
        parent = start(machine(jsonata({"Run": nested(child, name=name, TimeoutSeconds=2)}), may))
        appears(execution_of(child, name))
        ended(execution_of(child, name))
        self.assert_failed(ended(parent), "States.Timeout")

    def test_child_is_stopped_with_a_right_alone(self):
        child, names = machine(jsonata(WAIT)), [unique(), unique()]
        for name, resource, status in zip(names, ("*", execution_of(child, "another")), ("ABORTED", "RUNNING")):
            may = role_that_may(MANAGED, (["states:StartExecution", "states:DescribeExecution"], "*"),
                                ("states:StopExecution", resource))
            parent = start(machine(jsonata({"Run": nested(child, name=name)}), may))
            appears(execution_of(child, name))
            client("stepfunctions").stop_execution(executionArn=parent)
            time.sleep(0.5)
            self.assertEqual(status, described(execution_of(child, name))["status"])
        client("stepfunctions").stop_execution(executionArn=execution_of(child, names[1]))

    def test_sdk_call_needs_a_right_to_the_execution(self):
        mine, other = (start(machine(jsonata(ECHO))) for _ in range(2))
        may = role_that_may(("states:DescribeExecution", mine))
        self.assertEqual("SUCCEEDED", ended(start(machine(jsonata({"Describe": describing(mine)}), may)))["status"])
        response = ended(start(machine(jsonata({"Describe": describing(other)}), may)))
        self.assert_failed(response, "Sfn.SfnException")
        self.assertIn(f"is not authorized to perform: states:DescribeExecution on resource: {other}", response["cause"])
        lists = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:ecs:listClusters", "Arguments": {}, "End": True}
        self.assert_failed(ended(start(machine(jsonata({"List": lists}), may))), "Ecs.AccessDeniedException")

    def test_state_that_waits_needs_a_role_that_may_manage_its_rule(self):
        states, child = client("stepfunctions"), machine(jsonata(ECHO))
        may, lacks = role_that_may(MANAGED), role_that_may((MANAGED[0], "arn:aws:events:*:*:rule/another"))
        for refused in (lambda: machine(jsonata({"Run": nested(child)}), lacks),
                        lambda: states.update_state_machine(stateMachineArn=child, definition=json.dumps(
                            jsonata({"Run": nested(child)})), roleArn=lacks)):
            with self.assertRaisesRegex(states.exceptions.ClientError, "not authorized to create managed-rule"):
                refused()
        machine(jsonata({"Run": nested(child, "")}), lacks)
        task = {"Run": {"Type": "Task", "Resource": "arn:aws:states:::ecs:runTask.sync", "Arguments": {}, "End": True}}
        with self.assertRaisesRegex(states.exceptions.ClientError, "not authorized to create managed-rule"):
            machine(jsonata(task), may)
        machine(jsonata(task), role_that_may((MANAGED[0], f"{RULES}ECSTaskRule")))
        template = {"Resources": {"Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {
            "RoleArn": lacks, "DefinitionString": json.dumps(jsonata({"Run": nested(child)}))}}}}
        self.assertEqual("ROLLBACK_COMPLETE", self.stack_of(template))
        template["Resources"]["Machine"]["Properties"]["RoleArn"] = may
        self.assertEqual("CREATE_COMPLETE", self.stack_of(template))

    def stack_of(self, template):
        api, name = client("cloudformation"), unique()
        api.create_stack(StackName=name, TemplateBody=json.dumps(template))

        def check():
            status = api.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
            return None if status.endswith("IN_PROGRESS") else status
        return wait_for(check, f"end of {name}")


class StartAnswerLost(HabitProbe):
    def run_with_habit(self, child_states, seconds, **fields):
        child, mark = machine(jsonata(child_states)), unique()
        states = catching(nested(child, data={"mark": mark}, **fields))
        with self.habit("start-answer-lost", mark, seconds=seconds):
            response = output(run(jsonata(states)))
        return response, [one["executionArn"] for one in children(child)], self.fired(mark)

    def test_child_that_still_runs_is_found(self):
        response, found, fired = self.run_with_habit(BRIEF, 1, name=unique())
        self.assertEqual("SUCCEEDED", response["Status"])
        self.assertEqual([response["ExecutionArn"]], found)
        self.assertEqual([found], [fault["resources"] for fault in fired])

    def test_child_that_is_closed_exists_already(self):
        response, found, _ = self.run_with_habit(ECHO, 1, name=unique())
        self.assertEqual(EXISTS, response["Error"])
        (child,) = found
        self.assertEqual("SUCCEEDED", described(child)["status"])

    def test_child_without_a_name_is_started_twice(self):
        response, found, _ = self.run_with_habit(ECHO, 0.3)
        self.assertIn(response["ExecutionArn"], found)
        self.assertEqual(2, len(found))

    def test_parent_that_is_stopped_meanwhile_does_not_stop_its_child(self):
        child, name = machine(jsonata(WAIT)), unique()
        with self.habit("start-answer-lost", name, seconds=5):
            parent = start(machine(jsonata({"Run": nested(child, name=name)})))
            appears(execution_of(child, name))
            client("stepfunctions").stop_execution(executionArn=parent)
            time.sleep(0.5)
        self.assertEqual("RUNNING", described(execution_of(child, name))["status"])
        client("stepfunctions").stop_execution(executionArn=execution_of(child, name))
