"""Turns samples into the rows of a file of results."""
import json
import os
import platform
import statistics
from collections import defaultdict
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "results"


class Samples:
    """Values by figure and subject, in the order in which each pair was first added."""

    def __init__(self):
        self.values, self.units = defaultdict(list), {}

    def add(self, figure, subject, unit, value):
        self.values[figure, subject].append(value)
        self.units[figure, subject] = unit

    def median(self, figure, subject):
        return statistics.median(self.values[figure, subject])

    def rows(self, against=None):
        """Returns a row for each figure and subject, with all subjects of a figure together."""
        figures = list(dict.fromkeys(figure for figure, _ in self.values))
        return [self._row(figure, subject, against) for figure in figures
                for of, subject in self.values if of == figure]

    def _row(self, figure, subject, against):
        values = self.values[figure, subject]
        row = {"figure": figure, "subject": subject, "unit": self.units[figure, subject],
               "median": rounded(statistics.median(values))}
        if len(set(values)) > 1:
            row |= {"min": rounded(min(values)), "max": rounded(max(values))}
        row["n"] = len(values)
        if (figure, against) in self.values and subject != against and self.median(figure, against):
            row["ratio"] = round(self.median(figure, subject) / self.median(figure, against), 2)
        return row


def rounded(value):
    """Rounds to three significant digits. Whole numbers stay as they are."""
    if isinstance(value, int):
        return value
    return float(f"{value:.3g}") if abs(value) < 100 else round(value)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    kernel = ".".join(platform.release().split("-")[0].split(".")[:2])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {model.replace('(R)', '')}, {memory:.0f} GB, Linux {kernel}, a virtual machine"


def load():
    return float(Path("/proc/loadavg").read_text().split()[0])


def write(name, title, samples, note, against=None, place=None):
    content = {"id": name, "title": title, "date": date.today().isoformat(), "machine": place or machine()}
    content |= {"against": against} if against else {}
    content |= {"note": note, "rows": samples.rows(against)}
    rows = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in content.pop("rows"))
    head = json.dumps(content, indent=2, ensure_ascii=False).removesuffix("\n}")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(f'{head},\n  "rows": [\n{rows}\n  ]\n}}\n')
