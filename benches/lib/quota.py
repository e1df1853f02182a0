"""Limits processes to the CPU that Lambda gives a function of 128 MB, by the quota of a control group."""
import os
from pathlib import Path

PERIOD_US = 20_000
# A function of 1,769 MB has one CPU, and others have a share in proportion to their memory
# (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
SHARE = 128 / 1769
GROUPS = [Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")]


class Quota:
    """A new control group below the machine's root group. `available` is false if none can be made."""

    def __init__(self):
        self.group = None
        for root in GROUPS:
            group = root / f"lockstep-bench-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            try:
                self._limit(group)
            except OSError:
                group.rmdir()
                continue
            self.group = group
            return

    @property
    def available(self):
        return self.group is not None

    @staticmethod
    def _limit(group):
        quota = round(PERIOD_US * SHARE)
        if not (group / "cgroup.procs").exists():
            raise OSError("not a control group")
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")

    def hold(self, pid):
        """Puts a process under the quota; 0 is the caller itself."""
        (self.group / "cgroup.procs").write_text(str(pid))

    def close(self):
        if self.group is not None:
            self.group.rmdir()
