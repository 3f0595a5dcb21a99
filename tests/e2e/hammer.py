#!/usr/bin/env python3
"""The hammer tells an endpoint that keeps its promises from one that does not: hammer.py --binary SEMEL"""
import json
import time

import harness
import server


class Case(harness.Case):
    def hammer(self, running, *arguments, path="/v1/payments"):
        return self.run_semel("hammer", running.url + path, "--effects", running.url + "/effects", *arguments)


def found(done):
    return json.loads(done.stdout)


class AgainstSemel(Case):
    def test_the_promises_hold(self):
        with self.demo() as running:
            done = self.hammer(running, "--keys", 50, "--duplicates", 25)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("HELD", done.stdout)
            self.assertIn("None of 50 keys ran twice.", done.stdout)
            self.assertIn("0 before, 50 after: 50 for 50 keys", done.stdout)

    def test_they_hold_with_other_bodies_and_cut_connections(self):
        with self.demo() as running:
            done = self.hammer(running, "--keys", 50, "--duplicates", 25, "--cut", 20, "--wrong-body", 20, "--json")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            counts = found(done)["counts"]
            self.assertGreater(counts["cut"], 0)
            self.assertGreater(counts["status_422"], 0)
            self.assertEqual(counts["status_422"] + counts["first_runs"] + counts["replays"], 50 * 25)
            self.assertEqual(found(done)["effects"], {"before": 0, "after": 50})

    def test_they_hold_while_the_first_is_still_running(self):
        with self.demo() as running:
            done = self.hammer(running, "--keys", 2, "--wrong-body", 20, "--json", path="/v1/slow")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertGreater(found(done)["counts"]["sent_again"], 0)

    def test_a_rate_on_one_key_is_kept_up(self):
        with self.demo() as running:
            began = time.monotonic()
            done = self.hammer(running, "--rate", 100, "--seconds", 2, "--json")
            self.assertGreater(time.monotonic() - began, 1.9)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(found(done)["counts"]["first_runs"], 1)
            self.assertEqual(found(done)["counts"]["replays"], 199)

    def test_two_runs_share_no_key(self):
        with self.demo() as running:
            for before in (0, 5):
                done = self.hammer(running, "--keys", 5, "--json")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(found(done)["effects"], {"before": before, "after": before + 5})

    def test_a_failure_is_reported(self):
        with self.demo() as running:
            done = self.hammer(running, "--keys", 3, path="/v1/flaky")
            self.assertEqual(done.returncode, 1)
            self.assertIn("no-failure: 3 answers were 5xx, for 3 keys.", done.stdout)

    def test_refusals_prove_nothing(self):
        with self.demo() as running:
            done = self.hammer(running, "--keys", 3, "--key-header", "X-Not-The-Key", "--json")
            self.assertEqual(done.returncode, 1)
            self.assertEqual([one["promise"] for one in found(done)["broken"]], ["got-through", "effects"])


class AgainstTheBareApi(Case):
    def test_the_promises_break_and_the_verdict_says_which(self):
        with self.demo("--without") as running:
            done = self.hammer(running, "--keys", 50, "--duplicates", 25)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("BROKEN", done.stdout)
            self.assertIn("ran-once: 50 keys ran more than once (the first of them 25 times).", done.stdout)
            self.assertIn("same-answer: 50 keys got answers that differ", done.stdout)
            self.assertIn("effects: the API counts 1,250 effects for 50 keys.", done.stdout)
            self.assertRegex(done.stdout, r"keys: hammer-[0-9a-f]{8}-0 hammer-[0-9a-f]{8}-1 ")

    def test_another_body_that_is_taken_is_noticed(self):
        with self.demo("--without") as running:
            done = self.hammer(running, "--keys", 10, "--wrong-body", 20, "--json")
            self.assertEqual(done.returncode, 1)
            self.assertIn("reuse-refused", [one["promise"] for one in found(done)["broken"]])


class Limits(Case):
    def test_it_loses_patience_with_a_server_that_never_answers(self):
        with server.Server(server.ignores) as deaf:
            began = time.monotonic()
            done = self.run_semel("hammer", "http://%s:%d/" % deaf.address, "--keys", 2, "--patience", 2, "--json")
            self.assertLess(time.monotonic() - began, 30)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(found(done)["end"], "out-of-patience")
            self.assertEqual([one["promise"] for one in found(done)["broken"]], ["all-ended"])

    def test_it_says_when_nobody_listens(self):
        done = self.run_semel("hammer", "http://127.0.0.1:1/")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing listens on 127.0.0.1:1", done.stderr)

    def test_it_says_when_effects_cannot_be_counted(self):
        with self.demo() as running:
            done = self.run_semel("hammer", running.url + "/v1/payments", "--effects", running.url + "/v1/payments")
            self.assertEqual(done.returncode, 1)
            self.assertIn("--effects", done.stderr)

    def test_it_fires_at_no_stranger(self):
        done = self.run_semel("hammer", "http://192.0.2.1/")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--i-own-this-target", done.stderr)


if __name__ == "__main__":
    harness.run()
