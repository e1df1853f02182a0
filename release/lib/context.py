"""What the steps of a release share: places, version, time, toolchain, and how a command is run."""
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
# What is built on the way. Cargo has a folder of its own here, because flags that hide paths would build the other one anew.
WORK = ROOT / "target" / "release-of-all"
CACHE = Path(os.environ.get("LOCKSTEP_CACHE") or Path.home() / ".cache" / "lockstep")
# The pinned tools, and those of the local stack.
os.environ["PATH"] = f"{CACHE / 'bin'}:{os.environ['PATH']}"
# What a caller may have set for other builds of cargo, rustc and the C compiler. It would change the bytes.
CALLERS = re.compile(r"CARGO_(ENCODED|PROFILE|TARGET)_.*|CARGO_BUILD_(?!JOBS$).*|RUSTC(_.*)?|RUSTFLAGS|RUSTUP_TOOLCHAIN|((HOST|TARGET)_)?(CC|CFLAGS|AR)(_.*)?")
for name in [name for name in os.environ if CALLERS.fullmatch(name)]:
    del os.environ[name]
# Each architecture as Rust, AWS and OCI name it.
TARGETS = {"x86_64-unknown-linux-gnu": "x86_64", "aarch64-unknown-linux-gnu": "arm64"}
PLATFORMS = {"x86_64": "amd64", "arm64": "arm64"}
FUNCTIONS = ("acquire-lock", "check-running-executions", "heartbeat", "operate", "reaper", "release-lock")


class Refusal(Exception):
    """What keeps a release from being built, in one sentence."""


def version():
    """The version of the workspace, which every other place repeats."""
    text = (ROOT / "Cargo.toml").read_text()
    return re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"$', text, re.MULTILINE)[1]


def commit_time():
    return int(output("git", "log", "-1", "--format=%ct"))


def epoch():
    """The time in every archive: SOURCE_DATE_EPOCH, or that of the commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or commit_time())


def command(target):
    """Where cargo leaves the command of a target."""
    return WORK / "cargo" / "command" / target / "release" / "lockstep"


def named(*parts):
    """The file name of an artefact."""
    return "-".join(("lockstep", version(), *parts))


def output(*command, cwd=ROOT, env=None):
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Refusal(f"{shlex.join(map(str, command))} failed with {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def export(name, *paths):
    """A new folder with the files of the commit, so that nothing else gets into an artefact."""
    folder = WORK / "trees" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = folder.with_suffix(".tar")
    subprocess.run(["git", "archive", "--format=tar", "--output", archive, "HEAD", *paths], cwd=ROOT, check=True)
    subprocess.run(["tar", "--extract", "--file", archive], cwd=folder, check=True)
    archive.unlink()
    return folder


def cargo_home():
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


def refuse_spaces():
    """Refuses paths that RUSTFLAGS cannot have: it is split at each space."""
    if " " in f"{ROOT}{cargo_home()}":
        raise Refusal(f"the path of the checkout is {ROOT}, and CARGO_HOME is {cargo_home()}, but neither may have spaces: RUSTFLAGS has none")


def changes():
    """What the tree has that the commit has not. Only .gitignore hides a file, not the caller's configuration of git."""
    tracked = output("git", "status", "--porcelain", "--untracked-files=no").splitlines()
    others = output("git", "ls-files", "--others", "--exclude-per-directory=.gitignore").splitlines()
    return [line.strip() for line in tracked] + [f"?? {name}" for name in others]


def head():
    return output("git", "rev-parse", "HEAD").strip()


def environment(kind, target=None, flags=()):
    """The environment of cargo. Without the remapping, panic messages would name folders of the machine that built.

    Each kind of binary has a folder of its own: where paths are remapped, cargo does not tell builds with other flags apart."""
    home = cargo_home()
    sysroot = Path(output("rustc", "--print", "sysroot").strip())
    # The last flag that fits wins, and each source of crates has a folder that is named after its address. It is there once a crate
    # is fetched: without this, a first build would map paths otherwise than a second one.
    output("cargo", "fetch", "--locked")
    refuse_spaces()
    remapped = {ROOT: "/lockstep", home: "/cargo", sysroot: "/rust"}
    remapped.update({source: "/cargo/registry/src" for source in sorted((home / "registry" / "src").glob("*"))})
    given = [*(f"--remap-path-prefix={path}={name}" for path, name in remapped.items()), *flags]
    made = {**os.environ, "RUSTFLAGS": " ".join(given), "CARGO_TARGET_DIR": str(WORK / "cargo" / kind), "CARGO_INCREMENTAL": "0",
            "SOURCE_DATE_EPOCH": str(epoch())}
    if target and linker(target):
        made[f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER"] = linker(target)
    return made


def own():
    """The target that this machine is."""
    found = [target for target in TARGETS if target.startswith(f"{platform.machine()}-")]
    if not found:
        raise Refusal(f"this machine is {platform.machine()}, but a release is built on {' or '.join(one.partition('-')[0] for one in TARGETS)}")
    return found[0]


def linker(target):
    """The linker of a target that this machine is not; None for its own."""
    return None if target == own() else f"{target.partition('-')[0]}-linux-gnu-gcc"


def glibc(target):
    """Debian's package with the glibc that a target is linked with."""
    debian = {"aarch64": "arm64", "x86_64": "amd64"}[target.partition("-")[0]]
    return "libc6-dev" if target == own() else f"libc6-dev-{debian}-cross"


def lacking(target):
    """What this machine needs to build for a target, as a list of sentences."""
    found = []
    if target not in output("rustup", "target", "list", "--installed").split():
        found.append(f"the standard library of Rust: rustup target add {target}")
    program = linker(target)
    if program and not shutil.which(program):
        # A package has a hyphen for the underscore of x86_64; its program has not.
        package = f"gcc-{program.removesuffix('-gcc').replace('_', '-')}"
        found.append(f"{program} and a static glibc: Debian's {package} and {glibc(target)}")
    return found


def main(step):
    """Runs one step as a command, and prints a refusal as one line."""
    try:
        step(*sys.argv[1:])
    except Refusal as refusal:
        sys.exit(f"release: {refusal}")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"release: {shlex.join(map(str, failed.cmd))} failed with {failed.returncode}")
