"""Waits for the end of containers.

This corrects the speed, not the behaviour: ministack 1.5.33 inspects the containers of every task ten
times a second, which uses a whole core for a few dozen tasks. Here one request for each container
waits in the engine until the container ends.
"""
import time

from ministack.core.responses import request_scope
from ministack.services import ecs

from . import scope

_stock_watch = ecs._watch_task_lifecycle
_LOOKS = 50  # the engine reports the end of a container some time before inspect shows it
_LOOK_SECONDS = 0.1


def _watch_task_lifecycle(task, docker_client, account_id, region):
    containers = list(task.get("_docker_ids") or [])
    if task.get("group", "").startswith("service:") or not containers:
        _stock_watch(task, docker_client, account_id, region)
        return
    for container in containers:
        scope.in_thread(_watch, task, docker_client, container, account_id, region)


def _watch(task, docker_client, container, account_id, region):
    with request_scope(account_id, region):
        try:
            docker_client.api.wait(container, timeout=None)
        except Exception:  # the engine closed the connection: falls back to the emulator's own watcher
            _stock_watch(task, docker_client, account_id, region)
            return
        for _ in range(_LOOKS):
            ecs._maybe_mark_stopped(task, docker_client)
            if task["lastStatus"] != "RUNNING":
                return
            time.sleep(_LOOK_SECONDS)


def apply():
    ecs._watch_task_lifecycle = _watch_task_lifecycle
