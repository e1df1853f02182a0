"""The pages as a list of statements: each sentence of the text, and each row of a table, under its heading.

Code blocks, pictures and comments are left out. A link counts as its text, so that another target is no other promise.
"""
import re
from dataclasses import dataclass

FENCE = re.compile(r"^ *```")
HEADING = re.compile(r"^(#+) +(.*)$")
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) +(?=\S)")
RULER = re.compile(r"^\|[\s:|-]+\|$")
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# The words in bold that begin an item of a list and name it.
LABEL = re.compile(r"^\*\*[^*]+\.\*\* +")
SENTENCE_ENDS = re.compile(r"(?<=[.!?])(?:(?<=\.)|(?=\s)) +(?=[A-Z0-9`\"*(])")


@dataclass(frozen=True)
class Statement:
    """One sentence or one row, the page that has it, and the heading above it (empty before the first)."""

    page: str
    section: str
    text: str


def statements(page, text):
    """All statements of a page, in order."""
    found, block, section, table, fenced = [], [], "", 0, False

    def end_block():
        if block:
            found.extend(Statement(page, section, sentence) for sentence in sentences(" ".join(block)))
            block.clear()

    for line in COMMENT.sub("", text).splitlines():
        if FENCE.match(line):
            fenced = not fenced
            end_block()
            continue
        # A block that is indented begins behind an empty line; the text of an item goes on without one.
        if fenced or (line.startswith("    ") and not block and not ITEM.match(line)):
            continue
        heading = HEADING.match(line)
        is_row = line.startswith("|")
        table = table + 1 if is_row else 0
        if heading or is_row or not line.strip() or ITEM.match(line) or line.startswith("!["):
            end_block()
        if heading:
            section = section if len(heading[1]) == 1 else plain(heading[2])
        elif is_row:
            # The first row is the table's head.
            if table > 1 and not RULER.match(line):
                found.append(Statement(page, section, plain(row(line))))
        elif line.strip() and not line.startswith("!["):
            block.append(ITEM.sub("", line).strip())
    end_block()
    return found


def sections(page, text):
    """The headings of a page below its title, and the empty one of what comes before them."""
    return list(dict.fromkeys(statement.section for statement in statements(page, text)))


def row(line):
    return " | ".join(cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")))


def sentences(text):
    text = LABEL.sub("", plain(text))
    return [sentence for sentence in SENTENCE_ENDS.split(text) if sentence]


def plain(text):
    """The text as it is compared: one space between words, and links without their targets."""
    return re.sub(r"\s+", " ", LINK.sub(r"\1", text)).strip()
