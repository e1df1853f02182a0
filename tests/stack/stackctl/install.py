"""`lockstack install`: installs the pinned tools in one cache folder, each part once per version."""
import concurrent.futures
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time

from .settings import CACHE, NODE_DIR, REQUIREMENTS, TOOLS_BIN, TOOLS_VENV, Problem, say

TOOL_COMMANDS = ("sam", "cargo-lambda", "cfn-lint", "statelint")
WORKFLOW_COMMANDS = ("check-jsonschema", "zizmor")


def run():
    check_prerequisites()
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "stamps").mkdir(exist_ok=True)
    with open(CACHE / "install.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # apt, npm and pip wait for the network most of the time, so they run in parallel.
        parts = [install_emulator, install_tools, install_faults, install_workflows, install_node, install_system]
        with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
            for part in [pool.submit(part) for part in parts]:
                part.result()
        link_tools()
    say(f"install: done ({CACHE})")


def installed():
    return all((CACHE / "stamps" / name).exists() for name in ("emulator", "tools", "faults", "workflows", "node"))


def check_prerequisites():
    lacking = []
    if subprocess.run([sys.executable, "-c", "import venv, ensurepip"], capture_output=True).returncode:
        lacking.append("the venv module of python3 (Debian: python3-venv)")
    lacking += [f"{tool} (Debian: {package})" for tool, package in (("node", "nodejs"), ("npm", "npm"))
                if not shutil.which(tool)]
    if java_version() < 17:
        lacking.append("java 17 or newer (Debian: openjdk-17-jre-headless)")
    if not shutil.which("cargo"):
        lacking.append("cargo (rustup)")
    if lacking:
        raise Problem("install: lacking " + "; ".join(lacking))


def java_version():
    if not shutil.which("java"):
        return 0
    text = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
    number = text.split('"')[1] if '"' in text else "0"
    return int(number.split(".")[0].split("-")[0])


def install_emulator():
    install_venv("emulator", REQUIREMENTS / "emulator.txt")


def install_tools():
    install_venv("tools", REQUIREMENTS / "tools.txt")


def install_faults():
    """Installs the proxy of the integration level, which lets AWS calls fail on purpose."""
    install_venv("faults", REQUIREMENTS / "faults.txt")


def install_workflows():
    """What checks .github/workflows. check-jsonschema needs a newer click than the SAM CLI allows."""
    install_venv("workflows", REQUIREMENTS / "workflows.txt")


def install_venv(name, requirements):
    def build():
        shutil.rmtree(CACHE / name, ignore_errors=True)
        command(name, [sys.executable, "-m", "venv", CACHE / name])
        pip = [CACHE / name / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check"]
        command(name, [*pip, "-r", requirements])

    once(name, requirements.read_bytes() + sys.version.encode(), build)


def install_node():
    manifest = REQUIREMENTS / "package.json"

    def build():
        shutil.rmtree(NODE_DIR, ignore_errors=True)
        NODE_DIR.mkdir(parents=True)
        shutil.copy(manifest, NODE_DIR)
        # --ignore-scripts: no package may run an install script, so nothing but the packages is downloaded.
        command("node", ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"],
                cwd=NODE_DIR)

    once("node", manifest.read_bytes(), build)


def install_system():
    """Installs the container engine, busybox for the batch image, and valgrind, which counts instructions."""
    wanted = []
    if not (shutil.which("dockerd") or os.environ.get("DOCKER_HOST") or os.path.exists("/var/run/docker.sock")):
        wanted += ["docker.io", "iptables"]
    if not shutil.which("busybox"):
        wanted.append("busybox-static")
    if not shutil.which("valgrind"):
        wanted.append("valgrind")
    if not wanted:
        return
    if not shutil.which("apt-get"):
        raise Problem("install: " + ", ".join(wanted) + " must be installed by hand: there is no apt-get")
    say("install: apt-get install " + " ".join(wanted))
    apt = [*as_root(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300"]
    command("apt", [*apt, "update", "-q"])
    command("apt", [*apt, "install", "-yq", "--no-install-recommends", *wanted])


def as_root():
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo", "-n"]
    raise Problem("this step needs root or sudo")


def once(name, identity, build):
    """Runs `build`, unless the same version of `name` was built before."""
    stamp = CACHE / "stamps" / name
    wanted = hashlib.sha256(identity).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    say(f"install: {name} ...")
    begin = time.monotonic()
    build()
    stamp.write_text(wanted)
    say(f"install: {name} done in {time.monotonic() - begin:.0f} s")


def command(name, arguments, cwd=None):
    log = CACHE / f"install-{name}.log"
    with open(log, "ab") as out:
        code = subprocess.run([str(part) for part in arguments], cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=out, stderr=subprocess.STDOUT).returncode
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise Problem(f"install: {name} failed, see {log}\n{tail}")


def link_tools():
    """Links the tools in one folder for PATH. The folders of the venvs would hide the user's Python."""
    TOOLS_BIN.mkdir(exist_ok=True)
    targets = {name: TOOLS_VENV / "bin" / name for name in TOOL_COMMANDS}
    targets.update({name: CACHE / "workflows" / "bin" / name for name in WORKFLOW_COMMANDS})
    targets["microburst"] = CACHE / "faults" / "bin" / "microburst"
    targets["asl-validator"] = NODE_DIR / "node_modules" / ".bin" / "asl-validator"
    for name, target in targets.items():
        link = TOOLS_BIN / name
        if not (link.is_symlink() and os.readlink(link) == str(target)):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    zig = TOOLS_BIN / "zig"
    zig.write_text(f'#!/bin/sh\nexec "{TOOLS_VENV}/bin/python" -m ziglang "$@"\n')
    zig.chmod(0o755)
