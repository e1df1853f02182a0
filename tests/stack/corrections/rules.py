"""EventBridge rules.

AWS: rate(1 minute) fires every minute.
  https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rate-expressions.html
AWS: EventBridge calls a function asynchronously. Lambda retries a failed invocation twice.
  https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
ministack 1.5.33: each firing is up to 10 s late, and the delays add up. The function is called only
  once. Here the retries come after 1 and 2 s, on AWS after 1 and 2 minutes.
"""
import json
import logging
import queue

from ministack.services import eventbridge, lambda_svc

from . import scope

_stock_tick = eventbridge._tick_scheduled_rules
_log = logging.getLogger("lockstack.rules")
_ordered = queue.SimpleQueue()  # keys of rules to fire; only the thread that fires rules may change their last time


def _tick_scheduled_rules():
    last = eventbridge._rule_last_fired
    while not _ordered.empty():
        key, every = _ordered.get()
        last[key] = eventbridge._now_ts() - every
    before = dict(last)
    _stock_tick()
    for key, fired in list(last.items()):
        rule = eventbridge._rules._data.get(key)
        every = rule and eventbridge._parse_rate_seconds(rule.get("ScheduleExpression", ""))
        if not every:
            continue
        began = before.get(key) or rule.get("CreationTime", fired)
        if fired > began:
            last[key] = began + (fired - began) // every * every  # the time at which the rule was due


def _dispatch_to_lambda(arn, payload):
    function, config, name = lambda_svc._get_func_record_for_ref(arn)
    if not function or not config:
        _log.warning("target function %s does not exist", name)
        return
    record = lambda_svc._execution_record_for_config(function, config)
    outside = scope.enter(None)  # the call outlives the execution that the event is about
    try:
        lambda_svc.invoke_async_with_retry(record, json.loads(payload))
    finally:
        scope.leave(outside)


def fire(name):
    """Makes the rules with a rate and this name or target due, so that they fire at the next check. Returns whether there is one."""
    found = False
    for key, rule in list(eventbridge._rules._data.items()):
        every = eventbridge._parse_rate_seconds(rule.get("ScheduleExpression", ""))
        targets = {target["Arn"] for target in eventbridge._targets._data.get(key, [])}
        if every and (rule.get("Name") == name or any(arn == name or arn.endswith(f":{name}") for arn in targets)):
            _ordered.put((key, every))
            found = True
    return found


def apply():
    eventbridge._tick_scheduled_rules = _tick_scheduled_rules
    eventbridge._dispatch_to_lambda = _dispatch_to_lambda
