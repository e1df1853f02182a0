"""The snippets and figures of the pages on ways equal their sources, which are deployed, validated and run.

A block of a page follows a comment that names its source, and equals it:

    <!-- from infra/examples/rule.yaml: Resources/Rule/Properties -->

The part after the colon is a path of keys, in TypeScript the beginning of a statement; without one the block is the
whole file. A block of `sh` holds commands whose flags exist. A figure stands in `<!-- cost of NAME -->…<!-- end -->`, and a table
of them in `<!-- costs of runs -->`, counted from exclusive-run's definition. A table of another page follows
`<!-- from table of PAGE -->`.

Run by infra/validate with the Python of cfn-lint. `test_pages.py --write` writes the blocks and figures.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest
from functools import cache
from pathlib import Path

import botocore.session
import yaml
from botocore import xform_name

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs" / "ways").glob("*.md")), *sorted((ROOT / "docs" / "migrate").glob("*.md")),
         ROOT / "docs" / "time.md", ROOT / "docs" / "landing-zones.md", *sorted((ROOT / "docs" / "landing-zones").glob("*.md")),
         ROOT / "docs" / "which-way.md", ROOT / "docs" / "terraform.md",
         ROOT / "docs" / "when-to-take-something-else.md"]
BLOCK = re.compile(r"(?:^ *<!-- from (?P<file>[^:\n]+?)(?:: (?P<part>[^\n]+?))? -->\n)?"
                   r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL)
COST = re.compile(r"<!-- cost of (?P<name>[^>]+?) -->(?P<text>.*?)<!-- end -->", re.DOTALL)
TABLE = re.compile(r"(<!-- from table of (\S+) -->\n).*?(?=<!-- end -->)", re.DOTALL)
COSTS = re.compile(r"<!-- costs of runs -->\n.*?<!-- end -->", re.DOTALL)
DEFINITION = ROOT / "statemachines" / "exclusive-run.asl.json"
WOVEN = ROOT / "statemachines" / "examples" / "nightly-etl.woven.asl.json"

# The states that a run enters, in order. `Keep Lease` runs in parallel with the work.
GRANTED = ["Check Input", "Acquire Lock", "Lock Is Ours", "Run Exclusively", "Begin Work"]
BATCH = [*GRANTED, "Run Batch", "Was Work Stopped", "Release Lock"]
SKIP = ["Check Input", "Acquire Lock", "Lock Is Ours", "Report Skip"]
WAIT = [*SKIP[:3], "Wait For Turn", "Is Woken", "Confirm Grant", "Is Confirmed", *BATCH[3:]]
PATHS = {
    "a batch": [BATCH, ["Keep Lease"]],
    "a batch without a container": [["Check Input", "Find Container", *BATCH], ["Keep Lease"]],
    "a workflow": [[*GRANTED, "Run Workflow", "Release Lock"], ["Keep Lease"]],
    "a failed batch": [[*GRANTED, "Run Batch", "May Task Be Running", "Release After Failure", "Fail Work", "Rethrow"], ["Keep Lease"]],
    "a failed workflow": [[*GRANTED, "Run Workflow", "Read Work", "How Work Ended", "Let Work Stop", "Release After Failure",
                           "Fail Work", "Rethrow"], ["Keep Lease"]],
    "a skip": [SKIP],
    "a skip without a container": [["Check Input", "Find Container", *SKIP]],
    "a wait": [WAIT, ["Keep Lease"]],
    "a wait without a container": [["Check Input", "Find Container", *WAIT], ["Keep Lease"]],
}
# The runs of the table, each with its path.
RUNS = {
    "of a batch": "a batch",
    "of a batch whose container is not named": "a batch without a container",
    "of a batch, after its turn in the queue": "a wait",
    "of a batch that fails": "a failed batch",
    "of a workflow": "a workflow",
    "of a workflow that fails": "a failed workflow",
    "that is skipped": "a skip",
}
# The same of a woven definition, whose own states are inside of Run Work.
REQUESTED = ["Request Lock", "Acquire Lock", "Lock Is Ours"]
AT_WORK = [*REQUESTED, "Run Exclusively", "Run Work"]
WOVEN_PATHS = {
    "a woven run": [[*AT_WORK, "Release Lock"], ["Keep Lease"]],
    "a failed woven run": [[*AT_WORK, "May Task Be Running", "Let Work Stop", "Release After Failure", "Fail Work", "Rethrow"], ["Keep Lease"]],
    "a woven skip": [[*REQUESTED, "Report Skip"]],
}


@cache
def machine(file=DEFINITION):
    """Returns the first state of a definition, all states by name, and the first states of each Parallel."""
    states, branches = {}, {}

    def read(inner):
        for name, state in inner["States"].items():
            states[name] = state
            for branch in state.get("Branches", []):
                branches.setdefault(name, []).append(branch["StartAt"])
                read(branch)
    definition = json.loads(file.read_text())
    read(definition)
    return definition["StartAt"], states, branches


def follows(name, file):
    """Returns the names of the states that may follow a state."""
    _, states, branches = machine(file)
    state = states[name]
    found = {state.get("Next"), state.get("Default"), *branches.get(name, [])}
    found |= {choice.get("Next") for choice in state.get("Choices", [])}
    found |= {catch.get("Next") for catch in state.get("Catch", [])}
    if state["Type"] == "Fail":  # within a Parallel
        found |= {catch["Next"] for parallel in branches for catch in states[parallel].get("Catch", [])}
    return found


def counted(name):
    """State transitions and calls of Lambda functions of one run."""
    file = WOVEN if name in WOVEN_PATHS else DEFINITION
    paths = (PATHS | WOVEN_PATHS)[name]
    start, states, branches = machine(file)
    firsts = {start} | {first for all_firsts in branches.values() for first in all_firsts}
    for path in paths:
        assert path[0] in firsts, path[0]
        for one, next_one in zip(path, path[1:]):
            assert next_one in follows(one, file), f"{one} does not lead to {next_one}"
    entered = [state for path in paths for state in path]
    calls = [state for state in entered if ":lambda:invoke" in states[state].get("Resource", "")]
    return len(entered), len(calls)


def cost(name):
    entered, calls = counted(name)
    return f"{entered} state transitions and {calls} call{'s' if calls > 1 else ''} of Lambda functions"


def costs():
    rows = [f"| {words} | {entered} | {calls} |" for words, name in RUNS.items() for entered, calls in [counted(name)]]
    return "\n".join(["<!-- costs of runs -->", "| a run | state transitions | calls of Lambda functions |", "|---|--:|--:|", *rows, "<!-- end -->"])


def part_of(text, path):
    """Returns the lines of a key and of everything below it, without the key's own indentation."""
    lines = text.splitlines()
    first, last, indent = 0, len(lines), -1
    for key in path:
        starts = [(len(line) - len(line.lstrip()), number) for number, line in enumerate(lines[first:last], first)
                  if re.match(rf' *"?{re.escape(key)}"?:', line)]
        starts = [start for start in starts if start[0] > indent]
        if not starts:
            raise KeyError(f"{'/'.join(path)}: no {key}")
        indent, first = min(starts)
        after = first + 1
        while after < last and (not lines[after].strip() or len(lines[after]) - len(lines[after].lstrip()) > indent):
            after += 1
        if after < last and re.match(r" *[}\]]", lines[after]):
            after += 1
        last = after
    found = lines[first:last]
    while not found[-1].strip():
        found.pop()
    found[-1] = found[-1].rstrip(",")
    return "\n".join(line[indent:] for line in found) + "\n"


