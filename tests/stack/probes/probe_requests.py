"""ecs_requests.py, ecs_siblings.py and alarm_topics.py: requests that services refuse, and messages that they drop."""
import json
import time

from . import batches
from .probe_habits import HabitProbe
from .queues import receive
from .support import ECS, Probe, client, jsonata, let_topics_in, output, queue, queue_arn, run, unique, wait_for

ALLOW = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sns:Publish", "Resource": "*"}]}


def run_state(**arguments):
    state = batches.run_state(batches.task_definition(), SECONDS=0.1)
    return {**state, "Arguments": {**state["Arguments"], **arguments}}


class RunTask(Probe):
    def test_override_of_an_unknown_container_is_refused(self):
        api, overrides = client("ecs"), {"containerOverrides": [{"name": "sidecar", "command": ["x"]}]}
        with self.assertRaises(api.exceptions.InvalidParameterException) as refused:
            api.run_task(cluster=batches.cluster(), taskDefinition=batches.task_definition(), overrides=overrides)
        self.assertIn("Override for container named sidecar is not a container in the TaskDefinition.", str(refused.exception))
        state = run_state(Overrides={"ContainerOverrides": [{"Name": "sidecar"}]})
        self.assert_failed(run(jsonata({"Run": state})), "ECS.InvalidParameterException")

    def test_unknown_fields_of_run_task_fail_the_state(self):
        for more, name in (({"launchType": "FARGATE"}, "launchType"), ({"Cluster.$": "$.c"}, "Cluster.$"), ({"Colour": "red"}, "Colour"),
                           ({"Overrides": {"containerOverrides": []}}, "Overrides.containerOverrides")):
            description = run(jsonata({"Run": run_state(**more)}))
            self.assert_failed(description, "States.Runtime")
            self.assertIn(f"The field '{name}' is not supported by Step Functions", description["cause"])

    def test_inactive_revision_is_refused_and_a_family_is_its_latest_active(self):
        api, first = client("ecs"), batches.task_definition()
        fields = api.describe_task_definition(taskDefinition=first)["taskDefinition"]
        second = api.register_task_definition(
            family=fields["family"], containerDefinitions=fields["containerDefinitions"], networkMode="awsvpc",
            requiresCompatibilities=["FARGATE"], cpu="256", memory="512")["taskDefinition"]["taskDefinitionArn"]
        api.deregister_task_definition(taskDefinition=second)
        with self.assertRaisesRegex(api.exceptions.ClientException, "TaskDefinition is inactive"):
            api.run_task(cluster=batches.cluster(), taskDefinition=second)
        (task,) = api.run_task(cluster=batches.cluster(), taskDefinition=fields["family"])["tasks"]
        self.assertEqual(first, task["taskDefinitionArn"])
        api.stop_task(cluster=batches.cluster(), task=task["taskArn"])


class Templates(Probe):
    """When a template changes a task definition, CloudFormation registers a revision and deregisters the one before.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ecs-taskdefinition.html
    """
    corrected = False

    def test_change_of_a_template_leaves_the_revision_before_inactive(self):
        api, name, ecs = client("cloudformation"), unique(), client("ecs")

        def template(value):
            return json.dumps({"Resources": {"Task": {"Type": "AWS::ECS::TaskDefinition", "Properties": {
                "Family": name, "ContainerDefinitions": [{"Name": "a", "Image": "i", "Memory": 64, "Environment": [
                    {"Name": "V", "Value": value}]}]}}}})

        api.create_stack(StackName=name, TemplateBody=template("1"))
        wait_for(lambda: self.status(name) == "CREATE_COMPLETE", "the stack")
        api.update_stack(StackName=name, TemplateBody=template("2"))
        wait_for(lambda: self.status(name) == "UPDATE_COMPLETE", "the update")
        statuses = [ecs.describe_task_definition(taskDefinition=f"{name}:{revision}")["taskDefinition"]["status"]
                    for revision in (1, 2)]
        self.assertEqual(["INACTIVE", "ACTIVE"], statuses)

    def status(self, name):
        return client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]


class Nothing(HabitProbe):
    def test_task_that_finds_no_room_fails_a_state_that_waits_and_no_other(self):
        group = unique("probe")
        with self.habit("run-task-places-nothing", group, reason="RESOURCE:MEMORY"):
            description = run(jsonata({"Run": run_state(Group=group)}))
            result = output(run(jsonata({"Run": {**run_state(Group=group), "Resource": ECS}})))
        self.assert_failed(description, "AmazonECS.Unknown")
        self.assertEqual(([], "RESOURCE:MEMORY"), (result["Tasks"], result["Failures"][0]["Reason"]))


class Siblings(Probe):
    def test_other_containers_are_stopped_and_have_exit_codes_of_their_own(self):
        api, image = client("ecs"), {"image": batches.os.environ["LOCKSTEP_BATCH_IMAGE"], "logConfiguration": batches.log_configuration()}

        def container(name, **fields):
            values = batches.environment({key: value for key, value in fields.items() if key.isupper()})
            return {**image, "name": name, "environment": values, "stopTimeout": 2, "essential": fields.get("essential", False)}

        # The batch outlasts the start of its siblings: a container that gets SIGTERM before its trap is set ends at once.
        definition = api.register_task_definition(
            family=unique(), networkMode="awsvpc", requiresCompatibilities=["FARGATE"], cpu="256", memory="512",
            executionRoleArn=batches.role(), containerDefinitions=[
                container("batch", SECONDS=6, essential=True), container("polite", SECONDS=60),
                container("deaf", SECONDS=60, IGNORE_SIGTERM=1)])["taskDefinition"]["taskDefinitionArn"]
        task = api.run_task(cluster=batches.cluster(), taskDefinition=definition)["tasks"][0]["taskArn"]
        stopped = batches.reaches(task, "STOPPED", 40)
        self.assertEqual({"batch": 0, "polite": 143, "deaf": 137},
                         {one["name"]: one.get("exitCode") for one in stopped["containers"]})
        self.assertEqual(("EssentialContainerExited", "Essential container in task exited"),
                         (stopped["stopCode"], stopped["stoppedReason"]))
        self.assertEqual(["start", "sigterm"], [one["event"] for one in batches.lines(task, "polite")])


class Alarms(Probe):
    def test_alarm_reaches_a_topic_only_if_its_policy_lets_cloudwatch(self):
        cases = ((None, True), ("events.amazonaws.com", False), ("cloudwatch.amazonaws.com", True))
        for service, expected in cases:
            sns, url, name = client("sns"), queue(), unique()
            topic = sns.create_topic(Name=name)["TopicArn"]
            let_topics_in(url)
            sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(url))
            if service:
                policy = {**ALLOW, "Statement": [{**ALLOW["Statement"][0], "Principal": {"Service": service}, "Resource": topic}]}
                sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(policy))
            watch = client("cloudwatch")
            watch.put_metric_alarm(AlarmName=name, AlarmActions=[topic], MetricName="m", Namespace="n", Statistic="Sum", Period=60,
                                   EvaluationPeriods=1, Threshold=1, ComparisonOperator="GreaterThanThreshold")
            watch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="probe")
            time.sleep(0.5)
            self.assertEqual(expected, bool(receive(url, wait=1)), service)
