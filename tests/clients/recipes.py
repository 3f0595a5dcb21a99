#!/usr/bin/env python3
"""The recipes of docs/recipes and of the README of clients/node, run: recipes.py --binary SEMEL [--build FOLDER] [--postgres]

--postgres: the recipe for pg-boss too, on a server of our own.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import apps  # first: it says where the modules of tests/e2e are

import postgres_server
import programs
import wire

ONCE = apps.ROOT / "examples" / "curl" / "once.sh"


class Recipes(unittest.TestCase):
    options = None

    def setUp(self):
        self.folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory(prefix="semel-recipes-")))
        self.semel = self.enter(apps.Semel(self.options.binary))
        self.told = {**os.environ, "SEMEL_URL": "http://%s:%d" % self.semel.api, "SEMEL_TOKEN": apps.TOKEN}

    def enter(self, context):
        entered = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return entered

    def node_tests(self, name, **told):
        root = apps.node_client(self.options.build)
        done = programs.run("node", "--test", root / "test" / "recipes" / name, cwd=root, env={**self.told, **told}, seconds=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("# skipped 0", done.stdout)

    def test_kafka_and_sqs(self):
        self.node_tests("queues.test.mjs")

    def test_pg_boss(self):
        if not self.options.postgres:
            self.skipTest("without --postgres")
        server = postgres_server.Server(self.options.binary)
        self.addCleanup(server.close)
        self.node_tests("pg_boss.test.mjs", DATABASE_URL=server.url)

    def test_the_endpoint_of_the_readme(self):
        """The steps of README.md of clients/node, with its own files: a charge, and the same one again."""
        root = apps.node_client(self.options.build)
        config = (root / "recipes" / "semel.toml").read_text(encoding="utf-8")
        api = programs.free_address()
        (self.folder / "semel.toml").write_text(config.replace("127.0.0.1:9070", "%s:%d" % api), encoding="utf-8")
        told = {**os.environ, "SEMEL_TOKEN": apps.TOKEN, "SEMEL_URL": "http://%s:%d" % api}
        served = programs.Program(self.options.binary, "serve", "--config", self.folder / "semel.toml", cwd=self.folder,
                                  environment=told)
        self.enter(served)
        address = programs.free_address()
        app = programs.Program("node", root / "recipes" / "charges.mjs", cwd=root, environment={**told, "PORT": str(address[1])})
        app.is_ready = lambda: "listening" in app.printed_now()
        self.addCleanup(app.close)
        app.start(seconds=120)
        fields = [("X-Account", "alice"), ("Idempotency-Key", "order-17"), ("Content-Type", "application/json")]
        first, again = (wire.ask(address, "POST", "/charges", fields, b'{"amount": 5}') for _ in range(2))
        self.assertEqual((first.status, first.body), (201, b'{"id":"ch_1","amount":5}'))
        self.assertEqual((again.status, again.body, again.get("Idempotent-Replayed")), (201, first.body, "true"))
        self.assertEqual(wire.ask(address, "POST", "/charges", fields, b'{"amount": 6}').status, 422)

    def once(self, key, *command):
        return subprocess.run([ONCE, key, *command], env=self.told, capture_output=True, text=True, timeout=60, check=False)

    def test_curl(self):
        """A script's command runs once, and its output is kept; one that fails stays unknown."""
        if shutil.which("curl") is None:
            self.skipTest("there is no curl")
        log = self.folder / "log"
        command = ("sh", "-c", f"echo ran >> {log}; echo 'made it: 1'")
        first, again = self.once("job-1", *command), self.once("job-1", *command)
        self.assertEqual((first.returncode, first.stdout), (0, "made it: 1\n"), first.stderr)
        self.assertEqual((again.returncode, again.stdout), (0, "made it: 1\n"), again.stderr)
        self.assertEqual(log.read_text(encoding="utf-8"), "ran\n")
        self.assertEqual(self.once("job-2", "sh", "-c", f"echo ran >> {log}; exit 3").returncode, 1)
        held = self.once("job-2", "sh", "-c", f"echo ran >> {log}")
        self.assertEqual(held.returncode, 75)
        self.assertIsNotNone(re.search("outcome-unknown", held.stderr), held.stderr)
        self.assertEqual(log.read_text(encoding="utf-8"), "ran\nran\n")
        self.semel.kill()
        self.assertEqual(self.once("job-3", "sh", "-c", f"echo ran >> {log}").returncode, 75)
        self.assertEqual(log.read_text(encoding="utf-8"), "ran\nran\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("names", nargs="*")
    Recipes.options = parser.parse_args()
    unittest.main(argv=[sys.argv[0], *Recipes.options.names])
