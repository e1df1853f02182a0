"""Tests the first edit of docs/ways/whole-workflow.md: the ARN of a workflow becomes a parameter of a deployed stack.

SAM keeps the answers of `--guided` in a file, and sends all of them with each deploy. tests/infra/test_deploys.py tests how the
file changes. This test deploys a stack with the file, twice.
"""
import json
import subprocess
import tempfile
from pathlib import Path

from evaluate import stack_outputs
from probes.support import client, ended, jsonata, machine, start, unique
from stackctl.settings import REGION, ROOT, client_environment


def saved(values):
    """Returns the text of the file in which `sam deploy --guided` saves its answers."""
    overrides = " ".join(f'{name}="{value}"' for name, value in values.items())
    common = {"stack_name": "lockstep", "region": REGION, "resolve_s3": True, "s3_prefix": "lockstep",
              "confirm_changeset": False, "fail_on_empty_changeset": False,
              "capabilities": "CAPABILITY_IAM CAPABILITY_NAMED_IAM CAPABILITY_AUTO_EXPAND", "parameter_overrides": overrides}
    lines = [f"{name} = {json.dumps(value)}" for name, value in common.items()]
    return "\n".join(["version = 0.1", "[default.deploy.parameters]", *lines, ""])


def deploy(file):
    """Runs `sam deploy` without parameters of the stack."""
    words = ["sam", "deploy", "--template-file", "infra/template.yaml", "--config-file", str(file)]
    result = subprocess.run(words, cwd=ROOT, env=client_environment(), stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise SystemExit(f"first edit: {' '.join(words)} failed\n{result.stdout[-2000:]}")


def parameters():
    stack = client("cloudformation").describe_stacks(StackName="lockstep")["Stacks"][0]
    return {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}


def wrong():
    close = {"Type": "Pass", "Output": {"closed": "{% $states.input.month %}"}, "End": True}
    workflow = machine(jsonata({"Close": close}))
    guarded = stack_outputs("lockstep")["ExclusiveRunStateMachineArn"]
    work = {"startExecution": {"StateMachineArn": workflow, "Input": {"month": 11}}}
    request = {"lock": unique("month-end"), "work": work}

    before, kept = ended(start(guarded, request), 30), parameters()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "samconfig.toml"
        file.write_text(saved({**kept, "GuardedWorkflowArns": workflow}))
        for _ in range(2):
            deploy(file)
    after, now = ended(start(guarded, request), 30), parameters()

    if before["status"] != "FAILED" or "AccessDenied" not in before.get("error", "") + before.get("cause", ""):
        yield f"a workflow that is not in GuardedWorkflowArns was not refused: {before}"
    if (after["status"], json.loads(after.get("output", "null"))) != ("SUCCEEDED", {"closed": 11}):
        yield f"the workflow did not run: {after}"
    if {**kept, "GuardedWorkflowArns": workflow} != now:
        yield f"the deploy changed other parameters: before {kept}, after {now}"
