"""Tables of the pages have what their sources have: alarms, events, metrics, errors, parameters and outputs of the stack.

No page counts them by a number word, which nobody keeps. Run by infra/validate with the Python of cfn-lint. `test_tables.py --write` writes
what the reference and the threat model have of the templates, between `<!-- NAME of infra/template.yaml -->` and `<!-- end -->`.
"""

import re
import sys
import unittest

from test_lint import ROOT, load

PAGE = ROOT / "docs" / "reference.md"
REFERENCE = PAGE.read_text()
THREATS = ROOT / "docs" / "threat-model.md"
TEMPLATE = load("infra/template.yaml")
WRITTEN_PART = re.compile(r"(<!-- (\w+) of infra/template\.yaml -->\n).*?(?=<!-- end -->)", re.DOTALL)
# Words of a Description that the page links, and what it adds to one.
LINKS = {
    "MetricsPerLock": ("a dimension", "#metrics"),
    "EventBusName": ("Lockstep's events", "#events"),
    "RunEvents": ("events", "#events"),
    "EventRetentionDays": ("Lockstep's events", "#events"),
    "Alarms": ("alarms", "#alarms"),
    "AlarmEmail": ("as mails", "#mails"),
    "RunbookUrl": ("messages", "#messages"),
    "SkippedRunsPerHour": ("an alarm", "#alarms"),
    "WorkflowKmsKeyArns": ("decrypt data", "landing-zones.md#encrypted-workflows"),
    "PermissionsBoundaryArn": ("every role", "landing-zones.md#permissions-boundary"),
    "SubnetIds": ("a way", "landing-zones.md#vpc"),
    "KmsKeyArn": ("docs/landing-zones.md", "landing-zones.md#a-key-of-yours"),
}
MORE = {
    "AlarmKmsKeyArn": "The statement for `events.amazonaws.com` may have "
                      "[no condition](https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html).",
}
CODE = re.compile(r"(?<![\w`.-])(%s)(?![\w`-])|(?<=\()([\w.-]+[/:][\w*/-]+)(?=\))|(?<= )(:?\*)(?= )" % "|".join(
    [*map(re.escape, TEMPLATE["Parameters"]), r"\w+\.amazonaws\.com", r"kms:\w+\*?", r"work\.startExecution", r"team\.yaml", r"LOCKSTEP_\w+",
     "check-running-executions", r"\{lock\}", r"cargo lambda build[^)]*", r"https://wiki[^ ]*\}"]))
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


def sentences(text):
    """The sentences of a Description, with names and patterns as code."""
    text = CODE.sub(lambda match: f"`{match[0]}`", " ".join(text.split()))
    return re.findall(r"\S.*?\.(?= [A-Z`]|$)", text if text.endswith(".") else f"{text}.")


def table(*lines):
    head, *others = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *others, ""])


def parameter(name, one):
    """A row: what stands for an empty value is the default, and the rest is the meaning, with the values that it may have."""
    words, target = LINKS.get(name, ("", ""))
    said = sentences(one["Description"].replace(words, f"[{words}]({target})", 1) if words else one["Description"])
    empty = [sentence for sentence in said if sentence.startswith("Empty ")]
    meaning = [sentence for sentence in said if sentence not in empty]
    if "MinValue" in one:
        # Zero stands for another parameter.
        meaning.append(f"{one['MinValue'] or 1} to {one['MaxValue']}.")
    words = [value for value in one.get("AllowedValues", []) if not isinstance(value, int) and value not in ("true", "false")]
    if words:
        meaning.append(f"One of {', '.join(f'`{word}`' for word in words)}.")
    default = one["Default"]
    if default == "":
        default = "empty: " + (re.sub("^Empty (means (that )?)?", "", empty[0]).rstrip(".") if empty else "none")
    return f"`{name}`", str(default) if str(default).startswith("empty: ") else f"`{default}`", " ".join([*meaning, *filter(None, [MORE.get(name)])])


def only_with(one):
    """The parameters that a conditional resource or output is only made with; `Alarms` is true by default."""
    needed = sorted(set(references(TEMPLATE["Conditions"].get(one.get("Condition"), []))) - {"Alarms"})
    return [f"only with {' and '.join(f'`{name}`' for name in needed)}"] if needed else []


