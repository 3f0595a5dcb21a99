#!/usr/bin/env python3
"""packages.txt: its groups, and that each command of ./dev installs only those that it needs; and the rules of the Debian
package, as far as they need no build. packages_test.py SOURCE"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
GROUPS = ("build", "run", "test", "bench", "package")
# Never for those who only want to see the demo.
TESTERS = {"postgresql-15", "pgbouncer", "patroni", "etcd-server", "prometheus", "caddy", "debootstrap", "lintian", "libgtest-dev",
           "python3-django"}


def packages(*groups):
    done = subprocess.run(["bash", "-c", '. tools/dev-lib.sh; packages "$@"', "bash", *groups], cwd=SOURCE, capture_output=True,
                          text=True, check=True)
    return done.stdout.split()


class Packages(unittest.TestCase):
    def test_every_package_is_in_one_group(self):
        """The groups together are the file, and no name is in two of them."""
        grouped = [name for group in GROUPS for name in packages(group)]
        self.assertEqual(sorted(grouped), sorted(packages()))
        self.assertEqual(len(grouped), len(set(grouped)))
        for group in GROUPS:
            self.assertTrue(packages(group), group)
        written = re.findall(r"^\[(\w+)\]", (SOURCE / "packages.txt").read_text(encoding="utf-8"), re.M)
        self.assertEqual(tuple(written), GROUPS)
        for name in grouped:
            self.assertRegex(name, r"^[a-z0-9][a-z0-9.+-]+$")

    def test_several_groups_are_their_sum(self):
        """In the order of the file; a name that is part of another one does not count."""
        self.assertEqual(packages("build", "run"), packages("build") + packages("run"))
        self.assertEqual(packages("buil"), [])
        self.assertEqual(packages("nothing"), [])

    def test_the_demo_needs_no_databases(self):
        """What ./dev run installs: compiler and libraries."""
        self.assertFalse(TESTERS & set(packages("build", "run")))
        self.assertTrue(TESTERS <= set(packages()))

    def asked(self, *words):
        """The groups that a command asks for first, with a dpkg-query that says that all is installed, and no build."""
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder) / "tree"
            (tree / "tools").mkdir(parents=True)
            (tree / "bench").mkdir()
            (tree / "tests" / "fuzz").mkdir(parents=True)
            (tree / "bench" / "run").write_text("#!/bin/sh\n", encoding="utf-8")
            (tree / "bench" / "run").chmod(0o755)
            (tree / "tests" / "fuzz" / "CMakeLists.txt").touch()
            (tree / "dev").write_text((SOURCE / "dev").read_text(encoding="utf-8"), encoding="utf-8")
            library = (SOURCE / "tools" / "dev-lib.sh").read_text(encoding="utf-8")
            stop = '\nensure_packages() { echo "groups: $*"; exit 0; }\n'
            (tree / "tools" / "dev-lib.sh").write_text(library + stop, encoding="utf-8")
            done = subprocess.run(["bash", str(tree / "dev"), *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.partition("groups: ")[2].split()

    def test_commands_install_their_groups(self):
        """Each names groups that exist; only deps asks for all."""
        wants = {("run",): {"build", "run"}, ("build", "release"): {"build"}, ("build",): {"build", "test"},
                 ("check",): {"build", "test"}, ("test",): {"build", "run", "test", "bench"},
                 ("bench",): {"build", "run", "bench"}, ("proof",): {"build", "run", "test", "bench"},
                 ("fuzz",): {"build", "test"}, ("package",): {"build", "package"}, ("deps",): set()}
        for words, groups in wants.items():
            self.assertEqual(set(self.asked(*words)), groups, words)


class DebianRules(unittest.TestCase):
    @unittest.skipIf(shutil.which("dh_installsystemd") is None, "no debhelper")
    def test_the_unit_is_restarted_on_an_upgrade_and_enabled_by_nobody(self):
        """There are two packages, and the unit is in one of them."""
        with tempfile.TemporaryDirectory() as folder:
            debian = pathlib.Path(folder) / "debian"
            shutil.copytree(SOURCE / "packaging" / "debian", debian)
            (debian / "changelog").write_text("semel (1-1) unstable; urgency=low\n\n  * A test.\n\n -- A B <a@example.com>  "
                                              "Tue, 17 Nov 2026 12:00:00 +0000\n", encoding="utf-8")
            units = debian / "semel" / "lib" / "systemd" / "system"
            units.mkdir(parents=True)
            for name in ("semel.service", "semel.socket"):
                shutil.copy(SOURCE / "packaging" / name, units)
            done = subprocess.run(["make", "-f", "debian/rules", "override_dh_installsystemd"], cwd=folder, capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            snippets = [path for path in debian.rglob("*") if "generated" in path.parts or path.suffix == ".debhelper"]
            text = "".join(path.read_text(encoding="utf-8") for path in snippets if path.is_file())
            self.assertIn("deb-systemd-invoke $_dh_action 'semel.service'", text)
            self.assertNotIn("semel.socket", text)
            self.assertFalse([path for path in snippets if "libsemel-dev" in str(path)])


if __name__ == "__main__":
    unittest.main()
