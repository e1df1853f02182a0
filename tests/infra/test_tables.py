"""Tables of the pages are written from their sources: the template, the types of the code, the JSON Schemas, the flags, the log calls.

No page counts them by a number word, which nobody keeps. Run by infra/validate with the Python of cfn-lint. `test_tables.py --write` writes
the tables, each between `<!-- NAME of SOURCE -->` and `<!-- end -->`.
"""

import json
import re
import sys
import tomllib
import unittest

import sources
import yaml
from rights import only_with, rights, roles
from sources import block, flat, matched, members, source
from test_lint import ROOT, load

REFERENCE = (ROOT / "docs" / "reference.md").read_text()
TEMPLATE = load("infra/template.yaml")
WRITTEN_PART = re.compile(r"(<!-- ([\w ]+ of \S+) -->\n).*?(?=<!-- end -->)", re.DOTALL)
# Words of a Description that the page links, and what it adds to one.
LINKS = {
    "MetricsPerLock": ("metrics of each lock", "#metrics"),
    "EventBusName": ("events of Lockstep", "#events"),
    "RunEvents": ("Each event", "#events"),
    "EventRetentionDays": ("Lockstep's events", "#events"),
    "Alarms": ("alarms", "#alarms"),
    "AlarmEmail": ("messages", "#mails"),
    "RunbookUrl": ("messages", "#messages"),
    "SkippedRunsPerHour": ("an alarm", "#alarms"),
    "WorkflowKmsKeyArns": ("decrypt that data", "landing-zones.md#encrypted-workflows"),
    "PermissionsBoundaryArn": ("every role", "landing-zones.md#permissions-boundary"),
    "SubnetIds": ("reachable from them", "landing-zones.md#vpc"),
    "KmsKeyArn": ("docs/landing-zones.md", "landing-zones.md#a-key-of-yours"),
}
# The same of a field of an input.
FIELD_LINKS = {
    "work.container": ("variables", "#environment-of-the-container"),
    "work.startExecution": ("`states:startExecution`", "ways/whole-workflow.md"),
    "runKey": ("in UTC", "time.md#run-keys"),
    "permits": ("`Lockstep.PermitsMismatch`", "#errors"),
    "overlap": ("have the oldest holder stopped", "guarantees.md#how-long-a-stopped-run-has"),
    "maxRunSeconds": ("Longest duration", "time.md#a-limit-for-each-run"),
    "stalePolicy": ("the run is stopped", "guarantees.md#how-long-a-stopped-run-has"),
    "minIntervalSeconds": ("interval of the schedule", "time.md#an-interval-between-runs"),
    "expectEverySeconds": ("expected to succeed", "time.md#a-success-that-is-expected"),
    "noProgressSeconds": ("`lockstep run`", "inside-the-container.md#lockstep-progress"),
    "waitSeconds": ("17 days", "guarantees.md#every-user"),
    "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": ("attempts of one caller", "#retries-of-the-caller"),
}
# The answers of acquire-lock with which exclusive-run ends, and what its own input calls a field of a request.
ENDS = ("skipped", "duplicate", "finished", "gaveUp")
AS_INPUT = ("at the caller's `waitUntil`", "after `waitSeconds`")
FLAG_LINKS = {
    "--protect": ("Protect the ECS task", "worker.md#task-protection"),
    "--signal-scope": ("Which processes get a signal", "inside-the-container.md#who-gets-the-signal"),
}
MORE = {
    "AlarmKmsKeyArn": "The statement for `events.amazonaws.com` may have "
                      "[no condition](https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html).",
}
CODE = re.compile(r"(?<![\w`.-])(%s)(?![\w`-])|(?<=\()([\w.-]+[/:][\w*/-]+)(?=\))|(?<= )(:?\*)(?= )" % "|".join(
    [*map(re.escape, TEMPLATE["Parameters"]), r"\w+\.amazonaws\.com", r"kms:\w+\*?", r"work\.startExecution", r"team\.yaml", r"LOCKSTEP_\w+",
     "check-running-executions", r"\{lock\}", r"cargo lambda build[^)]*", r"https://wiki[^ ]*\}"]))
