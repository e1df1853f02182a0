"""Reads the history of an execution."""
from .support import client

ERROR = "States.QueryEvaluationError"


def history(execution):
    pages = client("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=execution)
    return [event for page in pages for event in page["events"]]


def of_kind(events, *kinds):
    return [event for event in events if event["type"] in kinds]


def details(event):
    """Returns the details of an event of any type."""
    return next((value for key, value in event.items() if key.endswith("EventDetails")), {})


def line(events):
    """Returns `id<previous type` of each event."""
    return [f"{event['id']}<{event['previousEventId']} {event['type']}" for event in events]
