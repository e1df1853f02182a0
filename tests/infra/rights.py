"""What each role and policy of the templates may do, in short: a list of its statements, and a table of what limits its actions."""
import re

from test_lint import load

TEMPLATE = load("infra/template.yaml")


def only_with(one):
    """The parameters that a conditional resource or output is only made with; `Alarms` is true by default."""
    needed = sorted(set(references(TEMPLATE["Conditions"].get(one.get("Condition"), []))) - {"Alarms"})
    return [f"only with {' and '.join(f'`{name}`' for name in needed)}"] if needed else []


def references(value):
    """The names that a value refers to by Ref."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from [one] if key == "Ref" else references(one)


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