# Pages that a command writes.
WRITTEN = {"performance.md", "transcripts.md"}
COUNTED = ("alarms?|metrics?|kinds|functions?|parameters?|outputs?|flags|events?|constructs|commands|acts|errors?|columns|sections|quotas|pages|"
           "roles|states|tables|rules")
NUMBERS = ("four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty")


def section(head, text=REFERENCE):
    return re.search(rf"^## {head}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def rows(text):
    """Returns the first cells of the tables in a text, without the heads."""
    cells = re.findall(r"^\| (.+?) \|", text, re.MULTILINE)
    return [cell for cell in cells if not re.match(r"-|parameter|output|error|detail-type|metric|alarm$", cell)]


def names(text):
    return {name for cell in rows(text) for name in re.findall(r"`([^`]+)`", cell)}


def flags(module):
    """Returns the long flags that a module of cli/src/args declares."""
    found = set()
    for options, name in re.findall(r"#\[arg\((.*?)\)\]\s*(?:pub\(crate\) )?(\w+):", source(f"cli/src/args/{module}.rs"), re.DOTALL):
        if re.search(r"\blong\b", options):
            own = re.search(r'\blong = "([^"]+)"', options)
            found.add("--" + (own[1] if own else name.replace("_", "-")))
    return found


def sentences(text):
    """Returns the sentences of a Description, with names and patterns formatted as code."""
    text = CODE.sub(lambda match: f"`{match[0]}`", " ".join(text.split()))
    return re.findall(r"\S.*?\.(?= [A-Z`]|$)", text if text.endswith(".") else f"{text}.")


def linked(text, link):
    """The text with a link on its words, which it has to have."""
    if link is None:
        return text
    words, target = link
    before, found, after = text.partition(words)
    if not found:
        raise LookupError(f"no \"{words}\" in: {text}")
    return f"{before}[{words}]({target}){after}"


def table(*lines):
    head, *others = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *others, ""])


def parameter(name, one):
    """A row: what stands for an empty value is the default, and the rest is the meaning, with the values that it may have."""
    said = sentences(linked(" ".join(one["Description"].split()), LINKS.get(name)))
    empty = [sentence for sentence in said if sentence.startswith("Empty ")]
    meaning = [sentence for sentence in said if sentence not in empty]
    if "MinValue" in one:
        # A MinValue of zero means that another parameter decides, so the row begins at 1.
        meaning.append(f"{one['MinValue'] or 1} to {one['MaxValue']}.")
    words = [value for value in one.get("AllowedValues", []) if not isinstance(value, int) and value not in ("true", "false")]
    if words:
        meaning.append(f"One of {', '.join(f'`{word}`' for word in words)}.")
    default = one["Default"]
    if default == "":
        default = "empty: " + (re.sub("^Empty (means (that )?)?", "", empty[0]).rstrip(".") if empty else "none")
    return f"`{name}`", str(default) if str(default).startswith("empty: ") else f"`{default}`", " ".join([*meaning, *filter(None, [MORE.get(name)])])


def output(name, one):
    limits = only_with(one)
    limits += [] if "Export" in one else ["not exported"]
    return f"`{name}`", "; ".join([" ".join(sentences(one["Description"])).rstrip("."), *limits])


def alarm(name, one):
    of = one["Properties"]
    sentence, _, anchor = of["AlarmDescription"].partition(" docs/")
    limit = f"`{of['Threshold']['Ref']}`" if isinstance(of["Threshold"], dict) else of["Threshold"]
    least = "less than " if of["ComparisonOperator"] == "LessThanThreshold" else ""
    times = "" if of["EvaluationPeriods"] == 1 else f", {of['EvaluationPeriods']} times"
    return f"[`{name}`]({anchor})", "; ".join([" ".join(sentences(sentence)).rstrip("."), *only_with(one)]), f"`{of['MetricName']}`", f"{least}{limit} in {of['Period'] // 60} min{times}"


def inputs():
    return table(("input", "default", "meaning"), *(
        (f"`{name}`", default, linked(meaning, FIELD_LINKS.get(name))) for name, default, meaning in sources.inputs()))


