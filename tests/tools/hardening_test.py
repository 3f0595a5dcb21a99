#!/usr/bin/env python3
"""What is shipped is hardened: hardening_test.py SEMEL BUILD_TYPE RELEASED

A build for development is not: then RELEASED is looked at, if it is there.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

BUILT, BUILD_TYPE, RELEASED = sys.argv[1:4]
BINARY = BUILT if BUILD_TYPE in ("Release", "RelWithDebInfo") else RELEASED


def readelf(*options):
    return subprocess.run(["readelf", "--wide", *options, BINARY], capture_output=True, text=True, check=True).stdout


class Hardening(unittest.TestCase):
    def test_it_can_lie_anywhere(self):
        """A position-independent executable: addresses differ from start to start."""
        self.assertRegex(readelf("--file-header"), r"Type:\s+DYN \(Position-Independent Executable")

    def test_its_tables_are_read_only(self):
        """Everything is bound at the start, and then nobody can write to what was bound."""
        self.assertIn("GNU_RELRO", readelf("--segments"))
        self.assertRegex(readelf("--dynamic"), r"BIND_NOW|FLAGS_1.*NOW")

    def test_no_memory_is_both_written_and_run(self):
        """Neither the stack nor any segment."""
        segments = readelf("--segments")
        self.assertRegex(segments, r"GNU_STACK\s.*\sRW\s")
        self.assertIsNone(re.search(r"^\s+LOAD\s.*\sRWE\s", segments, re.M))

    def test_the_stack_is_watched(self):
        """Functions with buffers check a canary before they return."""
        self.assertIn("__stack_chk_fail", readelf("--dyn-syms"))

    def test_copies_are_checked(self):
        """Calls whose bounds are known go to the checking forms (_FORTIFY_SOURCE)."""
        checked = set(re.findall(r"\b(__\w+_chk)\b", readelf("--dyn-syms"))) - {"__stack_chk_fail"}
        self.assertTrue(checked, "no call to a checking form")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not here")
    def test_the_unit_is_rated_as_the_docs_say(self):
        """`systemd-analyze security` of conf/semel.service; another version of systemd may count differently."""
        unit = pathlib.Path(__file__).resolve().parents[2] / "conf" / "semel.service"
        told = subprocess.run(["systemd-analyze", "security", "--offline=true", str(unit)], capture_output=True, text=True,
                              check=False).stdout
        self.assertLessEqual(float(re.search(r"exposure level for semel.service: ([0-9.]+)", told)[1]), 1.7, told)

    def test_no_test_can_end_it(self):
        """Failpoints (src/runtime/failpoint.h) are in builds for tests only: here not even their name is left."""
        self.assertNotIn(b"SEMEL_FAILPOINT", pathlib.Path(BINARY).read_bytes())


if __name__ == "__main__":
    if not pathlib.Path(BINARY).exists():
        print(f"a {BUILD_TYPE} build is not hardened, and there is no {RELEASED}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
