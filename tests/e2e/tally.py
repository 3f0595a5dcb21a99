#!/usr/bin/env python3
"""Tallies and the doctor: what is counted is what clients sent, by every gateway on a store, over restarts; and what clients
do badly is named. --binary SEMEL"""
import functools
import json
import time

import harness
import postgres_server
import wire
from harness import CONFIG, KEY_ONE, ROUTE, keyed

OBSERVED = ROUTE.replace("/v1/*", "/observed/*") + 'mode = "observe"\n'
ROUTES = ROUTE + OBSERVED


class Tally(harness.Case):
    def setUp(self):
        super().setUp()
        self.sent = {}

    def send(self, semel, outcome, key=None, scope="alice", path="/v1/payments", body=b'{"amount":12}', route="/v1/*"):
        fields = keyed(key, scope) if key else [("Authorization", scope)]
        reply = semel.ask("POST", path, [*fields, ("Content-Type", "application/json")], body)
        self.sent[(route, outcome)] = self.sent.get((route, outcome), 0) + 1
        return reply

    def traffic(self, semel, mark):
        """Some of each outcome that a client can cause."""
        for i in range(5):
            self.assertEqual(self.send(semel, "ran", f"{mark}-{i}").status, 200)
        for i in range(3):
            self.assertEqual(self.send(semel, "replayed", f"{mark}-{i}").get("Idempotent-Replayed"), "true")
        self.assert_problem(self.send(semel, "key-reused", f"{mark}-0", body=b'{"amount":13}'), 422, "key-reused")
        self.assert_problem(self.send(semel, "refused"), 400, "key-missing")
        for outcome in ("would-run", "would-replay"):
            self.send(semel, outcome, f"{mark}-o", path="/observed/x", route="/observed/*")
        self.send(semel, "would-refuse", f"{mark}-o", path="/observed/x", route="/observed/*", body=b"{}")

    def counted(self, semel, step="hour", by="route"):
        answer = self.ask(semel, "tally", "--by", by, "--step", step, "--days", "2")
        self.assertTrue(answer["complete"])
        totals = {(item["name"], outcome): count
                  for item in answer["totals"] for outcome, count in item["outcomes"].items()}
        summed = {}
        for item in answer["items"]:
            for outcome, count in item["outcomes"].items():
                summed[(item["name"], outcome)] = summed.get((item["name"], outcome), 0) + count
        self.assertEqual(summed, totals)
        return totals

    def ask(self, semel, *words):
        done = self.run_semel("keys", *words, "--admin", "http://%s:%d" % semel.admin, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def assert_counted(self, semel):
        for step in ("minute", "hour", "day"):
            same = wire.eventually(lambda: self.counted(semel, step) == self.sent, seconds=20)
            self.assertTrue(same, f"{step}: {self.counted(semel, step)} instead of {self.sent}")

    def restart(self, semel):
        semel.stop()
        semel.start()

    def story(self, first, second):
        self.answer_all()
        self.traffic(first, "one")
        self.traffic(second, "two")
        self.assert_counted(first)
        self.restart(first)
        self.assert_counted(first)
        self.traffic(first, "three")
        self.restart(first)
        if second is not first:
            self.restart(second)
            self.assert_counted(second)
        self.assert_counted(first)
        by_scope = self.counted(first, by="scope")
        self.assertEqual(len({name for name, _ in by_scope}), 1, "one scope")
        guarded = sum(count for (route, outcome), count in self.sent.items() if outcome != "refused")
        self.assertEqual(sum(by_scope.values()), guarded)
        by_outcome = self.counted(first, by="outcome")
        self.assertEqual(by_outcome[("replayed", "replayed")], self.sent[("/v1/*", "replayed")])

    def test_counts_are_what_was_sent(self):
        with self.gateway(CONFIG + ROUTES) as semel:
            self.story(semel, semel)

    def test_counts_on_an_encrypted_store(self):
        with self.gateway(harness.encrypted(CONFIG + ROUTES, KEY_ONE)) as semel:
            self.story(semel, semel)

    def test_two_gateways_on_postgresql_add_up(self):
        for database, config in (("plain", CONFIG + ROUTES), ("sealed", harness.encrypted(CONFIG + ROUTES, KEY_ONE))):
            self.postgres.prepare(database)
            url = self.postgres.url_of(database)
            with self.gateway(config, store=url) as first, self.gateway(config, store=url) as second:
                self.story(first, second)
            self.stage.close()
            self.setUp()

    @functools.cached_property
    def postgres(self):
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        return server

    def test_a_kill_loses_ten_seconds_at_most(self):
        """What was counted before the last writing is there after kill -9, and nothing is counted twice."""
        with self.gateway(CONFIG + ROUTES) as semel:
            self.answer_all()
            self.traffic(semel, "one")
            time.sleep(13)  # it is written every ten seconds, and threads hand over every second
            semel.kill()
            semel.start()
            self.assert_counted(semel)

    def test_duplicates_per_day_for_people(self):
        with self.gateway(CONFIG + ROUTES) as semel:
            self.answer_all()
            self.traffic(semel, "one")
            self.assert_counted(semel)
            done = self.run_semel("keys", "tally", "--by", "route", "--days", "7", "--admin", "http://%s:%d" % semel.admin)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            self.assertIn("duplicates", lines[0])
            day = next(line.split() for line in lines if "/v1/*" in line)
            # requests, duplicates, rate of the nine with a key, replayed, 409, 422
            self.assertEqual(day[1:8], ["/v1/*", "10", "3", "33.33", "3", "0", "1"])

    def test_a_bad_client_is_named_and_others_are_not(self):
        with self.gateway(CONFIG + ROUTES) as semel:
            self.answer_all()
            for i in range(10):
                self.send(semel, "ran", f"good-{i:04x}-6f9d8a7c55", scope="carol", body=b'{"n":%d}' % i)
            for i in range(6):
                for attempt in range(3):
                    body = b'{"amount":%d,"sent_at":%d}' % (i, attempt)
                    self.send(semel, "ran", f"a3f0{i:02x}-9be1c0d4-77", scope="bob", body=body)
            found = lambda: self.ask(semel, "doctor", "--route", "/v1/*")["items"]
            self.assertTrue(wire.eventually(lambda: len(found()) > 0, seconds=20))
            self.assertEqual([(item["kind"], item["remedy"]) for item in found()],
                             [("body-changes", 'ignore = ["/sent_at"]')])
            scope = found()[0]["scope"]
            line = next(json.loads(line) for line in semel.stdout().splitlines() if '"key-reused"' in line)
            self.assertIn("key", line)
            self.restart(semel)
            self.assertEqual([item["scope"] for item in found()], [scope], "findings are kept")
            text = self.run_semel("keys", "doctor", "--admin", "http://%s:%d" % semel.admin).stdout
            self.assertIn('ignore = ["/sent_at"]', text)

    def test_observe_says_what_enforcing_would_do(self):
        with self.gateway(CONFIG + ROUTES) as semel:
            self.answer_all()
            self.traffic(semel, "one")
            self.assert_counted(semel)
            observed = self.ask(semel, "doctor")["observed"]
            self.assertEqual(observed, [{"route": "/observed/*", "requests": 3, "would_run": 1, "would_replay": 1,
                                         "would_refuse": 1, "would_pass": 0}])

    def test_bad_questions_say_what_is_wrong(self):
        with self.gateway(CONFIG + ROUTES) as semel:
            for target, words in (("/v1/tally?by=day", "by:"), ("/v1/tally?step=week", "step:"),
                                  ("/v1/tally?from=soon", "from:"), ("/v1/tally?to=2026-13-01T00:00:00Z", "to:"),
                                  ("/v1/tally?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", "from:"),
                                  ("/v1/doctor?days=0", "days:"), ("/v1/doctor?days=x", "days:")):
                reply = wire.ask(semel.admin, "GET", target)
                self.assertEqual(reply.status, 400, target)
                self.assertTrue(json.loads(reply.body)["detail"].startswith(words), reply.body)


if __name__ == "__main__":
    harness.run()
