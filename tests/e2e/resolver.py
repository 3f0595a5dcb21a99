#!/usr/bin/env python3
"""Resolvers with a real database and a real service: unknown outcomes of attempts that died at each point are settled as what
happened, on gateways that are killed meanwhile. --binary SEMEL --build FOLDER"""
import concurrent.futures
import json
import random
import re
import threading
import time

import harness
import operators
import postgres_server
import server
import wire
from harness import keyed
from operators import TOKENS, WITH_TOKENS, ByApi

ROUTED = WITH_TOKENS.replace('url = "http://$upstream"', 'url = "http://$upstream"\ntimeout = "5s"') + """
lease = "500ms"
scope = "{header:Authorization}"
"""
RESOLVER = """
[[resolver]]
route = "/v1/*"
every = "1s"
certain_after = "6s"
"""
BY_SQL = RESOLVER + """
ask = "sql"
database = "$database"
query = "SELECT key, account AS scope, status, body FROM answers WHERE key = ANY($$1)"
"""
BY_PROBE = RESOLVER + """
ask = "probe"
authorization = "Bearer resolver"
"""
TABLE = "CREATE TABLE answers (account text, key text, status int, body jsonb)"


class Service:
    """An upstream that dies at a point of each request, as its key says, and knows what it has done."""

    def __init__(self):
        self.done, self.attempts, self.waiting = {}, {}, threading.Event()
        self.lock = threading.Lock()
        self.server = server.Server(self.serve)

    def serve(self, connection):
        while True:
            request = wire.read_head(connection.reader)
            wire.read_body(connection.reader, request, until_close=False)
            method, target, _ = request.start.split(" ")
            if method == "GET":
                key = target.partition("=")[2]
                body = self.done.get(key)
                if key.startswith("large"):
                    body = b"x" * 3_000_000
                status = 500 if key.startswith("bad") else 201 if body else 404
                connection.send(server.Reply(status, [], body or b"").bytes())
                continue
            key = request.get("Idempotency-Key")
            fate, again = key.partition("-")[0], request.get("Idempotency-Attempt") != "1"
            with self.lock:
                self.attempts[key] = self.attempts.get(key, 0) + 1
                if fate != "before" or again:
                    self.done[key] = json.dumps({"id": key, "attempt": self.attempts[key]}).encode()
            if fate == "answered" or again:
                connection.send(server.Reply(201, [("Content-Type", "application/json")], self.done[key]).bytes())
                continue
            if fate == "held":
                self.waiting.wait(20)  # until its gateway is gone
            wire.reset(connection.sock)
            return

    def rows(self):
        """What a transaction of the service would have left."""
        return ", ".join(f"('alice', '{key}', 201, '{body.decode()}')" for key, body in self.done.items())


