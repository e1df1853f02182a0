"""Checks whether a judge exists. A judge is a test of a Rust level or crate, or a name in a script:

  contract::queue::a_rule                   the test a_rule in tests/contract/queue.rs
  core::, shared::, operate::, weave::      a unit test of this crate
  command::                                 a unit test of the crate of the `lockstep` command
  tests/iam/evaluate.py::MAY                a top-level name of a script, or CLASS.METHOD
  infra/cdk/test/weave.test.ts::a title     a test with this title
"""
import ast
import re
from functools import cache
from pathlib import Path

# The folder of a judge's modules, by the first word of the judge.
FOLDERS = {"core": "core/src", "shared": "shared/src", "operate": "operate/src", "weave": "weave/src", "command": "cli/src",
           **{level: f"tests/{level}" for level in ("contract", "property", "model", "simulation", "integration", "e2e", "cli")}}
RUST = re.compile(r"^(\w+)((?:::\w+)*)::(\w+)$")
# The level of the scripts that read pages and templates.
INFRA = "infra"
OF_INFRA = re.compile(r"^tests/infra/test_\w+\.py::")
SCRIPT = re.compile(r"^([\w./-]+\.(?:py|ts|js))::(.+)$")
TEST = re.compile(r"#\[(?:tokio::)?test\b[^\]]*\]((?:\s*(?:#\[[^\]]*\]|//[^\n]*))*)"
                  r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)")
# A row of a macro that makes tests. A function has no colon after its name.
ROW = re.compile(r"^\s*fn\s+(\w+)(?:\(\w+\))?\s*:", re.MULTILINE)
MODULE = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?mod (\w+) \{", re.MULTILINE)


def complaint(judge, root):
    """Returns the fault of a judge, or None."""
    if script := SCRIPT.match(judge):
        return script_complaint(root / script[1], script[2])
    rust = RUST.match(judge)
    if not rust or rust[1] not in FOLDERS:
        return f"a judge is LEVEL::MODULE::TEST with a level of {', '.join(FOLDERS)}, or FILE.py::NAME"
    module, name = rust[2].strip(":"), rust[3]
    for path, inner in places(root / FOLDERS[rust[1]], module.split("::") if module else []):
        found = tests(path).get((inner, name))
        if found == "ignored":
            return "the test is ignored, so `make test` does not run it"
        if found:
            return None
    return "there is no such test"


def places(folder, modules):
    """Yields the places where a module may be: (file, modules inside the file)."""
    for depth in range(len(modules), -1, -1):
        outer, inner = modules[:depth], "::".join(modules[depth:])
        names = [folder.joinpath(*outer[:-1], f"{outer[-1]}.rs"), folder.joinpath(*outer, "mod.rs")] if outer else [
            folder / "main.rs", folder / "lib.rs"]
        yield from ((path, inner) for path in names if path.is_file())


@cache
def tests(path):
    """Returns "tested" or "ignored" for each test of a file, by (modules inside the file, name)."""
    text = path.read_text()
    blocks = [(match.start(), closing(text, match), match[2]) for match in MODULE.finditer(text)]
    found = {}
    for match in (*TEST.finditer(text), *ROW.finditer(text)):
        is_row = match.re is ROW
        at, name = match.start(match.lastindex), match[1 if is_row else 2]
        inner = "::".join(module for begin, end, module in blocks if begin < at < end)
        found[inner, name] = "ignored" if not is_row and "#[ignore" in match[1] else "tested"
    return found


def closing(text, module):
    """Returns the end of a module. rustfmt indents its closing brace like its first line."""
    end = text.find(f"\n{module[1]}}}", module.end())
    return len(text) if end < 0 else end


def script_complaint(path, name):
    if not path.is_file():
        return "there is no such file"
    return None if name in names(path) else f"{path.name} has no {name}"


@cache
def names(path):
    """Returns the names that a script defines: functions, classes, methods and constants. In JavaScript: functions and titles of tests."""
    text = path.read_text()
    if path.suffix != ".py":
        return set(re.findall(r"""\btest\(\s*["'`]([^"'`\n]+)["'`]""", text)) | set(re.findall(r"\bfunction (\w+)\(", text))
    tree = ast.parse(text)
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{method.name}" for method in node.body if isinstance(method, ast.FunctionDef))
    return found


def level(judge):
    """Returns the key of the judge's level in seen.LEVELS: a level, or the crate of a unit test. None for a script that needs a stack."""
    if OF_INFRA.match(judge):
        return INFRA
    rust = RUST.match(judge)
    return rust[1] if rust else None


def filter_of(judge):
    """Returns the name of a test inside its test program."""
    return judge.split("::", 1)[1]
