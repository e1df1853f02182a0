"""Starts a container engine if none answers, builds the batch image, and removes leftover containers."""
import contextlib
import fcntl
import hashlib
import http.client
import io
import json
import os
import shutil
import socket
import tarfile
import time
import urllib.parse

from . import processes
from .install import as_root
from .settings import CACHE, HERE, Problem, say

FOLDER = CACHE / "dockerd"
OWN_SOCKET = "/run/lockstep-docker.sock"
# Options of dockerd, from none to those with which it starts even in a container or a small VM.
MODES = ([], ["--iptables=false"], ["--iptables=false", "--bridge=none"],
         ["--iptables=false", "--bridge=none", "--storage-driver=vfs"])
APPLETS = ("sh", "env", "sed", "awk", "paste", "hostname", "sleep")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def call(method, path, body=None, sock=None, **query):
    """Sends a request to the engine, and returns (status, body)."""
    connection = _UnixConnection(sock or socket_path())
    try:
        if query:
            path += "?" + urllib.parse.urlencode(query)
        connection.request(method, path, body, {"Content-Type": "application/x-tar"} if body else {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def answers(sock):
    try:
        return call("GET", "/_ping", sock=sock)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def socket_path():
    """Returns the socket of the engine to use: the user's, the system's, or the one started here. None if none answers."""
    host = _given_host()
    if host and not host.startswith("unix://"):
        raise Problem(f"DOCKER_HOST={host}: only unix:// is supported")
    candidates = [host.removeprefix("unix://")] if host else ["/var/run/docker.sock", OWN_SOCKET]
    return next((path for path in candidates if answers(path)), None)


def _given_host():
    """Returns the user's DOCKER_HOST, unless a shell has exported it from an earlier stack."""
    host = os.environ.get("DOCKER_HOST", "")
    return "" if host == f"unix://{OWN_SOCKET}" else host


def ensure(user):
    """Starts an engine if none answers. The engine runs at least until `release(user)`."""
    with _one_at_a_time():
        if socket_path() is None:
            _start()
        if socket_path() == OWN_SOCKET:
            (FOLDER / "users").mkdir(parents=True, exist_ok=True)
            (FOLDER / "users" / user).touch()
        return f"unix://{socket_path()}"


def release(user):
    """Stops the engine that was started here, unless it has other users."""
    with _one_at_a_time():
        (FOLDER / "users" / user).unlink(missing_ok=True)
        if any((FOLDER / "users").glob("*")) or not processes.alive("dockerd", FOLDER):
            return
        processes.stop("dockerd", FOLDER, grace=30)
        say("down: dockerd stopped")


@contextlib.contextmanager
def _one_at_a_time():
    """Locks the engine, so that stacks that start or stop at the same time do not start two, or stop one that is in use."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start():
    if _given_host():
        raise Problem(f"no container engine answers at {_given_host()}")
    if not shutil.which("dockerd"):
        raise Problem("no container engine answers and dockerd is not installed: run `lockstack install`")
    shutil.rmtree(FOLDER / "users", ignore_errors=True)  # the users of an earlier engine are no longer running
    base = [*as_root(), "dockerd", "--host", f"unix://{OWN_SOCKET}", "--group", os.getegid(),
            "--data-root", FOLDER / "data", "--exec-root", "/run/lockstep-docker",
            "--pidfile", "/run/lockstep-docker.pid"]
    for mode in MODES:
        process = processes.start("dockerd", [*base, *mode], FOLDER)
        end = time.monotonic() + 30
        while time.monotonic() < end and process.poll() is None:
            if answers(OWN_SOCKET):
                say("up: dockerd started" + (f" with {' '.join(mode)}" if mode else ""))
                return
            time.sleep(0.1)
        processes.stop("dockerd", FOLDER)
    raise Problem(f"up: dockerd does not start, see {FOLDER / 'dockerd.log'}")


def build_batch_image():
    """Builds an image of only a static busybox and batch.sh, and returns its name."""
    busybox = os.path.realpath(shutil.which("busybox") or "/bin/busybox")
    script = (HERE / "batch" / "batch.sh").read_bytes()
    with open(busybox, "rb") as file:
        shell = file.read()
    name = f"lockstep-batch:{hashlib.sha256(shell + script).hexdigest()[:12]}"
    if call("GET", f"/images/{name}/json")[0] == 200:
        return name
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, data in (("bin/busybox", shell), ("batch.sh", script)):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
        for applet in APPLETS:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    repository, tag = name.split(":")
    status, answer = call("POST", "/images/create", archive.getvalue(), fromSrc="-", repo=repository, tag=tag,
                          changes='ENTRYPOINT ["/bin/sh","/batch.sh"]')
    if status != 200:
        raise Problem(f"up: the batch image could not be made: {answer.decode(errors='replace')}")
    return name


def remove_containers(instance):
    """Removes the containers that an emulator left behind. `instance` is their label. Returns their number."""
    if socket_path() is None:
        return 0
    label = json.dumps({"label": [f"ministack.instance={instance}"]})
    found = json.loads(call("GET", "/containers/json", all="1", filters=label)[1])
    for container in found:
        call("DELETE", f"/containers/{container['Id']}", force="1", v="1")
    return len(found)