def statuses():
    """The answers of acquire-lock with which an execution of exclusive-run ends, without the field that makes it wait."""
    response = json.loads(source("shared/schemas/acquire-lock.response.json"))
    answers = {one["properties"]["status"]["const"]: one for one in response["oneOf"]}

    def fields(of):
        return ", ".join(f"`{name}{'?' * (name not in of['required'])}`"
                         for name in [*of["required"], *(name for name in of["properties"] if name not in (*of["required"], "ending"))])
    return table(("`status`", "when", "further fields"), *(
        (f"`{status}`", flat(answers[status]["description"].replace(*AS_INPUT).splitlines()).rstrip("."),
         fields(response["$defs"][answers[status]["$ref"].rpartition("/")[2]])) for status in ENDS))


def errors():
    text = source("shared/src/contract/error_name.rs")
    names, retried = dict(re.findall(r'Self::(\w+) => "(Lockstep\.\w+)"', text)), matched(text, "is_retryable")
    return table(("error", "meaning", "retry"), *((f"`{names[name]}`", doc.rstrip("."), "yes" if name in retried else "no")
                                                  for name, doc, *_ in members(block(text, "ErrorName"))))


def events():
    text = source("shared/src/contract/event_kind.rs")
    types, acted_on = dict(re.findall(r'Self::(\w+) => "(Lockstep [^"]+)"', text)), matched(text, "calls_for_action")
    return table(("detail-type", "when"), *((f"`{types[name]}`{' *' * (name in acted_on)}", doc.rstrip("."))
                                            for name, doc, *_ in members(block(text, "EventKind"))))


def metrics():
    text = source("shared/src/telemetry/metric.rs")
    per_lock = matched(text, "is_per_lock")
    in_seconds = set(re.findall(r"Self::(\w+)", re.search(r"fn unit.*?match self \{(.*?)=> \"Seconds\"", text, re.DOTALL)[1]))
    return table(("metric", "unit", "counts"), *(
        (f"`{name}`{' *' * (name in per_lock)}", "Seconds" if name in in_seconds else "Count", doc.rstrip("."))
        for name, doc, *_ in members(block(text, "Metric"))))


def stack_metrics():
    text = source("shared/src/telemetry/stack_metric.rs")
    return table(("metric", "unit", "counts"), *((f"`{name}`", "Count", doc.rstrip(".")) for name, doc, *_ in members(block(text, "StackMetric"))))


def log_events():
    """A section for each table of the list, with the levels that the sources log at."""
    levels = sources.levels()
    return "\n".join(f"## {head}\n\n" + table(("event", "level", "meaning"), *(
        (f"`{event}`", levels.get(event, ""), meaning) for event, meaning in those.items()))
        for head, those in tomllib.loads(source("shared/log-events.toml")).items())


def agent_flags():
    rows = sources.flags("cli/src/args/agent.rs", "AgentArgs")
    coded = re.compile(r"\b(?:LOCKSTEP_\w+|unix:PATH|agent_started)\b")
    return table(("flag", "default", "meaning"), *(
        (f"`{flag}`", f"`{default}`" if default else "", linked(coded.sub(r"`\g<0>`", meaning), FLAG_LINKS.get(re.match(r"[\w-]+", flag)[0])))
        for flag, default, meaning in rows))


def requests():
    """The requests of the agent's API, the fields of their bodies, and what is answered when all is well."""
    api = yaml.safe_load(source("docs/agent.openapi.yaml"))

    def schema(of):
        name = of.get("$ref", "").rpartition("/")[2]
        return schema(api["components"]["schemas"][name]) if name else of

    def fields(holder):
        """The fields of a body; a question mark follows an optional one."""
        body = schema(holder["content"]["application/json"]["schema"])
        if "oneOf" in body:
            return "`status` " + " or ".join(f"`{one['properties']['status']['const']}`" for one in body["oneOf"])
        needed = body["required"] if "required" in body else []
        return ", ".join(f"`{name}{'?' * (name not in needed)}`" for name in [*needed, *(name for name in body["properties"] if name not in needed)])

    def lines():
        for path, operations in api["paths"].items():
            for method, one in operations.items():
                answers = {} if method == "parameters" else {
                    status: answer for status, answer in one["responses"].items() if "application/json" in answer.get("content", {}) and status < "300"}
                if answers:
                    query = [f"?{other['name']}={other['schema']['maximum']}" for other in one.get("parameters", [])]
                    said = [f"{one['summary']}.", *one.get("description", "").split("\n\n")[0].split()]
                    yield (f"`{method.upper()} {path}{''.join(query)}`", " ".join(said), fields(one["requestBody"]) if "requestBody" in one else "",
                           "; ".join(f"{status} {fields(answer)}" for status, answer in answers.items()))
    return table(("request", "does", "body", "answer"), *lines())


