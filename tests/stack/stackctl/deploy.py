"""`lockstack deploy`: deploys Lockstep and a fixture, which stands for a user's resources, with the real `sam deploy`."""
import json
import subprocess
import time

from .settings import (ACCOUNT, EMULATOR_PYTHON, FIXTURE_CLUSTER, FIXTURE_FAMILY, HERE, REGION, ROOT, STATE, Problem,
                       architecture, client_environment, read_env, say)

PRINT_OUTPUTS = """
import boto3, json, sys
stack = boto3.client("cloudformation").describe_stacks(StackName=sys.argv[1])["Stacks"][0]
print(json.dumps({o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}))
"""


def run(parameters=(), version=ROOT):
    """`version` is the folder of a built version of Lockstep. What is beside its stack is always this version's."""
    template = version / "infra" / "template.yaml"
    if not template.exists():
        raise Problem(f"deploy: {template} does not exist")
    outputs = {}
    outputs["lockstep"] = deploy_stack("lockstep", template, {**lockstep_parameters(), **dict(parameters)})
    outputs["fixture"] = deploy_stack("lockstep-fixture", HERE / "fixture.yaml", {
        "BatchImage": read_env()["LOCKSTEP_BATCH_IMAGE"],
        "ExclusiveRunStateMachineArn": outputs["lockstep"]["ExclusiveRunStateMachineArn"],
    })
    path = STATE / "outputs.json"
    path.write_text(json.dumps(outputs, indent=2, sort_keys=True) + "\n")
    say(f"deploy: outputs in {path}")


def lockstep_parameters():
    """Returns parameters like those of a user: exclusive-run may start this family in this cluster and pass these roles."""
    ecs = f"arn:aws:ecs:{REGION}:{ACCOUNT}"
    role = f"arn:aws:iam::{ACCOUNT}:role/lockstep-fixture"
    return {
        "Architecture": architecture(),
        "ClusterArns": f"{ecs}:cluster/{FIXTURE_CLUSTER}*",
        "TaskDefinitionArns": f"{ecs}:task-definition/{FIXTURE_FAMILY}:*",
        "GuardedWorkflowArns": f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:guarded-*",
        "TaskRoleArns": f"{role}-task,{role}-task-inside,{role}-task-execution",
        "AlarmEmail": "oncall@example.com",
        "RunbookUrl": "https://wiki.example.com/batches/{lock}",
        "SkippedRunsPerHour": "3",
    }


def deploy_stack(name, template, parameters):
    """Deploys one stack, and returns its outputs. Leaves out parameters that the template does not have."""
    known = template.read_text()
    used = [f"{key}={value}" for key, value in parameters.items() if f"\n  {key}:" in known]
    command = ["sam", "deploy", "--template-file", str(template), "--stack-name", name, "--region", REGION,
               "--resolve-s3", "--s3-prefix", name, "--no-confirm-changeset", "--no-fail-on-empty-changeset",
               "--capabilities", "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
    if used:
        command += ["--parameter-overrides", *used]
    begin = time.monotonic()
    result = subprocess.run(command, cwd=ROOT, env=client_environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    (STATE / f"deploy-{name}.log").write_text(result.stdout)
    if result.returncode:
        tail = "\n".join(result.stdout.splitlines()[-25:])
        raise Problem(f"deploy: sam deploy of {name} failed, see {STATE / f'deploy-{name}.log'}\n{tail}")
    say(f"deploy: {name} in {time.monotonic() - begin:.0f} s")
    return stack_outputs(name)


def stack_outputs(name):
    result = subprocess.run([EMULATOR_PYTHON, "-c", PRINT_OUTPUTS, name], env=client_environment(),
                            capture_output=True, text=True)
    if result.returncode:
        raise Problem(f"deploy: the outputs of {name} cannot be read: {result.stderr.strip().splitlines()[-1]}")
    return json.loads(result.stdout)
