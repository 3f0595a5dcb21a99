#!/usr/bin/env python3
"""The process and its rights: whom it runs as, what it may do, how many files it may open. --binary SEMEL"""
import os
import pathlib
import pwd
import re
import signal
import time
import unittest

import harness
import wire
from harness import CONFIG, ROUTE, keyed

USER = "nobody"
NET_BIND_SERVICE = 1 << 10


def as_user(name):
    return CONFIG.replace("threads = 2", f'threads = 2\nuser = "{name}"') + ROUTE


def status(semel):
    text = pathlib.Path(f"/proc/{semel.process.pid}/status").read_text(encoding="ascii")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


@unittest.skipUnless(os.geteuid() == 0, "only root has rights to give up")
class Rights(harness.Case):
    def start(self):
        semel = self.gateway(as_user(USER))
        entry = pwd.getpwnam(USER)
        os.chmod(semel.folder, 0o755)
        (semel.folder / "data").mkdir()
        os.chown(semel.folder / "data", entry.pw_uid, entry.pw_gid)
        return semel.start(), entry

    def test_root_becomes_the_user_for_good(self):
        """User, group and groups are the user's; of root's rights only that to low ports is left."""
        self.answer_all()
        semel, entry = self.start()
        said = status(semel)
        self.assertEqual(said["Uid"].split(), [str(entry.pw_uid)] * 4)
        self.assertEqual(said["Gid"].split(), [str(entry.pw_gid)] * 4)
        self.assertNotIn("0", said["Groups"].split())
        own = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
        kept = int(re.search(r"^CapEff:\t(\w+)", own, re.M)[1], 16) & NET_BIND_SERVICE  # a container may not have it to give
        self.assertEqual((int(said["CapEff"], 16), int(said["CapPrm"], 16)), (kept, kept))
        self.assertEqual((int(said["CapInh"], 16), int(said["CapAmb"], 16)), (0, 0))
        self.assertEqual(said["NoNewPrivs"], "1")
        self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
        for file in (semel.folder / "data").rglob("*"):
            self.assertEqual(file.stat().st_uid, entry.pw_uid, file)
        self.assertEqual(semel.stop(), 0)

    def test_a_user_that_is_not_there_stops_the_start(self):
        """The message names it, and nothing runs as root by mistake."""
        semel = self.gateway(as_user("no-such-user")).spawn()
        self.assertEqual(semel.wait(), 1)
        self.assertIn('there is no user "no-such-user"', semel.stderr())


@unittest.skipUnless(os.geteuid() == 0, "only root sees what belongs to root")
class Memory(harness.Case):
    def test_memory_is_closed_to_the_same_user(self):
        """The kernel gives what can be read of a process to root when it may neither be traced nor leave a core dump."""
        if harness.has_sanitizer(self.binary, "asan"):
            self.skipTest("the address sanitizer looks into its own process")
        semel = self.gateway()
        semel.prefix = ["setpriv", "--reuid", USER, "--regid", "nogroup", "--clear-groups"]
        os.chmod(semel.folder, 0o777)
        semel.start()
        about = pathlib.Path(f"/proc/{semel.process.pid}")
        self.assertEqual(status(semel)["Uid"].split()[0], str(pwd.getpwnam(USER).pw_uid))
        self.assertEqual((about / "environ").stat().st_uid, 0)
        self.assertEqual(semel.stop(), 0)


class Files(harness.Case):
    def test_as_many_files_as_the_system_allows(self):
        """The soft limit is raised to the hard one."""
        with self.gateway() as semel:
            limits = pathlib.Path(f"/proc/{semel.process.pid}/limits").read_text(encoding="ascii")
            soft, hard = next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[3:5]
            self.assertEqual(soft, hard)

    def test_fewer_connections_where_there_are_fewer_files(self):
        """Clients leave room for upstreams and the store, and the start says so."""
        semel = self.gateway()
        semel.prefix = ["prlimit", "--nofile=400:400"]
        semel.start()
        self.assertIn("this process may open 400 files: it will take 162 connections", semel.stderr())
        self.assertEqual(semel.stop(), 0)

    def test_a_few_connections_less_are_not_worth_a_word(self):
        """The limit is lowered all the same: up to a tenth, the start says nothing of it."""
        self.answer_all()
        for wanted, told in ((170, False), (190, True)):
            semel = self.gateway(CONFIG + f"\n[limits]\nconnections = {wanted}\n" + ROUTE)
            semel.prefix = ["prlimit", "--nofile=400:400"]
            semel.start()
            self.assertEqual("it will take 162 connections" in semel.stderr(), told, wanted)
            for connection in self.connect_until_refused(semel, 162):
                connection.close()
            self.assertEqual(semel.stop(), 0)

    def test_a_folder_in_place_of_a_file_is_a_mistake(self):
        """Nothing is thrown: the start says so, and a reload leaves everything as it was."""
        self.answer_all()
        with self.gateway() as semel:
            file = semel.config_path
            text = file.read_text(encoding="utf-8")
            file.unlink()
            file.mkdir()
            semel.signal(signal.SIGHUP)
            deadline = time.monotonic() + 10
            while "not reloaded" not in semel.stderr() and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertIn("it is not a regular file", semel.stderr())
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            file.rmdir()
            file.write_text(text, encoding="utf-8")


class Log(harness.Case):
    def test_a_log_that_nobody_reads_stops_nothing(self):
        """Requests are answered, lines are thrown away and counted, and SIGTERM ends the process."""
        self.answer_all()
        semel = self.gateway()
        reader, writer = os.pipe()
        semel.out_path = pathlib.Path(f"/proc/self/fd/{writer}")
        try:
            semel.start()
            for _ in range(10_000):
                self.assertEqual(semel.ask("GET", "/v1/x").status, 200)
            text = wire.ask(semel.admin, "GET", "/metrics").body.decode()
            self.assertGreater(int(re.search(r"^semel_log_lines_dropped_total (\d+)", text, re.M)[1]), 0)
            self.assertEqual(semel.stop(), 0)
        finally:
            os.close(writer)
            os.close(reader)


if __name__ == "__main__":
    harness.run()
