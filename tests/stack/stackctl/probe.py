"""`lockstack probe`: runs the probes of the corrections, on the corrected emulator or on one without corrections."""
import os
import subprocess
import sys

from .settings import EMULATOR_PYTHON, HERE, STATE, client_environment


def run(stock, names):
    if not stock:
        return _run_probes(names)
    # The emulator without corrections is a separate stack, because another one may be up.
    env = {**os.environ, "LOCKSTEP_STATE": str(STATE / "stock")}
    env.pop("LOCKSTEP_PORT", None)
    env.pop("LOCKSTEP_DYNAMODB_PORT", None)
    this = [sys.executable, "-m", "stackctl"]
    if subprocess.run([*this, "up", "--stock"], env=env).returncode:
        return 1
    try:
        return subprocess.run([*this, "probe", *names], env={**env, "LOCKSTACK_PROBE_STOCK": "1"}).returncode
    finally:
        subprocess.run([*this, "down"], env=env)


def _run_probes(names):
    command = [EMULATOR_PYTHON, "-m", "probes", *names]
    env = {**client_environment(), "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=HERE, env=env).returncode


def run_undefined(arguments):
    """Runs the level `undefined`. It needs no stack, because the definitions run on the interpreter alone."""
    environment = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([EMULATOR_PYTHON, "-m", "undefined", *arguments], env=environment).returncode
