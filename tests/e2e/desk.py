#!/usr/bin/env python3
"""The desk: a key is found by what the customer sent, seen, and settled; on every store, with the command line alone and with
the API alone. What is asked of it in a wrong way, and who may ask, is desk_access.py; acts while gateways are killed are
desk_acts.py. --binary SEMEL --build FOLDER"""
import base64
import functools
import json
import threading

import harness
import operators
import postgres_server
import wire
from harness import KEY_ONE, ROUTE, keyed
from operators import REAL, TOKENS, WITH_TOKENS, ByApi, ByCommandLine, is_whole


class Desk(operators.Case):
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

    def remember(self, semel, key, body):
        """Until both threads of the gateway have the answer in their memory."""
        for _ in range(16):
            self.assertEqual(self.pay(semel, key).body, body)

    def reopened_everywhere(self, first, second, Operator):
        """Both gateways remember the answer; a reopening at one of them counts at the other within a second, not after five."""
        self.answer_all(status=201, body=lambda arrival: b"attempt " + arrival.message.get("Idempotency-Attempt").encode())
        for semel in (first, second):
            self.remember(semel, "hot", b"attempt 1")
        desk = Operator(self, second)
        within = desk.reopen(desk.find("hot", "alice"))["in_effect_within_ms"]
        self.assertEqual(within, 0 if first is second else 5000)
        self.assertEqual(self.pay(second, "hot").body, b"attempt 2")
        self.assertTrue(wire.eventually(lambda: self.pay(first, "hot").body == b"attempt 2", seconds=2.0))

    def test_a_reopening_counts_at_once(self):
        for config in (WITH_TOKENS, harness.encrypted(WITH_TOKENS, KEY_ONE)):
            with self.gateway(config) as semel:
                self.reopened_everywhere(semel, semel, ByApi)
            self.stage.close()
            self.setUp()

    def test_a_reopening_counts_at_once_on_another_gateway(self):
        for database, config in (("hot", WITH_TOKENS), ("hot_sealed", harness.encrypted(WITH_TOKENS, KEY_ONE))):
            self.postgres.prepare(database)
            url = self.postgres.url_of(database)
            with self.gateway(config, store=url) as first, self.gateway(config, store=url) as second:
                self.reopened_everywhere(first, second, ByCommandLine)
            self.stage.close()
            self.setUp()

    def probe_story(self, semel, Operator):
        """The upstream is asked now: it knows nothing, is gone, says that nothing happened, says what happened."""
        self.lose(semel, "order-1")
        desk = Operator(self, semel)
        key = desk.find("order-1", "alice")
        said = {}

        def ask(status, body=b""):
            asked = threading.Thread(target=lambda: said.update(zip(("status", "body"), desk.done_by_probe(key, "order-1", "alice"))))
            asked.start()
            arrival = self.stage.next()
            self.assertEqual((arrival.message.method, arrival.message.target), ("GET", "/v1/payments/by-key/order-1"))
            self.assertEqual(arrival.message.get("Authorization"), "alice")
            if status:
                arrival.answer(status, [("Location", "/pay_1"), ("Set-Cookie", "secret")], body)
            else:
                arrival.reset()
            asked.join()
            return said["status"], said["body"]

        for status, refusal, words in ((500, 409, "does not know"), (404, 409, "did not take effect"), (0, 503, "no whole answer")):
            answer, body = ask(status)
            self.assertEqual(answer, refusal, body)
            self.assertIn(words, body["detail"])
        self.assertEqual(desk.entries(), [], "nothing was done, so nothing is logged")
        answer, body = desk.done_by_probe(key, "order-2", "alice")
        self.assertEqual((answer, body["detail"].split(":")[0]), (400, "key"))
        self.assertEqual(ask(200, REAL)[0], 200)
        reply = self.pay(semel, "order-1")
        self.assertEqual((reply.status, reply.body, reply.get("Location"), reply.get("Set-Cookie")), (200, REAL, "/pay_1", None))
        entry = json.loads(desk.entries()[0]["entry"])
        self.assertEqual((entry["act"], entry["reason"]), ("resolve as done from the probe", "as the bank says"))

    def test_settled_with_what_the_probe_says(self):
        route = ROUTE + 'on_unknown = "hold"\nprobe = "/v1/payments/by-key/{key}"\n'
        config = WITH_TOKENS.replace(ROUTE, route)
        for Operator, settings in ((ByApi, config), (ByCommandLine, harness.encrypted(config, KEY_ONE))):
            with self.gateway(settings) as semel:
                self.probe_story(semel, Operator)
            self.stage.close()
            self.setUp()

    def test_a_route_without_a_probe_cannot_be_asked(self):
        with self.gateway(WITH_TOKENS) as semel:
            self.lose(semel, "k")
            desk = ByApi(self, semel)
            status, problem = desk.done_by_probe(desk.find("k", "alice"), "k", "alice")
            self.assertEqual((status, problem["detail"].split(":")[0]), (400, "from"))
            self.assertEqual(desk.find("k", "alice")["state"], "unknown")

    def object_story(self, semel, Operator):
        """Two events of one object, one of another: the one that had its turn last is found by the object."""
        self.answer_all()
        for event, object, created in (("evt_1", "sub_1", 1), ("evt_2", "sub_1", 2), ("evt_3", "sub_2", 3)):
            body = json.dumps({"id": event, "created": created, "type": "x", "data": {"object": {"id": object}}})
            sent = self.run_semel("sign", "stripe", "--secret", "whsec_1", "--body", body, "--send",
                                  "--url", "http://%s:%d/hooks/stripe" % semel.address)
            self.assertEqual(sent.returncode, 0, sent.stderr)
        desk = Operator(self, semel)
        by_event = {event: ByCommandLine(self, semel).good("find", event, "--webhook", "/hooks/stripe")["id"]
                    for event in ("evt_1", "evt_2", "evt_3")}
        self.assertEqual(len(set(by_event.values())), 3)
        self.assertEqual(desk.object("/hooks/stripe", "sub_1")["id"], by_event["evt_2"])
        self.assertEqual(desk.object("/hooks/stripe", "sub_2")["id"], by_event["evt_3"])
        reply, problem = ByApi(self, semel).call("POST", "/v1/keys/find", {"webhook": "/hooks/stripe", "object": "sub_9"})
        self.assertEqual(reply.status, 404, problem)

    def test_an_event_is_found_by_its_object(self):
        webhook = ('[[webhook]]\npath = "/hooks/stripe"\nprovider = "stripe"\nsecrets = ["whsec_1"]\nupstream = "app"\n'
                   "ordered = true\n")
        config = WITH_TOKENS + webhook
        self.postgres.prepare("objects")
        for Operator, settings, store in ((ByApi, config, None), (ByCommandLine, harness.encrypted(config, KEY_ONE), None),
                                          (ByApi, config, self.postgres.url_of("objects"))):
            with self.gateway(settings, store=store) as semel:
                self.object_story(semel, Operator)
            self.stage.close()
            self.setUp()
        with self.gateway(config.replace("ordered = true\n", "")) as semel:
            reply, problem = ByApi(self, semel).call("POST", "/v1/keys/find", {"webhook": "/hooks/stripe", "object": "sub_1"})
            self.assertEqual((reply.status, problem["detail"].split(":")[0]), (400, "object"))

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

if __name__ == "__main__":
    operators.run()
