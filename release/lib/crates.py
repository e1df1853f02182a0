"""The crates that others may depend on or install, and how they are packed."""
import os
import shutil
import subprocess

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


def cargo(tree, *words):
    """Runs a verb of cargo on all crates of an export."""
    packages = [word for name in CRATES.values() for word in ("-p", name)]
    subprocess.run(["cargo", *words, "--quiet", "--locked", "--target-dir", WORK / "cargo" / "crates", *packages], cwd=tree, check=True)


def packed(tree):
    """The archives of an export, as `cargo publish` uploads them: name to path. Nothing is compiled."""
    folder = WORK / "cargo" / "crates" / "package"
    shutil.rmtree(folder, ignore_errors=True)
    cargo(tree, "package", "--no-verify")
    return {path.name: path for path in (folder / f"{name}-{context.version()}.crate" for name in CRATES.values())}
