"""Clients of the container agent's endpoint and of the emulator's own requests."""
import datetime
import http.client
import json
import os
import urllib.parse

from . import batches


def ask(method, url, body=None, timeout=10):
    """Sends a request, and returns (status, JSON of the answer or None)."""
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=timeout)
    try:
        text = body if isinstance(body, str) else json.dumps(body) if body is not None else None
        connection.request(method, address.path + (f"?{address.query}" if address.query else ""), text)
        response = connection.getresponse()
        answer = response.read()
        return response.status, json.loads(answer) if answer else None
    finally:
        connection.close()


def admin(method, path, /, **body):
    return ask(method, f"{os.environ['AWS_ENDPOINT_URL']}/_lockstack/{path}", body or None)


def moment(reply):
    """Returns the ExpirationDate of a reply, in seconds since 1970."""
    return datetime.datetime.fromisoformat(reply["protection"]["ExpirationDate"].replace("Z", "+00:00")).timestamp()


class HostTask:
    """A task of a service without a container: its process would run on this machine."""

    def __init__(self, **fields):
        fields = {"cluster": batches.cluster(), "service": "probe-host", **fields}
        status, reply = admin("POST", "agent/task", **fields)
        if status != 200:
            raise AssertionError(reply)
        self.arn, self.runtime_id, self.credentials = reply["taskArn"], reply["runtimeId"], reply["credentials"]
        self.metadata = reply["environment"]["ECS_CONTAINER_METADATA_URI_V4"]
        self.url = f"{reply['environment']['ECS_AGENT_URI']}/task-protection/v1/state"

    def get(self):
        return ask("GET", self.url)

    def put(self, body):
        return ask("PUT", self.url, body)

    def protect(self, minutes=1):
        return self.put({"ProtectionEnabled": True, "ExpiresInMinutes": minutes})

    def state(self):
        """Returns whether the task is protected, according to the endpoint."""
        return self.get()[1]["protection"]["ProtectionEnabled"]

    def error(self, body):
        """Sends a request that is refused, and returns (status, code)."""
        status, reply = self.put(body)
        return status, reply["error"]["Code"]

    def fails(self, reason, **more):
        return admin("POST", "faults", agent=reason, task=self.arn, **more)
