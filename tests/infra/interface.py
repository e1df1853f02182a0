"""What others may count on, by CHANGELOG.md, as one list of names: fields and values of the schemas, commands, flags, exit codes, errors,
events, metrics, log events, and parameters and outputs of the templates.

The items of the table and the definitions have golden files of their own.
"""

import json
import re
import tomllib

from sources import block, members, source
from test_flags import values
from test_lint import ROOT, load

TEMPLATES = ("template.yaml", "team.yaml", "slack.yaml")
ARGS = sorted((ROOT / "cli" / "src" / "args").glob("*.rs"))


def kebab(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def schemas():
    """The places of each schema: `FILE/FIELD/FIELD`, and `PLACE=VALUE` where the values are a closed list."""
    for path in sorted((ROOT / "shared" / "schemas").glob("*.json")):
        schema = json.loads(path.read_text())
        yield from places(schema, schema, path.stem)


def places(part, schema, place):
    """Yields (place, whether an object always has it). A variant is named by its constant: `PLACE[finished]`."""
    if "$ref" in part:
        yield from places(schema["$defs"][part["$ref"].rpartition("/")[2]], schema, place)
    for value in [*([part["const"]] if "const" in part else []), *part.get("enum", [])]:
        yield f"{place}={value}", False
    for variant in (*part.get("oneOf", ()), *part.get("anyOf", ()), *part.get("allOf", ())):
        label = next((f"[{one['const']}]" for one in variant.get("properties", {}).values() if "const" in one), "")
        yield from places(variant, schema, place + label)
    if "properties" in part:
        yield place, False
    for name, one in part.get("properties", {}).items():
        yield f"{place}/{name}", name in part.get("required", ())
        yield from places(one, schema, f"{place}/{name}")
    for inner in ("items", "additionalProperties"):
        if isinstance(part.get(inner), dict):
            yield from places(part[inner], schema, f"{place}/*")


def flags(name):
    """The flags of a struct of clap's arguments, the values of those with a closed list, and the variables that set them."""
    text = next(text for path in ARGS if f"struct {name} {{" in (text := path.read_text()))
    for field, _, attributes, kind in members(block(text, name)):
        kind = re.sub(r"^(?:Option|Vec)<(.*)>$", r"\1", kind or "")
        if "command(flatten)" in attributes:
            yield from flags(kind.rpartition("::")[2])
        if re.search(r"\blong\b", attributes):
            own = re.search(r'\blong = "([^"]+)"', attributes)
            flag = f"--{own[1] if own else field.replace('_', '-')}"
            yield flag
            yield from (f"{flag}={word}" for shown, _ in values(kind) for word in re.findall("`([^`]+)`", shown))
            yield from re.findall(r'\benv = "(\w+)"', attributes)


def commands():
    """Each command, with its flags."""
    body = block(source("cli/src/args.rs"), "Command")
    for name, boxed in re.findall(r"^    (\w+)(?:\((?:Box<)?([\w:]+)>?\)| \{)", body, re.MULTILINE):
        yield kebab(name)
        if boxed:
            yield from (f"{kebab(name)} {flag}" for flag in flags(boxed.rpartition("::")[2]))


def template(name):
    """Yields (place, whether a deployment has to give it) of the parameters, outputs and exports of a template."""
    read = load(f"infra/{name}")
    yield f"{name}/Parameters", False
    for parameter, one in read["Parameters"].items():
        yield f"{name}/Parameters/{parameter}", "Default" not in one
        yield from ((f"{name}/Parameters/{parameter}={value}", False) for value in one.get("AllowedValues", ()))
    for output, one in read.get("Outputs", {}).items():
        yield f"{name}/Outputs/{output}", False
        if "Export" in one:
            yield f"{name}/Exports/{next(iter(one['Export']['Name'].values()))}", False


def current():
    """The interface of the working tree: what there is, and what a caller has to give."""
    of_schemas = list(schemas())
    of_templates = [one for name in TEMPLATES for one in template(name)]
    is_given = lambda place: ".request" in place or ".input" in place
    exits = re.findall(r"pub\(crate\) const (\w+): Self = Self\((\d+)\);", source("cli/src/exit.rs"))
    return {
        "has": {
            "schemas": sorted({place for place, _ in of_schemas}
                              | {f"{place} always" for place, always in of_schemas if always and not is_given(place)}),
            "commands": sorted(commands()),
            "exit codes": [f"{code} {name}" for name, code in exits],
            "errors": sorted(re.findall(r'Self::\w+ => "(Lockstep\.\w+)"', source("shared/src/contract/error_name.rs"))),
            "events": sorted(re.findall(r'Self::\w+ => "(Lockstep [^"]+)"', source("shared/src/contract/event_kind.rs"))),
            "metrics": sorted([*(name for name, *_ in members(block(source("shared/src/telemetry/metric.rs"), "Metric"))),
                               *(name for name, *_ in members(block(source("shared/src/telemetry/stack_metric.rs"), "StackMetric")))]),
            "log events": sorted(event for those in tomllib.loads(source("shared/log-events.toml")).values() for event in those),
            "templates": sorted({place for place, _ in of_templates}),
        },
        "needs": sorted({place for place, needed in of_schemas if needed and is_given(place)}
                        | {place for place, needed in of_templates if needed}),
    }


def broken(earlier, later):
    """What a later interface takes from those who count on an earlier one, as sentences."""
    lost = [f"{kind}: {one} is gone" for kind, those in earlier["has"].items() for one in those if one not in set(later["has"].get(kind, ()))]
    known = {one for those in earlier["has"].values() for one in those}
    # What is needed only in a part that is new is needed of no earlier caller.
    asked = [f"{one} is needed now" for one in later["needs"] if one not in earlier["needs"] and one.rpartition("/")[0] in known]
    return lost + asked
