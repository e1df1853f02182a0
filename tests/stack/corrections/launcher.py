"""Start the emulator with the corrections: python -m corrections.launcher

LOCKSTACK_STOCK=1 leaves them out; LOCKSTACK_DYNAMODB is the address of DynamoDB Local.
"""
import os
import sys

from ministack.services import scheduler

from . import (callbacks, dynamodb, ecs_containers, ecs_events, ecs_protection, ecs_stop, ecs_tasks, executions,
               integrations, lambdas, map_state, parallel, retries, schedules, timeouts, variables)

# Timeouts come before callbacks and integrations, which rely on the scopes that they open.
AREAS = (executions, timeouts, retries, callbacks, parallel, map_state, variables, integrations,
         ecs_tasks, ecs_containers, ecs_stop, ecs_events, ecs_protection, schedules, lambdas, dynamodb)


def main():
    # The emulator looks for due schedules every 10 s; tests cannot wait that long.
    scheduler._SCHEDULE_TICK_INTERVAL = float(os.environ.get("LOCKSTACK_SCHEDULE_TICK", "1"))
    if not os.environ.get("LOCKSTACK_STOCK"):
        for area in AREAS:
            area.apply()
    from ministack.app import main as serve
    sys.argv = ["ministack"]
    serve()


if __name__ == "__main__":
    main()
