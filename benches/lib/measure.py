"""The measurements. Every round measures all subjects, so that a busy minute of the machine slows down all of them."""
import statistics
import subprocess
import zipfile

from lib.quota import PERIOD_US, SHARE, Quota
from lib.rows import Samples
from lib.subjects import BARE, FUNCTIONS, NODE, PYTHON, RIVALS, ROOT, archive

CALLS = 200
ACQUIRES = ["acquire-lock", *RIVALS]
WALL, CPU = "spawn to first answer", "CPU of init and first answer"
HELD = "spawn to first answer, under the quota from the start"
RELAXED = "first answer, under the quota after a free init"


def start_once(samples, subject):
    """Measures one process from its spawn to its first answer."""
    event = subject.event()
    with subject.start() as process:
        wall, cpu = process.ready()
        call, total, _ = process.invoke(event)
        samples.add(WALL, subject.name, "ms", wall + call)
        samples.add(CPU, subject.name, "ms", total)
        samples.add("spawn to the request for an event (init)", subject.name, "ms", wall)
        samples.add("CPU of init", subject.name, "ms", cpu)
        samples.add("first answer", subject.name, "ms", call)


def starts(subjects, world, rounds, progress):
    """Measures cold starts of all functions and rivals."""
    samples, order = Samples(), [subjects[name] for name in [*FUNCTIONS, *RIVALS]]
    order += [subjects.trusting(name, "SSL_CERT_FILE is the bundle", world.bundle) for name in ("acquire-lock", BARE)]
    order.append(subjects.trusting(BARE, "SSL_CERT_FILE has six roots", world.roots))
    start_each(Samples(), order)  # not recorded: fills the page cache, and lets DynamoDB Local compile its code
    for number in range(rounds):
        progress(f"cold start, round {number + 1} of {rounds}")
        start_each(samples, order)
    return samples


def start_each(samples, order):
    for subject in order:
        start_once(samples, subject)


def first_quota(quota):
    """Returns a function that puts the child under the quota between fork and exec."""
    return lambda: quota.hold(0)


def throttled(subjects, rounds, progress):
    """Measures an acquire with the CPU of 128 MB. Returns None if no control group can be made."""
    quota = Quota()
    if not quota.available:
        return None
    samples = Samples()
    try:
        for number in range(rounds):
            progress(f"under the quota, round {number + 1} of {rounds}")
            for name in ACQUIRES:
                throttle_once(samples, subjects[name], quota)
    finally:
        quota.close()
    return samples


def throttle_once(samples, subject, quota):
    with subject.start(first_quota(quota)) as process:
        wall, _ = process.ready()
        call, _, _ = process.invoke(subject.event())
        samples.add(HELD, subject.name, "ms", wall + call)
    with subject.start() as process:
        process.ready()
        quota.hold(process.child.pid)
        call, _, _ = process.invoke(subject.event())
        samples.add(RELAXED, subject.name, "ms", call)


def warm(subjects, rounds, progress):
    """Makes 200 calls of each subject in a new process. Returns the samples of calls and those of memory."""
    calls, memory = Samples(), Samples()
    for number in range(rounds):
        progress(f"warm calls, round {number + 1} of {rounds}")
        for name in [*FUNCTIONS, *RIVALS]:
            warm_once(calls, memory, subjects[name])
    return calls, memory


def warm_once(calls, memory, subject):
    walls, cpus = [], []
    with subject.start() as process:
        process.ready()
        for number in range(CALLS):
            wall, _, _ = process.invoke(subject.event())
            _, cpu = process.ready()
            walls.append(wall)
            cpus.append(cpu)
            if number == 0:
                memory.add("resident set after the first call", subject.name, "MB", process.resident_mb())
        memory.add(f"resident set after {CALLS} calls", subject.name, "MB", process.resident_mb())
    ordered = sorted(walls[1:])
    calls.add("warm call, p50", subject.name, "ms", statistics.median(ordered))
    calls.add("warm call, p99", subject.name, "ms", ordered[int(len(ordered) * 0.99)])
    calls.add("CPU of a warm call", subject.name, "ms", (cpus[-1] - cpus[0]) / (CALLS - 1))


def sizes(samples):
    """Adds the sizes of zip and binary and the number of linked crates for each Rust function. view has the zip of operate."""
    for name in [*FUNCTIONS[:-1], BARE]:
        source = archive(name)
        samples.add("zip", name, "MB", round(source.stat().st_size / 1e6, 3))
        samples.add("binary", name, "MB", round(zipfile.ZipFile(source).getinfo("bootstrap").file_size / 1e6, 3))
        samples.add("linked crates", name, "", linked_crates(name))


def linked_crates(name):
    folder = ROOT / "benches/rivals/bare-lambda" if name == BARE else ROOT
    package = [] if name == BARE else ["-p", name]
    edges = ["-e", "normal,no-proc-macro"]
    command = ["cargo", "tree", "--locked", *package, *edges, "--prefix", "none", "--format", "{p}"]
    tree = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return len({line.removesuffix(" (*)") for line in tree.stdout.splitlines() if line})


def cost(samples, rival, figure=CPU):
    """Returns the cost of a rival divided by that of acquire-lock."""
    return samples.median(figure, rival) / samples.median(figure, "acquire-lock")


def times(samples, figure=CPU):
    """Returns a sentence that compares Python and Node with acquire-lock."""
    python, node = cost(samples, PYTHON, figure), cost(samples, NODE, figure)
    return f"Of *{figure}* Python takes {python:.1f} times as much as acquire-lock, Node {node:.1f} times."


def quota_text():
    time = f"{PERIOD_US / 1000 * SHARE:.2f} ms of CPU every {PERIOD_US // 1000} ms"
    return f"{time} ({SHARE:.3f} of a core, as a Lambda of 128 MB)"
