"""`lockstack up`, `down` and `status`: DynamoDB Local, the emulator, the container engine, and the file with their addresses."""
import hashlib
import http.client
import json
import os
import shutil
import socket
import time

from . import engine, processes
from .install import installed
from .settings import (ACCOUNT, CACHE, DYNAMODB_DIR, EMULATOR_PYTHON, HERE, REGION, STATE, TOOLS_BIN, Problem, say)

USER = hashlib.sha256(str(STATE).encode()).hexdigest()[:12]
SETTINGS = STATE / "settings.json"


def up(stock=False, enforce_iam=True, check_table_iam=False, bind="127.0.0.1"):
    if all(processes.alive(name, STATE) for name in ("dynamodb", "emulator")):
        say(f"up: already up ({STATE / 'env'})")
        return
    if not installed():
        raise Problem("up: the tools are not installed: run `lockstack install` first")
    down(quiet=True)
    begin = time.monotonic()
    STATE.mkdir(parents=True, exist_ok=True)
    try:
        docker_host = engine.ensure(USER)
        dynamodb_port = int(os.environ.get("LOCKSTEP_DYNAMODB_PORT") or processes.free_port())
        port = int(os.environ.get("LOCKSTEP_PORT") or processes.free_port())
        SETTINGS.write_text(json.dumps({"instance": f"{socket.gethostname()}:{port}"}))
        _start_dynamodb(dynamodb_port)
        _start_emulator(port, dynamodb_port, docker_host, stock, enforce_iam, check_table_iam, bind)
        image = engine.build_batch_image()
    except BaseException:
        down(quiet=True)
        raise
    _write_env(port, dynamodb_port, docker_host, image)
    say(f"up: ready in {time.monotonic() - begin:.1f} s at http://127.0.0.1:{port} ({STATE / 'env'})")


def _start_dynamodb(port):
    process = processes.start("dynamodb", [
        "java", "-Xmx512m", "-Djava.library.path=DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar",
        "-inMemory", "-sharedDb", "-disableTelemetry", "-port", port], STATE, cwd=DYNAMODB_DIR)
    processes.wait_until(lambda: _answers(port, "/", 400), "DynamoDB Local", process, STATE / "dynamodb.log", 60)


def _start_emulator(port, dynamodb_port, docker_host, stock, enforce_iam, check_table_iam, bind):
    shutil.rmtree(STATE / "tmp", ignore_errors=True)
    (STATE / "tmp").mkdir()
    endpoint = f"http://127.0.0.1:{port}"
    database = f"http://127.0.0.1:{dynamodb_port}"
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("AWS_", "SFN_", "LAMBDA_", "MINISTACK_"))}
    env.update(
        AWS_ENDPOINT_URL=endpoint, GATEWAY_PORT=str(port), BIND_HOST=bind,
        AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION=REGION,
        MINISTACK_REGION=REGION, MINISTACK_ACCOUNT_ID=ACCOUNT, MINISTACK_HOSTNAME=socket.gethostname(),
        AUTH="true" if enforce_iam else "false", TMPDIR=str(STATE / "tmp"), DOCKER_HOST=docker_host, IOT_MTLS_ENABLED="0",
        LOCKSTACK_DYNAMODB=database, LOCKSTACK_STOCK="1" if stock else "",
        LAMBDA_ACCOUNT_CONCURRENCY="1000",  # AWS's quota for an account
        PYTHONPATH=str(HERE), PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1")
    # Functions inherit this variable. If it is the emulator's address, their roles are checked for calls to the table, too.
    if not stock:
        env["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint if check_table_iam else database
    process = processes.start("emulator", [EMULATOR_PYTHON, "-m", "corrections.launcher"], STATE, env)
    processes.wait_until(lambda: _answers(port, "/_ministack/ready", 200), "the emulator", process,
                         STATE / "emulator.log", 60)


def _answers(port, path, status):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == status
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _write_env(port, dynamodb_port, docker_host, image):
    values = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ENDPOINT_URL_DYNAMODB": f"http://127.0.0.1:{dynamodb_port}",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION, "AWS_REGION": REGION,
        "DOCKER_HOST": docker_host, "LOCKSTEP_BATCH_IMAGE": image, "LOCKSTEP_TOOLS_PATH": str(TOOLS_BIN),
    }
    temporary = STATE / "env.new"
    temporary.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    temporary.replace(STATE / "env")


def down(quiet=False):
    """Stops everything that `up` started, if anything is running."""
    stopped = [name for name in ("emulator", "dynamodb") if processes.stop(name, STATE)]
    if SETTINGS.exists():
        removed = engine.remove_containers(json.loads(SETTINGS.read_text())["instance"])
        if removed:
            stopped.append(f"{removed} containers")
    engine.release(USER)
    for leftover in ("env", "outputs.json", "settings.json"):
        (STATE / leftover).unlink(missing_ok=True)
    shutil.rmtree(STATE / "tmp", ignore_errors=True)
    if not quiet:
        say("down: " + (", ".join(stopped) + " stopped" if stopped else "nothing was up"))


def status():
    """Prints what is running. Returns whether the whole stack is up."""
    running = True
    for name in ("emulator", "dynamodb"):
        pid = processes.alive(name, STATE)
        running = running and bool(pid)
        print(f"{name}: {f'running, pid {pid}' if pid else 'not running'}")
    sock = engine.socket_path()
    print(f"containers: {f'engine at {sock}' if sock else 'no engine answers'}")
    print(f"tools: {'installed in' if installed() else 'not installed in'} {CACHE}")
    return running and bool(sock)
