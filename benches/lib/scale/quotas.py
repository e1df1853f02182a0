"""Reads and checks the table of quotas, benches/quotas.toml."""
import tomllib
from dataclasses import dataclass

FIELDS = {"id": str, "service": str, "name": str, "kind": str, "unit": str, "rate": int, "raised_rate": int,
          "adjustable": bool, "code": str, "source": str, "verified": str, "note": str}
BUCKETS = {"size": int, "raised_size": int}
OTHERS = {"other_rate": int, "other_size": int}
KINDS = {"bucket": "a request above it fails", "queue": "a request above it waits", "level": "that number at once"}
VERIFIED = ("page", "second-hand", "no")


class QuotaError(Exception):
    """A fault of the table of quotas."""


@dataclass(frozen=True)
class Quota:
    id: str
    service: str
    name: str
    kind: str
    unit: str
    rate: int
    size: int
    other: tuple
    raised: tuple
    adjustable: bool
    code: str
    source: str
    verified: str
    note: str

    def values(self, other=False, raised=False):
        """Returns rate and size: the defaults of the large Regions, those of the `other` Regions, or those `raised`."""
        return self.raised if raised else self.other if other else (self.rate, self.size)


def read(path):
    """Returns the date of the table, and the quotas by id in the order of the file."""
    table = tomllib.loads(path.read_text())
    if not isinstance(table.get("date"), str):
        raise QuotaError(f"{path.name}: date is missing, but must be the day on which the sources were read")
    quotas = {}
    for number, row in enumerate(table.get("quota", [])):
        quota = check(f"{path.name}: quota {number} ({row.get('id', 'without id')})", row)
        if quota.id in quotas:
            raise QuotaError(f"{path.name}: two quotas have the id {quota.id}")
        quotas[quota.id] = quota
    return table["date"], quotas


def label(quotas, name):
    """Returns the name of a limit in tables and charts."""
    return f"{quotas[name].service}: {quotas[name].name}" if name in quotas else "the sweep"


def check(where, row):
    needed = FIELDS | ({} if row.get("kind") == "level" else BUCKETS)
    for field, kind in needed.items():
        if not isinstance(row.get(field), kind):
            raise QuotaError(f"{where}: {field} is {row.get(field)!r}, but must be of type {kind.__name__}")
    strange = row.keys() - needed.keys() - OTHERS.keys()
    if strange:
        raise QuotaError(f"{where}: unknown fields: {', '.join(sorted(strange))}")
    for field, allowed in (("kind", tuple(KINDS)), ("verified", VERIFIED)):
        if row[field] not in allowed:
            raise QuotaError(f"{where}: {field} is {row[field]!r}, but must be one of {', '.join(allowed)}")
    if not row["source"].startswith("https://"):
        raise QuotaError(f"{where}: source is {row['source']!r}, but must be the URL of a page")
    size, raised_size = row.get("size", row["rate"]), row.get("raised_size", row["raised_rate"])
    other = (row.get("other_rate", row["rate"]), row.get("other_size", size))
    plain = {field: row[field] for field in FIELDS if field != "raised_rate"}
    return Quota(**plain, size=size, other=other, raised=(row["raised_rate"], raised_size))
