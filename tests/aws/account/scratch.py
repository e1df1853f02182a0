"""Creates the resources of the probes. Each is registered for deletion before a probe uses it."""
import functools
import io
import json
import secrets
import threading
import time
import zipfile

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

TRUSTED = ("states.amazonaws.com", "lambda.amazonaws.com", "scheduler.amazonaws.com")
LOG_DELIVERY = ("CreateLogDelivery", "GetLogDelivery", "UpdateLogDelivery", "DeleteLogDelivery", "ListLogDeliveries",
                "PutResourcePolicy", "DescribeResourcePolicies", "DescribeLogGroups")
GONE = ("ResourceNotFoundException", "StateMachineDoesNotExist", "NoSuchEntity", "NotFoundException",
        "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "ClusterNotFoundException", "NotFound")


class Stopped(Exception):
    """The run was stopped, so a probe creates nothing more and stops waiting."""


def caller():
    """Returns a text with account and Region, and whether the account is known."""
    session = boto3.session.Session()
    region = session.region_name or "no region"
    try:
        quick = Config(connect_timeout=3, read_timeout=5, retries={"total_max_attempts": 1})
        identity = session.client("sts", region_name=session.region_name or "us-east-1", config=quick)
        return f"account {identity.get_caller_identity()['Account']}, {region}", True
    except (BotoCoreError, ClientError) as error:
        return f"account unknown ({type(error).__name__}), {region}", False


class Making:
    """A value that is made once. It has its own lock, because making can take minutes."""

    def __init__(self):
        self._lock = threading.Lock()
        self._outcome = None

    def once(self, make):
        with self._lock:
            if self._outcome is None:
                try:
                    self._outcome = make(), None
                except Exception as error:  # raised again for each probe that needs the value
                    self._outcome = None, error
        made, error = self._outcome
        if error:
            raise error
        return made


class Scratch:
    def __init__(self, options, local):
        self.options = options
        self.local = local  # whether AWS is an emulator, whose tasks start and whose roles work at once
        self.prefix = f"lockstep-verify-{secrets.token_hex(4)}"
        self._deletions = []
        self._lock = threading.Lock()
        self._clients = {}
        self._shared = {}
        self._stopped = threading.Event()

    def stop(self):
        self._stopped.set()

    def clean_up(self):
        """Deletes everything, newest first. Returns (what, why) for each thing that could not be deleted."""
        self.stop()
        left = []
        while self._deletions:
            what, delete = self._deletions.pop()
            try:
                delete()
            except ClientError as error:
                if error.response["Error"]["Code"].split("#")[-1] not in GONE:
                    left.append((what, str(error)))
            except Exception as error:  # one failure must not prevent the other deletions
                left.append((what, str(error)))
        return left

    def create(self, what, make, delete):
        """Calls `make`, registers the deletion of what it returns, and returns it."""
        if self._stopped.is_set():
            raise Stopped
        made = make()
        self._deletions.append((what, functools.partial(delete, made)))
        return made

    def shared(self, key, make):
        """Returns what several probes use. It is made once, and if that fails, all these probes fail."""
        with self._lock:
            making = self._shared.setdefault(key, Making())
        return making.once(make)

    def client(self, service):
        # boto3.client is not thread-safe.
        with self._lock:
            if service not in self._clients:
                config = Config(retries={"mode": "adaptive", "max_attempts": 8}, max_pool_connections=20)
                self._clients[service] = boto3.client(service, config=config)
            return self._clients[service]

    def name(self, purpose):
        return f"{self.prefix}-{purpose}-{secrets.token_hex(2)}"

    def seconds(self, account, local):
        return local if self.local else account

    def pause(self, seconds):
        if self._stopped.wait(seconds):
            raise Stopped

    def wait_for(self, poll, what, seconds=60, every=None):
        """Calls `poll` until it returns something, and returns that. Polls once a second, since an account limits API calls."""
        every = self.seconds(1, 0.2) if every is None else every
        end = time.monotonic() + seconds
        while True:
            if found := poll():
                return found
            if time.monotonic() > end:
                raise AssertionError(f"no {what} within {seconds:.0f} s")
            self.pause(every)

    # ---- roles and functions ------------------------------------------------

    @property
    def partition(self):
        identity = self.shared("identity", lambda: self.client("sts").get_caller_identity())
        return identity["Arn"].split(":")[1]

    def role(self):
        """Returns the role of state machines, functions and schedules. It may use resources with the prefix."""
        return self.shared("role", self._make_role)

    def _make_role(self):
        iam, name = self.client("iam"), self.name("role")
        trust = {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": list(TRUSTED)}}]}
        anywhere = f"arn:{self.partition}:%s:*:*:%s{self.prefix}-*"
        tasks = f"arn:{self.partition}:ecs:*:*:task/{self.prefix}-*"
        rules = f"arn:{self.partition}:events:*:*:rule/StepFunctionsGetEventsFor"
        managed = [f"{rules}ECSTaskRule", f"{rules}StepFunctionsExecutionRule"]
        allowed = (
            ("lambda:InvokeFunction", anywhere % ("lambda", "function:")), ("sqs:SendMessage", anywhere % ("sqs", "")),
            ("states:StartExecution", anywhere % ("states", "stateMachine:")),
            (["states:DescribeExecution", "states:StopExecution"], anywhere % ("states", "execution:")),
            ("ecs:RunTask", anywhere % ("ecs", "task-definition/")), (["ecs:StopTask", "ecs:DescribeTasks"], tasks),
            (["events:PutRule", "events:PutTargets", "events:DescribeRule"], managed),
            # The action has no resource type. The task token limits it.
            ("states:SendTaskSuccess", "*"),
            # Log delivery is set up for the account. https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html
            ([f"logs:{action}" for action in LOG_DELIVERY], "*"))
        policy = {"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Action": actions, "Resource": resource} for actions, resource in allowed]}

        def delete(role):
            iam.delete_role_policy(RoleName=name, PolicyName="verify")
            iam.delete_role(RoleName=name)
        made = self.create(f"role {name}", lambda: iam.create_role(
            RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"], delete)
        iam.put_role_policy(RoleName=name, PolicyName="verify", PolicyDocument=json.dumps(policy))
        # IAM is eventually consistent: other services see a role some seconds later.
        self.pause(self.seconds(20, 0))
        return made

    def function(self, source, runtime="python3.13", file="index.py"):
        """Creates a function of one file, and returns its name. Its role may not write logs, so it leaves no log group."""
        api, name, role = self.client("lambda"), self.name("function"), self.role()
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as folder:
            entry = zipfile.ZipInfo(file)
            entry.external_attr = 0o755 << 16
            folder.writestr(entry, source)
        self.create(f"function {name}", lambda: api.create_function(
            FunctionName=name, Runtime=runtime, Handler="index.handler", Role=role, Timeout=30,
            Code={"ZipFile": archive.getvalue()}), lambda _: api.delete_function(FunctionName=name))
        self.wait_for(lambda: api.get_function(FunctionName=name)["Configuration"].get("State", "Active") == "Active",
                      f"active {name}")
        return name

    # ---- Step Functions -----------------------------------------------------

    def machine(self, states, logs=None, **fields):
        """Creates a state machine that starts at its first state. The deletion stops its executions.

        A field that is None is left out. Failures are logged to the log group whose ARN is `logs`.
        """
        api, name, role = self.client("stepfunctions"), self.name("machine"), self.role()
        definition = {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states, **fields}
        definition = {name: value for name, value in definition.items() if value is not None}
        logging = {"loggingConfiguration": {"level": "ERROR", "destinations": [
            {"cloudWatchLogsLogGroup": {"logGroupArn": f"{logs}:*"}}]}} if logs else {}

        def delete(arn):
            running = api.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"]
            for execution in running:
                api.stop_execution(executionArn=execution["executionArn"])
            api.delete_state_machine(stateMachineArn=arn)
        return self.create(f"state machine {name}", lambda: api.create_state_machine(
            name=name, definition=json.dumps(definition), roleArn=role, **logging)["stateMachineArn"], delete)

    def integration(self, action):
        return f"arn:{self.partition}:states:::{action}"

    def start(self, machine, data=None):
        return self.client("stepfunctions").start_execution(
            stateMachineArn=machine, input=json.dumps(data or {}))["executionArn"]

    def described(self, execution):
        return self.client("stepfunctions").describe_execution(executionArn=execution)

    def ended(self, execution, seconds=60, every=None):
        def closed():
            description = self.described(execution)
            return description if description["status"] != "RUNNING" else None
        return self.wait_for(closed, f"end of {execution}", seconds, every)

    # ---- queues and rules ---------------------------------------------------

    def queue(self, purpose="queue"):
        api, name = self.client("sqs"), self.name(purpose)
        return self.create(f"queue {name}", lambda: api.create_queue(QueueName=name)["QueueUrl"],
                           lambda url: api.delete_queue(QueueUrl=url))

    def queue_arn(self, url):
        response = self.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return response["Attributes"]["QueueArn"]

    def let_in(self, url, service):
        """Allows a service to send messages to a queue."""
        allow = {"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": {"Service": service}, "Action": "sqs:SendMessage",
            "Resource": self.queue_arn(url)}]}
        self.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(allow)})

    def receive(self, url, seconds=60):
        """Receives the next message, deletes it, and returns its body as JSON."""
        api = self.client("sqs")

        def poll():
            return api.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages")
        message = self.wait_for(poll, f"message in {url.rpartition('/')[2]}", seconds, 0)[0]
        api.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return json.loads(message["Body"])

    def rule(self, pattern, target):
        """Sends matching events of the default bus to a target. Returns the ARN of the rule."""
        api, name = self.client("events"), self.name("rule")

        def delete(_):
            api.remove_targets(Rule=name, Ids=["target"])
            api.delete_rule(Name=name)
        arn = self.create(f"rule {name}", lambda: api.put_rule(Name=name, EventPattern=json.dumps(pattern))["RuleArn"], delete)
        api.put_targets(Rule=name, Targets=[{"Id": "target", "Arn": target}])
        self.settle()
        return arn

    def settle(self):
        """Waits until a rule and the policies of its target work, which takes up to half a minute."""
        self.pause(self.seconds(40, 0))

    def log_group(self, name):
        """Creates a log group. Returns its ARN without the `:*` at the end."""
        api = self.client("logs")
        self.create(f"log group {name}", lambda: api.create_log_group(logGroupName=name),
                    lambda _: api.delete_log_group(logGroupName=name))
        return self.log_group_arn(name)

    def log_group_arn(self, name):
        identity = self.shared("identity", lambda: self.client("sts").get_caller_identity())
        region = self.client("logs").meta.region_name
        return f"arn:{self.partition}:logs:{region}:{identity['Account']}:log-group:{name}"

    def events(self, pattern):
        """Creates a queue that receives matching events, and returns its URL."""
        url = self.queue("events")
        self.let_in(url, "events.amazonaws.com")
        self.rule(pattern, self.queue_arn(url))
        return url
