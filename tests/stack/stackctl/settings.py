"""Paths and names of the local stack. LOCKSTEP_CACHE and LOCKSTEP_STATE change the folders of the tools and of the state."""
import os
import platform
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
REQUIREMENTS = HERE / "requirements"

CACHE = Path(os.environ.get("LOCKSTEP_CACHE") or Path.home() / ".cache" / "lockstep").absolute()
STATE = Path(os.environ.get("LOCKSTEP_STATE") or ROOT / "target" / "stack").absolute()

EMULATOR_PYTHON = CACHE / "emulator" / "bin" / "python"
TOOLS_VENV = CACHE / "tools"
TOOLS_BIN = CACHE / "bin"
NODE_DIR = CACHE / "node"
DYNAMODB_DIR = NODE_DIR / "node_modules" / "amplify-dynamodb-simulator" / "emulator"

REGION = "us-east-1"
ACCOUNT = "000000000000"
FIXTURE_CLUSTER = "lockstep-fixture"
FIXTURE_FAMILY = "lockstep-fixture-batch"


class Problem(Exception):
    """A fault that the user can correct. It is shown without a traceback."""


def say(message):
    print(message, file=sys.stderr, flush=True)


def architecture():
    return "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"


def read_env():
    """Returns the variables that `up` wrote. Raises Problem if no stack is up."""
    path = STATE / "env"
    if not path.exists():
        raise Problem(f"no stack is up in {STATE}: run `lockstack up` first")
    lines = path.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line)


def client_environment():
    """Returns this process's environment with the variables of the stack, and with its tools first on PATH."""
    env = {**os.environ, **read_env()}
    env["PATH"] = f"{TOOLS_BIN}:{env.get('PATH', '')}"
    env["SAM_CLI_TELEMETRY"] = "0"
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN", "AWS_CA_BUNDLE"):
        env.pop(name, None)
    return env
