#!/usr/bin/env python3
"""The pattern of examples/redis-front, while the Redis server in front loses its last writes: redis_front.py --binary SEMEL"""
import json
import pathlib
import sys

import harness
import programs
import redis_server
import wire

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "redis-front"
LOST = "semel_store_lost_calls_total"


class RedisFront(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = redis_server.Server(self.binary, appendfsync="everysec")
        self.addCleanup(self.server.close)
        port = programs.free_port()
        self.service = programs.Program(sys.executable, "-B", FOLDER / "service.py", port, "payments.db")
        self.addCleanup(self.service.close)
        self.service.start()
        self.address = (programs.HOST, port)
        config = (FOLDER / "semel.toml").read_text(encoding="utf-8")
        config = config.replace("127.0.0.1:8080", "$listen").replace("redis://127.0.0.1:6379", "$store")
        config = config.replace("127.0.0.1:3000", "%s:%d" % self.address) + '\n[admin]\nlisten = "$admin"\n'
        # The second gateway has no answers in its memory: what it replays comes from Redis.
        self.nodes = [self.gateway(config, store=self.server.url).start() for _ in range(2)]

    def pay(self, node, key):
        reply = node.ask("POST", "/v1/payments", [("Idempotency-Key", key)], b'{"amount": 10}')
        return reply.status, json.loads(reply.body)

    def counts(self):
        return json.loads(wire.ask(self.address, "GET", "/counts").body)

    def test_no_second_effect_though_the_front_forgets(self):
        """Ten payments, of which Redis forgets five: all are retried, none is made twice, the constraint refused five."""
        first, second = self.nodes
        log = self.server.folder / "appendonlydir" / "appendonly.aof.1.incr.aof"
        kept = [self.pay(first, f"kept{i}") for i in range(5)]
        before = log.stat().st_size
        lost = [self.pay(first, f"lost{i}") for i in range(5)]
        self.assertEqual(self.counts(), {"rows": 10, "refused": 0})
        self.server.kill()
        with open(log, "ab") as file:
            file.truncate(before)
        self.server.start()
        redis_server.until(lambda: first.metrics()[1][LOST] == 10)
        redis_server.until(lambda: self.pay(second, "kept0")[0] == 201)
        self.assertEqual([self.pay(second, f"kept{i}") for i in range(5)], kept)
        self.assertEqual(self.counts(), {"rows": 10, "refused": 0}, "what was kept is replayed")
        self.assertEqual([self.pay(second, f"lost{i}") for i in range(5)], lost, "the same payments")
        self.assertEqual(self.counts(), {"rows": 10, "refused": 5}, "no second effect")
        self.assertIn("Redis has lost", first.stderr())


if __name__ == "__main__":
    harness.run()
