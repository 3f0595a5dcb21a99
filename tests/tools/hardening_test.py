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


UNIT = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "semel.service"


@unittest.skipUnless(pathlib.Path(BINARY).exists(), f"a {BUILD_TYPE} build is not hardened, and there is no {RELEASED}")
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
        """Calls whose bounds are known go to the checking forms (_FORTIFY_SOURCE, at its highest level)."""
        self.assertIn(" -D_FORTIFY_SOURCE=3 ", (UNIT.parents[1] / "cmake" / "compile.cmake").read_text(encoding="utf-8"))
        checked = set(re.findall(r"\b(__\w+_chk)\b", readelf("--dyn-syms"))) - {"__stack_chk_fail"}
        self.assertTrue(checked, "no call to a checking form")

    def test_containers_are_checked(self):
        """An index beyond the end stops the process (_GLIBCXX_ASSERTIONS)."""
        self.assertIn("__glibcxx_assert_fail", readelf("--dyn-syms"))

    def test_no_test_can_end_it(self):
        """Failpoints (src/runtime/failpoint.h) are in builds for tests only: here not even their name is left."""
        self.assertNotIn(b"SEMEL_FAILPOINT", pathlib.Path(BINARY).read_bytes())


class Unit(unittest.TestCase):
    """packaging/semel.service, as docs/security.md describes it."""

    def test_it_takes_away_what_is_not_needed(self):
        """A user of its own, a read-only system, no devices, one capability, a filter of system calls, no core dumps."""
        said = re.findall(r"^(\w+)=(.*)$", UNIT.read_text(encoding="utf-8"), re.M)
        for line in (("User", "semel"), ("ProtectSystem", "strict"), ("PrivateDevices", "yes"), ("NoNewPrivileges", "yes"),
                     ("SystemCallFilter", "@system-service"), ("SystemCallFilter", "~@privileged @resources"),
                     ("LimitCORE", "0")):
            self.assertIn(line, said)
        rights = [value for name, value in said if name in ("CapabilityBoundingSet", "AmbientCapabilities")]
        self.assertEqual(rights, ["CAP_NET_BIND_SERVICE"] * 2)

    def test_the_socket_has_the_addresses_of_the_shipped_configuration(self):
        """packaging/semel.socket: a listener takes the socket with its port."""
        held = re.findall(r"^ListenStream=(.*)$", UNIT.with_suffix(".socket").read_text(encoding="utf-8"), re.M)
        shipped = (UNIT.parents[1] / "conf" / "semel.toml").read_text(encoding="utf-8")
        self.assertEqual(held, re.findall(r'^listen = "(.*)"$', shipped, re.M))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not here")
    def test_it_is_rated_as_the_docs_say(self):
        """`systemd-analyze security`; another version of systemd may count differently."""
        told = subprocess.run(["systemd-analyze", "security", "--offline=true", str(UNIT)], capture_output=True, text=True,
                              check=False).stdout
        self.assertLessEqual(float(re.search(r"exposure level for semel.service: ([0-9.]+)", told)[1]), 1.5, told)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
