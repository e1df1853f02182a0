"""The endpoint of the ECS container agent for the containers of a task.

AWS: every container has ECS_AGENT_URI and ECS_CONTAINER_METADATA_URI_V4. The last part of each
  address identifies the container.
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html
  https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-response.html
AWS: the metadata have a DockerId, which is the runtimeId of DescribeTasks, ContainerARN and ServiceName.
ministack 1.5.33: has no ECS_AGENT_URI. Its DockerId is longer than its runtimeId, or empty if a
  container asks at once.

agent_protection.py makes the answers of the protection path.
"""
import asyncio
import json
import re

from ministack import app
from ministack.core.arn import parse_arn
from ministack.core.responses import request_scope
from ministack.services import ecs, ecs_metadata

from . import agent_orders, agent_protection, ecs_containers, ecs_protection

_PROTECTION = re.compile(r"/api/([^/]*)/task-protection/v1/state")
_METADATA = re.compile(r"/v4/([^/]*)(/task)?/?")
_HANG_SECONDS = 120
_START_SECONDS = 5
_stock_build = ecs_containers._build_run_kwargs


def agent_uri(metadata_uri):
    """Returns the container's ECS_AGENT_URI, which has the same id as the metadata address."""
    return metadata_uri.replace("/v4/", "/api/")


def _naming_the_agent(container, definition, env, *more):
    env["ECS_AGENT_URI"] = agent_uri(env["ECS_CONTAINER_METADATA_URI_V4"])
    return _stock_build(container, definition, env, *more)


def _find(token):
    """Returns (task, name of its container) for an id, or (None, None)."""
    arn = ecs_metadata._TOKEN_TO_TASK.get(token)
    if not arn:
        return None, None
    spec = parse_arn(arn)
    return ecs._tasks.get_scoped(spec.account_id, spec.region, arn), ecs_metadata._TOKEN_TO_CONTAINER[token]["Name"]


def _answer_protection(token, method, text):
    """Records the call in the journal, and returns (status, body). The status is None if the call must get no answer."""
    task, container = _find(token)
    call = agent_orders.record(task and task["taskArn"], container, method, _readable(text))
    fault = agent_orders.take("agent", task["taskArn"], method, text.decode(errors="replace")) if task else None
    if fault == "hang":
        return None, None
    if task:
        spec = parse_arn(task["taskArn"])
        with request_scope(spec.account_id, spec.region):
            status, answer = agent_protection.answer(method, text, task, fault)
    else:
        status, answer = agent_protection.answer(method, text, None, None)
    call.update(status=status, answer=answer)
    return status, answer


def _readable(text):
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text.decode(errors="replace")


async def _metadata(token, whole_task):
    for _ in range(_START_SECONDS * 20):
        task, name = _find(token)
        container = task and next(one for one in task["containers"] if one["name"] == name)
        if not container or container.get("runtimeId"):
            break
        await asyncio.sleep(0.05)  # the container is running, but the emulator does not know its id yet
    if not container:
        return 404, {"message": "unknown container"}
    spec = parse_arn(task["taskArn"])
    with request_scope(spec.account_id, spec.region):
        payload = ecs_metadata._TOKEN_TO_CONTAINER[token]
        return 200, _told_of_task(task) if whole_task else _told_of_container(task, payload)


def _told_of_container(task, payload):
    known = next(one for one in task["containers"] if one["name"] == payload["Name"])
    return {**payload, "DockerId": known.get("runtimeId") or "", "ContainerARN": known["containerArn"]}


def _told_of_task(task):
    payload = ecs_metadata._TASKS[task["taskArn"]]
    service = {"ServiceName": task["group"].partition(":")[2]} if ecs_protection.in_service(task) else {}
    return {**payload, **service, "Containers": [_told_of_container(task, one) for one in payload["Containers"]]}


async def _hang(receive):
    """Waits until the caller closes the connection."""
    async def gone():
        while (await receive())["type"] != "http.disconnect":
            pass
    try:
        await asyncio.wait_for(gone(), _HANG_SECONDS)
    except asyncio.TimeoutError:
        pass


async def respond(send, status, answer):
    body = b"" if answer is None else json.dumps(answer).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def read(receive):
    text, more = b"", True
    while more:
        part = await receive()
        text, more = text + part.get("body", b""), part.get("more_body", False)
    return text


def _serving_agent(serve):
    async def wrapper(scope, receive, send):
        path, method = (scope["path"], scope["method"]) if scope["type"] == "http" else ("", "")
        protection, metadata = _PROTECTION.fullmatch(path), _METADATA.fullmatch(path)
        if protection:
            text = await read(receive)
            status, answer = await asyncio.get_running_loop().run_in_executor(
                None, _answer_protection, protection[1], method, text)
            await (respond(send, status, answer) if status else _hang(receive))
        elif metadata and method == "GET":
            await respond(send, *await _metadata(metadata[1], metadata[2]))
        else:
            await serve(scope, receive, send)
    return wrapper


def apply():
    ecs._build_run_kwargs = _naming_the_agent
    app.app = _serving_agent(app.app)
