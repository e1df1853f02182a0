"""results.py, publications.py, sdk_calls.py and states/tasks.py: the results that a state gets from calls.

Recorded on AWS (tests/aws/services/stepfunctions/v2 of https://github.com/localstack/localstack):
test_lambda_task_service.py test_invoke, 2025-11-06; test_aws_sdk.py test_dynamodb_put_item_no_such_table and
test_dynamodb_invalid_param, 2023-07-27; test_sfn_send_task_outcome_with_no_such_token, 2025-11-06;
test_task_lambda_data_limit_exceeded_on_large_utf8_response and
test_task_lambda_catch_state_all_data_limit_exceeded_on_large_utf8_response, 2024-03-21; test_start_large_input, 2024-03-21.
"""
from .functions import function, role_that_may
from .support import Probe, client, ended, jsonata, let_topics_in, machine, output, queue, queue_arn, receive, run, start, unique

ECHO = "def handler(event, context):\n    return event"
LARGE = "def handler(event, context):\n    return 'x' * 300_000"
TOO_LARGE = "States.DataLimitExceeded"


def invoking(name, **arguments):
    return {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": {"FunctionName": name, **arguments},
            "End": True}


def caught_by(state, names):
    """Returns states whose output is the error that a catcher with these names gets from `state`."""
    caught = {"ErrorEquals": names, "Output": "{% $states.errorOutput %}", "Next": "Caught"}
    return jsonata({"One": {**state, "Catch": [caught]}, "Caught": {"Type": "Succeed"}})


class Functions(Probe):
    def test_answer_has_its_version_and_the_headers_of_the_response(self):
        result = output(run(jsonata({"One": invoking(function(ECHO), Payload={"a": 1})})))
        self.assertEqual({"ExecutedVersion", "Payload", "SdkHttpMetadata", "SdkResponseMetadata", "StatusCode"}, set(result))
        self.assertEqual(("$LATEST", {"a": 1}, 200), tuple(result[key] for key in ("ExecutedVersion", "Payload", "StatusCode")))
        self.assertEqual(result["SdkResponseMetadata"]["RequestId"], result["SdkHttpMetadata"]["HttpHeaders"]["x-amzn-RequestId"])

    def test_payload_may_be_any_value_and_null_becomes_an_empty_object(self):
        name = function(ECHO)
        for given, expected in ((None, {}), ("text", "text"), (0, 0), (True, True), ([], []), ({}, {})):
            self.assertEqual(expected, output(run(jsonata({"One": invoking(name, Payload=given)})))["Payload"], given)
        self.assertEqual({}, output(run(jsonata({"One": invoking(name)})))["Payload"])

    def test_function_that_is_not_there_has_the_request_in_its_cause(self):
        description = run(jsonata({"One": invoking("no-such-function")}))
        self.assert_failed(description, "Lambda.ResourceNotFoundException")
        self.assertRegex(description["cause"], r"\(Service: AWSLambda; Status Code: 404; Error Code: ResourceNotFoundException; ")


class Publications(Probe):
    def publishing(self, topic, role_arn, **arguments):
        """Runs an execution with this role that publishes, and returns its description."""
        state = {"Type": "Task", "Resource": "arn:aws:states:::sns:publish", "End": True,
                 "Arguments": {"TopicArn": topic, "Message": "{% 'one\ntwo \"three\"' %}", **arguments}}
        return ended(start(machine(jsonata({"One": state}), role_arn)))

    def test_message_of_a_state_is_plain_text_with_its_line_breaks(self):
        url, topic = queue(), client("sns").create_topic(Name=unique())["TopicArn"]
        let_topics_in(url)
        client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(url))
        output(self.publishing(topic, role_that_may((["sns:Publish"], topic)), Subject="x" * 99))
        got = receive(url)
        self.assertEqual(("x" * 99, 'one\ntwo "three"'), (got["Subject"], got["Message"]))

    def test_subject_is_short_ascii_and_the_role_has_to_let_a_state_publish(self):
        topic, other = (client("sns").create_topic(Name=unique())["TopicArn"] for _ in range(2))
        role_arn = role_that_may((["sns:Publish"], topic))
        for subject in ("x" * 100, "a\nb", "ä", " a", ""):
            self.assert_failed(self.publishing(topic, role_arn, Subject=subject), "SNS.InvalidParameterException")
        output(self.publishing(topic, role_arn))
        self.assert_failed(self.publishing(other, role_arn), "SNS.AuthorizationErrorException")


class Sizes(Probe):
    def test_too_large_result_fails_the_task_and_is_caught_by_name_and_by_all(self):
        name = function(LARGE)
        for names in ([TOO_LARGE], ["States.ALL"], ["States.TaskFailed"]):
            self.assertEqual({"Error": TOO_LARGE, "Cause": "The state/task 'lambda' returned a result with a size exceeding the "
                              "maximum number of bytes service limit."}, output(run(caught_by(invoking(name), names))), names)

    def test_output_that_is_too_large_fails_the_execution(self):
        text = "{% $join($map([1..30000], function($n) { '0123456789' })) %}"
        description = run(jsonata({"One": {"Type": "Pass", "Output": text, "End": True}}))
        self.assert_failed(description, TOO_LARGE)
        self.assertIn("The state/task 'One' returned", description["cause"])


    def test_variables_of_one_assign_have_a_bound(self):
        half = "{% $join($map([1..15000], function($n) { '0123456789' })) %}"
        for assign, fits in (({"a": half}, True), ({"a": half, "b": half}, False)):
            description = run(jsonata({"One": {"Type": "Pass", "Assign": assign, "Output": 1, "End": True}}))
            if fits:
                self.assertEqual("SUCCEEDED", description["status"])
            else:
                self.assert_failed(description, TOO_LARGE)


class Sdk(Probe):
    def error_of(self, resource, arguments, action):
        call = {"Type": "Task", "Resource": f"arn:aws:states:::aws-sdk:{resource}", "Arguments": arguments, "End": True}
        return ended(start(machine(jsonata({"One": call}), role_that_may((action, "*")))))

    def test_exception_of_the_api_has_its_name_in_the_sdk(self):
        item = {"TableName": unique(), "Item": {"pk": {"S": "1"}}}
        description = self.error_of("dynamodb:putItem", item, "dynamodb:PutItem")
        self.assert_failed(description, "DynamoDb.ResourceNotFoundException")
        self.assertRegex(description["cause"], r"\(Service: DynamoDb, Status Code: 400, Request ID: ")

    def test_exception_that_the_api_does_not_declare_has_the_services_name(self):
        item = {"TableName": "/not-a-name", "Item": {"pk": {"S": "1"}}}
        self.assert_failed(self.error_of("dynamodb:putItem", item, "dynamodb:PutItem"), "DynamoDb.DynamoDbException")

    def test_unknown_token_is_an_invalid_token(self):
        for call, arguments in (("sendTaskSuccess", {"Output": "1"}), ("sendTaskFailure", {})):
            description = self.error_of(f"sfn:{call}", {"TaskToken": "NoSuchTaskToken", **arguments}, "states:SendTask*")
            self.assert_failed(description, "Sfn.InvalidTokenException")
