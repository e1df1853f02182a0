"""Every place that repeats the version of the workspace, and how to find it there."""
import re

from lib.context import ROOT, Refusal

SEMANTIC = r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?"
# A package of a Cargo.lock without a source is one of this repository.
LOCKED = r'(?<=^version = ")[^"]+(?="\n(?!source))'
# The answer of lockstep doctor.
ANSWERED = rf"(?<=command ){SEMANTIC}(?=, template)|(?<=template ){SEMANTIC}(?=, functions)|(?<=, functions ){SEMANTIC}|(?<=, definition ){SEMANTIC}"
# File, expression for the version, and how often it is there; 0: once or more.
PLACES = (
    ("Cargo.toml", r'(?<=^\[workspace\.package\]\nversion = ")[^"]+', 1),
    ("Cargo.toml", r'(?<=", version = ")[^"]+(?=" \}$)', 4),
    ("Cargo.lock", LOCKED, 0),
    ("benches/Cargo.toml", r'(?<=^version = ")[^"]+', 1),
    ("benches/Cargo.lock", LOCKED, 0),
    ("infra/template.yaml", r"(?<=^    Description: Version of this template and of the functions\n    Value: )\S+", 1),
    ("infra/cdk/package.json", r'(?<=^  "version": ")[^"]+', 1),
    ("infra/cdk/package-lock.json", r'(?<=^  "version": ")[^"]+', 1),
    ("infra/cdk/package-lock.json", r'(?<=^    "": \{\n      "name": "lockstep-cdk",\n      "version": ")[^"]+', 1),
    ("infra/cdk/README.md", rf"(?<=lockstep-cdk-){SEMANTIC}(?=\.tgz)", 0),
    ("infra/cdk/test/snapshots/minimal.json", r'(?<="LockstepVersion": \{"Value":")[^"]+', 1),
    ("infra/cdk/test/snapshots/everything.json", r'(?<="LockstepVersion": \{"Value":")[^"]+', 1),
    ("statemachines/exclusive-run.asl.json", rf'(?<=^  "Comment": "Lockstep ){SEMANTIC}(?=\. )', 1),
    ("docs/first-lock.md", ANSWERED, 0),
    ("docs/upgrade.md", ANSWERED, 0),
    ("docs/transcripts.md", ANSWERED, 0),
)


def check(version):
    if not re.fullmatch(SEMANTIC, version):
        raise Refusal(f"VERSION is {version!r}, but must be a semantic version such as 1.2.3 or 1.2.3-rc.1")


def each(root=ROOT):
    """Every place with the versions that it has."""
    for name, expression, times in PLACES:
        found = re.findall(expression, (root / name).read_text(), re.MULTILINE)
        if len(found) != times if times else not found:
            raise Refusal(f"{name} has a version {len(found)} times where {times or 'at least 1'} is known: see release/lib/versions.py")
        yield name, found


def others(version, root=ROOT):
    """The places that have another version, as sentences."""
    return [f"{name} has {one}, not {version}" for name, found in each(root) for one in sorted(set(found) - {version})]


def write(version, root=ROOT):
    """Writes a version into every place. Nothing is written if a place is not as it is known."""
    check(version)
    list(each(root))
    for name, expression, _ in PLACES:
        path = root / name
        path.write_text(re.sub(expression, version, path.read_text(), flags=re.MULTILINE))
