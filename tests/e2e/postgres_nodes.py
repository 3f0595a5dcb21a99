#!/usr/bin/env python3
"""Several gateways on one PostgreSQL server, as clients see them. --binary SEMEL"""
import functools
import itertools
import json
import socket
import time

import harness
import postgres_server
import server
import wire
from harness import KEY_ONE, KEY_TWO, keyed

CONFIG = harness.CONFIG + harness.ROUTE
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
QUICK_TO_NOTICE = "deadlock_timeout = 50ms"  # before a batch gives up waiting; otherwise none would be counted
WAITING = CONFIG + 'in_flight = "wait"\nwait_max = "8s"\n'

encrypted = functools.partial(harness.encrypted, CONFIG)


def balancer(addresses):
    """A server that passes connections on to the addresses in turn."""
    turns = itertools.cycle(addresses)
    return server.Server(server.relays(lambda: socket.create_connection(next(turns))))


class Nodes(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres_server.Server(cls.binary, QUICK_TO_NOTICE)
        cls.addClassCleanup(cls.server.close)

    def node(self, config=CONFIG, **values):
        return self.gateway(config, store=self.server.url, **values).start()

    def test_one_effect_per_key_under_the_hammer(self):
        """25 duplicates of each key at once, shared out over two gateways: the API acts once for each."""
        api = self.demo("--without")
        upstream = "%s:%d" % api.address
        nodes = [self.node(upstream=upstream) for _ in range(2)]
        shared = balancer([node.address for node in nodes])
        self.addCleanup(shared.close)
        done = self.run_semel("hammer", "http://%s:%d/v1/payments" % shared.address, "--keys", 100, "--duplicates", 25,
                          "--wrong-body", 10, "--cut", 10, "--json", "--header", "Authorization: alice",
                          "--effects", f"{api.url}/effects", seconds=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["effects"], {"before": 0, "after": 100})
        self.assertEqual(self.server.run("SELECT count(*) FROM semel.keys WHERE fence > 1"), "0")
        self.assertEqual(self.server.run(DEADLOCKS), "0")

    def test_an_answer_of_one_node_is_replayed_by_the_other(self):
        """Status, fields and bytes are those of the first answer."""
        first, second = self.node(), self.node()
        self.answer_all(status=201, body=lambda _: b'{"paid": true}', fields=[("Content-Type", "application/json")])
        one = first.ask("POST", "/v1/pay", keyed("k1"), b"{}")
        two = second.ask("POST", "/v1/pay", keyed("k1"), b"{}")
        self.assertEqual((one.status, one.body), (201, b'{"paid": true}'))
        self.assertEqual((two.status, two.body, two.get("Content-Type")), (201, one.body, "application/json"))
        self.assertEqual(two.get("Idempotent-Replayed"), "true")
        self.assert_problem(second.ask("POST", "/v1/pay", keyed("k1"), b"other"), 422, "key-reused")
        self.assertEqual(self.stage.count(), 1)

    def test_commits_are_counted(self):
        """Two for a first run that nobody shares them with: one that claims, one that completes."""
        node = self.node()
        self.answer_all(status=200)
        before = node.metrics()[1]
        self.assertEqual(node.ask("POST", "/v1/pay", keyed("counted"), b"{}").status, 200)
        after = node.metrics()[1]
        grown = {name: after[name] - before[name] for name in after if name.startswith("semel_store_") and name in before}
        self.assertEqual(grown["semel_store_batch_writes_count"], 2)
        self.assertEqual(grown["semel_store_batch_writes_sum"], 2)
        self.assertGreater(grown["semel_store_sync_seconds_sum"], 0)

    def test_a_key_over_its_quota_costs_two_writes_and_the_upstream_nothing(self):
        """The server is not read first: what is refused was claimed, and is released. A key that is known is replayed."""
        self.answer_all(status=200)
        node = self.node(CONFIG.replace("[upstream.app]", "[limits]\nkeys_per_scope = 1\n[upstream.app]"))
        self.assertEqual(node.ask("POST", "/v1/pay", keyed("in-time", scope="quota"), b"{}").status, 200)
        before = node.metrics()[1]["semel_store_batch_writes_sum"]
        for number in range(10):
            refused = node.ask("POST", "/v1/pay", keyed(f"over{number}", scope="quota"), b"{}")
            self.assert_problem(refused, 429, "quota-exceeded")
        self.assertEqual(node.metrics()[1]["semel_store_batch_writes_sum"] - before, 20)
        again = node.ask("POST", "/v1/pay", keyed("in-time", scope="quota"), b"{}")
        self.assertEqual(again.get("Idempotent-Replayed"), "true")
        self.assertEqual(self.stage.count(), 1)

    def test_each_gateway_allows_the_limit(self):
        """Two on one database count for themselves, so that a scope has twice the keys."""
        self.answer_all(status=200)
        limited = CONFIG.replace("[upstream.app]", "[limits]\nkeys_per_scope = 1\n[upstream.app]")
        for number in range(2):
            node = self.node(limited)
            self.assertEqual(node.ask("POST", "/v1/pay", keyed(f"at{number}", scope="shared"), b"{}").status, 200)
            self.assert_problem(node.ask("POST", "/v1/pay", keyed(f"over{number}", scope="shared"), b"{}"), 429, "quota-exceeded")

    def expect_to_be_woken(self, first, second):
        """What runs on the first node is waited for on the second, which hears of its end soon after it was given."""
        runs = first.connect()
        runs.request("POST", "/v1/pay", keyed("waited"), b"{}")
        arrival = self.stage.next()
        waits = second.connect()
        waits.request("POST", "/v1/pay", keyed("waited"), b"{}")
        time.sleep(0.5)
        arrival.answer(201, body=b"paid")
        self.assertEqual(runs.reply().body, b"paid")
        ended = time.monotonic()
        reply = waits.reply()
        self.assertEqual((reply.status, reply.body, reply.get("Idempotent-Replayed")), (201, b"paid", "true"))
        self.assertLess(time.monotonic() - ended, 0.4)  # a look of its own would come a second after the last
        self.assertEqual(self.stage.count(), 1)

    def test_who_waits_on_another_node_is_woken(self):
        """The answer of the first node reaches the one that waits on the second soon after it was given."""
        self.expect_to_be_woken(self.node(WAITING), self.node(WAITING))

    def sealed_database(self, name):
        """A database of its own, since the first gateway settles by what keys are named; its address."""
        return self.server.prepare(name)

    def test_encrypted_nodes_name_keys_alike_while_their_keys_rotate(self):
        """Two start at once on a new database and replay each other's answers; so do those after a rotation. No row holds
        the plain hash that the log names a key by; a node without the keys does not start."""
        url = self.sealed_database("sealed")
        nodes = [self.gateway(encrypted(KEY_ONE), store=url) for _ in range(2)]
        for node in nodes:
            node.spawn()
        for node in nodes:
            self.assertTrue(wire.eventually(lambda node=node: "listening on" in node.stderr(), seconds=20), node.stderr())
        self.answer_all(status=201, body=lambda _: b"paid")
        for number in range(20):
            self.assertEqual(nodes[number % 2].ask("POST", "/v1/pay", keyed(f"k{number}"), b"{}").status, 201)
        for keys in ((KEY_ONE,), (KEY_TWO, KEY_ONE)):
            for node in nodes:
                node.stop()
                node.write_config(encrypted(*keys))
                node.start()
            for number in range(20):
                again = nodes[(number + 1) % 2].ask("POST", "/v1/pay", keyed(f"k{number}"), b"{}")
                self.assertEqual((again.status, again.body, again.get("Idempotent-Replayed")), (201, b"paid", "true"))
        self.assertEqual(self.stage.count(), 20)
        nodes[0].stop()
        plain = {json.loads(line).get("key") for line in nodes[0].stdout().splitlines()} - {None}
        self.assertEqual(len(plain), 20)
        rows = self.server.run("SELECT k::text FROM semel.keys k", "sealed")
        self.assertEqual(len(rows.splitlines()), 20)
        self.assertFalse([name for name in plain if name in rows])
        for config, why in ((CONFIG, "store.encryption_keys is empty"), (encrypted(KEY_ONE), "none of store.encryption_keys")):
            stranger = self.gateway(config, store=url).spawn()
            self.assertEqual(stranger.wait(), 1)
            self.assertIn(why, stranger.stderr())

    def test_who_waits_on_another_encrypted_node_is_woken(self):
        """As above, though the two nodes and the server have different names for the key."""
        url = self.sealed_database("sealed_waiting")
        self.expect_to_be_woken(*(self.gateway(harness.encrypted(WAITING, KEY_ONE), store=url).start() for _ in range(2)))

    def test_a_database_that_is_older_than_its_keys_is_told_of(self):
        """Encryption is switched on later: the names of keys stay, and start and `semel check` say so."""
        url = self.sealed_database("older")
        self.answer_all(status=201)
        with self.gateway(CONFIG, store=url) as plain:
            plain.ask("POST", "/v1/pay", keyed("k1"), b"{}")
        node = self.gateway(encrypted(KEY_ONE, more="read_unencrypted = true"), store=url).start()
        self.assertEqual(node.ask("POST", "/v1/pay", keyed("k1"), b"{}").get("Idempotent-Replayed"), "true")
        self.assertIn("stored under plain hashes", node.stderr())
        checked = self.run_semel("check", node.config_path)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("stored under plain hashes", checked.stderr)

    def test_a_server_that_is_down_is_told_within_a_second(self):
        """503, nothing forwarded; and when the server is back, so are we."""
        node = self.node()
        self.answer_all(body=lambda _: b"done")
        self.assertEqual(node.ask("POST", "/v1/pay", keyed("before"), b"{}").status, 200)
        self.server.crash()
        self.addCleanup(lambda: self.server.process.poll() is None or self.server.start())
        for key in ("down1", "down2"):
            started = time.monotonic()
            self.assert_problem(node.ask("POST", "/v1/pay", keyed(key), b"{}"), 503, "store-unavailable")
            self.assertLess(time.monotonic() - started, 1.0)
        self.assertEqual(self.stage.count(), 1)
        self.server.start()
        deadline = time.monotonic() + 20
        while (reply := node.ask("POST", "/v1/pay", keyed("down1"), b"{}")).status == 503:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.assertEqual((reply.status, reply.body), (200, b"done"))

    def test_no_password_is_printed(self):
        """Neither when the server cannot be reached nor when the address makes no sense."""
        for url in ("postgres://semel:hunter2@127.0.0.1:1/db", "postgres://semel:hunter2@[::1/db"):
            semel = self.gateway(CONFIG, store=url).spawn()
            self.assertEqual(semel.wait(), 1)
            self.assertNotIn("hunter2", semel.stderr() + semel.stdout())


if __name__ == "__main__":
    harness.run()
