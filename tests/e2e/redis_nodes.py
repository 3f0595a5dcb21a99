#!/usr/bin/env python3
"""Several gateways on one Redis server, as clients and operators see them. --binary SEMEL"""
import json

import harness
import postgres_nodes
import redis_server
import redis_sets
from harness import KEY_ONE, keyed

CONFIG = harness.CONFIG + harness.ROUTE
STOPPING = CONFIG.replace('url = "$store"', 'url = "$store"\non_loss = "stop"')


class Nodes(harness.Case):
    def server(self, **settings):
        server = redis_server.Server(self.binary, **settings)
        self.addCleanup(server.close)
        return server

    def node(self, server, config=CONFIG, **values):
        return self.gateway(config, store=server.url, **values).start()

    def check(self, node, *flags):
        return self.run_semel("check", *flags, node.config_path)

    def test_one_effect_per_key_under_the_hammer(self):
        """25 duplicates of each key at once, shared out over two gateways: the API acts once for each."""
        self.hammer(self.server())

    def test_one_effect_per_key_in_a_cluster(self):
        """The same with six servers."""
        servers = redis_sets.Cluster(self.binary)
        self.addCleanup(servers.close)
        self.hammer(servers)

    def hammer(self, server):
        api = self.demo("--without")
        upstream = "%s:%d" % api.address
        nodes = [self.node(server, upstream=upstream) for _ in range(2)]
        shared = postgres_nodes.balancer([node.address for node in nodes])
        self.addCleanup(shared.close)
        done = self.run_semel("hammer", "http://%s:%d/v1/payments" % shared.address, "--keys", 100, "--duplicates", 25,
                              "--wrong-body", 10, "--cut", 10, "--json", "--header", "Authorization: alice",
                              "--effects", f"{api.url}/effects", seconds=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["effects"], {"before": 0, "after": 100})
        self.assertEqual(server.fences_above_one(), 0)

    def test_an_answer_of_one_node_is_replayed_by_the_other(self):
        """Status, fields and bytes are those of the first answer; also of one that lies beside its record."""
        server = self.server()
        first, second = self.node(server), self.node(server)
        large = bytes(i * i % 251 for i in range(200_000))
        bodies = {"k1": b'{"paid": true}', "k2": large}
        self.answer_all(status=201, body=lambda arrival: bodies[arrival.message.get("Idempotency-Key")],
                        fields=[("Content-Type", "application/json")])
        for key, body in bodies.items():
            one = first.ask("POST", "/v1/pay", keyed(key), b"{}")
            two = second.ask("POST", "/v1/pay", keyed(key), b"{}")
            self.assertEqual((one.status, one.body), (201, body))
            self.assertEqual((two.status, two.body, two.get("Content-Type")), (201, body, "application/json"))
            self.assertEqual(two.get("Idempotent-Replayed"), "true")

    def test_encrypted_keys_and_answers_are_not_readable(self):
        """Nothing of a request or an answer is in the memory of the server, and a gateway without the key does not start."""
        server = self.server()
        node = self.node(server, postgres_nodes.encrypted(KEY_ONE))
        self.answer_all(status=201, body=lambda _: b"a secret answer")
        self.assertEqual(node.ask("POST", "/v1/pay", keyed("k1"), b"{}").status, 201)
        self.assertEqual(node.ask("POST", "/v1/pay", keyed("k1"), b"{}").body, b"a secret answer")
        names = server.records()
        self.assertEqual(len(names), 1)
        self.assertNotIn("secret answer", server.run("--no-raw", "GET", names[0]))
        bare = self.gateway(CONFIG, store=server.url)
        bare.spawn()
        self.assertEqual(bare.wait(), 1)
        self.assertIn("encryption_keys is empty", bare.stderr())

    def test_check_says_what_holds(self):
        """The row of the table that applies, and how far the memory goes; a server that would be refused is an error."""
        server = self.server(maxmemory="1gb")
        node = self.gateway(CONFIG, store=server.url)
        done = self.check(node)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("nothing acknowledged is lost (appendfsync always)", "no replica to fail over to",
                      "maxmemory is 1024 MiB, enough for", "a finished key with an answer of 512 bytes"):
            self.assertIn(words, done.stdout)
        server.run("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
        done = self.check(node)
        self.assertEqual(done.returncode, 1)
        self.assertIn("set it to noeviction", done.stderr)
        node.spawn()
        self.assertEqual(node.wait(), 1)
        self.assertIn("set it to noeviction", node.stderr())

    def test_migrate_prepares_once(self):
        server = redis_server.Redis(self.binary)
        self.addCleanup(server.close)
        server.start()
        node = self.gateway(CONFIG, store=server.url)
        self.assertIn("semel migrate", self.check(node).stderr)
        for said in ("is prepared", "was prepared before"):
            done = self.run_semel("migrate", "--config", node.config_path)
            self.assertEqual((done.returncode, said in done.stdout), (0, True), done.stdout + done.stderr)

    def test_a_loss_stops_the_gateway_until_it_is_accepted(self):
        """The log of the server is cut: the loss is counted, logged and stops new keys, and `semel check` ends the stop."""
        server = self.server()
        node = self.node(server, STOPPING)
        self.answer_all(status=201, body=lambda _: b"paid")
        log = server.folder / "appendonlydir" / "appendonly.aof.1.incr.aof"
        self.assertEqual(node.ask("POST", "/v1/pay", keyed("k1"), b"{}").status, 201)
        before = log.stat().st_size
        for number in range(5):
            self.assertEqual(node.ask("POST", "/v1/pay", keyed(f"lost{number}"), b"{}").status, 201)
        server.kill()
        with open(log, "ab") as file:
            file.truncate(before)
        server.start()
        redis_server.until(lambda: node.metrics()[1]["semel_store_lost_calls_total"] == 10)
        self.assertIn("Redis has lost", node.stderr())
        redis_server.until(lambda: node.ask("POST", "/v1/pay", keyed("k2"), b"{}").status == 503)
        done = self.check(node, "--accept-loss")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("call(s) since", done.stdout)
        redis_server.until(lambda: node.ask("POST", "/v1/pay", keyed("k2"), b"{}").status == 201)
        self.assertEqual(node.ask("POST", "/v1/pay", keyed("k1"), b"{}").get("Idempotent-Replayed"), "true")
        self.assertIn("no loss is waiting", self.check(node, "--accept-loss").stdout)


if __name__ == "__main__":
    harness.run()