PARTS = {
    "reference.md": {
        "input of shared/schemas/exclusive-run.input.json": inputs,
        "statuses of shared/schemas/acquire-lock.response.json": statuses,
        "parameters of infra/template.yaml": lambda: table(("parameter", "default", "meaning"), *(
            parameter(*one) for one in TEMPLATE["Parameters"].items())),
        "outputs of infra/template.yaml": lambda: table(("output", "value"), *(output(*one) for one in TEMPLATE["Outputs"].items())),
        "rights of infra/template.yaml": lambda: "\n".join(["```text", *rights(), "```", ""]),
        "names of shared/src/contract/error_name.rs": errors,
        "kinds of shared/src/contract/event_kind.rs": events,
        "metrics of shared/src/telemetry/metric.rs": metrics,
        "metrics of shared/src/telemetry/stack_metric.rs": stack_metrics,
        "alarms of infra/template.yaml": lambda: table(("alarm", "meaning", "metric", "raised at"), *(
            alarm(*one) for one in TEMPLATE["Resources"].items() if one[1]["Type"] == "AWS::CloudWatch::Alarm")),
    },
    "log-events.md": {"events of shared/log-events.toml": log_events},
    "threat-model.md": {"roles of infra/template.yaml": lambda: table(("role or policy", "table", "Step Functions", "ECS", "else"), *roles())},
    "agent.md": {"flags of cli/src/args/agent.rs": agent_flags, "requests of docs/agent.openapi.yaml": requests},
}


def written(page, text):
    """The text of a page with its tables as they have to be."""
    return WRITTEN_PART.sub(lambda match: match[1] + PARTS[page][match[2]](), text)


class Tables(unittest.TestCase):
    maxDiff = None

    def assert_written(self, page):
        text = (ROOT / "docs" / page).read_text()
        self.assertEqual(list(PARTS[page]), [part[1] for part in WRITTEN_PART.findall(text)], page)
        self.assertEqual(written(page, text), text, "test_tables.py --write")

    def test_what_the_reference_has_of_the_template_is_written_from_it(self):
        self.assert_written("reference.md")

    def test_the_tables_of_other_pages_are_written_from_their_sources(self):
        for page in PARTS.keys() - {"reference.md"}:
            self.assert_written(page)

    def test_each_event_that_the_sources_log_has_its_meaning(self):
        listed = [event for those in tomllib.loads(source("shared/log-events.toml")).values() for event in those]
        self.assertEqual(sorted(sources.levels()), sorted(listed))

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
        # Lockstep.WorkStopped is in exclusive-run's definition only.
        self.assertEqual(known | {"Lockstep.WorkStopped"}, names(section("Errors")))

    def test_parameters_and_outputs(self):
        template = load("infra/template.yaml")
        self.assertEqual(set(template["Parameters"]), names(section("Parameters of the stack")))
        self.assertEqual(set(template["Outputs"]), names(section("Outputs of the stack")))

    def test_every_flag_of_the_command_is_on_its_page_and_no_other(self):
        for modules, page in ((("run", "shared"), "inside-the-container.md"), (("worker", "shared"), "worker.md"),
                              (("agent", "shared"), "agent.md"), (("weave",), "ways/weave.md"), (("operate", "act"), "operators.md")):
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
        """Without a limit, a task that never starts holds its lock forever."""
        files = [*(ROOT / "infra" / "examples").glob("*.yaml"), *(ROOT / "statemachines" / "examples").glob("*.asl.json"),
                 ROOT / "README.md"]
        runs = [path for path in files if re.search(r'"(runTask|startExecution)":', path.read_text())]
        self.assertGreater(len(runs), 8)
        for path in runs:
            text = path.read_text()
            self.assertEqual(len(re.findall(r'"work":', text)), len(re.findall(r'"maxRunSeconds":', text)), path.name)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for page in PARTS:
            path = ROOT / "docs" / page
            path.write_text(written(page, path.read_text()))
        sys.exit(0)
    sys.exit(unittest.main())