def statement_of(text, beginning):
    """Returns the lines of a TypeScript statement, up to the line that closes it, without its indentation."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if line.lstrip().startswith(beginning))
    indent = len(lines[first]) - len(lines[first].lstrip())
    closing = re.compile(rf" {{{indent}}}[^ ].*;$")
    last = next(number for number, line in enumerate(lines) if number >= first and closing.match(line))
    return "\n".join(line[indent:] for line in lines[first:last + 1]) + "\n"


def source(file, part):
    text = (ROOT / file).read_text()
    if not part:
        return text
    return statement_of(text, part) if file.endswith(".ts") else part_of(text, part.split("/"))


def first_table(source_page, page):
    """Returns the first table of another page, with its links from where this page is."""
    table = re.search(r"(?:^\|.*\n)+", (ROOT / source_page).read_text(), re.MULTILINE)[0]
    return re.sub(r"\]\((?!https:)([^)]+)\)",
                  lambda link: f"]({os.path.relpath(ROOT / Path(source_page).parent / link[1], page.parent)})", table)


def blocks(page):
    return list(BLOCK.finditer(page.read_text()))


def indented(text, indent):
    return "".join(f"{indent}{line}".rstrip() + "\n" for line in text.splitlines())


def written(page):
    """Returns the page with the correct blocks and figures."""
    def block(match):
        if not match["file"]:
            return match[0]
        head = match[0][:match.start("body") - match.start()]
        tail = match[0][match.end("body") - match.start():]
        return head + indented(source(match["file"], match["part"]), match["indent"]) + tail
    text = TABLE.sub(lambda match: match[1] + first_table(match[2], page), page.read_text())
    text = COSTS.sub(lambda _: costs(), BLOCK.sub(block, text))
    return COST.sub(lambda match: f"<!-- cost of {match['name']} -->{cost(match['name'])}<!-- end -->", text)


def commands(page):
    for match in blocks(page):
        if match["kind"] == "sh":
            text = match["body"].replace("\\\n", " ")
            yield from (shlex.split(line, comments=True) for line in text.splitlines() if line.strip())


@cache
def sam_help(command):
    return subprocess.run(["sam", command, "--help"], capture_output=True, text=True, check=True).stdout


@cache
def lockstep_flags(command):
    flags = set()
    for module in (command, "shared"):
        text = (ROOT / "cli" / "src" / "args" / f"{module}.rs").read_text()
        for arg in re.finditer(r"#\[arg\((.*?)\)\]\s*pub\(crate\) (\w+):", text, re.DOTALL):
            own = re.search(r'\blong = "([^"]+)"', arg[1])
            flags.add("--" + (own[1] if own else arg[2].replace("_", "-")))
    return flags


@cache
def aws_flags(service, operation):
    model = botocore.session.get_session().get_service_model(service)
    names = {xform_name(name, "-"): name for name in model.operation_names}
    shape = model.operation_model(names[operation]).input_shape
    members = shape.members if shape else {}
    flags = {f"--{xform_name(member, '-')}" for member in members}
    booleans = {name for name, member in members.items() if member.type_name == "boolean"}
    flags |= {f"--no-{xform_name(name, '-')}" for name in booleans}
    return flags | {"--query", "--output", "--region"}


def wrong_flags(words):
    """Returns the flags in a command line that the command does not have."""
    own = words[:words.index("--")] if "--" in words else words
    flags = [word.split("=")[0] for word in own if word.startswith("--")]
    if words[0] == "sam":
        return [flag for flag in flags if not re.search(rf"{flag}\b", sam_help(words[1]))]
    if words[:3] == ["aws", "s3", "cp"]:  # not an operation of the API
        return [flag for flag in flags if flag != "--recursive"]
    if words[0] == "aws":
        return [flag for flag in flags if flag not in aws_flags(words[1], words[2])]
    if words[0] == "lockstep":
        return [flag for flag in flags if flag not in lockstep_flags(words[1])]
    if words[:1] in (["make"], ["cargo"]):
        verbs = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return [word for word in words[1:] if words[0] == "make" and "=" not in word and word not in verbs]
    return [f"unknown command {words[0]}"]


class Loader(yaml.SafeLoader):
    """Reads the short forms of intrinsic functions, such as !Ref, as (tag, text)."""


Loader.add_multi_constructor("!", lambda loader, tag, node: (
    tag, node.value if isinstance(node, yaml.ScalarNode) else str(loader.construct_sequence(node, deep=True))))


def template(name):
    return yaml.load((ROOT / "infra" / "examples" / name).read_text(), Loader)


class Pages(unittest.TestCase):
    maxDiff = None

    def test_blocks_and_figures_are_those_of_their_sources(self):
        self.assertGreater(len(PAGES), 12)
        for page in PAGES:
            self.assertEqual(written(page), page.read_text(), f"{page.name}: run test_pages.py --write")

    def test_every_block_has_a_source(self):
        for page in PAGES:
            for match in blocks(page):
                checked = match["file"] or match["kind"] in ("sh", "text")
                self.assertTrue(checked, f"{page.name}: a block of {match['kind']!r} without `from`")

    def test_commands_have_the_flags_that_they_are_given(self):
        found = [(page.name, words) for page in PAGES for words in commands(page)]
        self.assertGreater(len(found), 5)
        for page, words in found:
            self.assertEqual([], wrong_flags(words), f"{page}: {' '.join(words)}")

    def test_parameters_of_commands_are_those_of_the_templates(self):
        for page in PAGES:
            for words in commands(page):
                if words[:2] != ["sam", "deploy"] or "--parameter-overrides" not in words:
                    continue
                name = words[words.index("--template-file") + 1] if "--template-file" in words else "infra/template.yaml"
                known = yaml.load((ROOT / name).read_text(), Loader)["Parameters"]
                for word in words[words.index("--parameter-overrides") + 1:]:
                    self.assertIn(word.split("=")[0], known, f"{page.name}: {name}")

    def test_every_way_has_its_parts(self):
        ways = [page for page in PAGES if page.parent.name == "ways"]
        table = (ROOT / "docs" / "which-way.md").read_text()
        linked = re.findall(r"\((ways/[\w-]+\.md)(?:#[\w-]+)?\)", table)
        self.assertEqual({f"ways/{page.name}" for page in ways}, set(linked))
        for page in ways:
            text = page.read_text()
            heads = re.findall(r"^## (.+)$", text, re.MULTILINE)
            self.assertTrue({"Grant this", "Rights"} & set(heads), page.name)
            self.assertIn("(../which-way.md)", text, page.name)

    def test_links_lead_to_files(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
                if not link.startswith("https://"):
                    self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")

    def test_terraform_names_what_the_template_has(self):
        text = (ROOT / "infra" / "examples" / "terraform" / "lockstep.tf").read_text()
        stack = yaml.load((ROOT / "infra" / "template.yaml").read_text(), Loader)
        block = re.search(r"parameters = \{(.*?)\}", text, re.DOTALL)[1]
        parameters = set(re.findall(r"^ *(\w+) *=", block, re.MULTILINE))
        self.assertTrue(parameters and parameters <= set(stack["Parameters"]), parameters)
        self.assertLess((ROOT / "infra" / "template.yaml").stat().st_size, 1_000_000)
        self.assertIn("template_url", text)
        outputs = set(re.findall(r'outputs\["(\w+)"\]', text))
        self.assertTrue(outputs and outputs <= set(stack["Outputs"]), outputs)

    def test_heartbeats_are_as_many_as_said(self):
        """The time to the next heartbeat is the first one plus a third of the run's age, up to the longest."""
        reference = (ROOT / "docs" / "reference.md").read_text()
        default = lambda field: int(re.search(rf"^\| `{field}` \| (\d+)", reference, re.MULTILINE)[1])
        first, longest = default("heartbeatSeconds"), default("maxHeartbeatSeconds")
        limit = machine()[1]["Keep Lease"]["TimeoutSeconds"]
        self.assertIn(f"$ask.maxHeartbeatSeconds : {longest}]", limit)
        self.assertIn("/ 3000]", limit)

        def further(seconds):
            beats, age = 0, first
            while age < seconds:
                beats, age = beats + 1, age + min(max(first, longest), first + age // 3)
            return str(beats)
        said = [text for page in PAGES for text in re.findall(r"(\d+) in an hour of work, (\d+) in a day", page.read_text())]
        self.assertTrue(said)
        self.assertEqual({(further(3600), further(86_400))}, set(said))

    def test_readme_leads_to_the_table(self):
        self.assertIn("(docs/which-way.md)", (ROOT / "README.md").read_text())


class WholeWorkflow(unittest.TestCase):
    """docs/ways/whole-workflow.md guards a workflow by three edits, none of them in the workflow."""

    def test_page_has_three_steps_and_each_has_its_snippet(self):
        text = (ROOT / "docs" / "ways" / "whole-workflow.md").read_text()
        edits = text.split("## Do this", 1)[1].split("\n## ", 1)[0]
        self.assertEqual(["1", "2", "3"], re.findall(r"^(\d+)\. ", edits, re.MULTILINE))
        self.assertEqual(3, len(BLOCK.findall(edits)))

    def test_templates_differ_in_the_edits_alone(self):
        before, after = template("existing-workflow.yaml"), template("guarded-workflow.yaml")
        for field in ("Parameters", "Outputs", "Transform"):
            self.assertEqual(before[field], after[field])
        changed = {name for name in after["Resources"] if before["Resources"][name] != after["Resources"][name]}
        self.assertEqual(set(before["Resources"]), set(after["Resources"]))
        self.assertEqual({"ScheduleRole", "Schedule"}, changed)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for one in PAGES:
            one.write_text(written(one))
        sys.exit(0)
    sys.exit(unittest.main())
