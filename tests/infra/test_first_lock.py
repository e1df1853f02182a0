"""docs/first-lock.md shows what the commands print: `lockstep` as recorded in docs/transcripts.md, `sam` as its code says.

An answer is compared but for times, names and the width of columns. A name in angle brackets is to be filled in. Run by infra/validate with the
Python of cfn-lint, which has SAM.
"""

import inspect
import re
import shlex
import sys
import unittest

from samcli.commands.delete import delete_context
from samcli.commands.deploy import deploy_context

from test_lint import ROOT

PAGE = ROOT / "docs" / "first-lock.md"
TRANSCRIPTS = ROOT / "docs" / "transcripts.md"
BLOCK = re.compile(r"^( *)```text\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SAM = {"deploy": inspect.getsource(deploy_context), "delete": inspect.getsource(delete_context)}
NAMES = {r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ": "TIME", r"…[0-9a-f]{12}": "ID", r"arn:aws:states:\S+": "MACHINE", r"arn:aws:scheduler:\S+": "SCHEDULE",
         r"\b\d+\.\d+\.\d+\b": "VERSION", r"(?<=skipped )\d+": "COUNT"}


def answers(text):
    """Each command of a text with what it printed, both as one line each."""
    found = re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    return [(shlex.split(command.replace("\\\n", " ")), printed) for command, printed in found]


def plain(words, printed):
    """The answer without what differs from one run to the next."""
    text = " ".join(printed.split())
    for pattern, name in NAMES.items():
        text = re.sub(pattern, name, text)
    lock = next((word for word in words[2:] if not word.startswith("-")), None)
    return re.sub(rf"(?<![\w-]){re.escape(lock)}(?![\w-])", "NAME", text) if lock else text


def shown():
    """The commands of the page with their answers."""
    for indent, body in BLOCK.findall(PAGE.read_text()):
        yield from answers(re.sub(rf"^{indent}", "", body, flags=re.MULTILINE))


def recorded():
    """The same of the transcripts, each line of `doctor` by itself."""
    parts = re.findall(r"((?:^    .*\n)+)", TRANSCRIPTS.read_text(), re.MULTILINE)
    for part in parts:
        for words, printed in answers(re.sub(r"^    ", "", part, flags=re.MULTILINE)):
            for text in printed.splitlines() if words[1] == "doctor" else [printed]:
                yield words[1], plain(words, text)


class FirstLock(unittest.TestCase):
    def test_each_answer_of_lockstep_is_recorded(self):
        known, compared = set(recorded()), 0
        for words, printed in shown():
            # tests/adopter/prove runs what the page shows of `init`.
            if words[:2] == ["lockstep", "init"] or words[0] != "lockstep":
                continue
            for text in printed.splitlines() if words[1] == "doctor" else [printed]:
                self.assertIn((words[1], plain(words, text)), known, " ".join(words))
                compared += 1
        self.assertGreater(compared, 4)

    def test_each_answer_of_sam_is_in_its_code(self):
        sam = [(words, printed.strip()) for words, printed in shown() if printed.strip() and words[0] != "lockstep"]
        self.assertEqual(3, len(sam))
        for words, printed in sam:
            command = next(name for name in SAM if name in words)
            said = re.sub(r"(?<=stack - )\S+ in \S+", "{stack_name} in {region}", printed)
            self.assertIn(said, SAM[command], printed)


if __name__ == "__main__":
    sys.exit(unittest.main())
