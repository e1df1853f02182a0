"""The first of the three edits that guard a workflow: its ARN becomes a parameter of a stack that is deployed.

docs/ways/whole-workflow.md has the command, which is run here with the names of this stack.
"""
import re
import subprocess

from evaluate import stack_outputs
from probes.support import client, ended, jsonata, machine, start, unique
from stackctl.settings import REGION, ROOT, client_environment

PAGE = ROOT / "docs" / "ways" / "whole-workflow.md"


def deploy(workflow):
    """Runs the page's command. It names one parameter, and no file and no region."""
    command = re.search(r"^ *(sam deploy --parameter-overrides GuardedWorkflowArns=)\S+$", PAGE.read_text(), re.M)
    words = [*(command[1] + workflow).split(), "--template-file", "infra/template.yaml", "--stack-name", "lockstep",
             "--region", REGION, "--resolve-s3", "--s3-prefix", "lockstep", "--no-confirm-changeset",
             "--capabilities", "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
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
    deploy(workflow)
    after, now = ended(start(guarded, request), 30), parameters()

    if before["status"] != "FAILED" or "AccessDenied" not in before.get("error", "") + before.get("cause", ""):
        yield f"a workflow that is no parameter is not refused: {before}"
    if (after["status"], after.get("output")) != ("SUCCEEDED", '{"closed": 11}'):
        yield f"the workflow has not run: {after}"
    if {**kept, "GuardedWorkflowArns": workflow} != now:
        yield f"other parameters have changed: {kept} {now}"
