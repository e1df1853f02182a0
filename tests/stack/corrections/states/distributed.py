"""Distributed Maps: each item is a child execution of a Map Run.

https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html
AWS: the history of the parent has MapRunStarted and MapRunSucceeded, or MapRunFailed, and no events of items. If more items
  fail than the state tolerates, the state fails with States.ExceedToleratedFailureThreshold.
Not supported: ItemBatcher, ResultWriter.
"""
from ministack.core.responses import new_uuid
from ministack.services import stepfunctions as sfn

from .. import scope
from . import maps
from .siblings import Siblings
from .trail import Trail, compact, failed, whole

_MOST = 64  # on AWS 10,000
_COUNTS = ("pending", "running", "succeeded", "failed", "timedOut", "aborted", "total", "resultsWritten",
           "failuresNotRedrivable", "pendingRedrive")


def run(visit, processor, data, run_states):
    """Runs the items, and returns their results."""
    items = _items(visit, data)
    visit.trail.add("MapStateStarted", {"length": len(items)} if items is not None else {"length": 0})
    most, tolerated = maps.limit(visit, "MaxConcurrency", data) or 0, _tolerated(visit, data)
    map_run = _map_run(visit, most, tolerated)
    visit.trail.add("MapRunStarted", {"mapRunArn": map_run["mapRunArn"]})
    try:
        if items is None:
            items = _read(visit, data)
        for counts in (map_run["itemCounts"], map_run["executionCounts"]):
            counts.update(total=len(items), pending=len(items))
        results, failures = _run_items(visit, processor, data, items, map_run, most or _MOST, run_states)
        if _exceeded(failures, len(items), tolerated):
            raise scope.TaskError("States.ExceedToleratedFailureThreshold",
                                  "The specified tolerated failure threshold was exceeded")
    except scope.Stopped:
        raise
    except scope.TaskError as error:
        map_run.update(status="FAILED", stopDate=sfn.now_iso())
        visit.trail.add("MapRunFailed", failed(error))
        raise
    map_run.update(status="SUCCEEDED", stopDate=sfn.now_iso())
    visit.trail.add("MapRunSucceeded")
    visit.trail.add("MapStateSucceeded", aside=True)
    return results


def _items(visit, data):
    """Returns the items in the data of the state, or None if an ItemReader has them."""
    return None if visit.state.get("ItemReader") else maps.items_of(visit, data)


def _read(visit, data):
    reader = dict(visit.state["ItemReader"])
    arguments = reader.pop("Arguments", None)
    given = visit.template(arguments, "ItemReader/Arguments") if visit.jsonata else visit.payload(
        reader.get("Parameters") or {}, data)
    config = dict(reader.get("ReaderConfig") or {})
    if "MaxItemsPath" in config:
        config["MaxItems"] = visit.reference(config.pop("MaxItemsPath"), data)
    elif isinstance(config.get("MaxItems"), str):
        config["MaxItems"] = visit.template(config["MaxItems"], "ItemReader/ReaderConfig/MaxItems")
    items = sfn._read_map_items({**reader, "Parameters": given, "ReaderConfig": config}, data, {})
    if not isinstance(items, list):
        raise scope.TaskError("States.ItemReaderFailed", "Attempting to map over non-iterable node.")
    return items


def _tolerated(visit, data):
    count, share = (maps.limit(visit, f"ToleratedFailure{kind}", data, type_) for kind, type_ in
                    (("Count", int), ("Percentage", float)))
    if count is not None and count < 0:
        raise visit.broken("ToleratedFailureCount cannot be negative.")
    if share is not None and not 0 <= share <= 100:
        raise visit.broken("ToleratedFailurePercentage must be between 0 and 100.")
    return count, share


def _exceeded(failures, total, tolerated):
    limits = [many for many, limit in ((failures, tolerated[0]), (failures * 100 / max(total, 1), tolerated[1]))
              if limit is not None and many > limit]
    return bool(limits) if any(limit is not None for limit in tolerated) else failures > 0


def _map_run(visit, most, tolerated):
    label = visit.state.get("Label") or new_uuid()
    parent, zero = visit.execution, dict.fromkeys(_COUNTS, 0)
    stem = parent["stateMachineArn"].replace(":stateMachine:", ":{}:") + f"/{label}"
    map_run = {
        "mapRunArn": f"{stem.format('mapRun')}:{new_uuid()}", "executionArn": parent["executionArn"], "status": "RUNNING",
        "startDate": sfn.now_iso(), "maxConcurrency": most, "toleratedFailurePercentage": float(tolerated[1] or 0),
        "toleratedFailureCount": int(tolerated[0] or 0), "itemCounts": dict(zero), "executionCounts": dict(zero),
        "redriveCount": 0, "_stateMachineArn": stem.format("stateMachine")}
    sfn._map_runs[map_run["mapRunArn"]] = map_run
    return map_run


def _run_items(visit, processor, data, items, map_run, most, run_states):
    """Runs the items, and returns (results, number of failed items)."""
    failures = []

    def work(line, index, _):
        given = maps.input_of(visit, line, items, index, data)
        child = _child(map_run, given)
        line.trail = Trail(child)
        line.context["Execution"] = {**line.context["Execution"], "Id": child["executionArn"], "Name": child["name"],
                                     "Input": given, "StartTime": child["startDate"]}
        line.variables = {}
        _count(map_run, "pending", "running")
        try:
            result = run_states(line, processor["States"], processor["StartAt"], given)
        except scope.Stopped:
            raise
        except scope.TaskError as error:
            failures.append(error)
            line.trail.add("ExecutionFailed", failed(error))
            child.update(status="FAILED", error=error.error, cause=error.cause, stopDate=sfn.now_iso())
            _count(map_run, "running", "failed")
            return None
        line.trail.add("ExecutionSucceeded", whole("output", compact(result)))
        child.update(status="SUCCEEDED", output=compact(result), stopDate=sfn.now_iso())
        _count(map_run, "running", "succeeded")
        return result

    last = visit.trail.last
    results = Siblings(visit, len(items), most, work).run()
    visit.trail.last = last
    return results, len(failures)


def _child(map_run, given):
    name, stem = new_uuid(), map_run["_stateMachineArn"].replace(":stateMachine:", ":execution:")
    child = {"executionArn": f"{stem}:{name}", "stateMachineArn": map_run["_stateMachineArn"], "name": name,
             "status": "RUNNING", "startDate": sfn.now_iso(), "stopDate": None, "input": compact(given), "output": None,
             "inputDetails": {"included": True}, "outputDetails": {"included": True}, "mapRunArn": map_run["mapRunArn"],
             "events": [], "testCase": "", "mockAttempts": {}}
    Trail(child).add("ExecutionStarted", whole("input", child["input"]))
    sfn._executions[child["executionArn"]] = child
    return child


def _count(map_run, before, after):
    for counts in (map_run["itemCounts"], map_run["executionCounts"]):
        counts[before] -= 1
        counts[after] += 1
