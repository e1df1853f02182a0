"""A copy of the tree with a build of its own, in which mutants are tried one after another."""
import contextlib
import fcntl
import hashlib
import re
import shutil
import subprocess

from .settings import NOT_JUDGING, ROOT, STATE, Problem

HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class Slot:
    """One copy of the tree. As many processes can work side by side as there are slots."""

    def __init__(self, number):
        self.folder = STATE / f"slot-{number}"
        self.tree = self.folder / "tree"
        self.target = self.folder / "target"

    def read(self, file):
        """The file as it is in the checkout."""
        return (ROOT / file).read_text()

    def write(self, texts):
        """Puts these texts into the tree. A file that has its text already keeps its time."""
        for file, text in texts.items():
            path = self.tree / file
            if path.read_text() != text:
                path.write_text(text)

    @contextlib.contextmanager
    def mutated(self, mutant):
        """The tree with the mutant in it, and as it was afterwards."""
        path = self.tree / mutant.file
        before = path.read_text()
        path.write_text(mutant.text)
        try:
            yield
        finally:
            path.write_text(before)

    @contextlib.contextmanager
    def restored(self):
        """Brings the tree back to what it was before."""
        before = {path: path.read_text() for path in self.tree.rglob("*.rs")}
        try:
            yield
        finally:
            for path, text in before.items():
                if path.read_text() != text:
                    path.write_text(text)

    def sync(self):
        """Brings the copy up to the checkout. A file that is the same keeps its time, and its build."""
        wanted = files()
        for name in wanted:
            source, copy = ROOT / name, self.tree / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                # The new time is now, not the source's: a file that was switched back is new to cargo.
                shutil.copyfile(source, copy)
                shutil.copymode(source, copy)
        known = set(wanted)
        for copy in self.tree.rglob("*"):
            if copy.is_file() and str(copy.relative_to(self.tree)) not in known:
                copy.unlink()


@contextlib.contextmanager
def free_slot():
    """A slot that no other process works in, for as long as this one does."""
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
    raise Problem("too many runs at once")


def files():
    """The files of the checkout as git sees them, changed and new ones too."""
    done = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                          capture_output=True, text=True, check=True)
    return sorted(name for name in set(done.stdout.split("\0")) if name and (ROOT / name).is_file())


def fingerprint(tree):
    """What verdicts hang on: every file that is built into a level, or read by it."""
    total = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree))
        if path.is_file() and not name.startswith(NOT_JUDGING) and not name.endswith(".md"):
            total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return total.hexdigest()[:16]


def changed_since(base):
    """File → the numbers of the lines that the checkout has changed since `base`."""
    done = subprocess.run(["git", "diff", "--no-ext-diff", "--unified=0", base, "--"], cwd=ROOT, capture_output=True,
                          text=True)
    if done.returncode:
        raise Problem(f"git diff {base} failed: {done.stderr.strip()}")
    return changed_lines(done.stdout)


def changed_lines(diff):
    """The same from a diff without context. Where lines are gone, those on both sides have changed."""
    changed, file = {}, None
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ ").removeprefix("b/")
        elif hunk := HUNK.match(line):
            begin, count = int(hunk[1]), int(hunk[2] or 1)
            changed.setdefault(file, set()).update(range(begin, begin + max(count, 2 if count == 0 else 1)))
    return changed