class Resolvers(operators.Case):
    @classmethod
    def setUpClass(cls):
        cls.postgres = postgres_server.Server(cls.binary)

    @classmethod
    def tearDownClass(cls):
        cls.postgres.close()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.service = Service()
        self.addCleanup(self.service.server.close)

    def serve(self, config, database, **values):
        return self.gateway(config, upstream="%s:%d" % self.service.server.address,
                            database=self.postgres.url_of(database), **values)

    def send(self, gateways, keys):
        """Each key once, at any of the gateways, some at a time."""
        def one(key):
            try:
                random.choice(gateways).ask("POST", "/v1/payments", keyed(key), b"12", seconds=30)
            except (OSError, wire.Silent, wire.Cut, wire.Closed):
                pass  # its gateway was killed

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            list(pool.map(one, keys))

    def left(self, semel):
        return ByApi(self, semel).good("GET", "/v1/keys?state=unknown&limit=1000")["items"]

    def words(self, semel, *words):
        """What the command line prints."""
        return self.run_semel("keys", *words, "--admin", "http://%s:%d" % semel.admin, "--token", TOKENS["operator"]).stdout

    def wait_for(self, condition, what, seconds=150.0):
        self.assertTrue(wire.eventually(condition, seconds=seconds, pause=0.1), what)

    def unaskable(self, semel):
        token = [("Authorization", f"Bearer {TOKENS['viewer']}")]
        metrics = wire.ask(semel.admin, "GET", "/metrics", token).body.decode()
        return sum(map(int, re.findall(r"^semel_resolver_unaskable_keys\{.*\} (\d+)$", metrics, re.M)))

    def check_truth(self, semel, keys, left=0):
        """What was done is replayed and not done again; what was not done runs when it is asked for again. `left` are in doubt."""
        doubtful = 0
        for key in keys:
            before = dict(self.service.attempts)
            reply = semel.ask("POST", "/v1/payments", keyed(key), b"12", seconds=30)
            if reply.status == 409 and doubtful < left:
                doubtful += 1
                continue
            self.assertEqual(reply.status, 201, (key, reply))
            ran = self.service.attempts[key] - before.get(key, 0)
            was_done = not key.startswith("before") and key in before
            self.assertEqual(ran, 0 if was_done else 1, key)
            self.assertEqual(reply.get("Idempotent-Replayed"), "true" if was_done else None, key)
            self.assertEqual(json.loads(reply.body)["id"], key)

    def test_applies_what_the_database_says(self):
        """Two gateways on one store, one of them killed with requests under way. While the table is not there, nothing is
        decided, however long that takes."""
        self.postgres.prepare("store_sql")
        self.postgres.run("CREATE DATABASE app_sql")
        config = ROUTED + BY_SQL + 'decide = "apply"\n'
        url = self.postgres.url_of("store_sql")
        first = self.serve(config, "app_sql", store=url).start()
        second = self.serve(config, "app_sql", store=url).start()
        keys = [f"{fate}-{i}" for i in range(75) for fate in ("before", "after", "answered")]
        random.Random(7).shuffle(keys)
        self.send([first, second], keys)
        held = [f"held-{i}" for i in range(16)]
        under_way = threading.Thread(target=self.send, args=([second], held))
        under_way.start()
        self.wait_for(lambda: sum(key in self.service.attempts for key in held) == len(held), "all are under way")
        second.kill()
        self.service.waiting.set()
        under_way.join()
        lost = sum(not key.startswith("answered") for key in self.service.attempts)
        self.assertGreater(lost, 100)
        self.wait_for(lambda: len(self.left(first)) >= lost, "the held ones are in doubt, too")
        time.sleep(7)  # longer than certain_after: a decision by elapsed time would show
        lost = len(self.left(first))
        self.assertEqual(ByApi(self, first).entries(), [], "nothing was decided without a source")
        token = [("Authorization", f"Bearer {TOKENS['viewer']}")]
        metrics = wire.ask(first.admin, "GET", "/metrics", token).body.decode()
        self.assertIn('semel_resolver_source_up{route="/v1/*"} 0\n', metrics)
        self.assertNotIn('semel_resolver_unanswered_total{route="/v1/*"} 0\n', metrics)
        self.postgres.run(f"BEGIN; {TABLE}; INSERT INTO answers VALUES {self.service.rows()}; COMMIT", "app_sql")
        second.start()
        self.wait_for(lambda: len(self.left(first)) == self.unaskable(first), "all are settled that can be asked about")
        # A note that took too long is not written (docs/resolver.md), and its key is left to a person.
        left = len(self.left(first))
        self.assertLess(left, lost // 4)
        self.check_truth(first, keys + held, left)
        entries = ByApi(self, first).entries()
        self.assertTrue(operators.is_whole(entries))
        acts = [json.loads(entry["entry"]) for entry in entries]
        settled = {act["id"] for act in acts if "act" in act}
        self.assertEqual(len(settled), lost - left)
        self.assertEqual({act["role"] for act in acts if "act" in act}, {"resolver"})
        self.assertEqual(sum(act.get("outcome") == "applied" for act in acts), lost - left, "each was settled once")
        print(f"{lost} keys were in doubt, and are settled as what happened")

    def test_check_asks_the_database(self):
        """`semel check` refuses a query that its database does not take, with line and column; without a database it warns."""
        self.postgres.run("CREATE DATABASE app_check")
        self.postgres.run(f"{TABLE}; CREATE FUNCTION note() RETURNS int LANGUAGE sql VOLATILE AS "
                          "'INSERT INTO answers VALUES (NULL, NULL, 1, NULL) RETURNING 1'", "app_check")
        usual = "SELECT key, account AS scope, status, body FROM answers WHERE key = ANY($$1)"
        table = [(usual.replace("status, ", "") + " AND status > 0", "column q.status does not exist"),
                 (usual.replace("account", "tenant"), 'column "tenant" does not exist'),
                 (usual.replace("status", "note() AS status").replace("WHERE", "RIGHT JOIN (SELECT 1) one ON true WHERE true OR"),
                  "read-only transaction"), (usual, None)]
        for query, words in table:
            path = self.serve(ROUTED + BY_SQL.replace(usual, query), "app_check").config_path
            line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if text.startswith("query = "))
            done = self.run_semel("check", path)
            self.assertEqual(done.returncode, 1 if words else 0, (query, done))
            if words:
                self.assertIn(f"semel.toml:{line}:9: error: the database does not take the query of the resolver: ", done.stderr)
                self.assertIn(words, done.stderr)
            else:
                self.assertIn("resolver of /v1/*: its database takes the query", done.stdout)
        self.assertEqual(self.postgres.run("SELECT count(*) FROM answers", "app_check"), "0", "nothing was written")
        gone = self.serve(ROUTED + BY_SQL, "app_check").config_path
        gone.write_text(gone.read_text().replace(self.postgres.url_of("app_check"), "postgres://127.0.0.1:1/gone"))
        done = self.run_semel("check", gone)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, r"semel.toml:\d+:9: warning: the database of the resolver of /v1/\* cannot be asked")

    def test_suggests_and_a_person_agrees(self):
        """On an encrypted embedded store: the texts of keys are not in its files."""
        self.postgres.run("CREATE DATABASE app_suggest")
        self.postgres.run(f"{TABLE}; INSERT INTO answers VALUES ('alice', 'secret-after', 201, '{{\"id\": 1}}'), "
                          "('bob', 'secret-elsewhere', 201, '{}')", "app_suggest")
        with self.serve(harness.encrypted(ROUTED, harness.KEY_ONE) + BY_SQL, "app_suggest") as semel:
            self.send([semel], ["secret-after", "secret-before", "secret-elsewhere"])
            suggested = {}

            def thinks(key, what):
                suggested[key] = ByApi(self, semel).find(key, "alice")
                shown = ByApi(self, semel).show(suggested[key]["id"])
                return shown.get("suggestion", {}).get("as") == what

            self.wait_for(lambda: thinks("secret-after", "done"), "found")
            self.wait_for(lambda: thinks("secret-before", "not-done"), "absent for long")
            self.wait_for(lambda: thinks("secret-elsewhere", "person"), "the row of another tenant")
            self.assertEqual(len(self.left(semel)), 3, "nothing was changed")
            for key, what in (("secret-after", "done"), ("secret-before", "not-done")):
                self.assertEqual(ByApi(self, semel).find(key, "alice")["suggestion"]["as"], what, "it is found with the key")
            after = suggested["secret-after"]
            self.assertIn("resolver   done: the source has its answer, with status 201", self.words(semel, "show", after["id"]))
            self.assertIn("resolver: not-done", self.words(semel, "list", "--state", "unknown"))
            ByApi(self, semel).good("POST", f"/v1/keys/{after['id']}/resolve",
                                    {"fence": 1, "as": "done", "from": "suggestion", "reason": "it is right"})
            reply = self.pay(semel, "secret-after")
            self.assertEqual((reply.status, json.loads(reply.body)), (201, {"id": 1}))
            semel.stop()
            for file in (semel.folder / "data").rglob("*"):
                self.assertNotIn(b"secret-", file.read_bytes() if file.is_file() else b"", file)

    def test_applies_what_the_service_says(self):
        config = ROUTED.rstrip() + '\nprobe = "/v1/payments?key={key}"\n' + BY_PROBE + 'decide = "apply"\n'
        with self.serve(config, "postgres") as semel:
            keys = [f"{fate}-{i}" for i in range(10) for fate in ("before", "after")]
            self.send([semel], keys)
            self.wait_for(lambda: not self.left(semel), "all are settled")
            self.check_truth(semel, keys)

    def test_one_key_that_the_service_cannot_answer_for_keeps_no_other(self):
        """Not one that it fails for, nor one with an answer that is too large to be kept: that is done, without the answer."""
        config = ROUTED.rstrip() + '\nprobe = "/v1/payments?key={key}"\n' + BY_PROBE + 'decide = "apply"\n'
        with self.serve(config, "postgres") as semel:
            self.send([semel], ["bad-1", "large-1", "before-1", "after-1"])
            self.wait_for(lambda: len(self.left(semel)) == 1, "all but one are settled", seconds=60)
            self.check_truth(semel, ["before-1", "after-1"])
            self.assertEqual(ByApi(self, semel).find("bad-1", "alice")["state"], "unknown")
            large = ByApi(self, semel).find("large-1", "alice")
            self.assertEqual((large["state"], self.service.attempts["large-1"]), ("done", 1))
            reply = self.pay(semel, "large-1")
            self.assertEqual((reply.status, self.service.attempts["large-1"]), (201, 1), reply)
            self.assertIn(b"urn:semel:problem:body-not-kept", reply.body)


if __name__ == "__main__":
    operators.run()
