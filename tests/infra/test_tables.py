"""Tables of the pages have what their sources have: alarms, events, metrics, errors, parameters and outputs of the stack.

No page counts them by a number word, which nobody keeps. Run by infra/validate with the Python of cfn-lint.
"""

import re
import sys
import unittest

from test_lint import ROOT, load

REFERENCE = (ROOT / "docs" / "reference.md").read_text()
# Pages that a command writes.
WRITTEN = {"performance.md", "transcripts.md", "mutants.md"}
COUNTED = ("alarms?|metrics?|kinds|functions?|parameters?|outputs?|flags|events?|constructs|commands|acts|errors?|columns|sections|quotas|pages|"
           "roles|states|tables|rules")
NUMBERS = ("four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty")


def section(head, text=REFERENCE):
    return re.search(rf"^## {head}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def rows(text):
    """The first cells of the tables of a text, without those of the heads."""
    cells = re.findall(r"^\| (.+?) \|", text, re.MULTILINE)
    return [cell for cell in cells if not re.match(r"-|parameter|output|error|detail-type|metric|alarm$", cell)]


def names(text):
    return {name for cell in rows(text) for name in re.findall(r"`([^`]+)`", cell)}


def flags(module):
    """The long flags that a module of the command's arguments declares."""
    found = set()
    for options, name in re.findall(r"#\[arg\((.*?)\)\]\s*(?:pub\(crate\) )?(\w+):", source(f"cli/src/args/{module}.rs"), re.DOTALL):
        if re.search(r"\blong\b", options):
            own = re.search(r'\blong = "([^"]+)"', options)
            found.add("--" + (own[1] if own else name.replace("_", "-")))
    return found


def source(path):
    return (ROOT / path).read_text()


class Tables(unittest.TestCase):
    def test_alarms(self):
        made = {name for name, one in load("infra/template.yaml")["Resources"].items() if one["Type"] == "AWS::CloudWatch::Alarm"}
        self.assertEqual(made, names(section("Alarms")))

    def test_events_and_those_that_call_for_action(self):
        text = source("shared/src/contract/event_kind.rs")
        kinds = dict(re.findall(r'Self::(\w+) => "(Lockstep [^"]+)"', text))
        calls = re.findall(r"Self::(\w+)", re.search(r"fn calls_for_action.*?matches!\((.*?)\)", text, re.DOTALL)[1])
        table = section("Events").split("### ")[0]
        self.assertEqual(set(kinds.values()), names(table))
        starred = {name for cell in rows(table) if cell.endswith("*") for name in re.findall(r"`([^`]+)`", cell)}
        self.assertEqual({kinds[kind] for kind in calls}, starred)

    def test_metrics_their_units_and_those_of_a_lock(self):
        text = source("shared/src/telemetry/metric.rs")
        own = set(re.findall(r'Self::(\w+) => "\1"', text))
        of_stack = set(re.findall(r'=> "(\w+)"', source("shared/src/telemetry/stack_metric.rs")))
        table = section("Metrics")
        self.assertEqual(own | of_stack, names(table))
        per_lock = set(re.findall(r"Self::(\w+)", re.search(r"fn is_per_lock.*?matches!\((.*?)\)", text, re.DOTALL)[1]))
        self.assertEqual(per_lock, {cell.split("`")[1] for cell in rows(table) if cell.endswith("*")})
        seconds = set(re.findall(r"Self::(\w+)", re.search(r"fn unit.*?match self \{(.*?)=> \"Seconds\"", text, re.DOTALL)[1]))
        self.assertEqual(seconds, set(re.findall(r"^\| `(\w+)`[ *]* \| Seconds \|", table, re.MULTILINE)))

    def test_errors(self):
        known = set(re.findall(r'Self::\w+ => "(Lockstep\.\w+)"', source("shared/src/contract/error_name.rs")))
        # The definition of exclusive-run has one of its own.
        self.assertEqual(known | {"Lockstep.WorkStopped"}, names(section("Errors")))

    def test_parameters_and_outputs(self):
        template = load("infra/template.yaml")
        self.assertEqual(set(template["Parameters"]), names(section("Parameters of the stack")))
        self.assertEqual(set(template["Outputs"]), names(section("Outputs of the stack")))

    def test_every_flag_of_the_command_is_on_its_page_and_no_other(self):
        for modules, page in ((("run", "shared"), "inside-the-container.md"), (("worker", "shared"), "worker.md"),
                              (("agent", "shared"), "agent.md"), (("weave",), "ways/weave.md"), (("operate",), "operators.md")):
            text = (ROOT / "docs" / page).read_text()
            known = {flag for module in modules for flag in flags(module)}
            needed = {flag for flag in known if modules[0] != "agent" or flag in flags("agent")}
            missing = {flag for flag in needed if not re.search(rf"{re.escape(flag)}(?![\w-])", text)}
            self.assertEqual(set(), missing, page)
            tables = set(re.findall(r"--[a-z][\w-]*", " ".join(cell for cell in rows(text) if cell.startswith("`--"))))
            self.assertEqual(set(), tables - known, page)

    def test_no_page_counts_what_changes_by_a_word(self):
        counted = re.compile(rf"\b(?:{NUMBERS}) (?:\w+ )?(?:{COUNTED})\b", re.IGNORECASE)
        pages = [ROOT / "README.md", ROOT / "infra" / "cdk" / "README.md", *(ROOT / "docs").rglob("*.md")]
        found = [f"{page.relative_to(ROOT)}: {match[0]}" for page in pages if page.name not in WRITTEN
                 for match in counted.finditer(page.read_text())]
        self.assertEqual([], found)

    def test_every_schedule_of_an_example_has_a_time_zone(self):
        for path in sorted((ROOT / "infra" / "examples").glob("*.yaml")):
            template = load(path.relative_to(ROOT))
            for name, one in template["Resources"].items():
                if one["Type"] == "AWS::Scheduler::Schedule":
                    self.assertIn("ScheduleExpressionTimezone", one["Properties"], f"{path.name}: {name}")
                    self.assertIn("docs/time.md", template["Parameters"]["ScheduleTimezone"]["Description"])

    def test_every_run_of_an_example_has_a_limit(self):
        """A task that never starts holds its lock without one."""
        files = [*(ROOT / "infra" / "examples").glob("*.yaml"), *(ROOT / "statemachines" / "examples").glob("*.asl.json"),
                 ROOT / "README.md"]
        runs = [path for path in files if re.search(r'"(runTask|startExecution)":', path.read_text())]
        self.assertGreater(len(runs), 8)
        for path in runs:
            text = path.read_text()
            self.assertEqual(len(re.findall(r'"work":', text)), len(re.findall(r'"maxRunSeconds":', text)), path.name)


if __name__ == "__main__":
    sys.exit(unittest.main())
