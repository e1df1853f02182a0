"""Twenty teams on one Lockstep stack: what they may do, and that everything fits into AWS's quotas."""
import collections
import functools
import sys
import time

import first_edit
import quotas
import rights
import runs
import stacks
from evaluate import stack_outputs
from stackctl.settings import ROOT

PAGE = ROOT / "docs" / "teams.md"
BEGIN, END = "<!-- figures of tests/teams/prove -->\n", "<!-- end of the figures -->\n"


def main():
    begin = time.monotonic()
    deployed = stacks.deploy_all()
    theirs = collections.Counter(kind for team in stacks.ALL for kind, _ in quotas.resources(f"{team.name}-batches"))
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(theirs.items()))
    print(f"teams: {len(stacks.ALL)} with {listed} in {time.monotonic() - begin:.0f} s", flush=True)
    outputs = functools.cache(lambda team: stack_outputs(team.stack))
    wrong = [*rights.wrong(stack_outputs("lockstep"), stack_outputs("lockstep-fixture"), outputs), *runs.wrong()]
    sizes, fits = quotas.largest(deployed), quotas.teams_that_fit("lockstep")
    wrong += quotas.wrong(sizes)
    wrong += first_edit.wrong()
    for what, (quota, _) in quotas.SIZES.items():
        print(f"teams: {what}: {sizes[what]} of {quota}")
    before, _, after = PAGE.read_text().partition(BEGIN)
    page = before + BEGIN + quotas.page(sizes, fits) + END + after.partition(END)[2]
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page)
    elif page != PAGE.read_text():
        wrong.append("docs/teams.md has other figures: run tests/teams/prove --write")
    for line in wrong:
        print(f"teams: WRONG: {line}")
    print(f"teams: {len(wrong)} wrong, in {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