def references(value):
    """The names that a value refers to by Ref."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from [one] if key == "Ref" else references(one)


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


def shown(value):
    """A resource or a value of a condition in short: names of this template, and ARNs without partition, Region and account."""
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    if isinstance(value, str):
        value = re.sub(r"arn:\$\{AWS::Partition\}:\w+:(?:\$\{AWS::Region\})?:\$\{AWS::AccountId\}:", "", value)
        return re.sub(r"\$\{(\w+)[.\w]*\}", r"\1", re.sub(r"\$\{AWS::(\w+)\}", lambda match: {"StackName": "<stack>"}.get(match[1], "*"), value))
    (kind, of), = value.items()
    if kind == "Fn::If":
        return f"{shown(of[1])}; without {', '.join(references(TEMPLATE['Conditions'][of[0]]))}: {shown(of[2])}"
    if kind == "Fn::Sub" and isinstance(of, list):
        text, names = of
        return shown(re.sub(r"\$\{(\w+)\}", lambda match: "/".join(references(names[match[1]])) if match[1] in names else match[0], text)).replace(",", ", ")
    return shown({"Ref": lambda: of, "Fn::Sub": lambda: of.replace(",", ", "), "Fn::Split": lambda: of[1],
                  "Fn::GetAtt": lambda: of[0] if isinstance(of, list) else of.split(".")[0]}[kind]())


def statement(one, limit=""):
    """The lines of a statement of a policy."""
    if "Fn::If" in one:
        condition, then, other = one["Fn::If"]
        names = ", ".join(references(TEMPLATE["Conditions"][condition]))
        yield from statement(then, f"; only with {names}{limit}")
        yield from statement(other, f"; without {names}{limit}") if other.keys() & {"Effect", "Fn::If"} else ()
        return
    actions = one["Action"] if isinstance(one["Action"], list) else [one["Action"]]
    tests = [f"; if {key} is {'set' if test == 'Null' else shown(value)}"
             for test, keys in one.get("Condition", {}).items() for key, value in keys.items()]
    yield f"  {'DENY ' * (one['Effect'] == 'Deny')}{' '.join(actions)}: {shown(one['Resource'])}{''.join(tests)}{limit}"


def rights():
    """The statements of each role and policy of the template, under its name."""
    for name, one in TEMPLATE["Resources"].items():
        if one["Type"] not in ("AWS::IAM::Role", "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            continue
        of = one["Properties"]
        attached = [*references(of.get("Roles", of.get("ManagedPolicyArns", [])))]
        attached = [other for other in attached if not other.startswith("AWS::")]
        yield name + (f" ({'of' if 'Roles' in of else 'and'} {', '.join(attached)})" if attached else "") + "".join(
            f", {limit.replace('`', '')}" for limit in only_with(one))
        documents = [of["PolicyDocument"]] if "PolicyDocument" in of else [policy["PolicyDocument"] for policy in of["Policies"]]
        for document in documents:
            for each in document["Statement"]:
                yield from statement(each)


# Services of the table of roles: its columns, and what it leaves to the text below it.
SERVICES = {"dynamodb": 0, "states": 1, "ecs": 2}
LEFT_OUT = re.compile(r"kms:|ec2:|logs:(?!FilterLogEvents)")
# A resource that stands for all of its kind.
ALL = re.compile(r"\*|LockTable|table/LockTableName|(?:execution|stateMachine):\*|\w+/\*|event-bus/\w+")


def chosen(value):
    """A value of a template with every parameter given."""
    if isinstance(value, dict) and "Fn::If" in value:
        return chosen(value["Fn::If"][1])
    return [one for inner in value if (one := chosen(inner)) != {"Ref": "AWS::NoValue"}] if isinstance(value, list) else value


def limits(one):
    """What limits the actions of a statement: the resources, and the values of its conditions."""
    resources = chosen(one["Resource"])
    of = [shown(resource) for resource in (resources if isinstance(resources, list) else [resources])]
    of = [each.removeprefix("LockTable/") for each in ", ".join(of).split(", ") if not ALL.fullmatch(each)]
    tested = {key: value for test, keys in one.get("Condition", {}).items() if test != "Null" for key, value in keys.items()}
    of += chosen_list(tested.pop("dynamodb:LeadingKeys", []))
    text = f" of {', '.join(f'`{each}`' for each in of)}" if of else ""
    tested.pop("iam:PassedToService", None)
    words = {"ecs:cluster": " in", "events:source": " with source", "ecs:CreateAction": " by"}
    return text + "".join(f"{words[key]} `{', '.join(chosen_list(value))}`" for key, value in tested.items())


def chosen_list(value):
    value = chosen(value)
    return [shown(one) for one in (value if isinstance(value, list) else [value])]


def role(name, documents):
    """A row: the actions of each service, and what limits them."""
    cells = [[], [], [], []]
    for one in (chosen(each) for document in documents for each in document["Statement"]):
        if one == {"Ref": "AWS::NoValue"} or any("Not" in test for test in one.get("Condition", {})):
            continue
        actions = [action for action in (one["Action"] if isinstance(one["Action"], list) else [one["Action"]]) if not LEFT_OUT.match(action)]
        if actions:
            column = SERVICES.get(actions[0].partition(":")[0], 3)
            names = ", ".join(actions if column == 3 else [action.partition(":")[2] for action in actions])
            cells[column].append(f"{'no ' * (one['Effect'] == 'Deny')}{names}{limits(one)}")
    return (name, *("; ".join(dict.fromkeys(cell)) for cell in cells))


def roles():
    """Who may do what: each role with the policies that are attached to it, and each policy that is for a role of yours."""
    for file, whose in (("template", ""), ("team", " of a team")):
        resources = load(f"infra/{file}.yaml")["Resources"]
        policies = {name: one["Properties"] for name, one in resources.items() if one["Type"] in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")}
        for name, one in resources.items():
            documents = []
            if one["Type"] == "AWS::IAM::Role":
                documents += [chosen(policy)["PolicyDocument"] for policy in one["Properties"]["Policies"]]
                documents += [of["PolicyDocument"] for of in policies.values() if {"Ref": name} in of.get("Roles", [])]
            elif name in policies and not policies[name].get("Roles"):
                documents.append(policies[name]["PolicyDocument"])
            row = role(f"`{name}`{whose}", documents)
            if any(row[1:]):
                yield row


def written(page):
    """The page with the parts of the template as they have to be."""
    resources = TEMPLATE["Resources"]
    parts = {
        "parameters": lambda: table(("parameter", "default", "meaning"), *(parameter(*one) for one in TEMPLATE["Parameters"].items())),
        "outputs": lambda: table(("output", "value"), *(output(*one) for one in TEMPLATE["Outputs"].items())),
        "rights": lambda: "\n".join(["```text", *rights(), "```", ""]),
        "roles": lambda: table(("role or policy", "table", "Step Functions", "ECS", "else"), *roles()),
        "alarms": lambda: table(("alarm", "meaning", "metric", "raised at"), *(
            alarm(*one) for one in resources.items() if one[1]["Type"] == "AWS::CloudWatch::Alarm")),
    }
    return WRITTEN_PART.sub(lambda match: match[1] + parts[match[2]](), page)


class Tables(unittest.TestCase):
    maxDiff = None

    def test_what_the_reference_has_of_the_template_is_written_from_it(self):
        self.assertEqual({"parameters", "outputs", "rights", "alarms"}, {part[1] for part in WRITTEN_PART.findall(REFERENCE)})
        self.assertEqual(written(REFERENCE), REFERENCE, "test_tables.py --write")

    def test_the_roles_of_the_threat_model_are_those_of_the_templates(self):
        self.assertEqual(["roles"], [part[1] for part in WRITTEN_PART.findall(THREATS.read_text())])
        self.assertEqual(written(THREATS.read_text()), THREATS.read_text(), "test_tables.py --write")

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
    if sys.argv[1:] == ["--write"]:
        for one in (PAGE, THREATS):
            one.write_text(written(one.read_text()))
        sys.exit(0)
    sys.exit(unittest.main())
