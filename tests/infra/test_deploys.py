"""The deploy commands of the pages do what the pages say. SAM's own code reads and writes the answers of `--guided`.

Run by infra/validate with the Python of sam. No service is called.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import click
from click.testing import CliRunner
from samcli.commands.deploy import command
from samcli.commands.deploy.guided_config import GuidedConfig
from samcli.commands.deploy.guided_context import GuidedContext

ROOT = Path(__file__).resolve().parents[2]
ARN = "arn:aws:states:eu-west-1:111122223333:stateMachine:nightly-etl"


def parameters():
    """Returns the parameters of the template with their defaults, as `--guided` asks for them."""
    text = (ROOT / "infra" / "template.yaml").read_text().partition("\nParameters:\n")[2].partition("\nRules:\n")[0]
    found = re.findall(r'^  (\w+):\n(?:    .*\n)*?    Default: "?([^"\n]*)"?\n', text, re.MULTILINE)
    return dict(found)


class Deploys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "template.yaml").write_text((ROOT / "infra" / "template.yaml").read_text())
        self.file = self.folder / "samconfig.toml"
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)

    def guided(self, **answers):
        """Saves answers, empty ones too, as `sam deploy --guided` does."""
        given = {name: {"Value": value, "Hidden": False} for name, value in {**parameters(), **answers}.items()}
        with click.Context(command.cli, info_name="deploy"):
            GuidedConfig(str(self.folder / "template.yaml"), "parameters").save_config(
                given, stack_name="lockstep", region="eu-west-1", capabilities=["CAPABILITY_IAM"], resolve_s3=True)

    def sent(self, *words):
        """Returns the parameters that `sam deploy` would send."""
        with mock.patch.object(command, "do_cli") as deploy:
            result = CliRunner().invoke(command.cli, list(words))
        self.assertEqual(1, deploy.call_count, result.output)
        found = [one for one in deploy.call_args.args if isinstance(one, dict) and "TaskDefinitionArns" in one]
        return found[0] if found else deploy.call_args.args

    def test_guided_saves_beside_the_template_what_the_next_deploy_reads(self):
        self.guided(GuardedWorkflowArns=ARN)
        self.assertEqual(["samconfig.toml", "template.yaml"], sorted(path.name for path in self.folder.iterdir()))
        self.assertEqual(ARN, self.sent()["GuardedWorkflowArns"])

    def test_an_answer_that_is_empty_is_sent_by_each_later_deploy(self):
        """A parameter that is given only on the command line is reset by the next deploy to its saved empty answer. So no page tells to give one only there."""
        self.guided()
        self.assertEqual("", self.sent()["GuardedWorkflowArns"])

    def test_guided_again_offers_what_is_saved_and_keeps_an_edit(self):
        """The edit is that of docs/ways/whole-workflow.md."""
        self.guided(AlarmEmail="oncall@example.com")
        offered = {}

        def answer(text, default, type):
            name = re.search(r"Parameter (\w+)", text)[1]
            offered[name] = default
            return ARN if name == "GuardedWorkflowArns" else default
        asked = {name: {"Default": value} for name, value in parameters().items()}
        with mock.patch("samcli.commands.deploy.guided_context.prompt", answer):
            given = object.__new__(GuidedContext).prompt_parameters(asked, self.sent(), "", "")
        self.assertEqual("oncall@example.com", offered["AlarmEmail"])
        self.guided(**{name: one["Value"] for name, one in given.items()})
        for _ in range(2):
            sent = self.sent()
            self.assertEqual((ARN, "oncall@example.com"), (sent["GuardedWorkflowArns"], sent["AlarmEmail"]))

    def test_git_does_not_track_the_answers(self):
        for path in ("samconfig.toml", "infra/samconfig.toml"):
            ignored = subprocess.run(["git", "check-ignore", "--quiet", path], cwd=ROOT).returncode
            tracked = subprocess.run(["git", "ls-files", path], cwd=ROOT, capture_output=True, text=True).stdout
            self.assertEqual((0, ""), (ignored, tracked), path)

    def test_no_page_deploys_the_stack_with_a_parameter_that_is_not_saved(self):
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
            for line in page.read_text().splitlines():
                if re.match(r" *sam deploy\b", line) and "--parameter-overrides" in line:
                    self.assertRegex(line, r"--template-file (?!infra/template\.yaml)", f"{page.name}: {line}")


class Package(unittest.TestCase):
    def test_functions_are_built_for_the_processor_of_the_stack(self):
        def built(*words):
            shown = subprocess.run(["make", "--dry-run", "package", *words], cwd=ROOT, capture_output=True, text=True, check=True)
            return re.findall(r"cargo lambda build --release (\S+) ", shown.stdout)
        self.assertEqual(["--" + parameters()["Architecture"].replace("_", "-")], built())
        self.assertEqual(["--x86-64"], built("ARCHITECTURE=x86_64"))


if __name__ == "__main__":
    sys.exit(unittest.main())
