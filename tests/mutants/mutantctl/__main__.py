"""Command line of the mutation run."""
import argparse
import fnmatch
import signal
import sys
import unittest

from . import byhand, definition, rust, score, seen, survivors
from .mutant import numbered, shard
from .results import Results
from .run import Run
from .settings import ALL_LEVELS, DEFINITIONS, HERE, ROOT, SCORE, SURVIVORS, Problem, say
from .tree import changed_since, fingerprint, free_slot

DESCRIPTION = """Makes mutants of the protocol's code and of the definitions, and runs the fast test levels on each.
A run can be interrupted and resumed: verdicts are kept until the code or the tests change.
Parallel runs share the verdicts. Each works in its own copy of the tree, with its own build."""


def parse():
    parser = argparse.ArgumentParser(prog="mutants", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, about in (("run", "judge the mutants and print the score; fails for a survivor that is not justified"),
                        ("list", "print the mutants"),
                        ("report", "print the score and the survivors so far")):
        command = commands.add_parser(name, help=about)
        command.add_argument("--shard", metavar="K/N", help="only this part of the mutants, from 1/N to N/N")
        command.add_argument("--in-diff", metavar="BASE", help="only mutants of lines that have changed since this commit")
        command.add_argument("--only", metavar="TEXT", action="append", default=[],
                             help="only mutants with this text, such as the name of a file; * and ? are wildcards")
        command.add_argument("--kind", choices=("rust", "definition", "by-hand"), action="append")
        command.add_argument("--levels", default=",".join(ALL_LEVELS), help="only these levels (default %(default)s)")
        command.add_argument("--seeds", type=int, metavar="N", help="number of simulated worlds (default: that of the test)")
        command.add_argument("--trust", action="store_true",
                             help="also use verdicts of another tree, if the mutant's file is the same")
    command.add_argument("--write", action="store_true", help="write the score of all mutants to docs/mutants.md, even if some are open")
    command = commands.add_parser("seen", help="check that a judge of each promise fails on the mutant that the promise names")
    command.add_argument("--only", metavar="TEXT", action="append", default=[], help="only promises with this text in their id or mutant")
    command.add_argument("--levels", default=",".join(seen.LEVELS), help="only judges of these levels (default %(default)s)")
    commands.add_parser("test", help="test mutantctl itself")
    return parser.parse_args()


def main():
    options = parse()
    if options.command == "test":
        found = unittest.defaultTestLoader.discover(HERE / "mutantctl" / "tests", top_level_dir=HERE)
        return 0 if unittest.TextTestRunner(verbosity=0).run(found).wasSuccessful() else 1
    if options.command == "seen":
        with free_slot() as slot:
            ours, wrong = by_hand(slot.tree)
            if wrong:
                raise Problem(wrong[0])
            return seen.main(slot, ours, fingerprint(slot.tree), options.only, levels_of(options.levels, seen.LEVELS))
    levels = levels_of(options.levels, ALL_LEVELS)
    reasons = survivors.load()
    with free_slot() as slot:
        every, wrong = collected(slot.tree)
        chosen = selected(every, options)
        tree = fingerprint(slot.tree)
        if options.command == "list":
            print("\n".join(f"{mutant.id} {mutant}" for mutant in chosen))
            return 0
        say(f"{len(chosen)} of {len(every)} mutants, tree {tree}, in {slot.folder}")
        if options.command == "run":
            Run(slot, chosen, tree, levels, options.seeds, options.trust).all()
    return report(every, chosen, tree, reasons, wrong, options)


def levels_of(text, known):
    """Returns the levels that an option names."""
    levels = text.split(",")
    if not set(levels) <= set(known):
        raise Problem(f"--levels is {text}, but must be levels out of {','.join(known)}, separated by commas")
    return levels


def collected(tree):
    """Returns all mutants of the tree, and the faults of the list of by-hand mutants."""
    found = rust.mutants(tree)
    for path in sorted(tree.glob(DEFINITIONS)):
        found += definition.mutants(str(path.relative_to(tree)), path.read_text())
    ours, wrong = by_hand(tree)
    # Mutants of pages and templates are only for `seen`, which knows the tests that read them.
    return numbered(found + [mutant for mutant in ours if mutant.levels != "text"]), wrong


def by_hand(tree):
    return byhand.mutants(lambda file: (tree / file).read_text() if (tree / file).is_file() else None)


def selected(every, options):
    """Returns the mutants that the options select."""
    found = every
    if options.in_diff:
        changed = changed_since(options.in_diff)
        found = [mutant for mutant in found if mutant.is_in(changed)]
    if options.kind:
        found = [mutant for mutant in found if mutant.kind in options.kind]
    if options.only:
        found = [mutant for mutant in found
                 if any(fnmatch.fnmatch(f"{mutant.id} {mutant}", f"*{text}*") for text in options.only)]
    return shard(found, options.shard)


def report(every, chosen, tree, reasons, wrong, options):
    """Prints the score of the chosen mutants. Writes docs/mutants.md if all mutants have a verdict."""
    strict = options.command == "run"
    results = Results(tree, trust=options.trust)
    verdicts = [results.of(mutant) for mutant in chosen]
    print(score.text(verdicts, reasons))
    for verdict in verdicts:
        if verdict.state in ("counted", "missed", "survives"):
            print(f"\n# {verdict.state}{' by ' + verdict.why if verdict.counted else ''}, {verdict.mutant.id}")
            print(survivors.entry(verdict.mutant))
    complaints = wrong + survivors.complaints(verdicts, reasons, {mutant.key for mutant in every})
    for complaint in complaints:
        say(f"mutants: {complaint}")
    whole = [results.of(mutant) for mutant in every]
    done = strict and all(verdict.state not in ("unknown", "survives") for verdict in whole)
    if done or getattr(options, "write", False):
        score.write(whole, reasons)
        say(f"mutants: the score is in {SCORE.relative_to(ROOT)}")
    if complaints:
        say(f"mutants: write a test, or write into {SURVIVORS.name} why no test is possible")
    return 1 if complaints and strict else 0


def interrupt(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    # A background process ignores SIGINT by default. Both signals end the run and restore the tree.
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        sys.exit(main())
    except Problem as problem:
        print(f"mutants: {problem}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
