"""python -m undefined WEAVER [RUNS]: judge every definition by so many executions of each."""
import json
import random
import sys

from . import definitions
from .draw import Draw
from .play import Play

RUNS = 80
MORE = 7  # times as many of exclusive-run, which has most of the expressions
# What a drawn input hardly ever has.
FAULTS = ({"maxRunSeconds": None}, {"holder": "me"}, {"overlap": "queue", "maxQueue": "many"}, {"notBefore": 5}, {"waitSeconds": 0},
          {"work": {"runTask": {"TaskDefinition": "t", "Overrides": {"ContainerOverrides": [{"Name": "x" * 8000}]}}}},
          {"work": {"runTask": {"TaskDefinition": "t", "Count": 2}}}, {"work": {"runTask": {"TaskDefinition": "t", "cluster": "c"}}})


def schemas():
    folder = definitions.ROOT / "shared" / "schemas"
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def inputs(draw, name):
    """An input of the examples, or one of exclusive-run: as it takes it, or bent."""
    if not name.endswith("/exclusive-run.asl.json"):
        return {"lock": "nightly", "key": "k", "exit": "0", "customers": ["a", "b"], "regions": ["eu", "us"], "date": "2026-03-01"}
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
            work["startExecution"]["Input"] = {"day": 7}
            work.update({"grantField": "grant"} if draw.chance(0.5) else {})
        return work
    run = {"TaskDefinition": draw.one(("report", "arn:aws:ecs:eu-west-1:1:task-definition/report:3"))}
    run.update({"Cluster": "batch"} if draw.chance(0.5) else {})
    if draw.chance(0.6):
        own = [{"Name": "app", **({"Environment": [{"Name": "A", "Value": "1"}]} if draw.chance(0.5) else {})},
               {"Name": "side", "Cpu": 1}, {"Name": "other"}]
        run["Overrides"] = {"ContainerOverrides": own[:draw.random.randrange(4)], **({"Cpu": "256"} if draw.chance(0.5) else {})}
    return {"runTask": run, **({"container": "app"} if draw.chance(0.7) else {})}


def judge(name, text, runs, seen):
    """The faults of a definition: {(state, field): (cause, input)}."""
    draw, faults = Draw(random.Random(name), SCHEMAS), {}
    for _ in range(runs * (MORE if name.endswith("/exclusive-run.asl.json") else 1)):
        data = inputs(draw, name)
        for state, location, cause in Play(definitions.filled(text, draw), draw, seen).run(data):
            faults.setdefault((state, location), (cause, data))
    return faults


SCHEMAS = schemas()


def main():
    weaver, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else RUNS
    seen, where, bad = set(), {}, 0
    for name, text in definitions.all_of_them(weaver):
        for (state, location), (cause, data) in judge(name, text, runs, seen).items():
            print(f"{name}: {state}, {location}: {cause}\n  input: {json.dumps(data)}")
            bad += 1
        for one in definitions.expressions(definitions.filled(text, Draw(random.Random(0), SCHEMAS))):
            where.setdefault(one, name)
    unseen = {one: name for one, name in where.items() if one not in seen}
    for one, name in sorted(unseen.items()):
        print(f"{name}: never evaluated: {one}")
    print(f"undefined: {len(where)} expressions, {len(unseen)} not evaluated, {bad} fields at fault")
    return 1 if bad or unseen else 0


if __name__ == "__main__":
    sys.exit(main())
