#!/usr/bin/env python3
"""The examples do what README.md and docs/recipes say of them, with the real API: recipes_test.py --binary SEMEL"""
import importlib.util
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
import unittest

import real_api
from real_api import Example, programs, semel

import wire

PYTHON = sys.executable


def eventually(question, seconds=30.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = question()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def without(module):
    return importlib.util.find_spec(module) is None


class Recipe(unittest.TestCase):
    binary = None

    @classmethod
    def setUpClass(cls):
        cls.api = real_api.RealApi(cls.binary).start()
        cls.addClassCleanup(cls.api.close)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="semel-recipe-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *words, **environment):
        program = Example(self.api, *words, **environment)
        self.addCleanup(program.close)
        return program.spawn()


@unittest.skipIf(without("flask"), "there is no flask")
class Shop(Recipe):
    def test_the_readmes_five_minutes(self):
        address = programs.free_address()
        shop = self.start(PYTHON, "-B", "-m", "flask", "--app", "shop", "run", "--port", address[1])
        eventually(lambda: programs.answers(address, "/static/") is not None and self.listens(address))

        def charge(key, body):
            fields = [("Authorization", "alice"), ("Content-Type", "application/json")]
            return wire.ask(address, "POST", "/charges", fields + ([("Idempotency-Key", key)] if key else []), body)

        first, again = charge("order-17", b'{"amount": 5}'), charge("order-17", b'{"amount": 5}')
        self.assertEqual((first.status, json.loads(first.body), again.body), (201, {"charge": 1}, first.body))
        self.assertEqual(again.get("Idempotent-Replayed"), "true")
        self.assertEqual(charge("order-17", b'{"amount": 6}').status, 422)
        self.assertEqual(charge(None, b'{"amount": 5}').status, 400)
        self.api.kill()
        self.addCleanup(self.api.start)
        self.assertEqual(charge("order-18", b'{"amount": 5}').status, 503)
        self.assertTrue(shop.is_running())

    @staticmethod
    def listens(address):
        try:
            wire.ask(address, "GET", "/")
            return True
        except OSError:
            return False


class Cron(Recipe):
    def job(self, scheduled, *command, **options):
        program = self.start(PYTHON, "-B", "cron_job.py", "report", scheduled, "--", *command, **options)
        return program

    def ended(self, program):
        return program.wait(30), program.stdout().strip().rpartition("\n")[2] + program.stderr()

    def writes(self, text="echo done", seconds=0):
        return "sh", "-c", f"sleep {seconds}; echo ran >> {shlex.quote(str(self.folder / 'effects'))}; {text}"

    def effects(self):
        return programs.text_of(self.folder / "effects").count("ran")

    def test_two_machines_run_it_once_and_the_next_time_is_another(self):
        both = [self.job("2026-11-17T02:00", *self.writes(seconds=1)) for _ in range(2)]
        said = sorted(self.ended(one) for one in both)
        self.assertEqual(said, [(0, "report of 2026-11-17T02:00 is running elsewhere"), (0, "report of 2026-11-17T02:00 ran with 0")])
        self.assertEqual(self.ended(self.job("2026-11-17T02:00", *self.writes())), (0, "report of 2026-11-17T02:00 had run with 0"))
        self.assertEqual(self.ended(self.job("2026-11-18T02:00", *self.writes()))[0], 0)
        self.assertEqual(self.effects(), 2)

    def test_a_command_that_did_nothing_may_run_again(self):
        self.assertEqual(self.ended(self.job("2026-11-19T02:00", *self.writes("exit 75")))[0], 75)
        self.assertEqual(self.ended(self.job("2026-11-19T02:00", *self.writes()))[0], 0)
        self.assertEqual(self.effects(), 2)

    def test_without_semel_nothing_runs(self):
        code, said = self.ended(self.job("2026-11-20T02:00", *self.writes(), SEMEL_URL="http://127.0.0.1:1"))
        self.assertEqual((code, self.effects()), (75, 0), said)


@unittest.skipIf(without("celery"), "there is no celery")
class Celery(Recipe):
    def setUp(self):
        super().setUp()
        for name in ("queue", "control"):
            (self.folder / name).mkdir()
        folder = self.folder / "queue"
        self.told = {"BROKER": "filesystem://", "CHARGES": str(self.folder / "charges"),
                     "BROKER_OPTIONS": f"data_folder_in={folder},data_folder_out={folder},control_folder={self.folder / 'control'}"}

    def worker(self):
        return self.start(PYTHON, "-B", "-m", "celery", "-A", "celery_tasks", "worker", "--pool", "solo", "--without-gossip",
                          "--without-mingle", "--without-heartbeat", "-l", "error", **self.told)

    def send(self, *orders):
        """As a producer that retries: each task is sent as another message."""
        lines = "; ".join(f"celery_tasks.charge.delay({order!r}, 5)" for order in orders)
        done = subprocess.run([PYTHON, "-B", "-c", f"import celery_tasks; {lines}"], env={**self.api.told, **self.told, "PATH": "/usr/bin"},
                              cwd=real_api.EXAMPLES, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def charges(self):
        return sorted(programs.text_of(self.folder / "charges").split("\n")[:-1])

    def test_tasks_that_are_delivered_several_times_take_effect_once(self):
        worker = self.worker()
        self.send("a", "b", "a", "a")
        eventually(lambda: len(self.charges()) >= 2 and not list((self.folder / "queue").iterdir()))
        worker.kill()
        self.worker()
        self.send("a", "c", "b")
        eventually(lambda: "c 5" in self.charges() and not list((self.folder / "queue").iterdir()))
        time.sleep(0.5)
        self.assertEqual(self.charges(), ["a 5", "b 5", "c 5"])
        api = self.api.client(namespace="tasks")
        self.addCleanup(api.close)
        self.assertEqual(api.once("charge a", lambda attempt: self.fail("it ran"), payload=["a", 5]), {"order": "a", "charged": 5})


class Calls(Recipe):
    """The five calls and the errors, against the real API."""

    def setUp(self):
        super().setUp()
        self.client = self.api.client(namespace="calls", lease=1.0)
        self.addCleanup(self.client.close)

    def test_the_five_calls(self):
        item = self.client.terms("five")
        granted = self.client.claim(item)
        self.assertEqual((granted["outcome"], self.client.claim(item)["fence"]), ("granted", granted["fence"]))
        named = {name: item[name] for name in ("namespace", "scope", "key")}
        held = {**named, "fence": granted["fence"]}
        self.assertEqual(self.client.get(named)["outcome"], "running")
        self.assertEqual(self.client.renew({**held, "lease_ms": 5000})["outcome"], "renewed")
        for _ in range(2):
            self.assertEqual(self.client.complete({**held, "result": {"body": {"a": 1}}})["outcome"], "completed")
        self.assertEqual(self.client.get(named)["result"]["body"], {"a": 1})
        with self.assertRaises(semel.ClaimLost):
            self.client.release(held)
        self.assertEqual(self.client.get({**named, "key": "none"})["outcome"], "free")

    def test_values_and_errors(self):
        for key, value in (("null", None), ("text", "\u00e9"), ("bytes", bytes(range(256))), ("deep", {"a": [1, 2.5, {"b": True}]}),
                           ("empty", b"")):
            self.assertEqual(self.client.once(key, lambda attempt, value=value: value), value)
            self.assertEqual(self.client.once(key, lambda attempt: self.fail("it ran")), value)
        with self.assertRaises(semel.KeyReused):
            self.client.once("null", lambda attempt: self.fail("it ran"), payload=1)
        with self.assertRaises(semel.Rejected):
            self.client.once("k" * 256, lambda attempt: self.fail("it ran"))
        stranger = semel.Client(self.api.url, "wrong")
        self.addCleanup(stranger.close)
        with self.assertRaises(semel.Rejected):
            stranger.once("k", lambda attempt: self.fail("it ran"))
        with self.assertRaises(semel.Rejected):
            self.client.once("huge", lambda attempt: b"x" * (2 << 20))
        with self.assertRaises(semel.OutcomeUnknown):
            self.client.once("huge", lambda attempt: self.fail("it ran"), on_unknown="hold")

    def test_a_batch_with_keys_that_are_there_twice_and_order(self):
        done = self.client.once_many(["b1", "b2", "b1"], lambda key, attempt: key.upper())
        self.assertEqual([one.value for one in done], ["B1", "B2", "B1"])
        events = [{"key": f"e{n}", "order": {"object": "acct", "stamp": n}} for n in (2, 1)]
        newer = self.client.once_many(events[:1], lambda item, attempt: "applied")
        older = self.client.once_many(events[1:], lambda item, attempt: self.fail("it ran"))
        self.assertEqual(newer[0].value, "applied")
        self.assertIsInstance(older[0], semel.Superseded)

    def test_a_function_that_takes_longer_than_its_lease(self):
        self.assertEqual(self.client.once("long", lambda attempt: time.sleep(2.5) or attempt.lost.is_set()), False)


if __name__ == "__main__":
    options, rest = real_api.arguments(__doc__).parse_known_args()
    Recipe.binary = options.binary
    unittest.main(argv=[sys.argv[0], *rest])
