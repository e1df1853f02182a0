"""The score: how many mutants each level notices, file by file."""
import re
from collections import Counter, defaultdict

from .settings import ALL_LEVELS, SCORE

COLUMNS = ("viable", *ALL_LEVELS, "time-out", "count", "missed", "justified", "open")
WRITTEN_PART = re.compile(r"(?<=<!-- written by make mutants -->\n).*?(?=<!-- end -->)", re.DOTALL)


def rows(verdicts, reasons):
    """Returns a row of counts for each file, in order, and the row of the sum."""
    counts = defaultdict(Counter)
    for verdict in verdicts:
        for row in (verdict.mutant.file if verdict.mutant.kind != "by-hand" else "by hand", "all"):
            counts[row].update(cells(verdict, reasons))
    names = sorted(name for name in counts if name not in ("all", "by hand"))
    return [(name, counts[name]) for name in (*names, "by hand", "all") if name in counts]


def cells(verdict, reasons):
    """Returns the columns in which a verdict counts."""
    state = verdict.state
    if state == "unviable":
        return ["unviable"]
    place = {"caught": verdict.level, "timeout": "time-out", "counted": "count", "missed": "missed"}.get(state, "open")
    justified = ["justified"] if state == "missed" and verdict.mutant.key in reasons else []
    return ["viable", place, *justified]


def percent(count):
    """Returns the share of noticed mutants, without the justified ones. The text is empty while mutants are open."""
    noticed = sum(count[name] for name in (*ALL_LEVELS, "time-out"))
    of = count["viable"] - count["justified"]
    return f"{100 * noticed / of:.1f} %" if of and not count["open"] else ""


def markdown(verdicts, reasons):
    lines = [f"| file | {' | '.join(COLUMNS)} | score |", "|---" * (len(COLUMNS) + 2) + "|"]
    for name, count in rows(verdicts, reasons):
        shown = name if name in ("all", "by hand") else f"`{name}`"
        lines.append(f"| {shown} | {' | '.join(str(count[column] or '') for column in COLUMNS)} | {percent(count)} |")
    return "\n".join(lines) + "\n"


def text(verdicts, reasons):
    """Returns the table for a terminal."""
    table = [("", *COLUMNS, "score")]
    table += [(name, *(str(count[column] or "") for column in COLUMNS), percent(count))
              for name, count in rows(verdicts, reasons)]
    widths = [max(map(len, column)) for column in zip(*table)]
    return "\n".join("  ".join(cell.rjust(width) if at else cell.ljust(width)
                               for at, (cell, width) in enumerate(zip(row, widths))) for row in table)


def write(verdicts, reasons):
    page = SCORE.read_text()
    SCORE.write_text(WRITTEN_PART.sub(lambda _: markdown(verdicts, reasons), page))
