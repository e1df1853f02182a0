"""Answers the questions of docs/transcripts.md, each by one command. The page shows what the commands printed."""
import sys
import textwrap
import time

import situations
from situations import ROOT, lockstep, short

PAGE = ROOT / "docs" / "transcripts.md"
HEAD = """# Transcripts

Questions of a bad night, each with the command that answers it and what it printed. `tests/transcripts/record` makes each
situation on the local stack, runs the command and compares the answer; `--write` writes this page. What the columns mean:
[operators.md](operators.md).
"""
NOTE = ["--note", "database upgrade"]
# The most columns of a printed line. A terminal on a laptop has that many.
COLUMNS = 120


def questions():
    """Yields (question, function that prepares the stack or None, command, exit code, texts that the output must have)."""
    day = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime())
    yield ("Why does nothing run: is a lock stuck?", lambda: situations.stuck("invoices"),
           lambda: ["locks", "--state", "frozen"], 0, ["invoices", "frozen", "maxRunSeconds"])
    # The expected texts name no lock, because other locks of the stack may have faults too.
    yield ("Is anything else wrong with the stack?", None,
           lambda: ["doctor"], 1, ["clock", "function Reaper: Active", "frozen or unreadable", "lockstep resume LOCK"])
    yield ("It is frozen. What has to be done?", None,
           lambda: ["show", "invoices"], 0, ["The lock is frozen:", "(maxRunSeconds)", "First", "--force"])
    yield ("It was checked. How is the run ended, and the lock freed?", None,
           lambda: ["evict", "invoices", short("invoices"), "--force", "--note", "hangs since 3:00"], 0, ["invoices"])
    yield ("And the lock opened again?", None,
           lambda: ["resume", "invoices", "--note", "checked, nothing is at work"], 0, ["resumed: 1"])
    yield ("The report was skipped three times. Who holds its lock?", lambda: situations.skipped("report"),
           lambda: ["show", "report"], 0, ["held", "RUNNING", "Its release frees the permit", "starts skipped since the latest grant: 3"])
    yield ("The import has run for a while. Does it hang?", lambda: situations.slow("import"),
           lambda: ["show", "import"], 0, ["takes longer than usual", "median of 3 successes", "runs"])
    yield ("It hangs. How is it ended?", lambda: situations.held_for("import", 60),
           lambda: ["evict", "import", "--force", "--note", "hangs"], 0, ["import"])
    yield ("Which starts of it got no permit, and why?", None,
           lambda: ["history", "report"], 0, ["skipped", "  3  ", "held by"])
    yield ("The queue grows. Who waits, and what for?", lambda: situations.queued("orders"),
           lambda: ["show", "orders"], 0, ["held", "WAITER"])
    yield ("A run says Lockstep.LeaseLost. What happened to its permit?", lambda: situations.lost("backup"),
           lambda: ["history", "backup"], 0, ["lost", "maxRunSeconds"])
    yield ("A mail says Lockstep Run Missing. When did the batch last succeed?", lambda: situations.missing("accounts"),
           lambda: ["show", "accounts"], 0, ["last success", "success missing since", "succeeded"])
    yield ("What ran last night, over all locks?", lambda: (situations.ran("export"), situations.failed("ledger")),
           lambda: ["history", "--since", "12h"], 0, ["succeeded", "failed", "skipped", "ledger", "export"])
    yield ("What of it failed?", None,
           lambda: ["history", "--failed", "--since", "12h"], 0, ["ledger", "failed", "exit code 3: ", "lost"])
    yield ("ECS reports a task that failed. Which run was it?", None,
           lambda: ["history", "--task", situations.task_of("ledger")], 0, ["ledger", "failed"])
    yield ("How did the runs of the last weeks end?", None,
           lambda: ["history", "export", "--from", "2026-01-01T00:00:00Z", "--output", "csv"], 0, ["succeeded", "export"])
    yield ("The database goes down tonight. How are locks closed, and their runs waited for?",
           lambda: (situations.idle("nightly/a"), situations.at_work("nightly/b", seconds=15),
                    situations.listed("nightly/a", "nightly/b")),
           lambda: ["pause", "--prefix", "nightly/", "--drain", *NOTE], 0, ["paused: 2"])
    yield ("Who has paused these locks, and why?", None,
           lambda: ["locks", "nightly/"], 0, ["paused", "database upgrade (by jo@example.com)"])
    yield ("What did operators do today?", None,
           lambda: ["history", "--prefix", "nightly/", "--from", day], 0, ["paused", "jo@example.com"])
    yield ("The maintenance is over.", None,
           lambda: ["resume", "--prefix", "nightly/", "--note", "upgrade done"], 0, ["resumed: 2"])
    yield ("EventBridge had an outage. Which ticks came to nothing?", lambda: situations.outage("ledger-close"),
           lambda: ["audit", "ledger-close", "--since", "12h"], 0, ["2 of ", "had no start", "ledger-close-tick"])
    yield ("The statements of 2:00 never came. How are they run now, as they would have been?",
           lambda: situations.scheduled("statements"),
           lambda: ["start", "statements", "--schedule", "statements", "--scheduled-time", "2026-03-01T02:00:00Z", "--yes",
                    "--note", "the tick never came"], 0, ["started", "at 2026-03-01T02:00:00Z"])
    yield ("The export has to run now, once more.", None,
           lambda: ["start", "export", "--yes", "--note", "the file was late"], 0, ["started", "with the"])
    yield ("Everything has to stop, also batches that have not run yet.", None,
           lambda: ["pause", "--all", "--note", "the database is restored"], 0, ["locks that have not run yet are paused"])
    yield ("A batch was deployed in between. Why did it not run?", lambda: situations.ask_once("fresh"),
           lambda: ["history", "fresh"], 0, ["skipped", "is paused: the database is restored"])
    yield ("The database is back.", None,
           lambda: ["resume", "--all", "--note", "restored"], 0, ["locks that have not run yet are open"])
    yield ("A new batch is to run under a lock. What does that need?", None,
           lambda: ["init", "--cluster", situations.FIXTURE["ClusterArn"].rpartition("/")[2], "--task-definition", "lockstep-fixture-batch:1",
                    "--lock", "nightly-report", "--subnets", "subnet-1", "--security-groups", "sg-1", "--schedule", "cron(0 6 * * ? *)",
                    "--timezone", "Europe/Berlin", "--max-run", "2h"], 0,
           ["wrote", "nightly-report.yaml", "sam deploy", "lockstep doctor"])
    yield ("May its task run?", lambda: situations.cluster("elsewhere"),
           lambda: ["doctor", "--task-definition", "lockstep-fixture-batch:1", "--cluster", "elsewhere"], 1,
           ["ok      task definition", "ok      roles of the task", "matches no entry of ClusterArns"])
    yield ("Runs fail with Lockstep.Unavailable. What does the table say?", situations.throttled,
           lambda: ["locks"], 69, ["Lockstep.Unavailable", "Throttl"])


