"""Starts and stops background processes that outlive their command."""
import json
import os
import signal
import socket
import subprocess
import time

from .settings import Problem


def start(name, arguments, folder, env=None, cwd=None):
    """Starts a process in a new session. Its log is FOLDER/NAME.log, and FOLDER/NAME.json records it."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.log", "ab") as log:
        process = subprocess.Popen([str(part) for part in arguments], stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True)
    record = {"pid": process.pid, "started": _start_time(process.pid)}
    (folder / f"{name}.json").write_text(json.dumps(record))
    return process


def alive(name, folder):
    """Returns the pid of a recorded process that is still running, or None."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    record = json.loads(path.read_text())
    # Another process may have the pid by now. The start time shows whether it is the recorded one.
    same = record["started"] is not None and _start_time(record["pid"]) == record["started"]
    return record["pid"] if same else None


def stop(name, folder, grace=10):
    """Stops a recorded process and its group, and returns its pid. Returns None if it is not running."""
    pid = alive(name, folder)
    if pid:
        _signal_group(pid, signal.SIGTERM)
        end = time.monotonic() + grace
        while alive(name, folder) and time.monotonic() < end:
            time.sleep(0.05)
        _signal_group(pid, signal.SIGKILL)
    (folder / f"{name}.json").unlink(missing_ok=True)
    return pid


def _signal_group(pid, number):
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:  # the process was started with sudo
        subprocess.run(["sudo", "-n", "kill", f"-{int(number)}", "--", f"-{pid}"], capture_output=True)


def _start_time(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(ready, what, process, log, seconds):
    """Polls until `ready` is true. Raises Problem with the end of the log if the process dies or the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ready():
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
    raise Problem(f"up: {what} is not ready, see {log}\n{tail}")
