"""The pages have the commands, the flags and the fields that the code of the `lockstep` command has, with their doc comments.

Run by infra/validate with the Python of cfn-lint. `test_commands.py --write` writes them, between
`<!-- generated from FILE -->` and `<!-- end -->`.
"""

import re
import sys
import unittest

from test_tables import ROOT, flags, source, table

OPERATORS, AUDIT = ROOT / "docs" / "operators.md", ROOT / "docs" / "audit.md"
# Flags of all commands of operators, which their rows leave out.
OF_ALL = {"--actor", "--output", "--wide", "--stack", "--table", "--function"}
FIELD = re.compile(r"((?: +///[^\n]*\n)*)((?: +#\[.*?\]\n)*) +pub(?:\([^)]*\))? (\w+): ([^\n]+),\n", re.DOTALL)
STRUCT = re.compile(r"((?:^///.*\n)+)((?:^[#)\]\s].*\n)*)^pub(?:\([^)]*\))? struct (\w+) \{\n((?:^ .*\n|^\n)*)\}", re.MULTILINE)


def comment(text):
    """The first paragraph of a doc comment: clap shows no more in a list."""
    lines = [line.strip().removeprefix("///").strip() for line in text.splitlines()]
    return " ".join(lines[:lines.index("")] if "" in lines else lines)


def structs(*files):
    """Of each struct: its doc comment, its attributes, and its fields as (comment, attributes, name, type)."""
    return {name: (comment(doc), attributes, [(comment(about), " ".join(of.split()), field, kind) for about, of, field, kind in FIELD.findall(body)])
            for file in files for doc, attributes, name, body in STRUCT.findall(source(file))}


def usage(attributes, name, kind):
    """An argument as a usage line has it, and whether it may be left out."""
    own = re.search(r'\bvalue_name = "([^"]+)"', attributes)
    value = own[1] if own else name.upper()
    if not re.search(r"\blong\b", attributes):
        return f"{value}…" if kind.startswith("Vec") else value, kind.startswith(("Option", "Vec"))
    takes = "" if kind == "bool" else f"[={value}]" if "require_equals" in attributes else f" {value}"
    return f"--{name.replace('_', '-')}{takes}", kind != "String"


def arguments(name, known):
    """The arguments of a struct, with those of its flattened structs."""
    for _, attributes, field, kind in known[name][2]:
        if "flatten" in attributes:
            inner = list(arguments(kind, known))
            one_of = "group(required = true, multiple = false)" in known[kind][1]
            yield from [f"({' or '.join(each.strip('[]') for each in inner)})"] if one_of else inner
            continue
        text, optional = usage(attributes, field, kind)
        if text.split()[0] not in OF_ALL:
            yield f"[{text}]" if optional else text


def commands():
    """A row for each command of operators."""
    known = structs("cli/src/args/operate.rs", "cli/src/args/act.rs")
    yield "command", "meaning"
    for command in re.findall(r"^    (\w+)\((?:operate|act)::\w+\),", source("cli/src/args.rs"), re.MULTILINE):
        meaning = re.sub(r"(?<!`)\b(?:LOCK|PREFIX|[a-z]+[A-Z]\w+)\b", r"`\g<0>`", known[f"{command}Args"][0])
        verb = re.sub(r"(?<!^)(?=[A-Z])", "-", command).lower()
        yield f"`{' '.join(['lockstep', verb, *arguments(f'{command}Args', known)])}`", meaning


def start_flags():
    """A row for each flag of `lockstep start` that other commands do not have."""
    yield "flag", "meaning"
    for about, attributes, field, kind in structs("cli/src/args/act.rs")["StartArgs"][2]:
        if re.search(r"\blong\b", attributes):
            yield f"`{usage(attributes, field, kind)[0]}`", re.sub(r"--[a-z]+", r"`\g<0>`", about)


def audit_flags():
    """A row for each argument of the audit, with its default."""
    yield "argument", "meaning"
    for about, attributes, field, kind in structs("cli/src/args/audit.rs")["AuditArgs"][2]:
        if "value_enum" in attributes:
            variants = re.search(rf"enum {kind} \{{\n(.*?)^\}}", source("cli/src/args/operate.rs"), re.MULTILINE | re.DOTALL)[1]
            about += ": " + " or ".join(word.lower() for word in re.findall(r"^    (\w+),", variants, re.MULTILINE))
        default = re.search(r'default_value = "([^"]+)"', attributes)
        yield f"`{usage(attributes, field, kind)[0]}`", about + (f" [default: {default[1]}]" if default else "")


def camel(name):
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def fields(name, known, path=""):
    """A row for each field with a comment, under its path; the others are named in the row of the field that has them."""
    for about, attributes, field, kind in known[name][2]:
        of = re.sub(r"^(?:Vec|Option)<(\w+)>$", r"\1", kind)
        inner = [] if of == "Audited" else known.get(of, ("", "", []))[2]
        if "serde(skip)" in attributes:
            continue
        if about:
            bare = [f"`{camel(one)}`" for meaning, _, one, _ in inner if not meaning]
            yield f"`{path}{camel(field)}`" + (f": {', '.join(bare)}" if bare else ""), about.rstrip(".")
        if inner:
            yield from fields(of, known, f"{path}{camel(field)}.")


def report(name):
    known = structs("cli/src/audit/report/fields.rs", "cli/src/audit/found.rs", "cli/src/audit/advice.rs")
    return [("field", "meaning"), *fields(name, known)]


def not_seen():
    """What the report says that no audit sees, as a list."""
    listed = re.search(r"NOT_COVERED.*?= \[(.*?)\];", source("cli/src/audit/report.rs"), re.DOTALL)[1]
    return "".join(f"- {sentence}\n" for sentence in re.findall(r'^    "(.*)",$', listed, re.MULTILINE))


PARTS = {
    OPERATORS: {"cli/src/args/operate.rs": commands, "StartArgs of cli/src/args/act.rs": start_flags},
    AUDIT: {"cli/src/args/audit.rs": audit_flags, "Report of cli/src/audit/report/fields.rs": lambda: report("Report"),
            "Audited of cli/src/audit/report/fields.rs": lambda: report("Audited"),
            "NOT_COVERED of cli/src/audit/report.rs": not_seen},
}


def written(page):
    """The page with its tables as they have to be."""
    text = page.read_text()
    for name, rows in PARTS[page].items():
        part = re.compile(rf"(<!-- generated from {re.escape(name)} -->\n).*?(?=<!-- end -->)", re.DOTALL)
        text = part.sub(lambda match: match[1] + (rows() if rows is not_seen else table(*rows())), text)
    return text


class Commands(unittest.TestCase):
    maxDiff = None

    def test_pages_have_the_commands_flags_and_fields_of_the_code(self):
        for page, parts in PARTS.items():
            self.assertEqual(set(parts), set(re.findall(r"<!-- generated from (.*?) -->", page.read_text())))
            self.assertEqual(written(page), page.read_text(), "test_commands.py --write")

    def test_every_flag_of_operators_is_in_a_row_or_of_all_commands(self):
        shown = set(re.findall(r"--[a-z-]+", " ".join(row for row, _ in commands())))
        self.assertEqual((flags("operate") | flags("act")) - OF_ALL, shown)

    def test_every_flag_of_the_audit_is_in_a_row(self):
        shown = set(re.findall(r"--[a-z-]+", " ".join(row for row, _ in audit_flags())))
        self.assertEqual(flags("audit"), shown)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for one in PARTS:
            one.write_text(written(one))
        sys.exit(0)
    sys.exit(unittest.main())