def answer(question, prepare, command, code, expected):
    """Runs the command of a question. Returns the section of the page, and the faults of the output."""
    if prepare:
        prepare()
    words = command()
    asked = lockstep(*words)
    printed = asked.stdout + asked.stderr
    lacks = [word for word in expected if word not in printed]
    # The width is not checked for CSV, which is for programs, and for errors, which are one line.
    is_table = "csv" not in words
    wide = [line for line in asked.stdout.splitlines() if is_table and len(line) > COLUMNS]
    shown = " ".join(f'"{word}"' if " " in word else word for word in words)
    print(f"transcripts: lockstep {shown}: {asked.returncode}", flush=True)
    body = textwrap.indent(f"$ lockstep {shown}\n{printed.rstrip()}", "    ")
    wrong = []
    if asked.returncode != code:
        wrong.append(f"lockstep {shown} ended with {asked.returncode}, not {code}: {printed}")
    if wide:
        wrong.append(f"lockstep {shown} printed lines of over {COLUMNS} columns: {wide}")
    if lacks:
        wrong.append(f"lockstep {shown} did not print {lacks}: {printed}")
    return f"\n## {question}\n\n{body}\n", wrong


def main():
    begin = time.monotonic()
    answers = [answer(*question) for question in questions()]
    wrong = [line for _, lines in answers for line in lines]
    page = HEAD + "".join(section for section, _ in answers)
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    if "--write" in sys.argv[1:] and not wrong:
        PAGE.write_text("\n".join(line.rstrip() for line in page.splitlines()) + "\n")
    elif headings != [line for line in PAGE.read_text().splitlines() if line.startswith("## ")]:
        wrong.append("the questions of docs/transcripts.md are not up to date: run tests/transcripts/record --write")
    for line in wrong:
        print(f"transcripts: WRONG: {line}")
    print(f"transcripts: {len(headings)} questions, {len(wrong)} wrong, in {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
