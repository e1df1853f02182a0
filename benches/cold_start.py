#!/usr/bin/env python3
"""Cold start of each packaged function: from its spawn to its first GET /next.

Usage: benches/cold_start.py [RUNS]      (after `make package`; 30 runs by default)

The process talks to a Lambda Runtime API that this script serves itself. Memory is the resident set
at that moment. Nothing of AWS is called: clients are built, not used.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

LAMBDA = Path(__file__).resolve().parent.parent / "target" / "lambda"
FUNCTIONS = ["acquire-lock", "heartbeat", "release-lock", "check-running-executions", "reaper", "operate"]


class RuntimeApi(HTTPServer):
    """Notes when the first /next comes, and never answers it."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked_at = None
        self.asked = threading.Event()
        self.over = threading.Event()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.server.asked_at is None:
            self.server.asked_at = time.perf_counter()
            self.server.asked.set()
        self.server.over.wait(10)  # a function waits here for its next event

    def log_message(self, *_):
        pass


def environment(api):
    return {
        "PATH": os.environ["PATH"],
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{api.server_port}",
        "AWS_LAMBDA_FUNCTION_NAME": "cold", "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256", "AWS_LAMBDA_LOG_GROUP_NAME": "cold",
        "AWS_LAMBDA_LOG_STREAM_NAME": "cold", "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "LOCKSTEP_TABLE": "locks",
    }


def resident_mb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"process {pid} has no resident set: it ended before it asked for work")


def one_start(bootstrap):
    api = RuntimeApi()
    threading.Thread(target=api.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    begin = time.perf_counter()
    process = subprocess.Popen([bootstrap], env=environment(api), stdout=subprocess.DEVNULL)
    try:
        if not api.asked.wait(10):
            raise SystemExit(f"{bootstrap} did not ask for work within 10 s")
        return (api.asked_at - begin) * 1000, resident_mb(process.pid)
    finally:
        process.kill()
        process.wait()
        api.over.set()
        api.shutdown()
        api.server_close()


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    print(f"{'function':26} {'zip MB':>7} {'init ms p50':>12} {'p90':>6} {'RSS MB':>7}   n={runs}")
    for function in FUNCTIONS:
        archive = LAMBDA / function / "bootstrap.zip"
        if not archive.exists():
            raise SystemExit(f"{archive} is missing: run `make package` first")
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(archive).extract("bootstrap", folder)
            bootstrap = Path(folder) / "bootstrap"
            bootstrap.chmod(0o755)
            one_start(bootstrap)
            starts = [one_start(bootstrap) for _ in range(runs)]
        times = sorted(ms for ms, _ in starts)
        size = archive.stat().st_size / 1e6
        print(f"{function:26} {size:7.2f} {statistics.median(times):12.1f} {times[int(runs * 0.9)]:6.1f}"
              f" {statistics.median(mb for _, mb in starts):7.1f}")


if __name__ == "__main__":
    main()
