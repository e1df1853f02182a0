#!/usr/bin/env python3
"""Each version keeps the interface of the earlier ones, and tests/golden has that of each version.

Run by infra/validate with the Python of cfn-lint. `make golden` runs it with --write, for the version in Cargo.toml.
"""

import json
import re
import sys
import unittest
from pathlib import Path

from interface import broken, current
from sources import source
from test_lint import ROOT

GOLDEN = ROOT / "tests" / "golden"
VERSION = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"$', source("Cargo.toml"), re.MULTILINE)[1]
OWN = GOLDEN / VERSION / "interface.json"


class Interface(unittest.TestCase):
    maxDiff = None

    def test_the_interface_of_this_version_is_kept(self):
        self.assertTrue(OWN.exists(), f"{OWN}: make golden")
        self.assertEqual(json.loads(OWN.read_text()), current(),
                         "if this version is not released yet, `make golden` writes it; else raise the version in Cargo.toml first")

    def test_a_later_version_has_the_interface_of_each_earlier_one(self):
        files = sorted(GOLDEN.glob("*/interface.json"))
        self.assertTrue(files)
        for path in files:
            with self.subTest(path.parent.name):
                self.assertEqual([], broken(json.loads(path.read_text()), current()))

    def test_what_is_gone_or_needed_anew_is_named(self):
        earlier = {"has": {"schemas": ["a.request", "a.request/lock", "b/status=finished"], "exit codes": ["75 NOT_ACQUIRED"]},
                   "needs": ["a.request/lock"]}
        later = json.loads(json.dumps(earlier))
        later["has"]["schemas"] += ["a.request/work", "a.request/work/family"]
        later["needs"] += ["a.request/work/family"]
        self.assertEqual([], broken(earlier, later))
        later["has"]["schemas"].remove("b/status=finished")
        later["has"]["exit codes"] = ["76 NOT_ACQUIRED"]
        later["needs"] += ["a.request/work"]
        self.assertEqual(["schemas: b/status=finished is gone", "exit codes: 75 NOT_ACQUIRED is gone", "a.request/work is needed now"],
                         broken(earlier, later))

    def test_each_kind_of_name_is_found(self):
        found = current()
        for kind, names in {
            "schemas": ["acquire-lock.response[finished]/lock always", "acquire-lock.response[granted]/takenFrom",
                        "heartbeat.response[renewed]/protection[refused]/reason", "operate.request[evict]/abandon"],
            "commands": ["run --lock", "run --overlap=queue", "doctor --table", "doctor LOCKSTEP_TABLE", "unweave --out", "drop-waiter --id"],
            "exit codes": ["75 NOT_ACQUIRED"],
            "errors": ["Lockstep.LockHeld"],
            "templates": ["template.yaml/Parameters/Architecture=arm64", "template.yaml/Outputs/LockTableName", "team.yaml/Parameters/LockPrefix"],
        }.items():
            self.assertEqual([], [name for name in names if name not in found["has"][kind]], kind)
        self.assertLess({"acquire-lock.request/lock", "team.yaml/Parameters/LockPrefix"}, set(found["needs"]))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        OWN.parent.mkdir(exist_ok=True)
        OWN.write_text(json.dumps(current(), indent=1) + "\n")
        sys.exit(0)
    sys.exit(unittest.main())
