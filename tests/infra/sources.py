"""What the sources say of the names that they declare: doc comments of Rust types and flags, JSON Schemas, and the levels of log events."""

import json
import re

from test_lint import ROOT

FOLDERS = ("cli/src", "core/src", "shared/src", "operate/src", "functions")
LOGGED = re.compile(r'tracing::(error|warn|info|debug)!\(\s*event = "(\w+)"')
LEVELS = ("error", "warn", "info", "debug")
DAY = 86_400


def source(path):
    return (ROOT / path).read_text()


def block(text, head):
    """The lines between the braces of a type."""
    return re.search(rf"^(?:pub(?:\(crate\))? )?(?:enum|struct) {head} \{{\n(.*?)^\}}", text, re.MULTILINE | re.DOTALL)[1]


def members(text):
    """The variants or fields of a type, in order: name, doc comment, attributes, type."""
    found, doc, attributes, opened = [], [], "", ""
    for line in map(str.strip, text.splitlines()):
        if opened or line.startswith("#["):
            opened = f"{opened}\n{line}" if opened else line
            if opened.count("[") == opened.count("]"):
                attributes, opened = attributes + opened, ""
        elif line.startswith("///"):
            doc.append(line[3:].strip())
        elif member := re.match(r"(?:pub(?:\([^)]*\))? )?(\w+)(?:: (.*?))?,$", line):
            found.append((member[1], flat(doc), attributes, member[2]))
            doc, attributes = [], ""
    return found


def flat(lines):
    """A doc comment as one line; a list in it goes on as a sentence."""
    return " ".join(line.removeprefix("- ") for line in lines if line)


def matched(text, function):
    """The variants that a function names."""
    body = re.search(rf"fn {function}\b.*?\{{\n(.*?)^    \}}", text, re.MULTILINE | re.DOTALL)[1]
    return set(re.findall(r"Self::(\w+)", body))


def sentences(text):
    return re.split(r"(?<=\.) (?=[A-Z`*])", text)


def lowered(text):
    return text if text.startswith("`") else text[0].lower() + text[1:]


def levels():
    """The levels at which the sources log each event, the highest first."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            for level, event in LOGGED.findall(path.read_text()):
                found.setdefault(event, set()).add(level)
    return {event: ", ".join(level for level in LEVELS if level in those) for event, those in found.items()}


def camel(name):
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def inputs():
    """The fields of an input of exclusive-run, as their types declare them: name, default, meaning."""
    schema = json.loads(source("shared/schemas/exclusive-run.input.json"))
    types, options = source("shared/src/contract/exclusive_run.rs"), source("shared/src/contract/options.rs")
    own = [(name, re.search(r'rename = "(\w+)"', attributes)) for name, _, attributes, _ in members(block(types, "ExclusiveRunInput"))]
    for name, renamed in own:
        if name == "work":
            fields = schema["$defs"]["WorkInput"]["properties"]
            yield from (field(f"work.{camel(one)}", fields[camel(one)], schema) for one, *_ in members(block(types, "WorkInput")))
        elif name == "options":
            yield from (field(camel(one), schema["properties"][camel(one)], schema) for one, *_ in members(block(options, "LockOptions")))
        else:
            name = renamed[1] if renamed else camel(name)
            yield field(name, schema["properties"][name], schema)


def field(name, of, schema):
    said = sentences(" ".join(of["description"].split()))
    default = ["required"] * (name in schema["required"]) + [text.removeprefix("Default ").rstrip(".") for text in said if text.startswith("Default ")]
    meaning = [text for text in said if not text.startswith("Default ")]
    reference = of.get("$ref") or next((one["$ref"] for one in of.get("anyOf", []) if "$ref" in one), "")
    words = schema["$defs"].get(reference.rpartition("/")[2], {}).get("oneOf", [])
    meaning += [f"`{word['const']}`: {lowered(' '.join(word['description'].split()))}" for word in words]
    if "maximum" in of:
        days, rest = divmod(of["maximum"], DAY)
        shown = f" ({days} day{'s' * (days > 1)})" if name.endswith("Seconds") and not rest else ""
        meaning.append(f"{of['minimum']:,} to {of['maximum']:,}{shown}.")
    elif "maxLength" in of:
        meaning.append(f"{of['minLength']} to {of['maxLength']} characters.")
    return name, "".join(default), " ".join(meaning)


def flags(path, head):
    """The flags that a type of clap's arguments declares: name with its value, default, meaning."""
    for name, doc, attributes, of in members(block(source(path), head)):
        if "command(flatten)" in attributes:
            yield from flags("cli/src/args/shared.rs", of)
        elif re.search(r"\blong\b", attributes):
            value = re.search(r'value_name = "(\w+)"', attributes)[1]
            shown = f"[={value}]" if "require_equals" in attributes else f" {value}"
            default = re.search(r'(?:default_value|env) = "([^"]+)"', attributes)
            chosen = re.search(r"default_value_t = (\w+)::(\w+)", attributes)
            default = chosen[2].lower() if chosen else default[1] if default else ""
            alone = re.search(r'default_missing_value = "([^"]+)"', attributes)
            yield f"--{name.replace('_', '-')}{shown}", default, "".join(
                [doc, *modes(of, attributes), f". Without a value: `{alone[1]}`" if alone else ""])


def modes(name, attributes):
    """The values of a flag that has a closed list of them."""
    if "value_enum" in attributes:
        path = next(path for path in sorted((ROOT / "cli/src").rglob("*.rs")) if f"enum {name} {{" in path.read_text())
        for value, doc, *_ in members(block(path.read_text(), name)):
            value = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", value).lower()
            yield f". `{value}`: {lowered(doc)}"
