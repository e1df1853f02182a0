"""Reads survivors.toml: the mutants that no test can notice, each with the reason."""
import tomllib

from .settings import SURVIVORS, Problem

FIELDS = {"file", "scope", "change", "line", "ordinal", "reason"}


def load(path=SURVIVORS):
    """Returns the reasons of the justified survivors by the keys of the mutants."""
    entries = tomllib.loads(path.read_text()).get("survivor", []) if path.exists() else []
    reasons = {}
    for entry in entries:
        if not entry.get("reason", "").strip() or not {"file", "change"} <= set(entry) <= FIELDS:
            raise Problem(f"{path.name}: an entry needs file, change and reason, and may have scope, line, "
                          f"ordinal: {entry}")
        key = (entry["file"], entry.get("scope", ""), entry["change"], entry.get("line", ""), entry.get("ordinal", 1))
        if key in reasons:
            raise Problem(f"{path.name}: two entries have the key {key}")
        reasons[key] = entry["reason"]
    return reasons


def complaints(verdicts, reasons, known):
    """Returns the faults of the list. `verdicts` are those of this run, and `known` are the keys of all mutants."""
    found = [f"listed, but there is no such mutant: {' · '.join(map(str, key))}" for key in reasons if key not in known]
    for verdict in verdicts:
        listed = verdict.mutant.key in reasons
        if verdict.state == "missed" and not listed:
            found.append(f"survives: {verdict.mutant}")
        elif listed and verdict.state not in ("missed", "survives", "unknown"):
            by = verdict.level or verdict.counted
            found.append(f"listed as a survivor, but {verdict.state} by {by}: {verdict.mutant}")
        if verdict.mutant.kind == "by-hand" and verdict.state == "unviable":
            found.append(f"does not compile, so no test can judge it ({verdict.why}): {verdict.mutant}")
    return found


def entry(mutant):
    """Returns an entry of the list for a survivor, with an empty reason."""
    lines = ["[[survivor]]", f"file = {quoted(mutant.file)}"]
    for name in ("scope", "change", "line"):
        if getattr(mutant, name):
            lines.append(f"{name} = {quoted(getattr(mutant, name))}")
    if mutant.ordinal > 1:
        lines.append(f"ordinal = {mutant.ordinal}")
    return "\n".join([*lines, 'reason = ""'])


def quoted(text):
    """Returns a TOML string, as a literal string if possible."""
    return f"'{text}'" if "'" not in text else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
