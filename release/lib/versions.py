"""Every place that repeats the version of the workspace, and how to find it there."""
import re

from lib.context import ROOT, Refusal

# A pre-release has no place in the rules of docs/upgrade.md, which count minor versions.
SEMANTIC = r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
# A package of a Cargo.lock without a source is one of this repository.
LOCKED = r'(?<=^version = ")[^"]+(?="\n(?!source))'
# The answer of lockstep doctor.
ANSWERED = rf"(?<=command ){SEMANTIC}(?=, template)|(?<=template ){SEMANTIC}(?=, functions)|(?<=, functions ){SEMANTIC}|(?<=, definition ){SEMANTIC}"
# File, expression for the version, and how often it is there; 0: once or more.
PLACES = (
    ("Cargo.toml", r'(?<=^\[workspace\.package\]\nversion = ")[^"]+', 1),
    ("Cargo.toml", r'(?<=", version = ")[^"]+(?=" \}$)', 4),
    ("Cargo.lock", LOCKED, 0),
    ("README.md", rf"(?<=make release VERSION=){SEMANTIC}|(?<=lockstep-){SEMANTIC}(?=-)", 0),
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
# The heading of a version in CHANGELOG.md, with its date, or `unreleased`.
HEADING = re.compile(rf"^## \[({SEMANTIC})\] - (\S+)$", re.MULTILINE)


def check(version):
    if not re.fullmatch(SEMANTIC, version):
        raise Refusal(f"VERSION is {version!r}, but must be three numbers such as 1.2.3")


def numbers(version):
    return tuple(map(int, version.split(".")))


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


def newest(root=ROOT):
    """The match of the newest version in CHANGELOG.md."""
    found = HEADING.search((root / "CHANGELOG.md").read_text())
    if not found:
        raise Refusal("CHANGELOG.md has no heading such as: ## [1.2.3] - unreleased")
    return found


def unready(version, signs, root=ROOT):
    """What a release of a version lacks beside its places, as sentences. Only a signed one needs a date in CHANGELOG.md."""
    heading = newest(root)
    found = []
    if heading[1] != version:
        found.append(f"CHANGELOG.md begins with {heading[1]}, not {version}")
    elif signs and not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2]):
        found.append(f"CHANGELOG.md has `{heading[2]}` for {version}, but must have its date, such as 2026-01-31")
    if not (root / "tests" / "golden" / version).is_dir():
        found.append(f"tests/golden/{version} is missing: run make golden")
    return found


def write(version, root=ROOT):
    """Writes a version into every place, and its heading into CHANGELOG.md. Nothing is written if a place is not as it is known."""
    check(version)
    changelog, heading = root / "CHANGELOG.md", newest(root)
    places = dict(each(root))
    present = places["Cargo.toml"][0]
    if numbers(version) < numbers(present):
        raise Refusal(f"VERSION is {version}, but must not be lower than {present} in Cargo.toml")
    text, added = changelog.read_text(), f"## [{version}] - unreleased"
    if heading[2] == "unreleased":
        changelog.write_text(text[:heading.start()] + added + text[heading.end():])
    elif heading[1] != version:
        changelog.write_text(text[:heading.start()] + added + "\n\n" + text[heading.start():])
    for name, expression, _ in PLACES:
        path = root / name
        path.write_text(re.sub(expression, version, path.read_text(), flags=re.MULTILINE))
