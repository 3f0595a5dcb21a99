#!/usr/bin/env python3
"""Audits from outside: a business with a table of payments behind a gateway. One of them pays twice, and the audit says so, by the
API and by the command line; a query or a role that cannot be is refused; a replica that lags makes the window wait.
--binary SEMEL --build FOLDER"""
import json
import pathlib
import tempfile
import threading
import time
import types

import inbox_handler
import operators
import postgres_server
import programs
import wire
from operators import TOKENS, WITH_TOKENS, ByApi

QUERY = ("SELECT idempotency_key AS key, account AS scope, id AS effect, created_at AS at, amount::text AS value "
         "FROM payments WHERE created_at >= $1 AND created_at < $2")
TIMES = """every = "1s"
settle = "2s"
overlap = "10m"
"""
AUDIT = f"""
[[audit]]
name = "payments"
database = "$database"
{TIMES}query = "{{query}}"
"""


class Audits(operators.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres_server.Server(cls.binary, "wal_level = replica\nmax_wal_senders = 4")
        cls.server.run("CREATE TABLE payments (id text PRIMARY KEY, idempotency_key text, account text, amount int, "
                       "created_at timestamptz DEFAULT now()); CREATE ROLE reader LOGIN; GRANT SELECT ON payments TO reader")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.server.run("TRUNCATE payments")

    @staticmethod
    def address(server, role="reader"):
        return server.url.replace("user=postgres", f"user={role}")

    def audited(self, server=None, query=QUERY, role="reader", store=None):
        config = WITH_TOKENS + AUDIT.replace("{query}", query.replace("$", "$$"))
        return self.gateway(config, database=self.address(server or self.server, role), store=store)

    def pay(self, semel, key, times=1):
        """A payment through the gateway; the business writes its row `times` times."""
        replies = []
        asked = threading.Thread(target=lambda: replies.append(super(Audits, self).pay(semel, key)))
        asked.start()
        arrival = self.stage.next()
        arrival.read_body()
        for number in range(times):
            self.server.run(f"INSERT INTO payments VALUES ('{key}-{number}', '{key}', 'alice', {100 * len(key) + number})")
        arrival.answer(201, (), b"paid")
        asked.join()
        self.assertEqual([reply.status for reply in replies], [201])

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while True:
            found = condition()
            if found or time.monotonic() > end:
                return found
            time.sleep(0.1)

    def audit(self, semel, *words):
        return self.run_semel("audit", *words, "--admin", "http://%s:%d" % semel.admin, "--token", TOKENS["operator"])

    def test_a_duplicate_is_found_shown_and_closed(self):
        with self.audited() as semel:
            desk = ByApi(self, semel)
            self.pay(semel, "good")
            self.assertEqual(self.audit(semel, "run", "payments").returncode, 0)
            tested = self.audit(semel, "test", "payments")
            self.assertEqual((tested.returncode, "it sees what is planted in it" in tested.stdout), (0, True), tested)
            self.pay(semel, "twice", times=2)
            listed = lambda: desk.good("GET", "/v1/audits/findings?state=open")["items"]
            self.assertTrue(self.wait_for(listed), "nobody asked for a window: the audit found it by itself")
            finding = listed()[0]
            self.assertEqual((finding["kind"], finding["effects"], len(finding["rows"])), ("duplicate", 2, 2))
            key = desk.find("twice", "alice")
            self.assertEqual(finding["keys"][0]["id"], key["id"])
            self.assertNotIn("twice\"", json.dumps(finding["keys"]), "the key is not in clear")
            done = self.audit(semel, "list")
            self.assertEqual((done.returncode, "duplicate" in done.stdout), (1, True), done)
            for act in ("run", "test"):
                shown = self.audit(semel, act, "payments")
                self.assertIn(finding["first_seen"], shown.stdout)
                self.assertNotIn("1970", shown.stdout)
            self.assertEqual(self.audit(semel, "run", "payments").returncode, 1)
            metrics = wire.ask(semel.admin, "GET", "/metrics", [("Authorization", f"Bearer {TOKENS['viewer']}")]).body.decode()
            self.assertIn('semel_audit_blind{audit="payments"} 0', metrics)
            self.assertIn('semel_audit_findings{audit="payments",kind="duplicate"} 1', metrics)
            close = f"/v1/audits/findings/{finding['id']}/close"
            self.assertEqual(desk.call("POST", close, {})[0].status, 400, "without a reason nothing is done")
            self.assertEqual(desk.call("POST", close, {"reason": "x"}, token=TOKENS["viewer"])[0].status, 403)
            noted = self.audit(semel, "acknowledge", finding["id"], "--reason", "on it")
            self.assertEqual(noted.returncode, 0, noted)
            self.assertEqual(self.audit(semel, "close", finding["id"], "--reason", "refunded").returncode, 0)
            self.assertEqual(desk.call("POST", close, {"reason": "again"})[0].status, 409)
            self.assertEqual(desk.call("POST", close.replace(finding["id"], "00"), {"reason": "x"})[0].status, 404)
            self.assertEqual(listed(), [])
            self.assertEqual(self.audit(semel, "run", "payments").returncode, 0)
            acts = [json.loads(entry["entry"]).get("act") for entry in desk.entries()]
            self.assertIn("acknowledge finding", acts)
            self.assertIn("close finding", acts)

    def test_an_audit_that_has_judged_nothing_does_not_say_that_it_sees(self):
        """Nor is it clean; and one that is not there is said to be missing."""
        config = WITH_TOKENS + AUDIT.replace("{query}", QUERY.replace("$", "$$"))
        semel = self.gateway(config, database="postgres:///nowhere?host=/nonexistent&user=nobody").start()
        waits = lambda: "payments: has judged nothing yet; " in self.audit(semel, "list").stdout
        self.assertTrue(self.wait_for(waits), self.audit(semel, "list"))
        listed = self.audit(semel, "list", "payments")
        self.assertNotIn("sees", listed.stdout)
        self.assertEqual(listed.returncode, 4, listed)
        stranger = self.audit(semel, "list", "nobody")
        self.assertEqual((stranger.returncode, "there is no [[audit]] with the name nobody" in stranger.stderr), (4, True), stranger)
        semel.stop()
        with self.audited() as semel:
            self.assertTrue(self.wait_for(lambda: "payments: sees, judged up to 20" in self.audit(semel, "list").stdout))
            self.assertEqual(self.audit(semel, "list").returncode, 0)
            self.server.run("ALTER TABLE payments RENAME TO elsewhere")
            self.addCleanup(self.server.run, "ALTER TABLE elsewhere RENAME TO payments")
            stands = lambda: "payments: has not judged what came after 20" in self.audit(semel, "list").stdout
            self.assertTrue(self.wait_for(stands), self.audit(semel, "list"))
            listed = self.audit(semel, "list")
            self.assertEqual((listed.returncode, "sees" in listed.stdout), (4, False), listed)

    def test_a_row_cannot_act_on_a_terminal(self):
        """What the business wrote into its table is printed as text."""
        with self.audited() as semel:
            self.server.run("INSERT INTO payments VALUES (E'\\x1b[2Jcleared', 'k', 'alice', 1)")
            listed = lambda: self.audit(semel, "list").stdout
            self.assertTrue(self.wait_for(lambda: "cleared" in listed()))
            self.assertIn("\\x1b[2Jcleared", listed())
            self.assertNotIn("\x1b", listed())

    def test_every_kind_on_every_store(self):
        """A payment without a row, one whose answer was lost, one that went around the gateway, one without a key."""
        for store in (None, self.server.prepare("keys")):
            self.server.run("TRUNCATE payments")
            with self.audited(store=store) as semel:
                desk = ByApi(self, semel)
                self.lose(semel, "lost")
                self.server.run("INSERT INTO payments VALUES ('l', 'lost', 'alice', 1), ('s', 'stranger', 'alice', 2), "
                                "('n', NULL, 'alice', 3)")
                self.pay(semel, "none", times=0)
                self.pay(semel, "good")
                kinds = lambda: sorted(each["kind"] for each in desk.good("GET", "/v1/audits/findings")["items"])
                self.assertTrue(self.wait_for(lambda: kinds() == ["ghost", "missing", "orphan", "orphan"]), kinds())
                missing = desk.good("GET", "/v1/audits/findings?kind=missing")["items"][0]
                self.assertEqual(missing["keys"][0]["id"], desk.find("none", "alice")["id"])

    def paging(self, handler, store, environment=None, times=TIMES):
        """A gateway whose audit pages an HTTP service."""
        more = """
[upstream.pager]
url = "http://$pager"
[destination.pager]
upstream = "pager"
target = "/page"
schedule = ["0s", "200ms", "200ms"]
"""
        audit = AUDIT.replace(TIMES, times).replace("{query}", QUERY.replace("$", "$$"))
        config = WITH_TOKENS + more + audit + 'page = { to = "pager" }\n'
        return self.gateway(config, database=self.address(self.server), store=store, pager="%s:%d" % handler.address,
                            environment=environment)

    def windows(self, semel, count):
        """Waits until so many more windows have been judged."""
        judged = lambda: ByApi(self, semel).good("GET", "/v1/audits")["items"][0]["judged_to"]
        for _ in range(count):
            before = judged()
            self.assertTrue(self.wait_for(lambda: judged() > before))

    def test_a_page_arrives_once(self):
        """At a pager behind HTTP, across two gateways on one store, a restart, a kill, and a pager that fails at first."""
        handler = inbox_handler.Handler(lambda event, attempt: 500 if attempt == 1 else 200, name=lambda request: request.target)
        self.addCleanup(handler.close)
        store = self.server.prepare("pages")
        with self.paging(handler, store) as first, self.paging(handler, store) as second:
            self.pay(first, "good")
            self.pay(first, "twice", times=2)
            self.assertTrue(self.wait_for(lambda: handler.count() == 2), handler.calls)
            self.windows(first, 3)
            self.assertEqual(first.stop(), 0)
            self.windows(second, 3)
            first.start()
            second.kill()
            self.windows(first, 3)
            second.start()
            self.windows(second, 3)
        self.assertEqual([(call[1], call[4]) for call in handler.calls], [(1, 500), (2, 200)])
        self.assertEqual(handler.troubles, [])
        self.assertEqual(len({request.get("Idempotency-Key") for request in handler.requests}), 1)
        page = json.loads(handler.requests[-1].body)
        self.assertEqual((page["audit"], page["kind"], page["effects"]), ("payments", "duplicate", 2))
        self.assertEqual({row["effect"] for row in page["rows"]}, {"twice-0", "twice-1"})
        self.assertEqual((page["keys"][0]["state"], page["keys"][0]["fence"]), ("done", 1))

    def test_a_page_arrives_within_three_minutes_with_the_default_times(self):
        """From the commit of the second effect to the pager; the audit has had its first window already, and waits for its next."""
        handler = inbox_handler.Handler(name=lambda request: request.target)
        self.addCleanup(handler.close)
        with self.paging(handler, None, times="") as semel:
            judged = lambda: ByApi(self, semel).good("GET", "/v1/audits")["items"][0].get("judged_to")
            self.assertTrue(self.wait_for(judged))
            self.pay(semel, "twice", times=2)
            committed = time.monotonic()
            self.assertTrue(self.wait_for(lambda: handler.count() == 1, 180), handler.calls)
            print(f"paged {time.monotonic() - committed:.1f} s after the commit", flush=True)

    def test_a_page_that_was_cut_off_arrives_once(self):
        """The gateway dies when the inbox has the page and the finding does not say so: on every store."""
        listed = programs.run(self.binary, "version", env={"SEMEL_FAILPOINT": "list"}).stdout
        if "audit-paged" not in listed:
            self.skipTest("a build without failpoints")
        for store in (None, self.server.prepare("cut_pages")):
            self.server.run("TRUNCATE payments")
            away = types.SimpleNamespace(address=programs.free_address())  # so that no attempt is cut off, too
            semel = self.paging(away, store, {"SEMEL_FAILPOINT": "audit-paged:kill"}).start()
            self.pay(semel, "twice", times=2)
            self.assertTrue(self.wait_for(lambda: not semel.is_running()), "it dies when it pages")
            del semel.environment["SEMEL_FAILPOINT"]
            handler = inbox_handler.Handler(port=away.address[1], name=lambda request: request.target)
            self.addCleanup(handler.close)
            semel.start()
            self.assertTrue(self.wait_for(lambda: handler.count() >= 1))
            self.windows(semel, 4)
            semel.stop()
            self.assertEqual((handler.count(), handler.troubles), (1, []), handler.calls)

    def test_findings_and_progress_survive_a_restart(self):
        with self.audited() as semel:
            self.pay(semel, "twice", times=2)
            desk = ByApi(self, semel)
            self.assertTrue(self.wait_for(lambda: desk.good("GET", "/v1/audits/findings")["items"]))
            before = desk.good("GET", "/v1/audits")["items"][0]["judged_to"]
            self.assertEqual(semel.stop(), 0)
            semel.start()
            self.assertEqual(len(desk.good("GET", "/v1/audits/findings?kind=duplicate")["items"]), 1)
            self.assertGreaterEqual(desk.good("GET", "/v1/audits")["items"][0]["judged_to"], before)

    def test_bad_requests_say_what_is_wrong(self):
        with self.audited() as semel:
            desk = ByApi(self, semel)
            run = "/v1/audits/payments/run"
            for method, target, body, status, words in [
                    ("POST", "/v1/audits/nobody/run", {}, 404, "no [[audit]] with this name"),
                    ("POST", run, {"from": "yesterday", "to": "2026-01-02T03:04:05Z"}, 400, "from:"),
                    ("POST", run, {"from": "2026-01-02T03:04:05Z"}, 400, "to:"),
                    ("POST", run, {"from": "2026-01-02T03:04:05Z", "to": "2026-01-02T03:04:05Z"}, 400, "before to"),
                    ("POST", run, {"test": 1}, 400, "test:"),
                    ("GET", "/v1/audits/findings?state=odd", None, 400, "state:"),
                    ("GET", "/v1/audits/findings?kind=odd", None, 400, "kind:")]:
                reply, problem = desk.call(method, target, body)
                self.assertEqual(reply.status, status, (target, body, problem))
                self.assertIn(words, problem["detail"])

    def test_a_role_that_may_write_is_refused(self):
        """By `semel check`, with line and column, and at the start."""
        path = self.audited(role="postgres").config_path
        checked = self.run_semel("check", path)
        self.assertEqual(checked.returncode, 1, checked)
        self.assertRegex(checked.stderr, r"semel.toml:\d+:9: error: an audit needs a role that cannot write: .* is a superuser")
        started = self.run_semel("serve", "--config", path)
        self.assertEqual(started.returncode, 1, started)
        self.assertIn("audit payments: an audit needs a role that cannot write", started.stderr)

    def test_a_query_that_cannot_be_is_refused(self):
        table = [("SELECT 1 FROM payments", "needs its window"),
                 ("DELETE FROM payments WHERE created_at >= $1 AND created_at < $2", "must begin with SELECT"),
                 (QUERY.replace("AS scope", "AS other"), "no column scope"),
                 (QUERY.replace("account", "nothing"), "the database does not take the query")]
        for query, words in table:
            checked = self.run_semel("check", self.audited(query=query).config_path)
            self.assertEqual(checked.returncode, 1, (query, checked))
            self.assertRegex(checked.stderr, r"semel.toml:\d+:9: error: ")
            self.assertIn(words, checked.stderr)
        fine = self.run_semel("check", self.audited().config_path)
        self.assertEqual(fine.returncode, 0, fine)
        self.assertIn("the role cannot write", fine.stdout)

    def test_a_replica_that_lags_makes_the_window_wait(self):
        replica = postgres_server.Replica(self.server, pathlib.Path(tempfile.mkdtemp(prefix="semel-pg-")))
        self.addCleanup(replica.close)
        with open(replica.data / "postgresql.conf", "a", encoding="utf-8") as config:
            config.write("recovery_min_apply_delay = '1h'\nhot_standby = on\n")
        replica.start()
        with self.audited(server=replica) as semel:
            desk = ByApi(self, semel)
            self.pay(semel, "twice", times=2)
            trouble = lambda: desk.good("GET", "/v1/audits")["items"][0]["trouble"]
            self.assertTrue(self.wait_for(lambda: "behind, more than settle" in trouble()), trouble())
            self.assertEqual(desk.good("GET", "/v1/audits/findings")["items"], [])
            replica.run("ALTER SYSTEM SET recovery_min_apply_delay = 0")
            replica.run("SELECT pg_reload_conf()")
            self.assertTrue(self.wait_for(lambda: desk.good("GET", "/v1/audits/findings?kind=duplicate")["items"]), trouble())
            self.assertTrue(self.wait_for(lambda: trouble() == ""), trouble())


if __name__ == "__main__":
    operators.run()
