#!/usr/bin/env python3
"""An outbox from end to end: sent in a transaction, moved, delivered once. --binary SEMEL

The program is psql; a handler of our own writes down every call (inbox_handler.py). outbox_oracle.py breaks things.
"""
import re
import time

import harness
import operators
import pgbouncer
import postgres_server
import wire
from inbox_handler import Handler

CONFIG = harness.CONFIG.replace("[store]", f"tokens = {{ {operators.LISTED} }}\n[store]") + harness.ROUTE + """
[destination.mailer]
upstream = "app"
target = "/send"
schedule = ["0s", "50ms", "100ms"]
[destination.ledger]
upstream = "app"
target = "/ledger"
sign = "whsec_c2hhcmVk"
[[outbox]]
name = "shop"
database = "$database"
deliver = ["mailer", "ledger"]
%s
"""


class Outbox(operators.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = postgres_server.Server(cls.binary)
        cls.databases = 0

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        super().tearDownClass()

    def database(self):
        """A new one with an outbox; its name."""
        type(self).databases += 1
        name = f"shop_{self.databases}"
        self.server.run(f"CREATE DATABASE {name}")
        done = self.run_semel("migrate", "--outbox", "--url", self.server.url_of(name))
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "the outbox went from version 0 to version 1"), done.stderr)
        return name

    def start(self, handler, name, more="", url=None, **values):
        self.addCleanup(handler.close)
        semel = self.gateway(CONFIG % more, upstream="%s:%d" % handler.address, database=url or self.server.url_of(name),
                             **values)
        return semel.start()

    def send(self, name, key, body='{"id": "%s"}', destination="mailer", **more):
        words = "".join(f", {word} => {value}" for word, value in more.items())
        text = body % key if "%s" in body else body
        self.server.run(f"SELECT semel.send('{destination}', '{key}', '{text}'{words})", name)

    def metrics(self, semel):
        head = [("Authorization", f"Bearer {operators.TOKENS['viewer']}")]
        text = wire.ask(semel.admin, "GET", "/metrics", head).body.decode()
        return {m[1]: float(m[2]) for m in re.finditer(r"^([^#\s]\S*) (\S+)$", text, re.M)}

    def eventually(self, condition, seconds=20):
        self.assertTrue(wire.eventually(condition, seconds))

    def dead(self, semel):
        items = operators.ByApi(self, semel).good("GET", "/v1/inbox?state=dead")["items"]
        return [(item["destination"], item["why"]) for item in items]

    def test_a_commit_is_delivered_and_a_rollback_is_not(self):
        """With the body, a key that is the same for all attempts, and the fields that were asked for."""
        handler = Handler(lambda event, attempt: 500 if attempt < 3 else 200)
        name = self.database()
        semel = self.start(handler, name)
        self.server.run("BEGIN; SELECT semel.send('mailer', 'undone', '{\"id\": \"undone\"}'); ROLLBACK", name)
        self.send(name, "order:1", object="'o/1'", headers="""'{"X-Tenant": "acme"}'""")
        self.eventually(lambda: "order:1" in handler.events())
        self.assertEqual([request.target for request in handler.requests], ["/send"] * 3)
        request = handler.requests[0]
        self.assertEqual(len({each.get("Idempotency-Key") for each in handler.requests}), 1)
        self.assertRegex(request.get("Idempotency-Key"), "^[0-9a-f]{64}$")
        self.assertEqual((request.get("X-Tenant"), request.get("Content-Type")), ("acme", "application/json"))
        self.assertEqual([each.get("Idempotency-Attempt") for each in handler.requests], ["1", "2", "3"])
        self.assertIsNone(request.get("X-Forwarded-For"))
        self.assertEqual(request.get("Host"), "%s:%d" % handler.address)
        self.assertEqual(request.body, b'{"id": "order:1"}')
        self.assertEqual(handler.troubles, [])
        self.assertNotIn("undone", {call[0] for call in handler.calls})

    def test_the_same_again_is_once_and_other_content_is_dead(self):
        """And counted, and in the list of what is dead, with its reason; so is what goes nowhere."""
        handler = Handler()
        name = self.database()
        semel = self.start(handler, name)
        for _ in range(3):
            self.send(name, "order:1")
        self.send(name, "order:1", body='{"id": "order:1", "other": true}')
        self.send(name, "order:2", destination="nowhere")
        self.server.run("INSERT INTO semel.outbox_0 (sent_at, raw, destination, key, object, headers, body) VALUES (now(), false, "
                        "'mailer', 'order:3', '', jsonb_build_object('X-Long', repeat('a', 3000000)), '{}')", name)
        self.send(name, "order:4")
        self.eventually(lambda: handler.count("order:4") == 1 and len(self.dead(semel)) == 3)
        counts = self.metrics(semel)
        self.assertEqual(counts['semel_outbox_dead_total{outbox="shop",why="key-reused"}'], 1)
        self.assertEqual(counts['semel_outbox_dead_total{outbox="shop",why="undeliverable"}'], 2)
        self.assertEqual(counts['semel_outbox_repeated_total{outbox="shop"}'], 2)
        self.assertIn(("mailer", "key-reused"), self.dead(semel))
        self.assertIn(("nowhere", "nowhere is not in deliver of [[outbox]] shop"), self.dead(semel))
        self.assertIn(("mailer", "the header X-Long is over limits.header_line_bytes (8KiB): send it in the body, or raise the "
                       "limit and replay it"), self.dead(semel))
        self.assertEqual(handler.count("order:1"), 1)
        listed = self.run_semel("inbox", "list", "--state", "dead", "--admin", "http://%s:%d" % semel.admin, "--token",
                                operators.TOKENS["viewer"])
        self.assertIn("key-reused", listed.stdout, listed.stderr)

    def test_it_waits_for_its_time_and_keeps_the_order_of_an_object(self):
        """Also behind one that waits; other objects go on."""
        handler = Handler(lambda event, attempt: 500 if event == "a:1" and attempt < 4 else 200)
        name = self.database()
        semel = self.start(handler, name)
        self.server.run("".join(f"SELECT semel.send('mailer', '{key}', '{{\"id\": \"{key}\"}}', object => '{key[0]}'{more});"
                                for key, more in (("a:1", ""), ("a:2", ""), ("b:1", ", not_before => now() + interval '2 s'"),
                                                  ("b:2", ""), ("c:1", ""))), name)
        began = time.monotonic()
        self.eventually(lambda: handler.events() == {"a:1", "a:2", "b:1", "b:2", "c:1"})
        order = [call[0] for call in handler.calls if call[4] == 200]
        self.assertLess(order.index("a:1"), order.index("a:2"))
        self.assertLess(order.index("b:1"), order.index("b:2"))
        self.assertLess(order.index("c:1"), order.index("b:1"))
        times = {call[0]: call[2] for call in handler.calls}
        self.assertGreater(times["b:1"], began + 1)
        self.assertEqual(handler.troubles, [])
        self.assertEqual(semel.stop(), 0)

    def test_the_desk_shows_it(self):
        """Held against docs/openapi-admin.json."""
        handler = Handler()
        name = self.database()
        semel = self.start(handler, name)
        self.eventually(lambda: self.outboxes(semel)[0]["standing"] == "moving")
        self.send(name, "order:1", destination="ledger")
        self.eventually(lambda: self.outboxes(semel)[0]["moved"] == 1)
        shown = self.outboxes(semel)[0]
        self.assertEqual((shown["name"], shown["key_reused"], shown["trouble"]), ("shop", 0, ""))
        self.eventually(lambda: handler.count() == 1)
        self.assertTrue(handler.requests[0].get("webhook-signature").startswith("v1,"))
        self.assertEqual(handler.requests[0].target, "/ledger")

    def outboxes(self, semel):
        return operators.ByApi(self, semel).good("GET", "/v1/outbox")["items"]

    def test_a_doorbell_is_heard(self):
        """Long before the next look."""
        handler = Handler()
        name = self.database()
        semel = self.start(handler, name, more='doorbell = true\npoll = { busy = "30s", idle = "30s" }')
        self.eventually(lambda: self.outboxes(semel)[0]["standing"] == "moving")
        time.sleep(0.5)  # it listens now
        self.send(name, "order:1")
        time.sleep(1)
        self.assertEqual(handler.count(), 0)  # nobody has rung
        self.server.run("NOTIFY semel_outbox", name)
        self.eventually(lambda: handler.count() == 1, 10)

    def test_it_goes_through_a_pooler(self):
        """In transaction mode."""
        handler = Handler()
        name = self.database()
        pool = pgbouncer.PgBouncer(self.server)
        self.addCleanup(pool.close)
        pool.start()
        semel = self.start(handler, name, url=pool.url_of(name))
        for i in range(20):
            self.send(name, f"order:{i}", object="'one'")
        self.eventually(lambda: len(handler.events()) == 20)
        self.assertEqual([call[0] for call in handler.calls], [f"order:{i}" for i in range(20)])
        self.assertEqual(self.outboxes(semel)[0]["standing"], "moving")

    def test_another_gateway_takes_over(self):
        """One moves; when it leaves, the other does at once; when it dies, after its lease."""
        handler = Handler()
        name = self.database()
        store = self.server.prepare(f"store_{self.databases}")
        first = self.start(handler, name, store=store)
        self.eventually(lambda: self.outboxes(first)[0]["standing"] == "moving")
        second = self.gateway(CONFIG % "", upstream="%s:%d" % handler.address, database=self.server.url_of(name),
                              store=store).start()
        self.eventually(lambda: self.outboxes(second)[0]["standing"] == "standby")
        first.kill()
        self.send(name, "order:1")
        self.eventually(lambda: handler.count() == 1, 30)
        self.assertEqual(self.outboxes(second)[0]["standing"], "moving")

    def test_a_database_that_is_away_is_waited_for(self):
        """The gateway starts without it, says why nothing moves, once, and goes on when it is prepared, which it says, too."""
        handler = Handler()
        type(self).databases += 1
        name = f"late_{self.databases}"
        semel = self.start(handler, name)
        self.eventually(lambda: self.outboxes(semel)[0]["standing"] == "failing")
        self.assertIn("does not exist", self.outboxes(semel)[0]["trouble"])
        self.server.run(f"CREATE DATABASE {name}")
        self.eventually(lambda: "semel migrate --outbox" in self.outboxes(semel)[0]["trouble"], 30)
        self.assertEqual(self.run_semel("migrate", "--outbox", "-c", semel.config_path).returncode, 0)
        self.send(name, "order:1")
        self.eventually(lambda: handler.count() == 1, 30)
        self.eventually(lambda: "outbox shop: rows are moved again, after " in semel.stderr())
        lines = [line for line in semel.stderr().splitlines() if "outbox shop: " in line]
        self.assertIn("semel: outbox shop: rows cannot be moved, and stay where they are: ", lines[0])
        self.assertEqual(len(lines), 2, lines)

    def test_a_full_inbox_leaves_rows_where_they_are(self):
        """And moves them when there is room."""
        handler = Handler()
        name = self.database()
        semel = self.start(handler, name, more="depth_max = 5")
        operator = operators.ByApi(self, semel)
        operator.good("POST", "/v1/destinations/mailer/pause", {"reason": "a test"})
        for i in range(12):
            self.send(name, f"order:{i}")
        self.eventually(lambda: "depth_max" in self.outboxes(semel)[0]["trouble"])
        left = sum(int(self.server.run(f"SELECT count(*) FROM semel.outbox_{i}", name)) for i in range(3))
        self.assertGreater(left, 0)
        waiting, oldest = (f'semel_outbox_{word}{{outbox="shop"}}' for word in ("waiting", "oldest_seconds"))
        self.eventually(lambda: self.metrics(semel)[waiting] >= left and self.metrics(semel)[oldest] > 0)
        operator.good("POST", "/v1/destinations/mailer/resume", {"reason": "a test"})
        self.eventually(lambda: len(handler.events()) == 12, 60)
        self.assertEqual(handler.count(), 12)

    def test_it_needs_no_route(self):
        """A gateway that only moves an outbox listens for nobody but operators."""
        handler = Handler()
        name = self.database()
        self.addCleanup(handler.close)
        config = CONFIG.replace(harness.ROUTE, "")
        self.assertNotEqual(config, CONFIG)
        semel = self.gateway(config % "", upstream="%s:%d" % handler.address, database=self.server.url_of(name))
        semel.spawn()
        self.eventually(lambda: "moving what is sent, for no clients" in semel.said_now())
        self.send(name, "order:1")
        self.eventually(lambda: handler.count("order:1") == 1)
        self.assertEqual(semel.stop(), 0)

    def test_migrate_says_what_to_do(self):
        """And prints its SQL, with the rights of roles, for who runs it by hand."""
        printed = self.run_semel("migrate", "--outbox", "--print-sql", "--writer", "app", "--mover", "semel")
        self.assertEqual(printed.returncode, 0)
        self.assertIn('GRANT EXECUTE ON FUNCTION semel.send(text, text, jsonb, text, timestamptz, jsonb) TO "app"',
                      printed.stdout)
        type(self).databases += 1
        name = f"printed_{self.databases}"
        self.server.run(f"CREATE DATABASE {name}")
        self.server.run("CREATE ROLE app LOGIN; CREATE ROLE semel LOGIN")
        self.server.run(printed.stdout, name)
        self.send(name, "order:1")
        self.assertEqual(self.run_semel("migrate", "--outbox").returncode, 2)
        refused = self.run_semel("migrate", "--outbox", "--url", self.server.url_of(name), "--writer", "nobody_there")
        self.assertEqual(refused.returncode, 1)
        self.assertIn('role "nobody_there" does not exist', refused.stderr)


if __name__ == "__main__":
    operators.run()
