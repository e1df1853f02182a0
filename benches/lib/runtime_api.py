"""A Lambda Runtime API for the process of one function, and that process.

A time is taken when a request of the process has been read completely. CPU is the process's own clock, which counts all its
threads in nanoseconds."""
import json
import queue
import socket
import subprocess
import threading
import time
from pathlib import Path

NEXT = "/runtime/invocation/next"
HEADERS = ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nLambda-Runtime-Aws-Request-Id: {id}\r\n"
           "Lambda-Runtime-Deadline-Ms: {deadline}\r\nLambda-Runtime-Invoked-Function-Arn: {arn}\r\n"
           "Content-Length: {length}\r\n\r\n")
ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"status\":\"OK\"}"
ARN = "arn:aws:lambda:eu-west-1:000000000000:function:bench"


class BenchError(Exception):
    """The reason why a figure cannot be measured."""


class RuntimeApi:
    """Hands out events, and receives the answers."""

    def __init__(self):
        self.asked, self.answered, self.events = queue.SimpleQueue(), queue.SimpleQueue(), queue.SimpleQueue()
        self.clock = None
        self.started = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def watch(self, pid):
        self.clock = (~pid << 3) | 2  # the CPU clock of a process, as clock_getcpuclockid makes it
        self.started.set()

    def close(self):
        self.events.put(None)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            try:
                while self._exchange(connection, stream):
                    pass
            except (OSError, ValueError):
                pass  # the process has ended

    def _exchange(self, connection, stream):
        line = stream.readline().decode()
        if not line:
            return False
        headers = {}
        while (header := stream.readline().decode().strip()):
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = _body(stream, headers)
        path = line.split(" ")[1]
        now = self._now()
        if path.endswith(NEXT):
            return self._hand_out(connection, now)
        self.answered.put((now, path.rsplit("/", 1)[1] == "response", body))
        connection.sendall(ACCEPTED)
        return True

    def _now(self):
        wall = time.perf_counter()
        self.started.wait()
        return wall, time.clock_gettime(self.clock)

    def _hand_out(self, connection, now):
        self.asked.put(now)
        event = self.events.get()
        if event is None:
            return False
        head = HEADERS.format(id=f"{time.monotonic_ns():032x}", deadline=int(time.time() * 1000) + 60_000, arn=ARN,
                              length=len(event))
        connection.sendall(head.encode() + event)
        return True


def _body(stream, headers):
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return stream.read(int(headers.get("content-length", 0)))
    parts = []
    while (size := int(stream.readline().split(b";")[0], 16)):
        parts.append(stream.read(size))
        stream.readline()
    while stream.readline().strip():
        pass
    return b"".join(parts)


class Process:
    """One environment of a function. Wall time is in ms since the spawn, CPU time in ms of the process."""

    def __init__(self, name, command, environment, before_exec=None):
        self.name, self.api = name, RuntimeApi()
        environment = environment | {"AWS_LAMBDA_RUNTIME_API": self.api.address}
        self.begin = time.perf_counter()
        self.child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, preexec_fn=before_exec)
        self.api.watch(self.child.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        self.api.close()

    def _take(self, source, what, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                return source.get(timeout=0.5)
            except queue.Empty:
                if self.child.poll() is not None:
                    raise BenchError(f"{self.name} ended with {self.child.returncode} before it {what}") from None
        raise BenchError(f"{self.name} had not {what} after {seconds} s")

    def ready(self, seconds=60):
        """Waits until the process asks for an event. Returns (wall, CPU) at that moment."""
        wall, cpu = self._take(self.api.asked, "asked for an event", seconds)
        return (wall - self.begin) * 1000, cpu * 1000

    def invoke(self, event, seconds=60):
        """Hands out one event to a process that is ready. Returns (wall time of the call, CPU until now, answer)."""
        handed = time.perf_counter()
        self.api.events.put(json.dumps(event).encode())
        (wall, cpu), good, body = self._take(self.api.answered, "answered", seconds)
        answer = json.loads(body or b"null")
        if not good:
            raise BenchError(f"{self.name} failed: {answer}")
        return (wall - handed) * 1000, cpu * 1000, answer

    def resident_mb(self):
        for line in Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise BenchError(f"{self.name} has no resident set: it has ended")
