#!/usr/bin/env python3
"""What people do with the dashboard in Debian's Chromium: each act by each role on an embedded store and on PostgreSQL; findings of
an audit, suggestions of a resolver, outboxes; two tabs at once; a database that stands still. Any error in the console and any CSP
report fails. --binary SEMEL --build FOLDER"""
import json
import pathlib
import threading

import browser_case  # first: it knows where the others are
import desk
import harness
import postgres_server
import wire
from browser_case import HOSTILE, INBOX
from harness import ROUTE

HELD = INBOX.replace('fatal = ["400"]', 'fatal = ["400"]\non_unknown = "hold"\nbreaker = { min = 1000, in_a_row = 1000 }')
AUDIT = """
[[audit]]
name = "payments"
database = "$database"
every = "1s"
settle = "2s"
overlap = "10m"
query = "SELECT key, account AS scope, id AS effect, created_at AS at, amount::text AS value FROM payments WHERE created_at >= $$1 AND created_at < $$2"
"""
PAYMENTS = ("CREATE TABLE payments (id text PRIMARY KEY, key text, account text, amount int, created_at timestamptz DEFAULT now());"
            "GRANT SELECT ON payments TO reader")
RESOLVED = desk.WITH_TOKENS.replace('url = "http://$upstream"', 'url = "http://$upstream"\ntimeout = "5s"') + """
lease = "500ms"
[[resolver]]
route = "/v1/*"
every = "1s"
certain_after = "6s"
decide = "suggest"
ask = "sql"
database = "$database"
query = "SELECT key, account AS scope, status, body FROM answers WHERE key = ANY($$1)"
"""
OUTBOX = """
[destination.mailer]
upstream = "app"
target = "/send"
[[outbox]]
name = "shop"
database = "$database"
deliver = ["mailer"]
"""


def children(pid):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found += [int(stat.parent.name), *children(int(stat.parent.name))]
    return found


