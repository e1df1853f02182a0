"""docs/runbook.md has a section for each alarm of the template and for each event that calls for action, and no other section.

Run by infra/validate with the Python of cfn-lint. `test_runbook.py --write` writes the description of each alarm into its section, between
`<!-- from alarm NAME -->` and `<!-- end -->`, and the doc comments of kinds of events after `<!-- from event NAME -->`.
"""

import re
import shlex
import sys
import unittest

import yaml
from sources import block, members
from test_pages import ROOT, Loader, lockstep_flags, wrong_flags

PAGE = ROOT / "docs" / "runbook.md"
KINDS = ROOT / "shared" / "src" / "contract" / "event_kind.rs"
PARTS = ["Meaning.", "See more.", "What to do.", "Over when"]
LINK = "docs/runbook.md#"
WRITTEN_PART = re.compile(r"(<!-- from (alarm|event) (\w+) -->).*?(?=<!-- end -->)", re.DOTALL)


def slug(head):
    """Returns the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")


def sections():
    """Returns the text of each section of the third level, by its anchor."""
    parts = re.split(r"^### (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    return {slug(head): re.split(r"^## ", text, flags=re.MULTILINE)[0] for head, text in zip(parts[1::2], parts[2::2])}


def alarms():
    """Returns the description of each alarm of the template, by name."""
    found = yaml.load((ROOT / "infra" / "template.yaml").read_text(), Loader)["Resources"]
    return {name: one["Properties"]["AlarmDescription"] for name, one in found.items()
            if one["Type"] == "AWS::CloudWatch::Alarm"}


def events():
    """Returns the doc comment of each kind of event, by name."""
    return {name: doc for name, doc, *_ in members(block(KINDS.read_text(), "EventKind"))}


def described(alarm):
    """Returns the description of an alarm without its link, with the names in it as code."""
    return re.sub(r"\b[a-z]+[A-Z]\w+|\b([A-Z][a-z]+){2,}", r"`\g<0>`", alarms()[alarm].partition(LINK)[0].strip())


def written(page):
    """The page with the descriptions of the alarms and the events as they have to be."""
    return WRITTEN_PART.sub(lambda match: match[1] + (described(match[3]) if match[2] == "alarm" else events()[match[3]]), page)


def kinds_that_call_for_action():
    """Returns the anchors of the kinds of events that EventKind::calls_for_action names."""
    text = KINDS.read_text()
    body = re.search(r"fn calls_for_action.*?matches!\((.*?)\)", text, re.DOTALL)[1]
    kinds = re.findall(r"Self::(\w+)", body)
    names = dict(re.findall(r'Self::(\w+) => "Lockstep ([^"]+)"', text))
    return {slug(names[kind]) for kind in kinds}


def commands(text):
    """Returns the commands of indented blocks, as words."""
    lines = re.findall(r"^ {4}(.+)$", text, re.MULTILINE)
    joined = "\n".join(lines).replace("\\\n", " ")
    return [shlex.split(line) for line in joined.splitlines()]


class Runbook(unittest.TestCase):
    def test_every_alarm_links_to_its_section(self):
        self.assertGreater(len(alarms()), 10)
        for name, description in alarms().items():
            sentence, _, anchor = description.partition(LINK)
            self.assertIn(anchor, sections(), name)
            self.assertRegex(sentence, r"^[A-Z][^.]+\. $", name)

    def test_sections_have_the_descriptions_of_their_alarms(self):
        self.assertEqual(written(PAGE.read_text()), PAGE.read_text(), "test_runbook.py --write")
        for anchor, text in sections().items():
            for _, of, name in WRITTEN_PART.findall(text):
                # "RunStopped" has the anchor "run-stopped".
                self.assertEqual(anchor, alarms()[name].partition(LINK)[2] if of == "alarm" else re.sub(r"(?<=.)(?=[A-Z])", "-", name).lower())

    def test_every_event_that_calls_for_action_has_a_section(self):
        self.assertGreater(len(kinds_that_call_for_action()), 5)
        self.assertLessEqual(kinds_that_call_for_action(), set(sections()))

    def test_every_section_is_of_an_alarm_or_an_event(self):
        of_alarms = {description.partition(LINK)[2] for description in alarms().values()}
        self.assertEqual(of_alarms | kinds_that_call_for_action(), set(sections()))

    def test_every_section_says_what_it_means_what_to_do_and_when_it_is_over(self):
        for anchor, text in sections().items():
            self.assertEqual(PARTS, re.findall(r"^\*\*([^*]+)\*\*", text, re.MULTILINE), anchor)
            self.assertTrue(commands(text), f"{anchor}: no command")

    def test_commands_have_the_flags_that_they_are_given(self):
        for words in commands(PAGE.read_text()):
            if words[0] == "lockstep":
                wrong = {word for word in words if word.startswith("--")} - lockstep_flags("operate") - lockstep_flags("act")
            else:
                wrong = wrong_flags(words)
            self.assertFalse(wrong, " ".join(words))

    def test_every_link_to_a_section_leads_to_one(self):
        found = re.findall(r"\]\(#([\w-]+)\)", PAGE.read_text())
        for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "infra").glob("*.yaml")]:
            found += re.findall(r"runbook\.md#([\w-]+)", path.read_text())
        self.assertGreater(len(found), 20)
        self.assertLessEqual(set(found), set(sections()))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(PAGE.read_text()))
        sys.exit(0)
    sys.exit(unittest.main())
