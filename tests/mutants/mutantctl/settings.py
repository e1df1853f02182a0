"""Paths, the files that are mutated, and the levels that judge a mutant."""
import os
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
CACHE = Path(os.environ.get("LOCKSTEP_CACHE") or Path.home() / ".cache" / "lockstep").absolute()
# Copies of the tree, their builds and the results: outside the tree that is tested, never committed.
STATE = Path(os.environ.get("LOCKSTEP_MUTANTS") or ROOT / "target" / "mutants").absolute()
SURVIVORS = HERE / "survivors.toml"
BY_HAND = HERE / "by-hand.toml"
SCORE = HERE / "README.md"

CARGO_MUTANTS = "27.1.0"

# The protocol: what decides, what writes, and what stops or frees a holder.
RUST = (
    "core/src/domain/**/*.rs",
    "core/src/protocol.rs",
    "core/src/protocol/**/*.rs",
    "core/src/recovery.rs",
    "core/src/recovery/**/*.rs",
    "core/src/store.rs",
    "core/src/store/**/*.rs",
    "shared/src/store/**/*.rs",
    "shared/src/service.rs",
    "shared/src/service/**/*.rs",
    "operate/src/acts.rs",
    "operate/src/acts/**/*.rs",
    "operate/src/pages.rs",
)
# Tests, and the suite that judges stores.
NOT_RUST = ("**/tests/**", "**/tests.rs", "**/conformance.rs", "**/conformance/**")
DEFINITIONS = "statemachines/*.asl.json"

# What has no say in the verdict of a level, so that a change of it keeps the results.
NOT_JUDGING = ("docs/", "benches/", "tests/mutants/", "tests/promises/", "tests/stack/", "tests/e2e/", "tests/cli/",
               "tests/integration/")

# What a test says that compares a number with the one recorded before. A count that differs shows a
# change, but no broken promise, so such a verdict is kept apart.
COUNTS = ("the number of states has changed", "other answers come up than before", " times, but ")


@dataclass(frozen=True)
class Level:
    """One test binary: `cargo test` with `build`, and with the settings of `profile`.

    `only` are the tests of it that judge. A level with a stack takes the stack's variables along. The first
    failure ends a run that is `fail_fast`: only levels without recorded numbers may be."""

    name: str
    build: tuple[str, ...]
    profile: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    stack: bool = False
    fail_fast: bool = False


# These two are over in seconds: optimising them costs more than it saves.
QUICK = ("profile.dev.package.lockstep-core.opt-level=0",
         "profile.dev.package.lockstep-aws.opt-level=0", "profile.dev.package.lockstep-tests.opt-level=0",
         "profile.dev.debug=0")
# The unit level has a program for each crate. A mutant meets that of its own one.
CORE = Level("unit", ("-p", "lockstep-core", "--all-features", "--lib"), QUICK)
AWS = Level("unit", ("-p", "lockstep-aws", "--features", "aws,lambda,schema,test-util", "--lib"), QUICK)
OPERATE = Level("unit", ("-p", "lockstep-operate", "--all-features", "--lib"), QUICK)
WEAVE = Level("unit", ("-p", "lockstep-weave", "--lib"), QUICK)
COMMAND = Level("unit", ("-p", "lockstep-cli", "--bin", "lockstep"), QUICK)
CONTRACT = Level("contract", ("-p", "lockstep-tests", "--test", "contract"), QUICK, fail_fast=True)
PROPERTY = Level("property", ("-p", "lockstep-tests", "--test", "property"))
MODEL = Level("model", ("-p", "lockstep-tests", "--test", "model"))
# A definition's mutants share one build and run the worlds hundreds of times.
OPTIMISED = ("profile.dev.package.lockstep-core.opt-level=3",
             "profile.dev.package.lockstep-aws.opt-level=3", "profile.dev.package.lockstep-tests.opt-level=3",
             "profile.dev.debug=0")
SIMULATION = Level("simulation", ("-p", "lockstep-tests", "--test", "simulation"), OPTIMISED)
# One execution of the definition at a time, on scripted services: milliseconds.
DEFINITION = Level("definition", SIMULATION.build, OPTIMISED, ("definition::",))
# What says that the adapter does to DynamoDB what the twin in memory does; storms and faults say other things.
ADAPTER = ("conformance", "agreement", "corrupt", "history", "requests", "lost_responses", "too_large",
           "failures", "ports::table")
INTEGRATION = Level("integration", ("-p", "lockstep-tests", "--test", "integration"), QUICK, ADAPTER, stack=True,
                    fail_fast=True)

# In order of cost: a mutant goes on to the next level only if it survives this one. The levels below the
# integration run on the twin in memory, so they do not see the adapter to DynamoDB.
LEVELS = {
    "rust": (CORE, CONTRACT, PROPERTY, MODEL, SIMULATION),
    "service": (AWS, CONTRACT, SIMULATION),
    "operate": (OPERATE, CONTRACT, SIMULATION),
    "weave": (WEAVE, PROPERTY),
    "command": (COMMAND,),
    "adapter": (AWS, INTEGRATION),
    # The contract level reads little of a definition, so the dearer level goes first.
    "definition": (DEFINITION, SIMULATION, CONTRACT),
}
IN_ORDER = (DEFINITION, CORE, AWS, OPERATE, WEAVE, COMMAND, *LEVELS["rust"][1:], INTEGRATION)
ALL_LEVELS = tuple(dict.fromkeys(level.name for level in IN_ORDER))

# A test that needs this many times the processor time of the unchanged tree is stuck, and never less
# than the floor in seconds. Other work on the machine does not count, so the wall is far behind.
CPU_FACTOR, CPU_FLOOR = 4, 20
WALL_FACTOR, WALL_FLOOR = 20, 180
# A loop that allocates must not take the machine's memory.
MEMORY = 6 << 30
STACK = 128 << 20


class Problem(Exception):
    """A condition that the user can act on; shown without a traceback."""


def say(message):
    print(message, file=sys.stderr, flush=True)
