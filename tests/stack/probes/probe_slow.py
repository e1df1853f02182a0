"""Probes that take minutes or disturb other probes. They run only by `lockstack probe slow`."""
import json
import time

from .functions import function_arn, recorded, recorder
from .probe_faults import faults
from .support import Probe, client, jsonata, machine, queue, queue_arn, receive, rule_to, unique, wait_for


class Minutes(Probe):
    """rules.py: a template's rule fires every minute."""
    slow = True

    def test_rate_keeps_its_minute(self):
        name, stack = recorder(), unique()
        rule = {"Type": "AWS::Events::Rule", "Properties": {
            "ScheduleExpression": "rate(1 minute)", "Targets": [
                {"Id": "t", "Arn": function_arn(name), "Input": json.dumps({"sweep": True})}]}}
        client("cloudformation").create_stack(StackName=stack, TemplateBody=json.dumps({"Resources": {"R": rule}}))
        began = time.monotonic()
        wait_for(lambda: len(recorded(name)) >= 2, "two calls", 125)
        self.assertLess(time.monotonic() - began, 123)
        self.assertEqual({"sweep": True}, recorded(name)[0])


class EventsOff(Probe):
    """faults.py: drops the events of all other probes, too."""
    corrected = False
    slow = True

    def test_events_are_dropped_while_off(self):
        url, arn = queue(), machine(jsonata({"End": {"Type": "Succeed"}}))
        rule_to(queue_arn(url), {"source": ["aws.states"], "detail": {
            "stateMachineArn": [arn], "status": ["SUCCEEDED"]}})
        start = lambda: client("stepfunctions").start_execution(stateMachineArn=arn)["executionArn"]
        faults("POST", events="off", mentioning="something else")
        faults("POST", events="off")
        try:
            dropped = start()
            time.sleep(1)
        finally:
            faults("POST", events="on")
        seen = start()
        self.assertEqual(seen, receive(url)["detail"]["executionArn"])
        self.assertIn([dropped], [fault["resources"] for fault in faults()[1]["fired"] if fault["fault"] == "events"])
        faults("DELETE")
        self.assertEqual([], faults()[1]["fired"])
