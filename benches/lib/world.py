"""The surroundings of a measured function: tables, TLS in front of every endpoint, and the trust store."""
import ctypes
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

from lib.runtime_api import ARN, BenchError

SYSTEM_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
COMPILED_IN = Path(__file__).resolve().parent.parent.parent / "shared/src/aws/amazon-roots.pem"
KEY = {"pk": "HASH", "sk": "RANGE"}
INDEXES = {"due": {"shard": "HASH", "dueAt": "RANGE"}, "locks": {"lockShard": "HASH", "pk": "RANGE"}}
MACHINE = "arn:aws:states:eu-west-1:000000000000:stateMachine:bench"
DEFINITION = {"StartAt": "Work", "States": {"Work": {"Type": "Wait", "Seconds": 36000, "End": True}}}
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18


class World:
    """Endpoints with TLS, and the files that make clients trust them. Needs the environment of `tests/checks/with-stack`."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lockstep-bench."))
        self.proxies = []
        self.ca, self.certificate, self.key = (self.folder / name for name in ("ca.pem", "leaf.pem", "leaf.key"))
        self.bundle, self.roots = self.folder / "bundle.pem", self.folder / "roots.pem"
        self._certificates()
        self.database, self.services = os.environ["AWS_ENDPOINT_URL_DYNAMODB"], os.environ["AWS_ENDPOINT_URL"]
        self.tls = {"AWS_ENDPOINT_URL_DYNAMODB": self._proxy(self.database),
                    "AWS_ENDPOINT_URL": self._proxy(self.services)}
        self.trusted = self._trust_in_system()

    def close(self):
        for proxy in self.proxies:
            proxy.kill()
            proxy.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _certificates(self):
        """Makes a root certificate and a leaf certificate with RSA keys of 2,048 bits, as AWS's endpoints have them."""
        def run(*words):
            subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, cwd=self.folder)

        run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", self.ca, "-days", 30,
            "-subj", "/CN=bench root", "-addext", "basicConstraints=critical,CA:TRUE")
        run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key, "-out", "leaf.csr", "-subj", "/CN=localhost")
        (self.folder / "leaf.ext").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
        run("x509", "-req", "-in", "leaf.csr", "-CA", self.ca, "-CAkey", "ca.key", "-CAcreateserial", "-days", 30,
            "-extfile", "leaf.ext", "-out", self.certificate)
        roots = SYSTEM_BUNDLE.read_text() if SYSTEM_BUNDLE.exists() else ""
        self.bundle.write_text(roots.rstrip("\n") + "\n" + self.ca.read_text())
        self.roots.write_text(COMPILED_IN.read_text() + self.ca.read_text())

    def _proxy(self, endpoint):
        target = urllib.parse.urlsplit(endpoint).netloc
        command = [sys.executable, Path(__file__).parent / "tls_proxy.py", self.certificate, self.key, target]
        proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.proxies.append(proxy)
        return f"https://localhost:{proxy.stdout.readline().strip()}"

    def _trust_in_system(self):
        """Mounts a bundle that has the root over the system's bundle, in this mount namespace. Returns False if not allowed."""
        libc = ctypes.CDLL(None, use_errno=True)
        if not SYSTEM_BUNDLE.exists() or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
            return False
        return libc.mount(str(self.bundle).encode(), str(SYSTEM_BUNDLE).encode(), None, MS_BIND, None) == 0

    def table(self, name):
        attributes = {"pk": "S", "sk": "S", "shard": "S", "dueAt": "N", "lockShard": "S"}

        def schema(keys):
            return [{"AttributeName": key, "KeyType": kind} for key, kind in keys.items()]

        indexes = [{"IndexName": index, "KeySchema": schema(keys), "Projection": {"ProjectionType": "KEYS_ONLY"}}
                   for index, keys in INDEXES.items()]
        definitions = [{"AttributeName": key, "AttributeType": kind} for key, kind in attributes.items()]
        self._call(self.database, "DynamoDB_20120810.CreateTable", {
            "TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": schema(KEY),
            "AttributeDefinitions": definitions, "GlobalSecondaryIndexes": indexes})
        return name

    def execution(self):
        """Starts an execution for check-running-executions, and returns its ARN."""
        trust = {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
        role = {"Action": "CreateRole", "Version": "2010-05-08", "RoleName": "bench",
                "AssumeRolePolicyDocument": json.dumps({"Statement": [trust]})}
        self._post(self.services, "iam", urllib.parse.urlencode(role), "application/x-www-form-urlencoded")
        self._call(self.services, "AWSStepFunctions.CreateStateMachine", {
            "name": "bench", "definition": json.dumps(DEFINITION), "roleArn": "arn:aws:iam::000000000000:role/bench"})
        started = self._call(self.services, "AWSStepFunctions.StartExecution", {"stateMachineArn": MACHINE})
        return started["executionArn"]

    def _call(self, endpoint, action, body):
        service = "dynamodb" if action.startswith("Dynamo") else "states"
        kind, headers = "application/x-amz-json-1.0", {"X-Amz-Target": action}
        return json.loads(self._post(endpoint, service, json.dumps(body), kind, headers))

    @staticmethod
    def _post(endpoint, service, body, kind, headers=None):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(endpoint).netloc, timeout=20)
        connection.request("POST", "/", body, (headers or {}) | {
            "Content-Type": kind,
            "Authorization": f"AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-1/{service}/aws4_request, "
                             "SignedHeaders=host, Signature=0"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise BenchError(f"{service}: {answer.status} {text}")
        return text

    def environment(self, table, **more):
        """Returns the variables that Lambda sets for a function, and those of the endpoints."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "en_US.UTF-8", "TZ": ":UTC",
            "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "test", "AWS_LAMBDA_FUNCTION_NAME": "bench",
            "AWS_LAMBDA_FUNCTION_VERSION": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
            "AWS_LAMBDA_LOG_GROUP_NAME": "bench", "AWS_LAMBDA_LOG_STREAM_NAME": "bench",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_EXECUTION_ENV": "AWS_Lambda_bench",
            "LOCKSTEP_TABLE": table, "LOCKSTEP_OPERATE_FUNCTION": ARN, "LOCKSTEP_EVENT_LOG_GROUP": "bench",
        } | self.tls | more
