"""The subjects of the measurements: the packaged functions and the rivals, each with an event that it can answer."""
import itertools
import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from lib.runtime_api import BenchError, Process

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = Path(os.environ.get("LOCKSTEP_CACHE") or Path.home() / ".cache/lockstep") / "bench"
FUNCTIONS = ["acquire-lock", "heartbeat", "release-lock", "check-running-executions", "reaper", "operate", "view"]
BARE, PYTHON, NODE = "bare Rust Lambda", "Python, boto3", "Node, SDK v3"
RIVALS = [BARE, PYTHON, NODE]
WIDGET = {"widgetContext": {"theme": "light", "forms": {"all": {}}}}


@dataclass
class Subject:
    """A command, its environment variables, and the function that makes its next event."""
    name: str
    command: list
    environment: dict
    event: callable

    def start(self, before_exec=None):
        return Process(self.name, self.command, self.environment, before_exec)


def archive(name):
    """Returns the path of a function's zip as it is uploaded. view has the zip of operate."""
    if name == BARE:
        return ROOT / "target/rivals/bare-lambda/bootstrap.zip"
    return ROOT / "target/lambda" / {"view": "operate"}.get(name, name) / "bootstrap.zip"


def bootstrap(name, folder):
    source = archive(name)
    if not source.exists():
        verb = "benches/rivals/install" if name == BARE else "make package"
        raise BenchError(f"{source.relative_to(ROOT)} is missing: run `{verb}` first")
    target = Path(folder) / source.parent.name
    if not target.exists():
        target.write_bytes(zipfile.ZipFile(source).read("bootstrap"))
        target.chmod(0o755)
    return target


class Subjects:
    """All subjects of one run. Further processes of acquire-lock and release-lock prepare the locks of their events."""

    def __init__(self, world):
        self.world, self.numbers = world, itertools.count()
        self.trust = {} if world.trusted else {"SSL_CERT_FILE": str(world.bundle)}
        execution = world.execution()
        self.checked = {"executionArn": execution, "startedAt": "2026-01-01T00:00:00Z"}
        self.by_name = {name: self._function(name) for name in FUNCTIONS}
        self.by_name |= {name: self._rival(name) for name in RIVALS}
        self.beside = {}
        for _ in range(10):
            self._granted("view")
            self._granted("operate")
        self.beaten = self._granted("heartbeat")

    def close(self):
        for process in self.beside.values():
            process.__exit__()

    def __getitem__(self, name):
        return self.by_name[name]

    def trusting(self, name, what, path):
        """Returns a subject that reads its root certificates from one file."""
        known = self.by_name[name]
        return Subject(f"{name}, {what}", known.command, known.environment | {"SSL_CERT_FILE": str(path)}, known.event)

    def _request(self, of):
        return {"lock": f"bench/{of}/{next(self.numbers)}", "holder": "bench", "leaseSeconds": 3600}

    def _function(self, name):
        table = self.world.table(f"bench-{name}")
        role = {"view": {"LOCKSTEP_READ_ONLY": "true"}}.get(name, {})
        events = {
            "acquire-lock": self._free,
            "heartbeat": lambda: {"grant": self.beaten},
            "release-lock": lambda: {"grant": self._granted("release-lock"), "outcome": "succeeded"},
            "check-running-executions": lambda: self.checked,
            "reaper": lambda: {"sweep": True},
            "operate": lambda: {"act": "list"},
            "view": lambda: WIDGET,
        }
        # A function trusts its compiled-in root certificates at AWS's own endpoints only. Here a variable sets the endpoint, so
        # the function reads the same roots, and the root of the proxy, from a file.
        trust = {"SSL_CERT_FILE": str(self.world.roots)}
        environment = self.world.environment(table, **trust, **role)
        return Subject(name, [str(bootstrap(name, self.world.folder))], environment, events[name])

    def _rival(self, name):
        table = self.world.table("bench-" + name.split(",")[0].replace(" ", "-").lower())
        ca, bundle = str(self.world.ca), str(self.world.bundle)
        if name == BARE:
            command, more = [str(bootstrap(BARE, self.world.folder))], self.trust
        elif name == PYTHON:
            command = [str(CACHE / "python/bin/python"), "-m", "awslambdaric", "handler.handler"]
            more = {"PYTHONPATH": str(ROOT / "benches/rivals/python"), "AWS_CA_BUNDLE": bundle}
        else:
            command, more = [shutil.which("node"), str(CACHE / "node/bundle.mjs")], {"NODE_EXTRA_CA_CERTS": ca}
        return Subject(name, command, self.world.environment(table, **more), lambda: self._request("rival"))

    def _granted(self, of):
        """Acquires a new lock in the table of the subject `of`, and returns the grant."""
        return self._call("acquire-lock", of, self._request(of))["grant"]

    def _free(self):
        """Returns the request for a free lock that was held before, as most locks were."""
        request = self._request("acquire")
        grant = self._call("acquire-lock", "acquire-lock", request)["grant"]
        self._call("release-lock", "acquire-lock", {"grant": grant, "outcome": "succeeded"})
        return request

    def _call(self, function, of, event):
        """Calls a function on the table of the subject `of`, and returns the answer."""
        if (function, of) not in self.beside:
            process = Process(function, self.by_name[function].command, self.by_name[of].environment).__enter__()
            process.ready()
            self.beside[function, of] = process
        process = self.beside[function, of]
        _, _, answer = process.invoke(event)
        process.ready()
        return answer
