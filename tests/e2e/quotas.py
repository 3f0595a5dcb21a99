#!/usr/bin/env python3
"""Abuse: how many keys and bytes a scope may have, and how fast it may make them. --binary SEMEL

SEMEL_FLOOD_ROUNDS says how long a flood is watched; docs/limits.md has the figures of a longer run.
"""
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import threading
import time

import harness
import signers
import wire
from harness import CONFIG, ROUTE, keyed

FLOOD = pathlib.Path(__file__).resolve().parent / "flood.py"
ROUNDS = int(os.environ.get("SEMEL_FLOOD_ROUNDS", 200))


def limited(limits):
    return CONFIG + f"\n[limits]\n{limits}\n" + ROUTE


class Quotas(harness.Case):
    def test_a_scope_has_no_more_keys_than_it_may(self):
        """The next new key is 429 and never runs; replays go on, other scopes do not notice, and it is counted."""
        self.answer_all(body=lambda arrival: b"done")
        with self.gateway(limited("keys_per_scope = 3")) as semel:
            for i in range(3):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(f"k{i}")).status, 200)
            for _ in range(2):
                refused = semel.ask("POST", "/v1/x", keyed("k3"))
                self.assert_problem(refused, 429, "quota-exceeded")
                self.assertGreater(int(refused.get("Retry-After")), 0)
            for i in range(3):
                replay = semel.ask("POST", "/v1/x", keyed(f"k{i}"))
                self.assertEqual((replay.status, replay.get("Idempotent-Replayed")), (200, "true"))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k3", scope="bob")).status, 200)
            self.assertEqual(semel.ask("GET", "/v1/x").status, 200)
            self.assertEqual(semel.metrics()[1]["semel_quota_refusals_total"], 2)
        self.assertEqual(self.stage.count(), 5)

    def test_a_refused_key_is_free(self):
        """What was refused left nothing behind: after the keys before it have expired it runs."""
        route = '\n[[route]]\npath = "/v1/*"\nupstream = "app"\nttl = "2s"\nlease = "1s"\n'
        self.answer_all()
        with self.gateway(CONFIG + "\n[limits]\nkeys_per_scope = 1\n" + route) as semel:
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).status, 200)
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 429, "quota-exceeded")
            reply = wire.eventually(lambda: (r := semel.ask("POST", "/v1/x", keyed("k1"))).status == 200 and r, 8, 0.2)
            self.assertEqual(reply.status, 200)
            self.assertIsNone(reply.get("Idempotent-Replayed"))

    def test_keys_that_were_released_do_not_count(self):
        """A handler that fails gives the key back, and the quota with it."""
        self.answer_all(status=500)
        with self.gateway(limited("keys_per_scope = 1")) as semel:
            for i in range(5):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(f"k{i}")).status, 500)

    def test_a_request_that_runs_is_not_refused(self):
        """The scope is full with the running key itself: its duplicate hears that it runs, not that there is no room."""
        with self.gateway(limited("keys_per_scope = 1")) as semel, semel.connect() as first:
            first.request("POST", "/v1/x", keyed("k1"))
            arrival = self.stage.next()
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 409, "in-flight")
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k2")), 429, "quota-exceeded")
            arrival.answer(200)
            self.assertEqual(first.reply().status, 200)

    def test_each_attempt_of_an_unknown_outcome_counts(self):
        """on_unknown = "retry": an attempt that was lost keeps its place, so the next one needs another. Without room it is
        refused like a new key."""
        route = ROUTE + 'on_unknown = "retry"\n'
        with self.gateway(CONFIG + "\n[limits]\nkeys_per_scope = 2\n" + route) as semel:
            for _ in range(2):
                with semel.connect() as client:
                    client.request("POST", "/v1/x", keyed("k1"))
                    self.stage.next().close()
                    self.assert_problem(client.reply(), 502, "outcome-unknown")
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 429, "quota-exceeded")
        self.assertEqual(self.stage.count(), 2)

    def test_a_restart_begins_at_zero(self):
        """Only what this process has claimed counts, though the store still has the keys of before."""
        self.answer_all()
        with self.gateway(limited("keys_per_scope = 1")) as semel:
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).status, 200)
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 429, "quota-exceeded")
            semel.stop()
            semel.start()
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).get("Idempotent-Replayed"), "true")

    def test_events_of_webhooks_do_not_count(self):
        """They have rates of their own."""
        hook = '\n[[webhook]]\npath = "/hooks/stripe"\nprovider = "stripe"\nsecrets = ["s"]\nupstream = "app"\n'
        self.answer_all()
        with self.gateway(limited("keys_per_scope = 1") + hook) as semel:
            for number in range(3):
                body = b'{"id":"evt_%d"}' % number
                self.assertEqual(semel.ask("POST", "/hooks/stripe", signers.sign("stripe s", body), body).status, 200)

    def test_stored_bytes_are_limited(self):
        """Answers up to the limit are kept; then new keys are refused."""
        self.answer_all(body=lambda arrival: b"x" * 4096)
        with self.gateway(limited('stored_bytes_per_scope = "6KiB"')) as semel:
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).status, 200)
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k2")), 429, "quota-exceeded")
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k2", scope="bob")).status, 200)

    def test_the_rate_of_new_keys_is_limited(self):
        """A burst over the rate is 429 rate-limited; after Retry-After the same key runs."""
        self.answer_all()
        with self.gateway(limited('claims_per_scope = "5/s"')) as semel:
            replies = [semel.ask("POST", "/v1/x", keyed(f"k{i}")) for i in range(12)]
            refused = [i for i, reply in enumerate(replies) if reply.status == 429]
            self.assertGreaterEqual(len(refused), 1)
            self.assert_problem(replies[refused[0]], 429, "rate-limited")
            time.sleep(int(replies[refused[0]].get("Retry-After")))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed(f"k{refused[0]}")).status, 200)

    def test_a_flood_of_one_scope_leaves_the_others_alone(self):
        """One scope sends new keys as fast as it can and is refused; another one's requests all succeed meanwhile."""
        self.answer_all()
        with self.gateway(limited('claims_per_scope = "20/s"')) as semel:
            stop = threading.Event()
            sent = [0, 0]
            def flood():
                with semel.connect() as client:
                    while not stop.is_set():
                        sent[0] += 1
                        sent[1] += client.ask("POST", "/v1/x", keyed(f"flood{sent[0]}", scope="mallory")).status == 429
            thread = threading.Thread(target=flood, daemon=True)
            thread.start()
            self.assertTrue(wire.eventually(lambda: sent[1] > 0))
            with semel.connect() as client:
                statuses = {client.ask("POST", "/v1/x", keyed(f"b{i}", scope="bob")).status for i in range(20)}
            stop.set()
            thread.join()
            self.assertEqual(statuses, {200})

    def test_made_up_scopes_share_the_limits_of_their_address(self):
        """Until a scope has had a success, its keys count for the address, and so does the key of that first success. Then
        the scope has a limit of its own, and the address none of its later keys."""
        self.answer_all(status=404)
        self.answer_all("paid", status=201)
        paid = [("X-Scenario", "paid")]
        with self.gateway(limited("keys_per_scope = 3")) as semel:
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0", scope="alice") + paid).status, 201)
            for number in range(2):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0", scope=f"made-up-{number}")).status, 404)
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k0", scope="made-up-2")), 429, "quota-exceeded")
            for number in (1, 2):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(f"k{number}", scope="alice") + paid).status, 201)
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k3", scope="alice") + paid), 429, "quota-exceeded")
            with wire.Wire(semel.address, source="127.0.0.2") as neighbour:
                self.assertEqual(neighbour.ask("POST", "/v1/x", keyed("k0", scope="made-up-3")).status, 404)
        self.assertEqual((self.stage.count(), self.stage.count("paid")), (3, 3))

    def test_bytes_and_rates_count_for_the_address_too(self):
        """The same limits, whichever of them it is."""
        self.answer_all(status=404, body=lambda arrival: b"x" * 4096)
        for limit, slug in (('stored_bytes_per_scope = "6KiB"', "quota-exceeded"), ('claims_per_scope = "2/h"', "rate-limited")):
            with self.gateway(limited(limit)) as semel:
                for number in range(2):
                    self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0", scope=f"made-up-{number}")).status, 404)
                refused = semel.ask("POST", "/v1/x", keyed("k0", scope="made-up-2"))
                self.assert_problem(refused, 429, slug)
                self.assertGreater(int(refused.get("Retry-After")), 0)

    def test_the_address_is_the_one_that_the_proxy_saw(self):
        """With `append` it is the last in X-Forwarded-For, whatever the client wrote before it; of IPv6 the first half. With
        `replace` the field is nobody's."""
        self.answer_all(status=404)

        def statuses(semel, ways):
            return [semel.ask("POST", "/v1/x", keyed("k0", scope=f"seen as {way}") + [("X-Forwarded-For", way)]).status
                    for way in ways]

        with self.gateway(limited("keys_per_scope = 1")) as semel:
            self.assertEqual(statuses(semel, ["10.0.0.1", "10.0.0.2", "10.0.0.9, 10.0.0.1"]), [404, 404, 429])
            self.assertEqual(statuses(semel, ["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1"]), [404, 429, 404])
        config = limited("keys_per_scope = 1").replace("[server]\n", '[server]\nforwarded = "replace"\n')
        with self.gateway(config) as semel:
            self.assertEqual(statuses(semel, ["10.0.0.1", "10.0.0.2"]), [404, 429])

    def test_what_the_upstream_does_not_know_is_not_kept(self):
        """401 and 403 release the key, so made-up credentials fill neither the store nor the address's quota."""
        for status in (401, 403):
            self.answer_all(str(status), status=status)
            with self.gateway(limited("keys_per_scope = 1")) as semel:
                for number in range(5):
                    fields = keyed("k0", scope=f"made-up-{number}") + [("X-Scenario", str(status))]
                    self.assertEqual(semel.ask("POST", "/v1/x", fields).status, status)
            self.assertEqual(self.stage.count(str(status)), 5)

    def writes(self, semel):
        return semel.metrics()[1]["semel_store_batch_writes_sum"]

    def test_a_refused_new_key_costs_no_write(self):
        """The store is only read for it; a key that is known is answered as ever."""
        self.answer_all()
        with self.gateway(limited("keys_per_scope = 1")) as semel:
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).status, 200)
            before = self.writes(semel)
            for i in range(50):
                self.assert_problem(semel.ask("POST", "/v1/x", keyed(f"n{i}")), 429, "quota-exceeded")
            self.assertEqual(self.writes(semel), before)
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).get("Idempotent-Replayed"), "true")
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k0"), b"other"), 422, "key-reused")
        self.assertEqual(self.stage.count(), 1)

    def test_made_up_scopes_over_the_limit_cost_no_write(self):
        """An address without room is told so for the price of a read, whatever scopes are made up there."""
        self.answer_all(status=404)
        with self.gateway(limited("keys_per_scope = 1")) as semel:
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).status, 404)
            before = self.writes(semel)
            for i in range(50):
                self.assert_problem(semel.ask("POST", "/v1/x", keyed("k0", scope=f"made-up-{i}")), 429, "quota-exceeded")
            self.assertEqual(self.writes(semel), before)
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).get("Idempotent-Replayed"), "true")
        self.assertEqual(self.stage.count(), 1)

    def test_a_full_scope_that_floods_leaves_the_others_alone(self):
        """One scope sends new keys over its quota; another's first runs and replays all succeed. How long those take, with
        the flood and without, in turns, is printed and not judged."""
        self.answer_all()
        with self.gateway(limited(f"keys_per_scope = {ROUNDS}")) as semel, semel.connect() as client:
            for number in range(ROUNDS):
                self.assertEqual(client.ask("POST", "/v1/x", keyed(f"m{number}", scope="mallory")).status, 200)
            flood = subprocess.Popen([sys.executable, "-B", str(FLOOD), str(semel.address[1]), "mallory"],
                                     stdout=subprocess.PIPE, text=True)
            self.addCleanup(flood.kill)
            first, again, statuses = {True: [], False: []}, {True: [], False: []}, set()
            for number in range(ROUNDS):
                flooded = number // 50 % 2 == 1
                if number % 50 == 0:
                    flood.send_signal(signal.SIGCONT if flooded else signal.SIGSTOP)
                    time.sleep(0.05)
                for times in (first, again):
                    started = time.monotonic()
                    statuses.add(client.ask("POST", "/v1/x", keyed(f"b{number}", scope="bob")).status)
                    times[flooded].append(time.monotonic() - started)
            flood.send_signal(signal.SIGCONT)
            flood.terminate()
            answered = json.loads(flood.communicate(timeout=60)[0])
            for what, times in (("first runs", first), ("replays", again)):
                alone, beside = statistics.median(times[False]), statistics.median(times[True])
                print(f"{what}: median {alone * 1e3:.2f} ms alone, {beside * 1e3:.2f} ms beside a flood of refused keys, "
                      f"{beside / alone:.2f} times as long")
            print(f"the flood was answered {answered}")
            self.assertEqual(statuses, {200})
            self.assertEqual(set(answered), {"429"})


if __name__ == "__main__":
    harness.run()
