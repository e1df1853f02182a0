"""What the pages tell a reader to type, from a release to a guarded run: commands, and code of an app of the CDK."""
import platform
import re
from dataclasses import dataclass

from lib import context
from lib.context import ROOT, Refusal

OWN = f"{platform.machine()}-unknown-linux-gnu"
BLOCK = re.compile(r"^( *)```(sh|text|ts)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def pieces(page):
    """What a page shows as code: each command of its blocks without the prompt, each block of TypeScript, and code in sentences."""
    text = (ROOT / "docs" / page).read_text()
    for indent, kind, body in BLOCK.findall(text):
        body = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
        if kind == "ts":
            yield body.rstrip()
            continue
        lines = re.sub(r" *\\\n *", " ", body).splitlines()
        yield from (line.removeprefix("$ ") for line in lines if kind == "sh" or line.startswith("$ "))
    yield from INLINE.findall(BLOCK.sub("", text))


@dataclass(frozen=True)
class Typed:
    """The one piece of a page that has this beginning."""

    page: str
    beginning: str

    def text(self):
        found = [piece for piece in pieces(self.page) if piece.startswith(self.beginning)]
        if len(found) != 1:
            raise Refusal(f"docs/{self.page} has {self.beginning!r} {len(found)} times at the beginning of a command, but must have it once")
        return found[0]

    def here(self, architecture):
        """The piece for this version and the processor of this machine."""
        text = self.text()
        for name, value in {"~/lockstep/infra": "~/lockstep-VERSION-sam-arm64", "VERSION": context.version(),
                            "sam-arm64": f"sam-{architecture}", "x86_64-unknown-linux-gnu": OWN}.items():
            text = text.replace(name, value)
        return text


CHECK = Typed("release.md", "sha256sum --check ")
# Each step with what is typed at its questions. The first ones are typed in the reader's home, the others in his repository.
UNPACK = [
    ("check the sums", CHECK, ""),
    ("unpack the application", Typed("first-lock.md", "tar xzf lockstep-VERSION-sam-"), ""),
    ("unpack the command", Typed("first-lock.md", "tar xzf lockstep-VERSION-x86_64-"), ""),
    ("install the command", Typed("first-lock.md", "sudo install "), ""),
]
DEPLOY = [
    ("write the files", Typed("first-lock.md", "lockstep init --template "), ""),
    ("deploy the stack", Typed("first-lock.md", "sam deploy --template-file ~/lockstep/infra/"), ""),
    ("check the stack", Typed("first-lock.md", "lockstep doctor --task-definition report "), ""),
    ("deploy the schedule", Typed("first-lock.md", "sam deploy --template-file lockstep/"), "y\n"),
]
STARTS = [Typed("first-lock.md", f"lockstep start hourly-report --schedule lockstep-hourly-report --yes --note {note}") for note in ("first", "second")]
CONSTRUCTS = Typed("release.md", "npm install ")
STACK, BATCH = Typed("ways/cdk.md", "const lockstep = "), Typed("ways/cdk.md", "const nightly = ")
