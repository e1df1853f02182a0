"""The pages have the flags and the exit codes of `lockstep` as its code describes them.

Run by infra/validate. `test_flags.py --write` writes the tables between a comment and `<!-- end -->`:

    <!-- written from cli/src/args/worker.rs, but for those of run.rs -->
    <!-- written from cli/src/exit.rs: 64 69 -->

A row of a flag has the documentation of its field, that of its values, and its range. `but for those of run.rs` leaves out the flags that
`run` describes with the same words.
"""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
ARGS = ROOT / "cli" / "src" / "args"
WRITTEN_PART = re.compile(
    r"(<!-- written from cli/src/(?:args/(\w+)\.rs(?:, but for those of (\w+)\.rs)?|exit\.rs: ([\d ]+)) -->\n).*?(?=<!-- end -->)", re.DOTALL)
# Words of a flag's description that a page links.
LINKS = {
    "--grace": ("is stopped", "inside-the-container.md#a-stop-in-order"),
    "--signal-scope": ("Which processes get a signal", "inside-the-container.md#who-gets-the-signal"),
    "--protect": ("Protect the ECS task", "worker.md#task-protection"),
    "--no-progress": ("its progress", "inside-the-container.md#lockstep-progress"),
    "--once-key": ("idempotency key", "worker.md#the-once-key"),
    "--drain-on-deploy": ("a deployment", "worker.md#a-deployment-and-a-busy-worker"),
}
CODE = re.compile(r"(?<![\w`/-])(--[a-z][\w-]*(?: (?:skip|wait|queue|once|fail)\b)?|LOCKSTEP_\w+(?:=yes)?|NAME/\w+)(?![`\w])")
ARG = re.compile(r"((?: *///.*\n)+)? *#\[(arg|command)\(((?:[^\[\]]|\[[^\]]*\])*)\)\]\s*(?:pub\(crate\) )?(\w+): ([\w<>:]+),")
RANGES = {"parse::lease": ("5s", "24h"), "backoff": ("1s", "11h")}


def source(path):
    return (ROOT / path).read_text()


def sentence(documentation):
    return " ".join(line.strip().removeprefix("///").strip() for line in (documentation or "").splitlines())


def numbers():
    """The ranges of the options of a lock, by the names of their constants."""
    of = source("shared/src/contract/options.rs")
    known = {"YEAR": 365 * 86_400, "Permits::MAX as u32": number(source("core/src/domain/permits.rs"), "MAX"),
             "QUEUE_MAX as u32": number(source("core/src/domain/queue.rs"), "QUEUE_MAX")}
    ends = re.findall(r"const (\w+): Range = Range::new\((\d+), ([\w: ]+)\);", of)
    return {name: (int(least), known[most] if most in known else int(most.replace("_", ""))) for name, least, most in ends}


def number(text, constant):
    return int(re.search(rf"const {constant}: \w+ = ([\d_]+)", text)[1].replace("_", ""))


def short(seconds):
    """A length of time as the command shows it."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds % unit == 0 and seconds > (unit if name == "d" else 0):
            return f"{seconds // unit}{name}"
    return f"{seconds}s"


def limits(options):
    """The least and the greatest value of a flag, or nothing."""
    if match := re.search(r"\.range\((\d+)\.\.=(\d+)\)", options):
        return match.groups()
    if match := re.search(r"parse::option\(LockOptions::(\w+)\)", options):
        return tuple(map(short, numbers()[match[1]]))
    if match := re.search(r"\.range\(LockOptions::(\w+)\.values\(\)\)", options):
        return tuple(map(str, numbers()[match[1]]))
    parser = re.search(r"value_parser = ([\w:]+)", options)
    return RANGES.get(parser[1] if parser else "", ("1s", "365d") if parser and parser[1] == "parse::limit" else None)


def values(kind):
    """The values of an enum as its variants describe them."""
    for path in (*ARGS.glob("*.rs"), *(ROOT / "cli" / "src").rglob("signals.rs"), *(ROOT / "cli" / "src").rglob("protect.rs"),
                 *(ROOT / "cli" / "src" / "protect").rglob("*.rs")):
        if body := re.search(rf"ValueEnum\)\]\npub\(crate\) enum {kind} \{{\n(.*?)^\}}", path.read_text(), re.MULTILINE | re.DOTALL):
            for said, options, name in re.findall(r"((?: *///.*\n)+)((?: *#\[.*\]\n)*) *(\w+),", body[1]):
                alias = re.search(r'alias = "(\w+)"', options)
                word = re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
                yield f"`{word}`" + (f" (or `{alias[1]}`)" if alias else ""), sentence(said)


def flags(module):
    """Each flag of a module of the command's arguments: its name and value, its default, and its description."""
    struct = re.search(r"pub\(crate\) struct \w+Args \{\n(.*?)^\}", source(f"cli/src/args/{module}.rs"), re.MULTILINE | re.DOTALL)[1]
    shared = source("cli/src/args/shared.rs")
    for said, attribute, options, name, kind in ARG.findall(struct):
        if attribute == "command":
            struct_of = re.search(rf"pub\(crate\) struct {kind} \{{\n(.*?)^\}}", shared, re.MULTILINE | re.DOTALL)[1]
            said, _, options, name, kind = ARG.search(struct_of).groups()
        if re.search(r"\blong\b", options):
            yield flag(said, options, name, kind)


