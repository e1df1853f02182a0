"""Copies of the tree, each with its own build, in which mutants are tried one after the other."""
import contextlib
import fcntl
import hashlib
import re
import shutil
import subprocess

from .settings import NOT_JUDGING, ROOT, STATE, Problem

HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class Slot:
    """One copy of the tree. Each process works in its own slot."""

    def __init__(self, number):
        self.folder = STATE / f"slot-{number}"
        self.tree = self.folder / "tree"
        self.target = self.folder / "target"

    def read(self, file):
        """Returns the text of a file in the checkout."""
        return (ROOT / file).read_text()

    def write(self, texts):
        """Writes the texts into the tree. A file with the same text keeps its modification time."""
        for file, text in texts.items():
            path = self.tree / file
            if path.read_text() != text:
                path.write_text(text)

    @contextlib.contextmanager
    def mutated(self, mutant):
        """Writes the mutant into the tree, and restores the file at the end."""
        path = self.tree / mutant.file
        before = path.read_text()
        path.write_text(mutant.text)
        try:
            yield
        finally:
            path.write_text(before)

    @contextlib.contextmanager
    def restored(self):
        """Restores all Rust files of the tree at the end."""
        before = {path: path.read_text() for path in self.tree.rglob("*.rs")}
        try:
            yield
        finally:
            for path, text in before.items():
                if path.read_text() != text:
                    path.write_text(text)

    def sync(self):
        """Updates the copy from the checkout. A file that is the same keeps its modification time, so cargo does not rebuild it."""
        wanted = files()
        for name in wanted:
            source, copy = ROOT / name, self.tree / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                # The modification time becomes now, not that of the source: cargo must rebuild a file that was changed back.
                shutil.copyfile(source, copy)
                shutil.copymode(source, copy)
        known = set(wanted)
        for copy in self.tree.rglob("*"):
            if copy.is_file() and str(copy.relative_to(self.tree)) not in known:
                copy.unlink()


@contextlib.contextmanager
def free_slot():
    """Yields a slot that no other process uses, and locks it until the end."""
    STATE.mkdir(parents=True, exist_ok=True)
    for number in range(64):
        slot = Slot(number)
        slot.folder.mkdir(exist_ok=True)
        with open(slot.folder / "lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            slot.sync()
            yield slot
            return
    raise Problem(f"all 64 slots in {STATE} are in use: wait for a run to end")


def files():
    """Returns the files of the checkout, with new ones, but without those that git ignores."""
    done = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                          capture_output=True, text=True, check=True)
    return sorted(name for name in set(done.stdout.split("\0")) if name and (ROOT / name).is_file())


def fingerprint(tree):
    """Returns a hash of all files on which verdicts depend: those that are built into a level, or that its tests read."""
    total = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if path.is_file() and not name.startswith(NOT_JUDGING) and not name.endswith(".md"):
            total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return total.hexdigest()[:16]


def changed_since(base):
    """Returns by file the numbers of the lines that have changed since `base`."""
    done = subprocess.run(["git", "diff", "--no-ext-diff", "--unified=0", base, "--"], cwd=ROOT, capture_output=True,
                          text=True)
    if done.returncode:
        raise Problem(f"git diff {base} failed: {done.stderr.strip()}")
    return changed_lines(done.stdout)


def changed_lines(diff):
    """Returns by file the numbers of the changed lines in a diff without context. Removed lines count as a change of both neighbours."""
    changed, file = {}, None
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ ").removeprefix("b/")
        elif hunk := HUNK.match(line):
            begin, count = int(hunk[1]), int(hunk[2] or 1)
            changed.setdefault(file, set()).update(range(begin, begin + max(count, 2 if count == 0 else 1)))
    return changed
