"""Tests the end of a test program's run."""
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from .. import judge


class Judge(unittest.TestCase):
    def test_a_process_that_a_program_leaves_behind_delays_no_verdict(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(judge, "DRAIN", 0.1):
            # A named pipe without a writer: the process that opens it waits, and keeps the program's output open.
            waits = Path(folder) / "waits"
            os.mkfifo(waits)
            program = judge.Program("/bin/sh", folder, arguments=("-c", f"setsid cat {waits} & exit 3"))

            result = judge.run(program, dict(os.environ), judge.Bounds(20, 60))

            os.close(os.open(waits, os.O_WRONLY))
        self.assertEqual((result.verdict, result.why), ("caught", "exit code 3"))


if __name__ == "__main__":
    unittest.main()
