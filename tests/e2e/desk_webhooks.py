#!/usr/bin/env python3
"""Webhooks for operators: whose signatures do not hold, which secret matches, which events have to come again and for how long
their provider repeats them; and what of an event nobody is shown. --binary SEMEL --build FOLDER"""
import base64
import json
import threading

import harness
import operators
import postgres_server
import wire
from harness import KEY_ONE
from operators import TOKENS, WITH_TOKENS, ByApi

DAY_MS = 86_400_000
STRIPE = '[[webhook]]\npath = "/hooks/stripe"\nprovider = "stripe"\nsecrets = ["whsec_new", "whsec_old"]\nupstream = "app"\n'
GITHUB = '[[webhook]]\npath = "/hooks/github"\nprovider = "github"\nsecrets = ["hush"]\nupstream = "app"\n'
CONFIG = WITH_TOKENS + STRIPE + GITHUB
INBOX = '[destination.app]\nupstream = "app"\n' + STRIPE.replace('upstream = "app"\n', 'delivery = "inbox"\ndeliver = [ { to = "app" } ]\n')

EFFECT = ('[[route]]\npath = "/effects/*"\nupstream = "app"\nkey = "required"\nscope = ""\ndelivery = "inbox"\ndestination = "app"\n'
          "keep_credentials = true\n")


