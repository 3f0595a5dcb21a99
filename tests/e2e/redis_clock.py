#!/usr/bin/env python3
"""What the clock of a promoted replica does to keys, as docs/redis.md says it: redis_clock.py --binary SEMEL --build FOLDER"""
import concurrent.futures
import pathlib

import harness
import redis_sets
import stage as staging
from harness import keyed

HOUR_S = 3600
CONFIG = harness.CONFIG + """
[[route]]
path = "/hold/*"
upstream = "app"
lease = "60s"
ttl = "24h"
[[route]]
path = "/short/*"
upstream = "app"
ttl = "30m"
[[route]]
path = "/retry/*"
upstream = "app"
lease = "60s"
on_unknown = "retry"
"""


class Clocks(harness.Case):
    def setUp(self):
        super().setUp()
        self.pool = concurrent.futures.ThreadPoolExecutor()
        self.addCleanup(self.pool.shutdown)

    def servers(self, seconds):
        """The clock of the second server is so many seconds off."""
        library = pathlib.Path(self.build) / "tests" / "proof" / "libwall_clock.so"
        if not library.exists():
            self.skipTest(f"{library} has not been built")
        servers = redis_sets.Pair(self.binary, clocks=(0, seconds), library=library)
        self.addCleanup(servers.close)
        return servers

    def promote(self, servers, node):
        """The replica has everything when it is promoted, so nothing is lost."""
        redis_sets.until(servers.is_level)
        servers.primary.kill()
        servers.wait_for_promotion()
        redis_sets.until(lambda: node.ask("POST", "/hold/new", keyed(f"new{self.stage.count()}"), b"{}").status == 200)
        self.assertEqual(node.metrics()[1]["semel_store_lost_calls_total"], 0)

    def begin(self, node, target):
        """A request that has reached the origin and is not answered yet: how it arrived, and its reply to be."""
        reply = self.pool.submit(node.ask, "POST", target, self.slow(), b"{}", 60)
        return self.stage.next("slow"), reply

    @staticmethod
    def slow():
        return [*keyed("runs"), (staging.FIELD, "slow")]

    def test_ahead_finished_keys_live_shorter(self):
        """By an hour: one that lives for a day is replayed, one that lives for half an hour runs again, and no loss is counted."""
        servers = self.servers(HOUR_S)
        node = self.gateway(CONFIG, store=servers.url).start()
        self.answer_all()
        for target in ("/hold/pay", "/short/pay"):
            self.assertEqual(node.ask("POST", target, keyed("k" + target), b"{}").status, 200)
        self.promote(servers, node)
        other = self.gateway(CONFIG, store=servers.url).start()  # which has no answers in memory
        kept = other.ask("POST", "/hold/pay", keyed("k/hold/pay"), b"{}")
        self.assertEqual(kept.get("Idempotent-Replayed"), "true")
        gone = other.ask("POST", "/short/pay", keyed("k/short/pay"), b"{}")
        self.assertEqual((gone.status, gone.get("Idempotent-Replayed")), (200, None))
        self.assertEqual(other.metrics()[1]["semel_store_lost_calls_total"], 0)
        self.assertRegex(node.stderr(), r"the clock of Redis has gone forward by (3599|3600) s")
        self.assertNotIn("the clock of Redis", other.stderr())

    def test_behind_nothing_runs_again(self):
        """By an hour: finished keys are replayed, and one that runs is ended by its holder."""
        servers = self.servers(-HOUR_S)
        node = self.gateway(CONFIG, store=servers.url).start()
        self.answer_all()
        for target in ("/hold/pay", "/short/pay"):
            self.assertEqual(node.ask("POST", target, keyed("k" + target), b"{}").status, 200)
        self.promote(servers, node)
        other = self.gateway(CONFIG, store=servers.url).start()
        for target in ("/hold/pay", "/short/pay"):
            self.assertEqual(other.ask("POST", target, keyed("k" + target), b"{}").get("Idempotent-Replayed"), "true")
        self.assertRegex(node.stderr(), r"the clock of Redis has gone back by (3599|3600) s")

    def test_ahead_what_runs_is_of_unknown_outcome(self):
        """Its lease has lapsed at once. The answer is not kept, and all are told that nobody knows."""
        servers = self.servers(HOUR_S)
        node = self.gateway(CONFIG, store=servers.url).start()
        self.answer_all()
        arrival, reply = self.begin(node, "/hold/slow")
        self.promote(servers, node)
        self.assert_problem(node.ask("POST", "/hold/slow", self.slow(), b"{}"), 409, "outcome-unknown")
        arrival.answer(200, body=b"first")
        self.assert_problem(reply.result(60), 502, "outcome-unknown")
        self.assert_problem(node.ask("POST", "/hold/slow", self.slow(), b"{}"), 409, "outcome-unknown")
        self.assertEqual(self.stage.count("slow"), 1)

    def test_ahead_a_route_that_retries_runs_it_beside_the_first(self):
        servers = self.servers(HOUR_S)
        node = self.gateway(CONFIG, store=servers.url).start()
        self.answer_all()
        arrival, reply = self.begin(node, "/retry/slow")
        self.promote(servers, node)
        again, second = self.begin(node, "/retry/slow")
        again.answer(200, body=b"second")
        self.assertEqual(second.result(60).body, b"second")
        arrival.answer(200, body=b"first")
        self.assert_problem(reply.result(60), 502, "outcome-unknown")
        self.assertEqual(node.ask("POST", "/retry/slow", self.slow(), b"{}").body, b"second")

    def test_behind_what_runs_is_ended_by_its_holder(self):
        servers = self.servers(-HOUR_S)
        node = self.gateway(CONFIG, store=servers.url).start()
        self.answer_all()
        arrival, reply = self.begin(node, "/retry/slow")
        self.promote(servers, node)
        self.assertEqual(node.ask("POST", "/retry/slow", self.slow(), b"{}").status, 409)
        arrival.answer(200, body=b"first")
        self.assertEqual(reply.result(60).body, b"first")
        self.assertEqual(node.ask("POST", "/retry/slow", self.slow(), b"{}").body, b"first")
        self.assertEqual(self.stage.count("slow"), 1)


def build_in(folder):
    Clocks.build = folder


if __name__ == "__main__":
    harness.run(build=build_in)
