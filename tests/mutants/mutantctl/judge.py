"""Builds and runs the test program of a level, and reads its verdict on a mutant from the output."""
import json
import os
import re
import resource
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from .settings import COUNTS, CPU_FACTOR, CPU_FLOOR, MEMORY, STACK, WALL_FACTOR, WALL_FLOOR, Problem

FAILED = re.compile(r"^---- (\S+) stdout ----$", re.MULTILINE)
# Most seconds to wait for the output of a program that has ended.
DRAIN = 30
FAILED_LINE = re.compile(r"^test (\S+) \.\.\. FAILED$")


@dataclass(frozen=True)
class Result:
    """The result of a run. `verdict` is one of:

    passed     all tests passed
    caught     a test failed
    counted    only comparisons with a recorded number failed
    timeout    the program took too long
    unviable   the mutant does not compile
    """

    verdict: str
    why: str = ""
    seconds: float = 0.0
    cpu: float = 0.0


@dataclass(frozen=True)
class Bounds:
    """The most processor time and wall-clock time, in seconds, that a run of a level may take."""

    cpu: float
    wall: float

    @staticmethod
    def after(cpu, seconds):
        return Bounds(max(CPU_FLOOR, CPU_FACTOR * cpu), max(WALL_FLOOR, WALL_FACTOR * seconds))


@dataclass(frozen=True)
class Program:
    """A test program, the folder that it runs in, and how long its build took."""

    path: str
    folder: str
    seconds: float = 0.0
    arguments: tuple[str, ...] = ()
    # Whether the first failure ends the run.
    fail_fast: bool = False


@dataclass(frozen=True)
class NotBuilt:
    """The errors of the compiler: (message, [(file, byte), ...])."""

    errors: list


def build(level, slot):
    """Builds the level's test program from the current tree. Returns the program, or the errors of the compiler."""
    begin = time.monotonic()
    command = ["cargo", "test", "--locked", "--no-run", "--message-format", "json", *level.build]
    for setting in level.profile:
        command += ["--config", setting]
    done = subprocess.run(command, cwd=slot.tree, env=environment(slot), capture_output=True, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        errors = [error(message["message"]) for message in messages
                  if message["reason"] == "compiler-message" and message["message"]["level"] == "error"]
        if not errors:
            raise Problem(f"cargo did not build {level.name}:\n{done.stderr}")
        return NotBuilt(errors)
    tests = [message for message in messages if message.get("executable") and message["profile"]["test"]]
    if len(tests) != 1:
        raise Problem(f"{level.name}: one test program expected, but cargo built {len(tests)}")
    folder = os.path.dirname(tests[0]["manifest_path"])
    return Program(tests[0]["executable"], folder, time.monotonic() - begin, level.only, level.fail_fast)


def error(message):
    """Returns the first line of a compiler message, and its places. A place in a macro counts where the macro is called, too."""
    places = []
    for span in message["spans"]:
        while span:
            places.append((span["file_name"], span["byte_start"], span["is_primary"]))
            span = (span.get("expansion") or {}).get("span")
    primary = [(file, byte) for file, byte, is_primary in places if is_primary]
    return message["message"].splitlines()[0], primary or [(file, byte) for file, byte, _ in places]


def run(program, env, bounds):
    """Runs the test program. The processor time ends a program that loops, the wall-clock time one that sleeps."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (int(bounds.cpu), int(bounds.cpu) + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    begin, used = time.monotonic(), children_cpu()
    child = subprocess.Popen([program.path, *program.arguments], cwd=program.folder, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             preexec_fn=limit, start_new_session=True)
    lines, failed = [], []

    def collect():
        for line in child.stdout:
            lines.append(line)
            if program.fail_fast and (failure := FAILED_LINE.match(line)):
                failed.append(failure[1])
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)

    # In a thread, because a process that a broken program leaves behind keeps its output open.
    reader = threading.Thread(target=collect, daemon=True)
    reader.start()
    try:
        code = child.wait(timeout=bounds.wall)
        reader.join(DRAIN)
        verdict, why = ("caught", shown(failed)) if failed else read(code, "".join(lines))
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        reader.join(DRAIN)
        verdict, why = "timeout", "still running"
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        raise
    return Result(verdict, why, time.monotonic() - begin, children_cpu() - used)


def read(code, output):
    """Returns the verdict from the exit code and the output of a test program, and the reason, such as the failed tests."""
    if code == 0:
        return "passed", ""
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timeout", "out of processor time"
    parts = FAILED.split(output)
    failures = list(zip(parts[1::2], parts[2::2]))
    if not failures:
        return "caught", f"ended by signal {-code}" if code < 0 else f"exit code {code}"
    broken = [name for name, text in failures if not any(count in text for count in COUNTS)]
    if not broken:
        return "counted", shown([name for name, _ in failures])
    return "caught", shown(broken)


def shown(names, most=3):
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def environment(slot, extra=(), stack=False):
    env = {name: value for name, value in os.environ.items() if stack or not name.startswith(("LOCKSTEP_", "AWS_"))}
    # The stack frame of a function with many mutants has the local variables of all of them.
    env |= {"RUST_MIN_STACK": str(STACK), "RUST_BACKTRACE": "0"}
    return env | {"CARGO_TARGET_DIR": str(slot.target), "CARGO_TERM_COLOR": "never"} | dict(extra)


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
