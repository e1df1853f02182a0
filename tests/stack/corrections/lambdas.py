"""Functions.

Not a difference of behaviour but of speed: a warm invocation on AWS takes a few ms, here
  70 ms, because the runtime API's small answers wait for Nagle's algorithm (40 ms) and the
  emulator waits 50 ms for log lines after each invocation. Tests that race invocations
  against each other need them quick.
"""
import socketserver

from ministack.core import lambda_runtime


def apply():
    socketserver.StreamRequestHandler.disable_nagle_algorithm = True
    # first_line_wait, idle_confirm, hard_cap
    lambda_runtime.Worker._drain_stderr_bounded.__defaults__ = (0.003, 0.002, 0.100)
