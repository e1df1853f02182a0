"""Reads, compares and writes the figures of benches/figures.toml. tests/src/figures.rs describes the file."""
import os
import re
import tomllib
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "figures.toml"


class FigureError(Exception):
    """Counts that differ from the committed figures."""


def read(section, path=FILE):
    """Returns the values of a section by their names."""
    return {name: figure["value"] for name, figure in _section(path, section).items()}


def check(section, counted, path=FILE):
    """Compares all figures of a section with `counted`, whole numbers by name. LOCKSTEP_FIGURES=accept writes differences."""
    committed = _section(path, section)
    wrong = [f"  {name}: {_was(committed.get(name))}, counted {value}" for name, value in counted.items()
             if name not in committed or not _allows(committed[name], value)]
    wrong += [f"  {name}: {_was(figure)}, not counted" for name, figure in committed.items() if name not in counted]
    if not wrong:
        return
    if os.environ.get("LOCKSTEP_FIGURES") == "accept":
        path.write_text(_accepted(path.read_text(), section, committed, counted))
        return
    raise FigureError("\n".join([
        f"[{section}] of benches/figures.toml differs from what was counted:", *wrong,
        "If the change is intended, run `make figures` and say why in the commit, also for a smaller figure."]))


def _section(path, section):
    return tomllib.loads(path.read_text()).get(section, {})


def _was(figure):
    return f"committed {figure['value']}" if figure else "not committed"


def _allows(figure, value):
    apart, tolerance = abs(figure["value"] - value), figure["tolerance"]
    if tolerance.endswith("%"):
        return apart * 100 <= figure["value"] * int(tolerance[:-1])
    return apart <= int(tolerance)


def _accepted(text, section, committed, counted):
    before, header, rest = text.partition(f"[{section}]\n")
    if not header:
        before, header = f"{text}\n", f"[{section}]\n"
    body, blank, after = rest.partition("\n\n")
    lines = []
    for line in body.splitlines():
        name = re.match(r'"([^"]*)"', line)
        if name is None:
            lines.append(line)
        elif name[1] in counted:
            value = counted[name[1]]
            keep = _allows(committed[name[1]], value)
            lines.append(line if keep else re.sub(r"value = \d+", f"value = {value}", line, count=1))
    lines += [f'"{name}" = {{ value = {value}, tolerance = "0" }}'
              for name, value in counted.items() if name not in committed]
    return before + header + "\n".join(lines) + (blank + after if blank else "\n")
