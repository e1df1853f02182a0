"""The machine of a user, as a container: Debian with sam, node and the CDK. It has no compiler and no file of this project.

The root file system comes from debootstrap, so that no registry of images is asked. The engine keeps the image.
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from lib import context
from lib.context import ROOT, WORK, Refusal
from stackctl.install import as_root
from stackctl.settings import REQUIREMENTS, read_env

DEBIAN = "trixie"  # the first one whose node the constructs take
DOCKERFILE = Path(__file__).with_name("Dockerfile")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
# Programs that a user of a release does not need.
ABSENT = ("cargo", "rustc", "rustup", "cargo-lambda", "zig", "cc", "lockstep")


def docker(*words, typed=None):
    """Output of a command of the stack's engine."""
    done = subprocess.run(["docker", "--host", read_env()["DOCKER_HOST"], *map(str, words)], input=typed, capture_output=True, text=True)
    assert not done.returncode, f"docker {' '.join(map(str, words))} failed with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def pins():
    """The versions of sam and of the CDK that the tests of this project have, too."""
    sam = re.search(r"^aws-sam-cli==(\S+)$", (REQUIREMENTS / "tools.txt").read_text(), re.MULTILINE)[1]
    return {"SAM": sam, "CDK": json.loads((ROOT / "infra" / "cdk" / "package.json").read_text())["devDependencies"]["aws-cdk"]}


def base(name):
    """Imports the root file system of a minimal Debian, which takes a minute, unless the engine has it."""
    if docker("images", "--quiet", name):
        return
    if not shutil.which("debootstrap"):
        raise Refusal("debootstrap is not installed, but makes the machine of a user: install Debian's package debootstrap")
    root = WORK / "machine"
    root.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run([*as_root(), "debootstrap", "--variant=minbase", "--include=ca-certificates", DEBIAN, root], check=True,
                       stdout=subprocess.DEVNULL)
        trusted = os.environ.get("SSL_CERT_FILE") or f"/{CERTIFICATES}"
        if Path(trusted).exists():
            subprocess.run([*as_root(), "cp", trusted, root / CERTIFICATES], check=True)
        with subprocess.Popen([*as_root(), "tar", "--create", "--one-file-system", "--directory", root, "."], stdout=subprocess.PIPE) as packed:
            subprocess.run(["docker", "--host", read_env()["DOCKER_HOST"], "import", "-", name], stdin=packed.stdout, check=True,
                           stdout=subprocess.DEVNULL)
        if packed.returncode:
            raise Refusal(f"tar of {root} failed with {packed.returncode}")
    finally:
        subprocess.run([*as_root(), "rm", "-rf", "--one-file-system", root], check=True)


def image():
    """Name of the image, which takes minutes unless the engine has it."""
    system, given = f"lockstep-debian:{DEBIAN}", pins()
    identity = json.dumps([DEBIAN, given, DOCKERFILE.read_text()])
    name = f"lockstep-machine:{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
    if not docker("images", "--quiet", name):
        print("release: the machine of a user ...", flush=True)
        base(system)
        arguments = [word for pin in {"BASE": system, **given}.items() for word in ("--build-arg", "=".join(pin))]
        docker("build", "--network", "host", "--tag", name, *arguments, "-", typed=DOCKERFILE.read_text())
    return name


class Machine:
    """A running container. The network is the host's, where the stack's endpoint is; no folder is mounted."""

    def __enter__(self):
        account = {name: value for name, value in read_env().items() if name.startswith("AWS_")}
        given = [word for pair in account.items() for word in ("--env", "=".join(pair))]
        self.name = docker("run", "--detach", "--rm", "--init", "--network", "host", *given, image()).strip()
        return self

    def __exit__(self, *_):
        docker("rm", "--force", self.name)

    def types(self, command, folder=".", typed=""):
        """Output of a command that the user types in a folder of his home."""
        script = f'cd "$HOME" && mkdir -p {folder} && cd {folder} && {{ {command}\n}}'
        return docker("exec", "--interactive", self.name, "bash", "-c", script, typed=typed)

    def gets(self, *names, folder="."):
        """Downloads files of dist/ into a folder of the user's home."""
        home = self.types("pwd", folder).strip()
        for name in names:
            docker("cp", context.DIST / name, f"{self.name}:{home}/{name}")
        self.types("sudo chown adopter *", folder)

    def writes(self, path, text):
        folder, _, name = path.rpartition("/")
        self.types(f"cat > {name}", folder or ".", text)

    def must_be_bare(self):
        """Fails if the machine has a compiler, a file of this project, or a folder of the host."""
        found = self.types(f"for name in {' '.join(ABSENT)}; do command -v $name; done; true").split()
        found += self.types("sudo find / -xdev -iname '*lockstep*'").split()
        found += json.loads(docker("inspect", "--format", "{{json .Mounts}}", self.name))
        assert not found, found
