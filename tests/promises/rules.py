"""Checks the rules of the ledger of promises. Each rule yields a line for each fault."""
import difflib
import re
import sys

import judges
from ledger import ROOT
from pages import statements

sys.path.insert(0, str(ROOT / "tests" / "mutants"))
from mutantctl import byhand, seen  # noqa: E402

KINDS = ("covered", "pending", "none")
NOT_TESTED = "Not tested here: "
# The prefix of a mutant that is a fault of the model. The tests of the model find these faults in each run.
MODEL = "model "
MODEL_FAULT = re.compile(r"=> (\w+),")


def complaints_of(ledger, root):
    """Returns a line for each fault."""
    found = {page: read(root, page) for page in ledger.pages}
    return [*ledger.wrong, *of_pages(ledger, root, found), *of_statements(ledger, found), *of_entries(ledger, found, root),
            *of_mutants(ledger, root),
            *of_unseen(ledger), *of_seen(ledger)]


def read(root, page):
    path = root / page
    return statements(page, path.read_text()) if path.is_file() else []


def of_pages(ledger, root, found):
    """Checks that pages.toml lists each page and each section, and only those that exist."""
    exist = {str(path.relative_to(root)) for path in [root / "README.md", *root.glob("docs/**/*.md")] if path.is_file()}
    named = [*ledger.pages, *ledger.pending]
    for page in sorted(exist ^ set(named)):
        yield f"{page} is " + ("neither covered nor pending in pages.toml" if page in exist else "in pages.toml, but does not exist")
    for page, lists in ledger.pages.items():
        sections = {statement.section for statement in found[page]}
        for section in sorted(sections ^ {section for kind in KINDS for section in lists[kind]}):
            yield f"{page}: section \"{section}\" is " + (
                "in no list of pages.toml" if section in sections else "in pages.toml, but not on the page")


def known(ledger):
    """Returns all statements that the ledger has."""
    return {text for promise in ledger.promises for text in (*promise.texts, promise.unjudged)} | set(ledger.plain)


def of_statements(ledger, found):
    """Checks that each statement of a covered section has an entry, and that each text of the ledger is on a page."""
    texts = known(ledger)
    everywhere = {statement.text for page in found.values() for statement in page}
    for page, lists in ledger.pages.items():
        for statement in found[page]:
            if statement.section in lists["covered"] and statement.text not in texts:
                yield f"{page}: \"{statement.section}\": no entry has: {statement.text}"
    for name, text in [(promise.id, text) for promise in ledger.promises for text in promise.texts] + [
            ("plain", text) for text in ledger.plain]:
        if text not in everywhere:
            near = difflib.get_close_matches(text, everywhere, 1, 0.5)
            yield f"{name}: on no page: {text}" + (f" (most similar: {near[0]})" if near else "")


def of_entries(ledger, found, root):
    for promise in ledger.promises:
        if bool(promise.judges) == bool(promise.unjudged):
            yield f"{promise.id}: needs either judges, or unjudged with the sentence of its page that calls it untested"
        for judge in promise.judges:
            if complaint := judges.complaint(judge, root):
                yield f"{promise.id}: {judge}: {complaint}"
        if promise.unjudged:
            pages = [{statement.text for statement in page} for page in found.values()]
            if not promise.unjudged.startswith(NOT_TESTED):
                yield f"{promise.id}: unjudged must be a sentence of its page that begins with \"{NOT_TESTED.strip()}\""
            elif not any(promise.unjudged in page and text in page for page in pages for text in promise.texts):
                yield f"{promise.id}: its page does not have the sentence: {promise.unjudged}"


def mutant_levels(root):
    """Returns the levels whose tests can notice a mutant, by the name of each mutant that an entry may have."""
    found, _ = byhand.mutants(lambda file: (root / file).read_text() if (root / file).is_file() else None,
                              root / "tests" / "mutants" / "by-hand.toml")
    faults = MODEL_FAULT.findall((root / "tests" / "model" / "cases" / "mutants.rs").read_text())
    return {mutant.change: sees(mutant) for mutant in found} | {f"{MODEL}{fault}": {"model"} for fault in faults}


# The crates above the protocol, and the levels that are built with their code.
UPPER = {"command": {"command"}, "weave": {"weave", "command", "property"}}


def sees(mutant):
    """Returns the first words of the judges that can fail on this mutant. Unit tests of a crate also test the crates below it."""
    crate = mutant.file.split("/")[0]
    if mutant.levels == "definition":
        return {"simulation", "contract", judges.INFRA}
    if mutant.levels == "text":
        return {"contract", "command", judges.INFRA}
    if mutant.levels == "adapter":
        return {crate, "integration"}
    if mutant.levels in UPPER:
        return UPPER[mutant.levels]
    return {crate, "command", "contract", "simulation"} | ({"property", "model"} if crate == "core" else set())


def of_mutants(ledger, root):
    levels = mutant_levels(root)
    for promise in ledger.promises:
        if promise.mutant and promise.mutant not in levels:
            yield f"{promise.id}: there is no mutant \"{promise.mutant}\""
        elif promise.mutant and not levels[promise.mutant] & {judges.level(judge) for judge in promise.judges}:
            yield (f"{promise.id}: none of its judges is on a level that \"{promise.mutant}\" reaches: "
                   f"{', '.join(sorted(levels[promise.mutant]))}")


def of_unseen(ledger):
    """Checks that a promise with judges has either a mutant, or the reason why none can be tried.

    A promise with a judge on a level that `make promises-seen` runs needs a mutant.
    """
    for promise in ledger.promises:
        levels = sorted({judges.level(judge) for judge in promise.judges} & set(seen.LEVELS))
        if promise.mutant and promise.unseen:
            yield f"{promise.id}: has both a mutant and unseen, the reason why it has none"
        elif promise.judges and not promise.mutant and levels:
            yield f"{promise.id}: needs a mutant, since it has a judge on a level that `make promises-seen` runs: {', '.join(levels)}"
        elif not promise.unjudged and bool(promise.judges) != bool(promise.mutant or promise.unseen):
            yield f"{promise.id}: needs a mutant, or unseen with the reason why none can be tried on its judges"


def of_seen(ledger):
    """Checks that seen.toml matches the entries, and that each mutant was noticed. The model finds its own faults in each run."""
    current = {promise.id for promise in ledger.promises if ledger.has_seen(promise)}
    for name in sorted(ledger.seen):
        if name not in current:
            yield f"{name}: seen.toml has another mutant or judge than its entry: run `make promises-seen`"
    for promise in ledger.promises:
        if promise.mutant and not promise.mutant.startswith(MODEL) and promise.id not in ledger.seen:
            yield f"{promise.id}: none of its judges was seen to fail on its mutant: run `make promises-seen`"
