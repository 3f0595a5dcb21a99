#!/usr/bin/env python3
"""The desk: a key is found by what the customer sent, seen, and settled; on every store, with the command line alone and with
the API alone. Roles, the audit log, and acts while the gateway is killed. --binary SEMEL"""
import base64
import functools
import hashlib
import json
import pathlib
import random
import threading
import time

import harness
import postgres_server
import wire
from harness import CONFIG, KEY_ONE, ROUTE, keyed

TOKENS = {"viewer": "view-1", "operator": "ops-1", "admin": "admin-1"}
LISTED = ", ".join(f'{role} = "{token}"' for role, token in TOKENS.items())
WITH_TOKENS = CONFIG.replace("[store]", f"tokens = {{ {LISTED} }}\n[store]") + ROUTE
OPENAPI = pathlib.Path(__file__).parents[2] / "docs" / "openapi-admin.json"
REAL = b'{"id": "pay_1", "amount": 12}'


class ByApi:
    """An operator who only has the API."""

    def __init__(self, case, semel):
        self.case, self.semel = case, semel

    def call(self, method, target, body=None, token=TOKENS["operator"], fields=()):
        head = [("Authorization", f"Bearer {token}")] if token else []
        data = None if body is None else json.dumps(body).encode()
        reply = wire.ask(self.semel.admin, method, target, [*head, *fields], data)
        return reply, json.loads(reply.body or b"null")

    def good(self, *arguments, **options):
        reply, body = self.call(*arguments, **options)
        self.case.assertEqual(reply.status, 200, body)
        return body

    def find(self, key, scope):
        return self.good("POST", "/v1/keys/find", {"namespace": "default", "scope": scope, "key": key})["items"][0]

    def show(self, id):
        return self.good("GET", f"/v1/keys/{id}")

    def unknown(self):
        return self.good("GET", "/v1/keys?state=unknown")

    def done(self, key, body):
        self.good("POST", f"/v1/keys/{key['id']}/resolve",
                  {"fence": key["fence"], "as": "done", "reason": "seen at the bank",
                   "response": {"status": 201, "fields": [{"name": "Location", "value": "/pay_1"}], "body": body.decode()}})

    def not_done(self, key):
        self.good("POST", f"/v1/keys/{key['id']}/resolve", {"fence": key["fence"], "as": "not-done", "reason": "not there"})

    def reopen(self, key):
        self.good("POST", f"/v1/keys/{key['id']}/reopen", {"fence": key["fence"], "reason": "again"})

    def entries(self):
        return self.good("GET", "/v1/audit?limit=1000")["items"]


class ByCommandLine:
    """An operator who only has a terminal."""

    def __init__(self, case, semel):
        self.case, self.semel = case, semel

    def run(self, *words, token=TOKENS["operator"]):
        where = ["--admin", "http://%s:%d" % self.semel.admin, "--token", token, "--json"]
        return self.case.run_semel("keys", *words, *where)

    def good(self, *words):
        done = self.run(*words)
        self.case.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def find(self, key, scope):
        return self.good("find", key, "--route", "/v1/payments", "--header", f"Authorization: {scope}")

    def show(self, id):
        return self.good("show", id[:12])

    def unknown(self):
        return self.good("list", "--state", "unknown")

    def done(self, key, body):
        file = self.semel.folder / "answer.json"
        file.write_bytes(body)
        self.good("resolve", key["id"], "--fence", str(key["fence"]), "--as", "done", "--status", "201", "--body", f"@{file}",
                  "--field", "Location: /pay_1", "--reason", "seen at the bank")

    def not_done(self, key):
        self.good("resolve", key["id"], "--fence", str(key["fence"]), "--as", "not-done", "--reason", "not there")

    def reopen(self, key):
        self.good("reopen", key["id"], "--fence", str(key["fence"]), "--reason", "again")

    def entries(self):
        done = self.run("audit")
        self.case.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]


def is_whole(entries):
    """Whether each hash covers its entry and the one before."""
    before = "00" * 32
    for number, entry in enumerate(entries, 1):
        text = "\n".join(["semel audit v1", before, str(number), entry["entry"]])
        if entry["number"] != number or entry["hash"] != hashlib.sha256(text.encode()).hexdigest():
            return False
        before = entry["hash"]
    return True


