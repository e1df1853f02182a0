"""Judges every definition by RUNS executions, and by more until all its expressions were seen: python -m undefined WEAVER [RUNS]"""
import json
import random
import sys

from . import definitions
from .branches import Branches
from .draw import Draw
from .play import Play

RUNS = 25
MORE = 7  # exclusive-run gets this many times as many executions, because it has most of the expressions
ROUNDS = 24
# Expressions for a failure of Run Exclusively without a Cause. Its own Fail states set a Cause, so only AWS itself could cause such
# a failure.
UNREACHED = {f"{{% $type(${name}.Cause) = 'string' ? ${name}.Cause : '' %}}" for name in ("failure", "lockstepFailure")}
# Faults that a random input hardly ever has.
FAULTS = (
    {"maxRunSeconds": None}, {"maxHeartbeatSeconds": None}, {"waitIntervalSeconds": "5"}, {"waitIntervalSeconds": 1}, {"holder": "me"},
    {"overlap": "queue", "maxQueue": "many"}, {"notBefore": 5}, {"notBefore": "soon"}, {"waitSeconds": 0},
    *({"work": {"runTask": {"TaskDefinition": "t", **more}}} for more in (
        {"Overrides": {"ContainerOverrides": [{"Name": "x" * 8000}]}}, {"Count": 2}, {"Count": "2"}, {"cluster": "c"})),
    {"work": {"runTask": {"TaskDefinition": "t"}, "container": ["app", "side"]}})


def schemas():
    folder = definitions.ROOT / "shared" / "schemas"
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def inputs(draw, name):
    """Returns a random input of a definition. That of exclusive-run is valid, has a fault, or was changed at random."""
    if name.endswith("/mail.asl.json"):
        return draw.of_part("event.detail", "Message")
    if not name.endswith("/exclusive-run.asl.json"):
        caller = {"AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": "arn:aws:states:eu-west-1:1:execution:m:caller"}
        return {**(caller if draw.chance(0.5) else {}), "lock": "nightly", "key": "k", "exit": "0", "customers": ["a", "b"], "regions": ["eu", "us"], "date": "2026-03-01"}
    made = {key: value for key, value in draw.of_schema("exclusive-run.input").items() if value is not None}
    made.update(lock="payments/nightly", work=works(draw))
    made.pop("notBefore", None)
    waits = made.get("overlap") in ("queue", "replace") or made.get("onPaused") == "wait" or made.get("catchUp") == "once"
    for field in ["waitSeconds", "waitIntervalSeconds"] * (not waits) + ["maxQueue"] * (made.get("overlap") != "queue"):
        made.pop(field, None)
    if draw.chance(0.15):
        return {**made, **draw.one(FAULTS)}
    if draw.chance(0.1):
        made["notBefore"] = "2026-11-01T06:00:00Z" if draw.chance(0.5) else definitions.later()
    return draw.bent(made) if draw.chance(0.3) else made


def works(draw):
    if draw.chance(0.4):
        work = {"startExecution": {"StateMachineArn": "arn:aws:states:eu-west-1:1:stateMachine:m"}}
        if draw.chance(0.6):
            work["startExecution"].update({"Input": draw.one(({"day": 7}, "day"))} if draw.chance(0.7) else {})
            work.update({"grantField": "grant"} if draw.chance(0.5) else {})
        return work
    run = {"TaskDefinition": draw.one(("report", "arn:aws:ecs:eu-west-1:1:task-definition/report:3"))}
    run.update({"Cluster": "batch"} if draw.chance(0.5) else {})
    if draw.chance(0.6):
        own = [{"Name": "app", **({"Environment": [{"Name": "A", "Value": "1"}]} if draw.chance(0.5) else {})},
               {"Name": "side", "Cpu": 1}, {"Name": "other"}]
        run["Overrides"] = {"ContainerOverrides": own[:draw.random.randrange(4)], **({"Cpu": "256"} if draw.chance(0.5) else {})}
    return {"runTask": run, **({"container": "app"} if draw.chance(0.7) else {})}


def judge(name, text, runs, seed, seen, branches):
    """Runs a definition, and returns its faults: {(state, field): (cause, input)}."""
    draw, faults = Draw(random.Random(f"{name} {seed}"), SCHEMAS), {}
    for _ in range(runs * (MORE if name.endswith("/exclusive-run.asl.json") else 1)):
        data = inputs(draw, name)
        for state, location, cause in Play(definitions.filled(text, draw), draw, seen, branches).run(data):
            faults.setdefault((state, location), (cause, data))
    return faults


SCHEMAS = schemas()


def unseen(text, seen, branches):
    """Returns what the executions did not evaluate of an expression, as texts."""
    return branches.left(text) if text in seen else ["never evaluated"]


def main():
    weaver, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else RUNS
    every = dict(definitions.all_of_them(weaver))
    parts = {name: definitions.expressions(definitions.filled(text, Draw(random.Random(0), SCHEMAS))) for name, text in every.items()}
    seen, faults = set(), {}
    with Branches() as branches:
        for seed in range(ROUNDS):
            left = {text for texts in parts.values() for text in texts - UNREACHED if unseen(text, seen, branches)}
            if not left:
                break
            for name in (name for name in every if parts[name] & left):
                for at, found in judge(name, every[name], runs, seed, seen, branches).items():
                    faults.setdefault((name, *at), found)
    for (name, state, location), (cause, data) in faults.items():
        print(f"{name}: {state}, {location}: {cause}\n  input: {json.dumps(data)}")
    where = {text: name for name in reversed(every) for text in parts[name]}
    left = [(where[text], text, what) for text in sorted(where) for what in unseen(text, seen, branches) if text not in UNREACHED]
    left += [("UNREACHED", text, "is reached") for text in sorted(UNREACHED) if not unseen(text, seen, branches)]
    for name, text, what in left:
        print(f"{name}: {what}: {text}")
    print(f"undefined: {len(where)} expressions, {len(left)} expressions or branches not evaluated, {len(faults)} fields with a fault")
    return 1 if left or faults else 0


if __name__ == "__main__":
    sys.exit(main())
