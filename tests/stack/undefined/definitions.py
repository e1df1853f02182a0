"""Collects the definitions that the project ships or makes.

The constructs weave the same definitions as `lockstep weave` (infra/cdk/test/weave.test.ts). Their own are in the snapshot.
"""
import json
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_VALUES = {"LockPrefix": ("payments/", "")}
# A workflow whose failures have no Error and no Cause.
_BARE = """{"StartAt": "Ask", "States": {
  "Ask": {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Parameters": {"QueueUrl": "q",
          "MessageBody.$": "$$.Task.Token"}, "Next": "Give Up"},
  "Give Up": {"Type": "Fail"}}}"""
_WEAVES = (["--lock", "{% $states.input.lock %}"],
           ["--lock", "nightly", "--overlap", "queue", "--wait-seconds", "600", "--on-skip", "fail", "--run-key", "{% $states.input.key %}"],
           ["--lock", "nightly", "--overlap", "replace", "--max-run-seconds", "60", "--max-heartbeat-seconds", "900", "--stale-policy", "yield", "--on-paused", "wait"],
           ["--lock", "nightly", "--catch-up", "once", "--permits", "2", "--min-interval-seconds", "60"])


def all_of_them(weaver):
    """Returns (name, text) of each definition."""
    folder = ROOT / "statemachines"
    found = [(path.relative_to(ROOT).as_posix(), path.read_text()) for path in sorted(folder.rglob("*.asl.json"))]
    found += [(f"the snapshot of the CDK, {name}", text) for name, text in _of_the_cdk()]
    works = [(path, (folder / "examples" / path).read_text()) for path in ("nightly-etl.asl.json", "guarded-report.jsonata.asl.json")]
    for path, text in [*works, ("a work with bare failures", _BARE)]:
        found += [(f"{path} woven with {' '.join(options)}", _woven(weaver, path, text, options)) for options in _WEAVES]
    return found


def filled(text, draw):
    """Returns the definition with a value for each placeholder."""
    values = {name: draw.one(_VALUES.get(name, (name,))) for name in sorted(set(_PLACEHOLDER.findall(text)))}
    return json.loads(_PLACEHOLDER.sub(lambda found: values[found[1]], text))


def later():
    """Returns the time in one hour, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))


def expressions(value):
    if isinstance(value, str):
        return {value} if value.startswith("{%") else set()
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for child in children for text in expressions(child)}


def _woven(weaver, name, text, options):
    made = subprocess.run([weaver, "weave", *options, "-"], input=text, capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(f"undefined: weave of {name} with {options} failed: {made.stderr}")
    return made.stdout


def _of_the_cdk():
    template = json.loads((ROOT / "infra/cdk/test/snapshots/everything.json").read_text())
    for name, resource in template["Resources"].items() if "Resources" in template else template.items():
        text = (resource.get("Properties") or {}).get("DefinitionString")
        if isinstance(text, dict):
            text = "".join(part if isinstance(part, str) else "x" for part in text["Fn::Join"][1])
        if text and text.startswith("{"):
            yield name, text
