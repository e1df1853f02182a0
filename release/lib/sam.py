"""infra/template.yaml as an application of SAM whose functions and definitions lie beside it."""
import re

from lib import context
from lib.context import FUNCTIONS, ROOT, Refusal

DEFINITIONS = ("exclusive-run", "mail")
# Templates that the pages deploy beside the stack, each with the number of definitions that it reads.
BESIDE = {"team.yaml": 1, "slack.yaml": 0, "examples/schedule.yaml": 0, "examples/table.yaml": 0}
README = """\
# Lockstep {version} for {architecture}

Exclusive runs for batch jobs: an application of AWS SAM with compiled functions.

    sam deploy --guided --template-file template.yaml

deploys it. SAM uploads the zips beside the template. The parameters are described in the template.

team.yaml, slack.yaml, schedule.yaml and table.yaml are those of `infra` and `infra/examples` on the pages.

`sam package --template-file template.yaml --s3-bucket BUCKET --output-template-file packaged.yaml`, then
`sam publish --template packaged.yaml`, publishes it to the AWS Serverless Application Repository of your account.
"""
# What the Serverless Application Repository shows. It takes links of the application only where it has a repository.
APPLICATION = """\
  AWS::ServerlessRepo::Application:
    Name: lockstep
    Description: Exclusive runs for batch jobs. ECS tasks and workflows that never overlap with themselves.
    Author: Lockstep contributors
    SpdxLicenseId: Apache-2.0
    LicenseUrl: LICENSE
    ReadmeUrl: README.md
    Labels: [lock, mutex, batch, ecs, step-functions, eventbridge]
    SemanticVersion: {version}
"""


def replaced(text, pattern, value, times, name="template.yaml"):
    """Replaces what is in a template exactly as often as is known here, so that a change of the template is noticed."""
    made, found = re.subn(pattern, value, text, flags=re.MULTILINE)
    if found != times:
        raise Refusal(f"infra/{name} has {pattern} {found} times, not {times}: change release/lib/sam.py with it")
    return made


def beside():
    """The templates that the pages deploy beside the stack, by their names."""
    found = {}
    for name, definitions in BESIDE.items():
        text = replaced((ROOT / "infra" / name).read_text(), r"\.\./statemachines/", "", definitions, name)
        # What they say of each other.
        found[name.rpartition("/")[2]] = re.sub(r"\binfra/(?:examples/)?(?=[a-z]+\.yaml)", "", text)
    return found


def readme(architecture):
    return README.format(version=context.version(), architecture=architecture)


def template(architecture, repository=None):
    """The template with the functions and definitions beside it."""
    application = APPLICATION.format(version=context.version())
    if repository:
        application += f"    HomePageUrl: {repository}\n    SourceCodeUrl: {repository}\n"
    text = (ROOT / "infra" / "template.yaml").read_text()
    text = replaced(text, r"^Metadata:\n", f"Metadata:\n{application}", 1)
    text = replaced(text, r"(?<=^  Architecture:\n    Type: String\n    Default: )\w+$", architecture, 1)
    # view is operate in another role.
    text = replaced(text, r"\.\./target/lambda/([a-z-]+)/bootstrap\.zip$", r"\1.zip", len(FUNCTIONS) + 1)
    return replaced(text, r"\.\./statemachines/", "", len(DEFINITIONS))
