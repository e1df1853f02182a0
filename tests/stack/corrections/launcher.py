"""Starts the emulator with the corrections: python -m corrections.launcher

LOCKSTACK_STOCK=1 leaves the corrections out. LOCKSTACK_DYNAMODB is the address of DynamoDB Local.
"""
import os
import sys

from ministack.services import eventbridge, scheduler

from . import (admin, agent, agent_hosts, alarm_topics, callbacks, dynamodb, ecs_containers, ecs_events, ecs_fields, ecs_leaving,
               ecs_protection, ecs_requests, ecs_services, ecs_siblings, ecs_stop, ecs_tasks, ecs_watch, event_logs, executions,
               faults, faults_invoke, habits, integrations, lags, lambda_logs, lambdas, log_filters, machine_logging, managed_rules,
               publications, queues, redrive, results, roles, rules, schedules, sdk_calls, stack_resources)
from .states import machine, trail

AREAS = (trail, machine, executions, redrive, callbacks, integrations, results,
         managed_rules, machine_logging, publications, sdk_calls, ecs_tasks, ecs_containers, ecs_watch, ecs_fields, ecs_stop, ecs_events, ecs_leaving, ecs_siblings, ecs_requests,
         ecs_protection, ecs_services, agent, agent_hosts, schedules, rules, event_logs, log_filters, lambdas, lambda_logs,
         roles, dynamodb, queues, alarm_topics, stack_resources, faults, faults_invoke, lags, habits, admin)


def main():
    # The emulator checks for due schedules every 10 s, which is too long for tests.
    scheduler._SCHEDULE_TICK_INTERVAL = float(os.environ.get("LOCKSTACK_SCHEDULE_TICK", "1"))
    eventbridge._SCHEDULER_TICK_INTERVAL = scheduler._SCHEDULE_TICK_INTERVAL
    if not os.environ.get("LOCKSTACK_STOCK"):
        for area in AREAS:
            area.apply()
    from ministack.app import main as serve
    sys.argv = ["ministack"]
    serve()


if __name__ == "__main__":
    main()
