"""lambda_logs.py: log lines of functions that bring their own runtime.

AWS: LogType Tail gives the end of the log of this invocation.
https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html"""
import base64
import concurrent.futures
import json
import sys

from .functions import function
from .support import Probe, client

WRITER = f"""#!{sys.executable}
import http.client, json, os
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    event = api.getresponse()
    mark = json.loads(event.read())["mark"]
    print(f"{{mark}} first", flush=True)
    print(f"{{mark}} last", flush=True)
    api.request("POST", f"/2018-06-01/runtime/invocation/{{event.headers['Lambda-Runtime-Aws-Request-Id']}}/response", "1")
    api.getresponse().read()
"""
MARKS = [f"mark-{number}" for number in range(400)]


def lines_of_invocation(name, mark):
    answer = client("lambda").invoke(FunctionName=name, LogType="Tail", Payload=json.dumps({"mark": mark}))
    answer["Payload"].read()
    return base64.b64decode(answer.get("LogResult", "")).decode().splitlines()


class Logs(Probe):
    corrected = False

    def test_lines_of_an_invocation_are_in_its_own_log(self):
        name = function(WRITER, "bootstrap", "provided.al2023", "bootstrap")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            found = pool.map(lambda mark: (mark, lines_of_invocation(name, mark)), MARKS)
            wrong = [(mark, lines) for mark, lines in found if lines != [f"{mark} first", f"{mark} last"]]
        self.assertEqual([], wrong)
