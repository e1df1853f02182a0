"""Reads and writes the ledger of promises: the statements of the pages that promise something, and the judges of each promise.

`pages.toml` names the sections of the pages that the ledger covers, and `seen.toml` the judges that were seen to fail on a mutant.
Each other TOML file here has entries, and statements that promise nothing.
"""
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES, SEEN = "pages.toml", "seen.toml"
SEEN_HEAD = "# Written by `make promises-seen`: the judge of each promise that was seen to fail on its mutant, and the day.\n"
KEYS = {"id", "text", "judges", "mutant", "unseen", "unjudged"}


@dataclass(frozen=True)
class Promise:
    """One promise.

    texts      its statements, as on the pages
    judges     the tests that fail when the promise is broken
    mutant     a mutant on which a judge fails
    unseen     why no mutant can be tried on the judges
    unjudged   the sentence of the page that says that no test judges the promise
    """

    id: str
    texts: tuple[str, ...]
    judges: tuple[str, ...] = ()
    mutant: str = ""
    unseen: str = ""
    unjudged: str = ""


@dataclass
class Ledger:
    """The whole ledger.

    plain     statements that promise nothing
    pages     by page, the lists of its sections: covered, pending and none
    pending   pages that are not covered yet
    seen      mutant, judge and date, by the id of the promise
    wrong     faults of single entries
    """

    promises: list = field(default_factory=list)
    plain: list = field(default_factory=list)
    pages: dict = field(default_factory=dict)
    pending: list = field(default_factory=list)
    seen: dict = field(default_factory=dict)
    wrong: list = field(default_factory=list)

    def has_seen(self, promise):
        """Returns whether a judge of the promise was seen to fail on the promise's mutant."""
        seen = self.seen.get(promise.id)
        return bool(seen) and seen["mutant"] == promise.mutant and seen["judge"] in promise.judges


def load(folder=HERE):
    """Reads the ledger. Faults of entries are in `wrong`."""
    ledger = Ledger()
    pages = tomllib.loads((folder / PAGES).read_text())
    ledger.pages, ledger.pending = pages["page"], pages["pending"]
    if (folder / SEEN).exists():
        ledger.seen = tomllib.loads((folder / SEEN).read_text())
    for path in sorted(folder.glob("*.toml")):
        if path.name in (PAGES, SEEN):
            continue
        document = tomllib.loads(path.read_text())
        ledger.plain += document.get("plain", [])
        for entry in document.get("promise", []):
            add(ledger, path.name, entry)
    return ledger


def add(ledger, file, entry):
    name = entry.get("id", "without an id")
    if unknown := sorted(set(entry) - KEYS):
        ledger.wrong.append(f"{file}: {name}: unknown fields: {', '.join(unknown)}")
    texts = entry.get("text", [])
    texts = (texts,) if isinstance(texts, str) else tuple(texts)
    reasons = {key: entry.get(key, "") for key in ("mutant", "unseen", "unjudged")}
    promise = Promise(name, texts, tuple(entry.get("judges", ())), **reasons)
    if "id" not in entry or not promise.texts:
        ledger.wrong.append(f"{file}: {name}: an entry needs id and text")
    if any(promise.id == other.id for other in ledger.promises):
        ledger.wrong.append(f"{file}: {name}: two entries have this id")
    ledger.promises.append(promise)


def keep_seen(seen, folder=HERE):
    """Writes seen.toml, in order of the ids."""
    tables = [f"[{name}]\n" + "".join(f"{key} = {quoted(seen[name][key])}\n" for key in ("mutant", "judge", "date"))
              for name in sorted(seen)]
    (folder / SEEN).write_text("\n".join([SEEN_HEAD, *tables]))


def quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