class Desk(harness.Case):
    def lose(self, semel, key):
        """A payment arrives, and its answer never does."""
        asked = threading.Thread(target=semel.ask, args=("POST", "/v1/payments", keyed(key), b"12"))
        asked.start()
        arrival = self.stage.next()
        arrival.read_body()
        arrival.reset()
        asked.join()

    def pay(self, semel, key):
        return semel.ask("POST", "/v1/payments", keyed(key), b"12")

    def story(self, first, second, Operator):
        """`first` lost the answers; the operator is at `second`, which may be the same gateway."""
        self.lose(first, "order-1")
        self.lose(first, "order-2")
        self.assert_problem(self.pay(first, "order-1"), 409, "outcome-unknown")
        desk = Operator(self, second)
        found = desk.find("order-1", "alice")
        self.assertEqual((found["state"], found["fence"], found["namespace"]), ("unknown", 1, "default"))
        self.assertEqual(desk.show(found["id"])["id"], found["id"])
        listed = desk.unknown()
        self.assertEqual([item["state"] for item in listed["items"]], ["unknown"] * 2)
        self.assertEqual(listed["items"][0]["id"], found["id"], "the oldest first")
        self.assertTrue(listed["complete"])

        desk.done(found, REAL)
        for semel in (first, second):
            reply = self.pay(semel, "order-1")
            self.assertEqual((reply.status, reply.body, reply.get("Location")), (201, REAL, "/pay_1"))
            self.assertEqual(reply.get("Idempotent-Replayed"), "true")

        second_key = desk.find("order-2", "alice")
        desk.not_done(second_key)
        self.assert_problem(semel.ask("POST", "/v1/payments", keyed("order-2"), b"13"), 422, "key-reused")
        self.answer_all(status=201, body=lambda arrival: b"attempt " + arrival.message.get("Idempotency-Attempt").encode())
        self.assertEqual(self.pay(first, "order-2").body, b"attempt 2")
        done = desk.find("order-2", "alice")
        self.assertEqual((done["state"], done["fence"]), ("done", 2))
        self.assertEqual(desk.unknown()["items"], [])
        desk.reopen(done)
        self.assertEqual(self.pay(second, "order-2").body, b"attempt 3")
        entries = desk.entries()
        self.assertTrue(is_whole(entries))
        acts = [json.loads(entry["entry"]) for entry in entries]
        self.assertEqual([act["act"] for act in acts if "act" in act], ["resolve as done", "resolve as not-done", "reopen"])
        self.assertEqual([act["outcome"] for act in acts if "of" in act], ["applied"] * 3)

    def test_the_story_with_the_api(self):
        with self.gateway(WITH_TOKENS) as semel:
            self.story(semel, semel, ByApi)

    def test_the_story_with_the_command_line(self):
        with self.gateway(WITH_TOKENS) as semel:
            self.story(semel, semel, ByCommandLine)

    def test_the_story_on_an_encrypted_store(self):
        with self.gateway(harness.encrypted(WITH_TOKENS, KEY_ONE)) as semel:
            self.story(semel, semel, ByCommandLine)

    def test_the_story_with_two_gateways_on_postgresql(self):
        for database, config in (("plain", WITH_TOKENS), ("sealed", harness.encrypted(WITH_TOKENS, KEY_ONE))):
            self.postgres.prepare(database)
            url = self.postgres.url_of(database)
            Operator = ByApi if database == "plain" else ByCommandLine
            with self.gateway(config, store=url) as first, self.gateway(config, store=url) as second:
                self.story(first, second, Operator)
            self.stage.close()
            self.setUp()

    @functools.cached_property
    def postgres(self):
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        return server

    def test_a_lapsed_claim_is_listed_and_settled(self):
        """The gateway dies in the middle: nobody told the store that the outcome is unknown."""
        route = ROUTE + 'lease = "1s"\n'
        with self.gateway(WITH_TOKENS.replace(ROUTE, route)) as semel:
            asked = threading.Thread(target=lambda: self.assertRaises((OSError, wire.Closed), self.pay, semel, "k"), daemon=True)
            asked.start()
            self.stage.next().read_body()
            running = ByApi(self, semel).good("GET", "/v1/keys?state=running")["items"]
            self.assertEqual([item["fence"] for item in running], [1])
            semel.kill()
            semel.start()
            desk = ByApi(self, semel)
            self.assertTrue(wire.eventually(lambda: len(desk.unknown()["items"]) == 1))
            key = desk.unknown()["items"][0]
            desk.done(key, REAL)
            self.assertEqual(self.pay(semel, "k").body, REAL)

    def test_an_event_of_a_webhook_is_found_by_its_id(self):
        webhook = '[[webhook]]\npath = "/hooks/stripe"\nprovider = "stripe"\nsecrets = ["whsec_1"]\nupstream = "app"\n'
        with self.gateway(WITH_TOKENS + webhook) as semel:
            self.answer_all()
            sent = self.run_semel("sign", "stripe", "--secret", "whsec_1", "--body", '{"id":"evt_1","type":"x"}', "--send",
                                  "--url", "http://%s:%d/hooks/stripe" % semel.address)
            self.assertEqual(sent.returncode, 0, sent.stderr)
            desk = ByCommandLine(self, semel)
            self.assertEqual(desk.good("find", "evt_1", "--webhook", "/hooks/stripe")["state"], "done")
            self.assertEqual(desk.run("find", "evt_2", "--webhook", "/hooks/stripe").returncode, 1)
            self.assertTrue(wire.eventually(lambda: '"/hooks/stripe"' in semel.stdout()))
            line = next(json.loads(line) for line in semel.stdout().splitlines() if '"/hooks/stripe"' in line)
            self.assertTrue(desk.show(line["key"])["id"].startswith(line["key"]), "by the hash in a line of the log")

    def test_bad_requests_say_what_is_wrong(self):
        with self.gateway(WITH_TOKENS) as semel:
            desk = ByApi(self, semel)
            self.lose(semel, "k")
            key = desk.find("k", "alice")
            resolve = f"/v1/keys/{key['id']}/resolve"
            cases = [
                ("POST", resolve, {"fence": 1, "as": "maybe", "reason": "x"}, 400, "as:"),
                ("POST", resolve, {"fence": 1, "as": "done", "reason": "x"}, 400, "response:"),
                ("POST", resolve, {"fence": 1, "as": "not-done"}, 400, "reason:"),
                ("POST", resolve, {"as": "not-done", "reason": "x"}, 400, "fence:"),
                ("POST", resolve, {"fence": 2, "as": "not-done", "reason": "x"}, 409, "moved on to fence 1"),
                ("POST", f"/v1/keys/{key['id']}/reopen", {"fence": 1, "reason": "x"}, 409, "only one that is done"),
                ("POST", f"/v1/keys/{'00' * 32}/resolve", {"fence": 1, "as": "not-done", "reason": "x"}, 404, "expired"),
                ("POST", "/v1/keys/find", {"key": "nobody", "scope": "s"}, 404, "looked for"),
                ("POST", "/v1/keys/find", {"route": "/elsewhere", "key": "k"}, 400, "route:"),
                ("GET", "/v1/keys?cursor=abc", None, 400, "cursor:"),
                ("GET", "/v1/keys?older=soon", None, 400, "older:"),
                ("GET", "/v1/keys?state=done", None, 400, "state:"),
                ("GET", "/v1/keys/xyz", None, 400, "id:"),
            ]
            for method, target, body, status, words in cases:
                reply, problem = desk.call(method, target, body)
                self.assertEqual((reply.status, problem["status"]), (status, status), (target, body, problem))
                self.assertIn(words, problem["detail"])
                self.assertEqual(reply.get("Content-Type"), "application/problem+json")
            reply, problem = desk.call("POST", resolve, {"fence": 2, "as": "not-done", "reason": "x"})
            self.assertEqual(problem["key"]["fence"], 1, "the present state")
            self.assertEqual(desk.entries(), [], "nothing was done, so nothing is logged")
            missing = ByCommandLine(self, semel).run("find", "nobody", "--scope", "s")
            self.assertEqual(missing.returncode, 1)
            self.assertIn("expired", missing.stderr)
            self.assertEqual(ByCommandLine(self, semel).run("list", token="wrong").returncode, 3)

    def test_roles_by_operation(self):
        """Every operation of the document, with every role and without one."""
        document = json.loads(OPENAPI.read_text())
        order = ["viewer", "operator", "admin"]
        with self.gateway(WITH_TOKENS) as semel:
            desk = ByApi(self, semel)
            self.assertEqual(desk.good("GET", "/v1/openapi.json"), document)
            count = 0
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    target = path.replace("{id}", "ab" * 32)
                    body = {} if method == "post" else None
                    for token in ("", "wrong"):
                        reply, _ = desk.call(method.upper(), target, body, token=token)
                        self.assertEqual(reply.status, 401, path)
                        self.assertTrue(reply.get("WWW-Authenticate").startswith("Bearer"))
                    if operation.get("x-streams"):
                        method = "head"  # what is streamed has no end
                    for role in order:
                        reply, problem = desk.call(method.upper(), target, body, token=TOKENS[role])
                        allowed = order.index(role) >= order.index(operation["x-role"])
                        self.assertEqual(reply.status != 403, allowed, (path, role, problem))
                        self.assertIn(str(reply.status), operation["responses"], path)
                        if not allowed:
                            self.assertIn(operation["x-role"], problem["detail"])
                        count += 1
            self.assertGreaterEqual(count, 21)

    def test_a_page_of_another_origin_changes_nothing(self):
        with self.gateway(WITH_TOKENS) as semel:
            desk = ByApi(self, semel)
            target = f"/v1/keys/{'ab' * 32}/resolve"
            for fields in ([("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")]):
                reply, _ = desk.call("POST", target, {}, fields=fields)
                self.assertEqual(reply.status, 403, fields)
            own = [("Host", "%s:%d" % semel.admin), ("Origin", "http://%s:%d" % semel.admin), ("Sec-Fetch-Site", "same-origin")]
            self.assertEqual(desk.call("POST", target, {}, fields=own)[0].status, 400)

    def test_the_stored_answer_is_shown_to_operators_and_logged(self):
        with self.gateway(WITH_TOKENS) as semel:
            self.answer_all(status=201, body=lambda arrival: REAL)
            self.pay(semel, "k")
            desk = ByApi(self, semel)
            key = desk.find("k", "alice")
            self.assertEqual((key["response"]["status"], key["response"]["body_bytes"]), (201, len(REAL)))
            self.assertNotIn(b"pay_1", json.dumps(key).encode())
            shown = desk.good("GET", f"/v1/keys/{key['id']}/response")
            self.assertEqual(base64.b64decode(shown["body_base64"]), REAL)
            self.assertEqual(json.loads(desk.entries()[0]["entry"])["act"], "read response")

    def test_without_its_log_nothing_is_done(self):
        with self.gateway(WITH_TOKENS) as semel:
            self.lose(semel, "k")
            log = semel.folder / "data" / "semel.audit"
            log.mkdir()
            desk = ByApi(self, semel)
            key = desk.find("k", "alice")
            reply, problem = desk.call("POST", f"/v1/keys/{key['id']}/resolve", {"fence": 1, "as": "not-done", "reason": "x"})
            self.assertEqual(reply.status, 503)
            self.assertIn("nothing was done", problem["detail"])
            self.assertEqual(desk.find("k", "alice")["state"], "unknown")

    def test_acts_while_the_gateway_is_killed(self):
        """Random acts against a model: no act without its entry, the chain is whole, and what was told is so."""
        seed = int(time.time())
        print("seed", seed)
        chance = random.Random(seed)
        with self.gateway(WITH_TOKENS) as semel:
            told = {}  # key -> the body that the operator was told is stored, or None for not done
            for round in range(6):
                names = [f"r{round}-{i}" for i in range(20)]
                for name in names:
                    self.lose(semel, name)
                desk = ByApi(self, semel)
                keys = {name: desk.find(name, "alice") for name in names}
                killer = threading.Timer(chance.uniform(0.02, 0.3), semel.kill)
                killer.start()
                for name in names:
                    body = f"answer {name}".encode()
                    try:
                        if chance.random() < 0.5:
                            desk.done(keys[name], body)
                            told[name] = body
                        else:
                            desk.not_done(keys[name])
                            told[name] = None
                    except (OSError, wire.Closed, wire.Cut, wire.Silent):
                        break
                killer.join()
                semel.start()
                entries = desk.entries()
                self.assertTrue(is_whole(entries))
                acts = [json.loads(entry["entry"]) for entry in entries]
                logged = {act["id"]: act["act"] for act in acts if act.get("act", "").startswith("resolve")}
                for name in names:
                    now = desk.show(keys[name]["id"])
                    if now["state"] != "unknown":
                        self.assertIn(now["id"], logged, "an act without its entry")
                        expected = "resolve as done" if now["state"] == "done" else "resolve as not-done"
                        self.assertEqual(logged[now["id"]], expected)
                    if name in told:
                        self.assertEqual(now["state"], "done" if told[name] is not None else "released")
                    if told.get(name) is not None:
                        self.assertEqual(self.pay(semel, name).body, told[name])
            self.assertGreater(len(told), 10)
            checked = self.run_semel("keys", "audit", "--verify", "--config", semel.config_path)
            self.assertEqual(checked.returncode, 0, checked.stderr)


if __name__ == "__main__":
    harness.run()
