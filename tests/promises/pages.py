"""Splits pages into statements: each sentence of the text and each row of a table, with the heading above it.

Leaves out code blocks, pictures and comments. A link counts as its text, so a new target makes no new statement.
"""
import re
from dataclasses import dataclass

FENCE = re.compile(r"^ *```")
HEADING = re.compile(r"^(#+) +(.*)$")
ITEM = re.compile(r"^ *(?:[-*]|\d+\.) +(?=\S)")
RULER = re.compile(r"^\|[\s:|-]+\|$")
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# The words in bold at the beginning of a list item, which name it.
LABEL = re.compile(r"^\*\*[^*]+\.\*\* +")
SENTENCE_ENDS = re.compile(r"(?<=[.!?])(?:(?<=\.)|(?=\s)) +(?=[A-Z0-9`\"*(])")


@dataclass(frozen=True)
class Statement:
    """One sentence or one row, its page, and the heading above it, which is empty before the first heading."""

    page: str
    section: str
    text: str


def statements(page, text):
    """Returns all statements of a page, in order."""
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
        # An indented line after an empty line begins a code block. Without an empty line, it continues a list item.
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
            # Skips the head of the table, which is its first row.
            if table > 1 and not RULER.match(line):
                found.append(Statement(page, section, plain(row(line))))
        elif line.strip() and not line.startswith("!["):
            block.append(ITEM.sub("", line).strip())
    end_block()
    return found


def sections(page, text):
    """Returns the headings below the title of a page, and an empty one for the statements before them."""
    return list(dict.fromkeys(statement.section for statement in statements(page, text)))


def row(line):
    return " | ".join(cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")))


def sentences(text):
    text = LABEL.sub("", plain(text))
    return [sentence for sentence in SENTENCE_ENDS.split(text) if sentence]


def plain(text):
    """Returns the text for a comparison: with one space between words, and links without targets."""
    return re.sub(r"\s+", " ", LINK.sub(r"\1", text)).strip()
