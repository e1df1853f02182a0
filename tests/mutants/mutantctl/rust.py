"""Makes mutants of Rust code: those that cargo-mutants lists, and those of statement.py."""
import json
import shutil
import subprocess

from . import statement
from .mutant import Mutant
from .settings import CACHE, CARGO_MUTANTS, NOT_RUST, RUST, Problem, say


def install():
    """Returns the path of the pinned cargo-mutants. Installs it in the tools' cache if it is missing."""
    program = CACHE / "bin" / "cargo-mutants"
    if program.exists() and version(program) == CARGO_MUTANTS:
        return program
    if not shutil.which("cargo"):
        raise Problem("cargo is not on PATH: install it with rustup")
    say(f"installing cargo-mutants {CARGO_MUTANTS} ...")
    done = subprocess.run(["cargo", "install", "--quiet", "--locked", "--root", CACHE,
                           f"cargo-mutants@{CARGO_MUTANTS}"])
    if done.returncode:
        raise Problem(f"cargo install failed for cargo-mutants {CARGO_MUTANTS}")
    return program


def version(program):
    text = subprocess.run([program, "mutants", "--version"], capture_output=True, text=True).stdout
    return text.split()[-1] if text.split() else ""


def mutants(tree):
    """Returns all mutants of the files under test in `tree`: those of cargo-mutants, and ours."""
    command = [install(), "mutants", "--dir", tree, "--workspace", "--list", "--json", "--no-config"]
    for pattern in RUST:
        command += ["--file", pattern]
    for pattern in NOT_RUST:
        command += ["--exclude", pattern]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise Problem(f"cargo mutants --list failed:\n{done.stderr}")
    found = [from_entry(entry, (tree / entry["file"]).read_text()) for entry in json.loads(done.stdout or "[]")]
    for file in sorted({mutant.file for mutant in found}):
        found += statement.mutants(file, (tree / file).read_text())
    return found


def from_entry(entry, text):
    begin, end = (offset(text, entry["span"][side]) for side in ("start", "end"))
    function = entry.get("function") or {}
    scope = function.get("function_name", "")
    old, new = text[begin:end], entry["replacement"]
    whole = entry["genre"] == "FnValue"
    change = f"body becomes {new}" if whole else described(entry["genre"], old, new)
    line = "" if whole else " ".join(text.splitlines()[entry["span"]["start"]["line"] - 1].split())
    return Mutant("rust", entry["file"], scope, change, line, text[:begin] + new + text[end:],
                  lines=tuple(entry["span"][side]["line"] for side in ("start", "end")), edit=(begin, end, new))


def described(genre, old, new):
    old, new = " ".join(old.split()), " ".join(new.split())
    if genre == "MatchArm":
        return f"without the arm {shortened(old)}"
    if genre == "StructField":
        return f"without the field {shortened(old)}"
    return f"{shortened(old)} becomes {shortened(new) or 'nothing'}"


def shortened(text, most=60):
    return text if len(text) <= most else text[: most - 1] + "…"


def offset(text, place):
    """Returns the index of a line and column. Both count from 1, and columns count characters."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: place["line"] - 1])) + place["column"] - 1