class Webhooks(operators.Case):
    def send(self, semel, provider="stripe", secret="whsec_new", body='{"id":"evt_1","type":"x"}'):
        """Signed and sent; what the sender was told is in its output."""
        return self.run_semel("sign", provider, "--secret", secret, "--body", body, "--send", "--url",
                              "http://%s:%d/hooks/%s" % (*semel.address, provider))

    @staticmethod
    def webhook(desk, path="/hooks/stripe"):
        return next(item for item in desk.good("GET", "/v1/webhooks")["items"] if item["path"] == path)

    def answer(self, *statuses):
        """The handler answers the next deliveries so."""
        left = list(statuses)

        def serve():
            while True:
                try:
                    arrival = self.stage.next("", seconds=60)
                    arrival.read_body()
                    arrival.answer(left.pop(0) if left else 200, (), b"{}")
                except (wire.Silent, wire.Cut, OSError):
                    return

        threading.Thread(target=serve, daemon=True).start()

    def test_which_secret_matches(self):
        with self.gateway(CONFIG) as semel:
            desk = ByApi(self, semel)
            self.answer()
            fresh = self.webhook(desk)
            self.assertEqual([(each["number"], each["matched"], "last_at" in each) for each in fresh["secrets"]],
                             [(1, 0, False), (2, 0, False)])
            for number in range(3):
                self.assertEqual(self.send(semel, secret="whsec_old", body='{"id":"evt_%d"}' % number).returncode, 0)
            seen = self.webhook(desk)
            self.assertEqual([(each["number"], each["matched"], "last_at" in each) for each in seen["secrets"]],
                             [(1, 0, False), (2, 3, True)])
            self.assertEqual((seen["events"]["handled"], seen["title"], seen["horizon_ms"]), (3, "Stripe", 3 * DAY_MS))
            self.assertGreater(seen["handler_p99_ms"], 0)

    def test_failed_signatures_by_address_and_reason(self):
        with self.gateway(CONFIG) as semel:
            desk = ByApi(self, semel)
            for _ in range(3):
                self.assertNotEqual(self.send(semel, secret="whsec_wrong").returncode, 0)
            self.assertEqual(wire.ask(semel.address, "POST", "/hooks/stripe", [], b"{}").status, 401)
            seen = self.webhook(desk)
            self.assertEqual({each["reason"]: each["count"] for each in seen["failed_signatures"]}, {"mismatch": 3, "missing": 1})
            self.assertEqual([(each["address"], each["reason"], each["count"]) for each in seen["strangers"]],
                             [("127.0.0.1", "mismatch", 3), ("127.0.0.1", "missing", 1)])
            self.assertFalse(seen["strangers_partial"])
            self.assertEqual(seen["awaited"]["count"], 0, "nobody waits for what nobody signed")
            self.assertEqual(self.webhook(desk, "/hooks/github")["strangers"], [])

    def lag(self, semel):
        """An event fails twice, and then it is handled: only until then it has to come again."""
        desk = ByApi(self, semel)
        self.answer(500, 503, 200)
        self.send(semel)
        first = self.webhook(desk)["awaited"]
        self.assertEqual((first["count"], first["given_up"], first["oldest"][0]["times"]), (1, 0, 1))
        self.assertEqual(first["oldest_at"], first["oldest"][0]["since"])
        self.send(semel)
        again = self.webhook(desk)["awaited"]
        self.assertEqual((again["count"], again["oldest"][0]["times"], again["oldest_at"]), (1, 2, first["oldest_at"]))
        key = desk.good("GET", "/v1/keys/" + again["oldest"][0]["key"])
        self.assertEqual(key["namespace"], "webhook:/hooks/stripe", "the id is that of the store")
        self.assertEqual(self.send(semel).returncode, 0)
        self.assertEqual(self.webhook(desk)["awaited"]["count"], 0)

    def test_what_has_to_come_again(self):
        for config in (CONFIG, harness.encrypted(CONFIG, KEY_ONE)):
            with self.gateway(config) as semel:
                self.lag(semel)
            self.stage.close()
            self.setUp()

    def test_what_has_to_come_again_on_postgresql(self):
        """With two gateways on one database: an event that failed here was handled there."""
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        server.prepare("webhooks")
        with self.gateway(CONFIG, store=server.url_of("webhooks")) as here, \
                self.gateway(CONFIG, store=server.url_of("webhooks")) as there:
            self.answer(500)
            self.send(here)
            desk = ByApi(self, here)
            self.assertEqual(self.webhook(desk)["awaited"]["count"], 1)
            self.assertEqual(self.send(there).returncode, 0)
            self.assertEqual(self.webhook(desk)["awaited"]["count"], 0)

    def test_a_handler_that_is_away(self):
        with self.gateway(CONFIG) as semel:
            desk = ByApi(self, semel)
            self.stage.close()
            self.send(semel)
            self.assertEqual(self.webhook(desk)["awaited"]["count"], 1)
            self.send(semel, "github", "hush", '{"zen":"x"}')
            silent = self.webhook(desk, "/hooks/github")
            self.assertEqual((silent["horizon_ms"], silent["awaited"]["count"], silent["awaited"]["given_up"]), (0, 1, 1))

    def test_what_of_an_event_nobody_is_shown(self):
        config = WITH_TOKENS.replace("[store]", 'redact = ["/card/number"]\n[store]') + INBOX
        with self.gateway(config) as semel:
            desk = ByApi(self, semel)
            self.answer()
            body = '{"id":"evt_1","card":{"number":"4111","brand":"visa"}}'
            self.assertEqual(self.send(semel, body=body).returncode, 0)
            event = desk.good("GET", "/v1/inbox")["items"][0]
            reply, _ = desk.call("GET", f"/v1/inbox/{event['id']}/body", token=TOKENS["viewer"])
            self.assertEqual(reply.status, 403)
            shown = desk.good("GET", f"/v1/inbox/{event['id']}/body")
            self.assertEqual(json.loads(base64.b64decode(shown["body_base64"]))["card"], {"number": "[redacted]", "brand": "visa"})
            self.assertTrue(shown["redacted"])
            self.assertEqual([json.loads(entry["entry"])["act"] for entry in desk.entries()], ["read event"])

    def test_what_is_hidden_of_a_body_is_not_shown_beside_it(self):
        """The object of an event is a value of its body; types are shown as they were sent."""
        config = WITH_TOKENS.replace("[store]", 'redact = ["/data/object/id"]\n[store]') + INBOX
        with self.gateway(config) as semel:
            desk = ByApi(self, semel)
            self.answer()
            body = '{"id":"evt_1","type":"gr\u00f6\u00dfe","data":{"object":{"id":"sub_secret"}}}'
            self.assertEqual(self.send(semel, body=body).returncode, 0)
            event = desk.good("GET", "/v1/inbox")["items"][0]
            self.assertEqual(event["type"], "gr\u00f6\u00dfe")
            shown = desk.good("GET", f"/v1/inbox/{event['id']}/body")
            line = json.loads(desk.call("GET", "/v1/inbox/export")[1])
            for said in (shown, line):
                values = {field["name"]: field["value"] for field in said["fields"]}
                self.assertEqual((values[":object"], values[":type"]), ("[redacted]", "gr\u00f6\u00dfe"))
                self.assertNotIn("sub_secret", json.dumps(said) + base64.b64decode(said["body_base64"]).decode())

    def attempts(self, store):
        config = WITH_TOKENS + INBOX.replace("[destination.app]\n", '[destination.app]\nschedule = ["0s", "50ms", "50ms"]\n')
        with self.gateway(config, store=store) as semel:
            desk = ByApi(self, semel)
            self.answer(500, 503)
            self.assertEqual(self.send(semel).returncode, 0)
            event = desk.good("GET", "/v1/inbox")["items"][0]["id"]
            shown = lambda: desk.good("GET", f"/v1/inbox/{event}")
            self.assertTrue(wire.eventually(lambda: len(shown()["attempts"]) == 3, seconds=20), shown())
            found = shown()
            self.assertFalse(found["attempts_partial"])
            self.assertEqual([(each["attempt"], each["status"], each["state"], each["destination"], each["why"]) for each in found["attempts"]],
                             [(1, 500, "waiting", "app", "answered 500"), (2, 503, "waiting", "app", "answered 503"),
                              (3, 200, "done", "app", "answered 200")])
            self.assertEqual(len({each["node"] for each in found["attempts"]}), 1)
            begun = [each["at"] for each in found["attempts"]]
            self.assertEqual(begun, sorted(begun))
            self.assertTrue(all(0 < each["ms"] < 10_000 for each in found["attempts"]), found["attempts"])
            self.assertEqual(semel.stop(), 0)
            semel.start()
            self.assertEqual(shown()["attempts"], found["attempts"], "they outlive the process")

    def test_attempts_are_listed(self):
        """Each with its number, its answer, when it began and how long it took; embedded and on PostgreSQL."""
        self.attempts(None)
        self.stage.close()  # and with it who answers there
        self.setUp()
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        self.attempts(server.prepare("attempts"))

    def test_an_export_shows_no_more_than_the_desk(self):
        """What is hidden of one event is hidden in an export of all: parts of bodies, credentials; and only operators get one."""
        config = WITH_TOKENS.replace("[store]", 'redact = ["/card/number"]\n[store]') + INBOX + EFFECT
        with self.gateway(config) as semel:
            desk = ByApi(self, semel)
            self.answer()
            body = '{"id":"evt_1","card":{"number":"4111","brand":"visa"}}'
            self.assertEqual(self.send(semel, body=body).returncode, 0)
            fields = [("Authorization", "Bearer s3cret"), ("Idempotency-Key", '"k-1"'), ("Cookie", "c=s3cret")]
            self.assertEqual(semel.ask("POST", "/effects/1", fields, body.encode()).status, 202)
            token = lambda role: [("Authorization", f"Bearer {TOKENS[role]}")]
            self.assertEqual(wire.ask(semel.admin, "GET", "/v1/inbox/export", token("viewer")).status, 403)
            reply = wire.ask(semel.admin, "GET", "/v1/inbox/export", token("operator"))
            self.assertEqual(reply.status, 200)
            self.assertNotIn(b"s3cret", reply.body)
            lines = [json.loads(line) for line in reply.body.splitlines()]
            self.assertEqual(len(lines), 2)
            for line in lines:
                self.assertEqual(json.loads(base64.b64decode(line["body_base64"]))["card"], {"number": "[redacted]", "brand": "visa"})
                self.assertTrue(line["redacted"])
                for field in line["fields"]:
                    if field["name"].lower() in ("authorization", "cookie"):
                        self.assertEqual(field["value"], "[redacted]")
            self.assertIn("authorization", [field["name"].lower() for field in lines[1]["fields"]], "it was kept, and hidden")
            acts = [json.loads(entry["entry"]) for entry in desk.entries()]
            self.assertEqual([(entry["act"], entry["target"]) for entry in acts], [("export inbox", "/v1/inbox/export")])


if __name__ == "__main__":
    operators.run()