def flag(said, options, name, kind):
    kind = re.sub(r"Option<(\w+)>", r"\1", kind)
    long = "--" + name.replace("_", "-")
    value = re.search(r'value_name = "([^"]+)"', options)
    known = list(values(kind)) if "value_enum" in options else []
    shown = f"{long}[={value[1]}]" if "require_equals" in options else f"{long} {value[1]}" if value else long
    text, _, default = sentence(said).partition(" [default: ")
    default = default.rstrip("]")
    if match := re.search(r'\bdefault_value(?:_t)? = (?:"([^"]+)"|(?:\w+::)?(\w+))', options):
        default = f"`{(match[1] or re.sub(r'(?<!^)(?=[A-Z])', '-', match[2]).lower())}`"
    if match := re.search(r'env = "(\w+)"', options):
        default = f"`{match[1]}`"
    meaning = [text]
    meaning += [f"{word}: {what[0].lower()}{what[1:]}" for word, what in known]
    if (ends := limits(options)) and ends[0] not in text:
        meaning.append(f"From {ends[0]} to {ends[1]}")
    words, target = LINKS.get(long, ("", ""))
    text = CODE.sub(lambda match: f"`{match[0]}`", ". ".join(meaning))
    return f"`{shown}`", CODE.sub(lambda match: f"`{match[0]}`", default), text.replace(words, f"[{words}]({target})", 1) if words else text


def codes(wanted):
    """Exit codes with their meaning."""
    for said, number in re.findall(r"((?: *///.*\n)+) *pub\(crate\) const \w+: Self = Self\((\d+)\);", source("cli/src/exit.rs")):
        if number in wanted:
            yield number, sentence(said).rstrip(".")


def table(*lines):
    head, *others = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *others, ""])


def written(path):
    """The page with its tables as they have to be."""
    up = "../" * (len(path.relative_to(ROOT / "docs").parts) - 1)

    def part(match):
        head, module, but, numbers = match.groups()
        if numbers:
            return head + table(("code", "meaning"), *codes(numbers.split()))
        others = list(flags(but)) if but else []
        rows = table(("flag", "default", "meaning"), *(row for row in flags(module) if row not in others))
        return head + re.sub(r"\]\(([\w-]+\.md)", lambda link: f"]({up}{link[1]}", rows).replace(f"]({path.name}#", "](#")
    return WRITTEN_PART.sub(part, path.read_text())


class Flags(unittest.TestCase):
    maxDiff = None

    def test_the_pages_have_the_flags_and_exit_codes_of_the_code(self):
        parts = {page: [match for match in WRITTEN_PART.finditer(page.read_text())] for page in PAGES}
        self.assertGreaterEqual(sum(map(len, parts.values())), 3)
        for page in PAGES:
            self.assertEqual(written(page), page.read_text(), f"{page.name}: test_flags.py --write")

    def test_each_exit_code_that_a_page_lists_is_described(self):
        for page in PAGES:
            for match in WRITTEN_PART.finditer(page.read_text()):
                numbers = (match[4] or "").split()
                self.assertEqual(numbers, [number for number, _ in codes(numbers)], page.name)

    def test_each_link_has_its_words(self):
        rows = [row for module in ("run", "worker") for row in flags(module)]
        for name, (_, target) in LINKS.items():
            self.assertTrue(any(re.match(rf"`{name}\b", row[0]) and f"]({target})" in row[2] for row in rows), name)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        for one in PAGES:
            one.write_text(written(one))
        sys.exit(0)
    sys.exit(unittest.main())