class Acts(browser_case.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = postgres_server.Server(cls.binary)
        cls.server.run("CREATE ROLE reader LOGIN")
        cls.databases = 0

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        super().tearDownClass()

    def database(self, sql=""):
        """A new one; its name."""
        type(self).databases += 1
        name = f"business_{self.databases}"
        self.server.run(f"CREATE DATABASE {name}")
        if sql:
            self.server.run(sql, name)
        return name

    def store(self):
        type(self).databases += 1
        return self.server.prepare(f"store_{self.databases}")

    def handle(self):
        """Payments get 201. Of events, `dead` is refused once, and `lost` is cut off after it was read."""
        def run():
            while True:
                try:
                    arrival = self.stage.next("", seconds=120)
                    body = arrival.read_body().body
                    if b'"lost"' in body:
                        arrival.reset()
                    elif b'"dead"' in body and arrival.message.get("Idempotency-Attempt") == "1":
                        arrival.answer(400, (), b"{}")
                    else:
                        arrival.answer(201 if arrival.message.target.startswith("/v1/") else 200, (), b"{}")
                except (wire.Silent, wire.Cut, OSError):
                    return

        threading.Thread(target=run, daemon=True).start()

    def event(self, semel, name, kind, state):
        """The id of an event that was sent, when its delivery has come to this state."""
        sent = self.deliver(semel, "whsec_1", {"id": f"evt_{name}", "type": kind})
        self.assertEqual(sent.returncode, 0, sent.stderr)
        api = desk.ByApi(self, semel)
        newest = lambda: api.good("GET", f"/v1/inbox?type={kind}&limit=1000")["items"][-1]
        self.assertTrue(wire.eventually(lambda: newest()["state"] == state, seconds=20), newest())
        return newest()["id"]

    def everything(self, name, **values):
        semel = self.start(desk.WITH_TOKENS + HELD, **values)
        keys = {role: {} for role in ("operator", "admin")}
        for role, mine in keys.items():
            for what in ("done", "undone"):
                self.lose(semel, f"{role}-{what}")
                mine[what] = self.id_of(semel, f"{role}-{what}")
        self.handle()
        sets = {}
        for role, mine in keys.items():
            self.assertEqual(self.pay(semel, f"{role}-reopen").status, 201)
            mine["reopen"] = self.id_of(semel, f"{role}-reopen")
            events = {what: self.event(semel, f"{role}-{what}", "dead", "dead") for what in ("again", "dropped")}
            for number in range(12):  # for a job that is cancelled
                self.event(semel, f"{role}-{number}", "dead", "dead")
            events["lost"] = self.event(semel, f"{role}-lost", "lost", "unknown")
            sets[role] = {"keys": mine, "events": {what: events[what] for what in ("again", "dropped", "lost")}}
        self.tell("everything", name=name, tokens=desk.TOKENS, sets=sets)
        retry = self.pay(semel, "admin-done")
        self.assertEqual((retry.body, retry.get("Idempotent-Replayed")), (b'{"by":"admin"}', "true"))
        self.assertTrue(desk.is_whole(desk.ByApi(self, semel).entries()))

    def test_every_act_by_every_role(self):
        self.everything("embedded")

    def test_every_act_by_every_role_on_postgresql(self):
        self.everything("postgres", store=self.store())

    def audited(self, name, **values):
        business = self.database(PAYMENTS)
        url = self.server.url_of(business).replace("user=postgres", "user=reader")
        semel = self.start(desk.WITH_TOKENS + AUDIT, database=url, **values)
        self.answer_all(status=201)
        self.assertEqual(self.pay(semel, "twice").status, 201)
        effects = [HOSTILE[0], HOSTILE[1]]
        for at, effect in enumerate(effects):
            self.server.run(f"INSERT INTO payments VALUES ('{effect}', 'twice', 'alice', {100 + at})", business)
        api = desk.ByApi(self, semel)
        found = lambda: api.good("GET", "/v1/audits/findings?state=open&kind=duplicate")["items"]
        self.assertTrue(wire.eventually(found, seconds=60))
        self.tell("findings", name=name, tokens=desk.TOKENS, effects=effects)
        acts = [json.loads(entry["entry"]).get("act") for entry in api.entries()]
        self.assertEqual(acts, ["acknowledge finding", "close finding"])

    def test_findings(self):
        self.audited("embedded")

    def test_findings_on_postgresql(self):
        self.audited("postgres", store=self.store())

    def resolved(self, name, **values):
        business = self.database("CREATE TABLE answers (account text, key text, status int, body jsonb)")
        semel = self.start(RESOLVED, database=self.server.url_of(business), **values)
        for key in ("order-1", "order-2"):
            self.lose(semel, key)
        self.server.run("INSERT INTO answers VALUES ('alice', 'order-1', 201, '{\"id\": \"pay_1\"}')", business)
        self.tell("suggestions", name=name, tokens=desk.TOKENS, found=self.id_of(semel, "order-1"), absent=self.id_of(semel, "order-2"))
        retry = self.pay(semel, "order-1")
        self.assertEqual((retry.status, json.loads(retry.body), retry.get("Idempotent-Replayed")), (201, {"id": "pay_1"}, "true"))
        self.answer_all(status=201)
        self.assertEqual(self.pay(semel, "order-2").get("Idempotent-Replayed"), None, "it ran again")

    def test_suggestions(self):
        self.resolved("embedded")

    def test_suggestions_on_postgresql(self):
        self.resolved("postgres", store=self.store())

    def outboxed(self, name, **values):
        business = self.database()
        done = self.run_semel("migrate", "--outbox", "--url", self.server.url_of(business))
        self.assertEqual(done.returncode, 0, done.stderr)
        semel = self.start(desk.WITH_TOKENS + OUTBOX, database=self.server.url_of(business), **values)
        self.serve(lambda message: 200)
        for words in ("'mailer', 'order:1', '{}'", "'mailer', 'order:1', '{}'", "'mailer', 'order:1', '{\"other\": 1}'",
                      "'nowhere', 'order:2', '{}'", "'mailer', 'order:4', '{}'"):
            self.server.run(f"SELECT semel.send({words})", business)
        api = desk.ByApi(self, semel)
        self.assertTrue(wire.eventually(lambda: api.good("GET", "/v1/outbox")["items"][0]["moved"] == 5, seconds=20))
        self.tell("outbox", name=name)
        self.server.run(f"ALTER DATABASE {business} ALLOW_CONNECTIONS false")
        self.server.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{business}'")
        self.assertTrue(wire.eventually(lambda: api.good("GET", "/v1/outbox")["items"][0]["standing"] == "failing", seconds=20))
        self.tell("outbox", name=name, trouble=True)

    def test_outboxes(self):
        self.outboxed("embedded")

    def test_outboxes_on_postgresql(self):
        self.outboxed("postgres", store=self.store())

    def test_two_tabs(self):
        semel = self.start(desk.WITH_TOKENS + HELD)
        self.lose(semel, "k")
        self.handle()
        event = self.event(semel, "one", "dead", "dead")
        self.tell("tabs", key=self.id_of(semel, "k"), event=event)
        api = desk.ByApi(self, semel)
        self.assertIn(api.find("k", "alice")["state"], ("released", "done"))
        self.assertEqual(api.good("GET", f"/v1/inbox/{event}")["deliveries"][0]["state"], "discarded")
        outcomes = [json.loads(entry["entry"]).get("outcome") for entry in api.entries()]
        self.assertEqual(outcomes.count("applied"), 2, outcomes)

    def test_strange_texts(self):
        """Reasons, sources, types and names of gateways: whatever others chose."""
        semel = self.start(desk.WITH_TOKENS + INBOX)
        self.bury(semel, 1, HOSTILE[0])
        api = desk.ByApi(self, semel)
        event = api.good("GET", "/v1/inbox")["items"][0]["id"]
        api.good("POST", "/v1/destinations/app/pause", {"reason": HOSTILE[1]}, fields=[("X-Semel-User", "<b>me</b>")])
        api.good("POST", f"/v1/inbox/{event}/redeliver", {"reason": HOSTILE[1]})
        hashes = ["#/now", "#/inbox", f"#/inbox/{event}", "#/audit", "#/audit", f"#/inbox?source={HOSTILE[0]}"]
        self.tell("strange", hashes=hashes, texts=[HOSTILE[1], HOSTILE[1], HOSTILE[1], HOSTILE[1], "<b>me</b>", "No delivery is like that"])

    def test_a_database_that_stands_still(self):
        semel = self.start(desk.WITH_TOKENS + INBOX + ROUTE.replace("/v1/*", "/other/*"), store=self.store())
        self.lose(semel, "k")
        id = self.id_of(semel, "k")
        away = "(503|No answer)"
        pages = [["#/doubt", away], ["#/inbox", away], [f"#/keys/{id}", away], ["#/audit", away]]
        self.tell("away", pages=pages, standing=[self.server.process.pid, *children(self.server.process.pid)], id=id)


if __name__ == "__main__":
    harness.run(build=browser_case.prepare)
