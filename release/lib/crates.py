"""The crates that others may depend on or install, and how they are packed."""
import os
import shutil
import subprocess
from pathlib import Path

from lib import context
from lib.context import WORK

# The folder of each, in the order in which each needs only those before it.
CRATES = {"core": "lockstep-core", "shared": "lockstep-aws", "operate": "lockstep-operate", "weave": "lockstep-weave", "cli": "lockstep-cli"}


def export():
    """A copy of the commit, whose manifests name REPOSITORY: those of the checkout name none."""
    tree = context.export("crates")
    repository = os.environ.get("REPOSITORY")
    if repository:
        for folder in CRATES:
            manifest = tree / folder / "Cargo.toml"
            manifest.write_text(manifest.read_text().replace("\nversion.workspace", f'\nrepository = "{repository}"\nversion.workspace', 1))
    return tree


def forget():
    """Removes what cargo has unpacked of our crates in this version. Cargo builds each crate against the archives of the others,
    and takes one that it has unpacked before, of another commit, for the same."""
    sources = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "registry" / "src"
    for name in CRATES.values():
        for folder in sources.glob(f"*/{name}-{context.version()}"):
            shutil.rmtree(folder)


def cargo(tree, *words):
    """Runs a verb of cargo on all crates of an export."""
    forget()
    packages = [word for name in CRATES.values() for word in ("-p", name)]
    subprocess.run(["cargo", *words, "--quiet", "--locked", "--target-dir", WORK / "cargo" / "crates", *packages], cwd=tree, check=True)


def packed(tree):
    """The archives of an export, as `cargo publish` uploads them: name to path. Nothing is compiled."""
    folder = WORK / "cargo" / "crates" / "package"
    shutil.rmtree(folder, ignore_errors=True)
    cargo(tree, "package", "--no-verify")
    return {path.name: path for path in (folder / f"{name}-{context.version()}.crate" for name in CRATES.values())}
