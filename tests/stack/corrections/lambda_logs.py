"""Reads the log lines of functions with their own runtime.

This corrects the speed, not the behaviour: in the emulator another thread reads the lines of a function, and each invocation
waits 50 ms for them. A function writes its lines before it answers, so here the invocation itself reads the pipe until the pipe
is empty, without a wait.
"""
import contextlib
import os
import queue
import select
import threading

from ministack.core import lambda_runtime

_CHUNK = 65536


class Output:
    """The pipe to which an environment writes, and the queue of its lines."""

    def __init__(self, stream, lines):
        self._stream, self._lines = stream, lines
        self._lock, self._rest, self._ended = threading.Lock(), b"", False

    def pump(self):
        """Reads the pipe until the environment ends, so that the pipe is never full."""
        while not self._ended:
            self._ready()
            self.read()
        self._stream.close()

    def read(self):
        """Moves the lines that are in the pipe to the queue."""
        with self._lock:
            while not self._ended and self._ready(0):
                chunk = os.read(self._stream.fileno(), _CHUNK)
                *whole, self._rest = (self._rest + chunk).split(b"\n")
                if not chunk:
                    self._ended, whole = True, [self._rest] if self._rest else []
                for line in whole:
                    self._put(line.decode("utf-8", errors="replace").rstrip("\r"))

    def _ready(self, milliseconds=None):
        ready = select.poll()  # a new object for each call, because threads cannot share one
        ready.register(self._stream, select.POLLIN)
        return ready.poll(milliseconds)

    def _put(self, line):
        if self._lines.full():
            with contextlib.suppress(queue.Empty):
                self._lines.get_nowait()  # the oldest
        self._lines.put_nowait(line)


def _pump_output(worker, stream, lines):
    worker._output = Output(stream, lines)
    worker._output.pump()


def _drain(worker, **_):
    output = getattr(worker, "_output", None)
    if output:
        output.read()
    return worker._drain_stderr()


def apply():
    lambda_runtime.ProvidedWorker._pump_output = _pump_output
    lambda_runtime.ProvidedWorker._drain_stderr_bounded = _drain
