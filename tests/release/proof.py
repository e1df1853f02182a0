"""Each artefact of dist/, used as docs/release.md says: run, loaded, deployed, installed."""
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import prove as cdk
import stacks
from lib import context
from probes.support import client, ended, start, unique
from stackctl import deploy
from stackctl.settings import REGION, architecture, read_env

DIST = context.DIST
OWN = f"{platform.machine()}-unknown-linux-gnu"
DOCKERFILE = """\
FROM {batch}
COPY --from=lockstep:{version}-{processor} /lockstep /usr/local/bin/lockstep
"""
APP = """\
const { App, Stack } = require('aws-cdk-lib');
const lambda = require('aws-cdk-lib/aws-lambda');
const { Lockstep } = require('lockstep-cdk');
const architecture = process.arch === 'arm64' ? lambda.Architecture.ARM_64 : lambda.Architecture.X86_64;
new Lockstep(new Stack(new App(), 'released'), 'Lockstep', { architecture });
"""


def called(*words, **options):
    """Output of a command, which fails with what it wrote."""
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    assert not done.returncode, f"{words} failed with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def unpacked(name, folder):
    """The one folder of an archive of dist/."""
    with tarfile.open(DIST / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return Path(folder) / name


def archive_of(target):
    return DIST / f"{context.named(target)}.tar.gz"


def sums(_):
    """The sums are those of every file, and no file is without one."""
    called("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=DIST)
    summed = {line.split("  ")[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
    there = {str(path.relative_to(DIST)) for path in DIST.rglob("*") if path.is_file()}
    assert there - summed <= {"SHA256SUMS", "SHA256SUMS.sig"}, there - summed


def commands(folder):
    """Each static binary says its version, those of another processor under qemu, and has its manual with it."""
    for target in context.TARGETS:
        if not archive_of(target).exists():
            print(f"release: {target} is not in dist/")
            continue
        there = unpacked(context.named(target), folder)
        emulator = [] if target == OWN else [shutil.which(f"qemu-{target.partition('-')[0]}-static")]
        if emulator == [None]:
            print(f"release: not run: {target}, as qemu-user-static is not installed")
            continue
        assert called(*emulator, there / "lockstep", "--version").strip() == f"lockstep {context.version()}"
        assert re.search("static(-pie|ally) linked", called("file", "--brief", there / "lockstep"))
        missing = {"LICENSE", "THIRD-PARTY-LICENCES.txt", "completions/_lockstep", "man/lockstep.1"} - {
            str(path.relative_to(there)) for path in there.rglob("*")}
        assert not missing, missing


def image(folder):
    """An engine loads the image, and an image of a user copies the binary out of it, which then runs."""
    engine = ["docker", "--host", read_env()["DOCKER_HOST"]]
    called(*engine, "load", "--input", DIST / f"{context.named('oci')}.tar")
    text = DOCKERFILE.format(batch=read_env()["LOCKSTEP_BATCH_IMAGE"], version=context.version(), processor=context.PLATFORMS[architecture()])
    (Path(folder) / "Dockerfile").write_text(text)
    called(*engine, "build", "--tag", "released", "--network", "none", folder)
    ran = called(*engine, "run", "--rm", "--network", "none", "--entrypoint", "/usr/local/bin/lockstep", "released", "--version")
    assert ran.strip() == f"lockstep {context.version()}", ran
    if shutil.which("skopeo"):
        for processor in (context.PLATFORMS[context.TARGETS[target]] for target in context.TARGETS if archive_of(target).exists()):
            source = f"oci-archive:{DIST / context.named('oci')}.tar:{context.version()}"
            asked = json.loads(called("skopeo", "inspect", "--override-arch", processor, "--config", source))
            assert asked["architecture"] == processor, asked


def application(folder):
    """`sam deploy` of the unpacked application, and a batch that runs through it."""
    there = unpacked(context.named("sam", architecture()), folder)
    given = deploy.lockstep_parameters()
    # The default of the template is the architecture of the archive.
    del given["Architecture"]
    outputs = deploy.deploy_stack("lockstep", there / "template.yaml", given)
    assert outputs["LockstepVersion"] == context.version(), outputs
    command = Path(folder) / context.named(OWN) / "lockstep"
    environment = {**os.environ, "AWS_REGION": REGION}
    # Its exit code is about the account too, which has no quotas here.
    asked = subprocess.run([command, "doctor", "--stack", "lockstep"], env=environment, capture_output=True, text=True).stdout
    assert f"command {context.version()}, template {context.version()}, functions {context.version()}" in asked, asked
    ran = called(command, "run", "--table", outputs["LockTableName"], "--lock", unique("released"), "--", "echo", "ran", env=environment)
    assert ran == "ran\n", ran


def stackset(folder):
    """The transformed template, without the capability to run a transform, with the zips under a prefix of ours."""
    there = unpacked(context.named("stackset", architecture()), folder)
    bucket, prefix = "released-code", "one/two/"
    client("s3").create_bucket(Bucket=f"{bucket}-{REGION}")
    for path in (there / "code").iterdir():
        client("s3").put_object(Bucket=f"{bucket}-{REGION}", Key=prefix + path.name, Body=path.read_bytes())
    stacks.CAPABILITIES = ["CAPABILITY_IAM"]
    stacks.create("released-stackset", (there / "template.json").read_text(), CodeBucket=bucket, CodePrefix=prefix)
    arn = deploy.stack_outputs("released-stackset")["ExclusiveRunStateMachineArn"]
    refused = ended(start(arn, {"lock": "released"}), 60)
    assert refused.get("error") == "Lockstep.InvalidRequest", refused


def constructs(folder):
    """An app without Rust: npm install of the package, cdk deploy."""
    app = Path(folder) / "app"
    app.mkdir()
    pinned = json.loads((context.ROOT / "infra" / "cdk" / "package.json").read_text())["devDependencies"]
    packages = [f"{name}@{pinned[name]}" for name in ("aws-cdk-lib", "constructs", "aws-cdk")]
    (app / "package.json").write_text('{"name": "app", "private": true}')
    (app / "app.js").write_text(APP)
    called("npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", DIST / f"lockstep-cdk-{context.version()}.tgz", *packages,
           cwd=app, env={**os.environ, "npm_config_cache": str(context.CACHE / "npm")})
    cdk.CDK = app
    cdk.bootstrap(folder)
    cdk.cdk("deploy", "--app", "node app.js", "--require-approval", "never", folder=app)
    versions = [one["OutputValue"] for one in client("cloudformation").describe_stacks(StackName="released")["Stacks"][0]["Outputs"]
                if one["OutputKey"] == "LockstepVersion"]
    assert versions == [context.version()], versions
    held = [one for one in client("lambda").list_functions()["Functions"] if one["FunctionName"].startswith("released-LockstepAcquire")]
    assert len(held) == 1, held


def main():
    with tempfile.TemporaryDirectory() as folder:
        for check in (sums, commands, image, application, stackset, constructs):
            begin = time.monotonic()
            check(folder)
            print(f"release: {check.__name__} in {time.monotonic() - begin:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
