"""Paths, the files that are mutated, and the levels that judge a mutant."""
import os
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
CACHE = Path(os.environ.get("LOCKSTEP_CACHE") or Path.home() / ".cache" / "lockstep").absolute()
# The folder of the tree's copies, their builds and the results. It is never committed.
STATE = Path(os.environ.get("LOCKSTEP_MUTANTS") or ROOT / "target" / "mutants").absolute()
SURVIVORS = HERE / "survivors.toml"
BY_HAND = HERE / "by-hand.toml"
SCORE = HERE / "README.md"

CARGO_MUTANTS = "27.1.0"

# The code of the protocol: it decides, writes, and stops or frees holders.
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
# Tests, and the conformance suite of stores.
NOT_RUST = ("**/tests/**", "**/tests.rs", "**/conformance.rs", "**/conformance/**")
DEFINITIONS = "statemachines/*.asl.json"

# Files that no level reads, so that a change of them keeps the results.
NOT_JUDGING = ("docs/", "benches/", "tests/mutants/", "tests/promises/", "tests/stack/", "tests/e2e/", "tests/cli/",
               "tests/integration/")

# Messages of tests that compare a number with a recorded one. A different number shows a change, but no
# broken promise, so such a verdict is `counted` and not `caught`.
COUNTS = ("the number of states has changed", "other answers come up than before", " times, but ")


@dataclass(frozen=True)
class Level:
    """One test binary.

    build       the arguments of `cargo test`
    profile     settings of the build's profile
    only        filters for the tests that judge; empty for all tests
    stack       whether the tests need the environment variables of a local stack
    fail_fast   whether the first failure ends a run; only for levels without recorded numbers
    """

    name: str
    build: tuple[str, ...]
    profile: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    stack: bool = False
    fail_fast: bool = False


# The profile of levels that run for seconds: optimising them takes longer than it saves.
QUICK = ("profile.dev.package.lockstep-core.opt-level=0",
         "profile.dev.package.lockstep-aws.opt-level=0", "profile.dev.package.lockstep-tests.opt-level=0",
         "profile.dev.debug=0")
# The unit level has a program for each crate. A mutant is judged by the program of its own crate.
CORE = Level("unit", ("-p", "lockstep-core", "--all-features", "--lib"), QUICK)
AWS = Level("unit", ("-p", "lockstep-aws", "--features", "aws,lambda,schema,test-util", "--lib"), QUICK)
OPERATE = Level("unit", ("-p", "lockstep-operate", "--all-features", "--lib"), QUICK)
WEAVE = Level("unit", ("-p", "lockstep-weave", "--lib"), QUICK)
COMMAND = Level("unit", ("-p", "lockstep-cli", "--bin", "lockstep"), QUICK)
CONTRACT = Level("contract", ("-p", "lockstep-tests", "--test", "contract"), QUICK, fail_fast=True)
PROPERTY = Level("property", ("-p", "lockstep-tests", "--test", "property"))
MODEL = Level("model", ("-p", "lockstep-tests", "--test", "model"))
# The profile of the simulation: the mutants of a definition share one build, and run the worlds hundreds of times.
OPTIMISED = ("profile.dev.package.lockstep-core.opt-level=3",
             "profile.dev.package.lockstep-aws.opt-level=3", "profile.dev.package.lockstep-tests.opt-level=3",
             "profile.dev.debug=0")
SIMULATION = Level("simulation", ("-p", "lockstep-tests", "--test", "simulation"), OPTIMISED)
# Tests that play one execution of the definition on scripted services, in milliseconds.
DEFINITION = Level("definition", SIMULATION.build, OPTIMISED, ("definition::",))
# The integration tests that compare the adapter to DynamoDB with the twin in memory. Storms and faults test other things.
ADAPTER = ("conformance", "agreement", "corrupt", "history", "requests", "lost_responses", "too_large",
           "failures", "ports::table")
INTEGRATION = Level("integration", ("-p", "lockstep-tests", "--test", "integration"), QUICK, ADAPTER, stack=True,
                    fail_fast=True)

# The levels of each kind of mutant, in order of cost. A level judges only the mutants that survived the levels before it. The
# levels before integration use the twin in memory, so they cannot judge the adapter to DynamoDB.
LEVELS = {
    "rust": (CORE, CONTRACT, PROPERTY, MODEL, SIMULATION),
    "service": (AWS, CONTRACT, SIMULATION),
    "operate": (OPERATE, CONTRACT, SIMULATION),
    "weave": (WEAVE, PROPERTY),
    "command": (COMMAND,),
    "adapter": (AWS, INTEGRATION),
    # The contract level reads only parts of a definition, so it runs after the simulation, though it is cheaper.
    "definition": (DEFINITION, SIMULATION, CONTRACT),
}
IN_ORDER = (DEFINITION, CORE, AWS, OPERATE, WEAVE, COMMAND, *LEVELS["rust"][1:], INTEGRATION)
ALL_LEVELS = tuple(dict.fromkeys(level.name for level in IN_ORDER))

# A run is stuck if it takes this many times the processor time of the unchanged tree, and at least the floor in seconds. The
# bound of wall-clock time is much higher, because it also counts other work on the machine.
CPU_FACTOR, CPU_FLOOR = 4, 20
WALL_FACTOR, WALL_FLOOR = 20, 180
# Most bytes of memory of a test program, so that a loop that allocates does not use up the machine's memory.
MEMORY = 6 << 30
STACK = 128 << 20


class Problem(Exception):
    """A fault that the user can correct. It is shown without a traceback."""


def say(message):
    print(message, file=sys.stderr, flush=True)
