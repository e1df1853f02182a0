"""Creates the account that docs/audit.md shows, with five batches, and audits it."""
import pathlib
import subprocess
import sys
import time

import account
from stackctl.settings import ROOT, architecture

COMMAND = ROOT / "target" / f"{'aarch64' if architecture() == 'arm64' else 'x86_64'}-unknown-linux-gnu/debug/lockstep"
PAGE = ROOT / "docs" / "audit.md"
# The lines of the page around the report.
BEGIN, END = "<!-- report -->\n", "<!-- end -->\n"
PLAN = [
    ("hourly-report", "at times", 29 * 24, "cron(0 * * * ? *)"),
    ("import-prices", "always", 29 * 8, "rate(3 hours)"),
    ("orders-to-warehouse", "by chance", 400, None),
    ("billing", "twice", 29 * 24, "cron(0 * * * ? *)"),
    ("backup", "apart", 29, "cron(0 3 * * ? *)"),
]
HOUR = 3_600_000


def main(arguments):
    folder = pathlib.Path(next((word for word in arguments if not word.startswith("--")), "."))
    account.make(PLAN, int(time.time() * 1000) // HOUR * HOUR, seed=7)
    account.machine("thumbnails", "EXPRESS")
    names = [name for name, *_ in PLAN] + ["thumbnails"]
    done = subprocess.run([COMMAND, "audit", *names, "--html", folder / "audit.html"], capture_output=True, text=True, timeout=120)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return done.returncode
    print(done.stdout, end="")
    if "--write" in arguments:
        before, rest = PAGE.read_text().split(BEGIN)
        _, after = rest.split(END)
        report = done.stdout.split("\nWhat no audit sees")[0]
        PAGE.write_text(f"{before}{BEGIN}\n```text\n{report.rstrip()}\n```\n\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
