#!/usr/bin/env python3
"""The inbox from end to end: acknowledged at once, delivered later, nothing lost. --binary SEMEL

A handler of our own writes down every call (inbox_handler.py). What the desk answers is held against docs/openapi-admin.json.
"""
import base64
import collections
import hashlib
import hmac
import json
import re
import threading
import time

import harness
import inbox_oracle
import operators
import server
import signers
import wire
from inbox_handler import Handler

SECRET = "s3cret"
CONFIG = harness.CONFIG.replace("[store]", f"tokens = {{ {operators.LISTED} }}\n[store]")

INBOX = """
[destination.app]
upstream = "app"
concurrency = 8
schedule = ["0s", "100ms", "200ms"]
give_up_after = "%(give_up)s"
fatal = ["400"]
sign = "file:$data-sign"
breaker = { probe_max = "1s" }
%(more)s
[[webhook]]
path = "/hooks/stripe"
provider = "stripe"
secrets = ["file:$data-secret"]
delivery = "inbox"
lease = "1s"
deliver = [ { to = "app" } ]
%(webhook)s
"""


class Inbox(operators.Case):
    def start(self, handler, give_up="1h", more="", webhook="", **values):
        self.addCleanup(handler.close)
        text = CONFIG + INBOX % {"give_up": give_up, "more": more, "webhook": webhook}
        semel = self.gateway(text, upstream="%s:%d" % handler.address, **values)
        for name, value in (("secret", SECRET), ("sign", "whsec_" + base64.b64encode(b"shared").decode())):
            (semel.folder / f"data-{name}").write_text(value, encoding="utf-8")
        return semel.start()

    def send(self, semel, event, expected=200, **more):
        body = json.dumps({"id": event, "type": "payout.paid", "data": {"object": {"id": "po_1"}}, **more}).encode()
        reply = semel.ask("POST", "/hooks/stripe", signers.sign(f"stripe {SECRET}", body), body)
        if expected is not None:
            self.assertEqual(reply.status, expected, reply.body)
        return reply

    def metrics(self, semel):
        head = [("Authorization", f"Bearer {operators.TOKENS['viewer']}")]
        text = wire.ask(semel.admin, "GET", "/metrics", head).body.decode()
        return {m[1]: float(m[2]) for m in re.finditer(r"^([^#\s]\S*) (\S+)$", text, re.M)}

    def states(self, semel):
        """How many deliveries are in which state; what was accepted must be their sum."""
        counts = self.metrics(semel)
        states = collections.Counter()
        for name, value in counts.items():
            if name.startswith("semel_inbox_deliveries{"):
                states[name.split('state="')[1].split('"')[0]] += int(value)
        self.assertEqual(counts.get("semel_inbox_unaccounted", 0), 0)
        self.assertEqual(counts.get("semel_inbox_accepted_total", 0), sum(states.values()))
        return +states

    def assert_states(self, semel, seconds=10, **expected):
        wire.eventually(lambda: self.states(semel) == expected, seconds)
        self.assertEqual(dict(self.states(semel)), expected)

    def test_an_event_is_acknowledged_at_once_and_delivered(self):
        """The provider does not wait for the handler; the handler gets the body, a number, an id and a fresh signature."""
        gate = threading.Event()
        handler = Handler(lambda event, attempt: gate.wait(10) and 200)
        semel = self.start(handler)
        began = time.monotonic()
        self.send(semel, "evt_1")
        self.assertLess(time.monotonic() - began, 5)
        self.assertTrue(wire.eventually(lambda: len(handler.requests) == 1))
        self.send(semel, "evt_1")  # a duplicate while it runs
        gate.set()
        self.assert_states(semel, done=1)
        self.send(semel, "evt_1")  # and after it
        self.assertEqual(handler.count(), 1)
        request = handler.requests[0]
        self.assertEqual((request.get("Idempotency-Attempt"), request.target), ("1", "/hooks/stripe"))
        self.assertTrue(request.get("Stripe-Signature"))
        text = b"%s.%s.%s" % (request.get("webhook-id").encode(), request.get("webhook-timestamp").encode(), request.body)
        tag = base64.b64encode(hmac.new(b"shared", text, hashlib.sha256).digest()).decode()
        self.assertEqual(request.get("webhook-signature"), "v1," + tag)
        self.assertEqual(handler.troubles, [])

    def test_a_failing_handler_is_tried_again(self):
        """Until it takes the event; never before its Retry-After; each attempt under the next number."""
        def speak(event, attempt):
            if event == "evt_busy" and attempt < 3:
                return server.Reply(503, [("Retry-After", "1")])
            return 500 if attempt < 4 else 200

        handler = Handler(speak)
        semel = self.start(handler)
        self.send(semel, "evt_busy")
        self.send(semel, "evt_fails")
        self.assert_states(semel, done=2, seconds=20)
        self.assertGreaterEqual(handler.count("evt_busy"), 3)
        self.assertEqual(handler.count("evt_fails"), 4)
        self.assertEqual(handler.troubles, [])

    def test_a_poison_event_harms_only_itself(self):
        """It dies when its time is up, or at once if its answer is fatal; the others are delivered meanwhile."""
        handler = Handler(lambda event, attempt: {"evt_poison": 500, "evt_fatal": 400}.get(event, 200))
        semel = self.start(handler, give_up="1s")
        for event in ("evt_poison", "evt_fatal", "evt_1", "evt_2"):
            self.send(semel, event)
        self.assert_states(semel, done=2, dead=2, seconds=20)
        self.assertEqual(handler.count("evt_fatal"), 1)
        self.assertGreater(handler.count("evt_poison"), 2)
        items = self.listed(semel, "?state=dead")
        self.assertEqual({item["status"] for item in items}, {400, 500})
        self.assertEqual(handler.troubles, [])

    def listed(self, semel, query=""):
        page = operators.ByApi(self, semel).good("GET", "/v1/inbox" + query)
        self.assertEqual(page["complete"], page["cursor"] == "")
        return page["items"]

    def post(self, semel, target, **body):
        reply, said = operators.ByApi(self, semel).call("POST", target, body)
        return reply.status, said

    def test_a_storm_of_duplicates_is_one_event(self):
        """While it waits, runs and is done: each is acknowledged, and one is delivered."""
        handler = Handler(lambda event, attempt: time.sleep(0.2) or (500 if attempt == 1 else 200))
        semel = self.start(handler)
        self.send(semel, "evt_1")
        threads = [threading.Thread(target=self.send, args=(semel, "evt_1")) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assert_states(semel, done=1)
        self.assertEqual(handler.count(), 2)
        self.assertEqual(handler.troubles, [])

    def test_nothing_is_lost_when_the_gateway_is_killed(self):
        """kill -9 under load, at random and where an event is durable but not acknowledged, sent, answered or settled: what was
        acknowledged is delivered, one call at a time and in order (N1 to N4 of inbox_oracle.py)."""
        world = inbox_oracle.World(self.binary, 1, feeders=4)
        self.addCleanup(world.close)
        self.assertEqual(world.run(kills=9, seconds_max=150), [], world.summary())
        self.assertGreater(len(world.acknowledged()), 20, world.summary())
        self.assertLessEqual(set(world.points), set(world.kills), world.summary())

    def test_a_handler_that_is_dead_for_a_while(self):
        """Events wait, no attempt is spent while the breaker is open, and all come when the handler is back."""
        handler = Handler()
        port = handler.address[1]
        semel = self.start(handler)
        handler.close()
        for i in range(30):
            self.send(semel, f"evt_{i}")
        time.sleep(2)
        self.assertEqual(set(self.states(semel)) - {"running"}, {"waiting"})
        back = Handler(port=port)
        self.addCleanup(back.close)
        self.assert_states(semel, done=30, seconds=40)
        self.assertEqual(len(back.events()), 30)
        self.assertLess(max(call[1] for call in back.calls), 20)
        self.assertEqual(back.troubles, [])

    def test_a_full_inbox_is_not_acknowledged(self):
        """503 with Retry-After, and never a success; when there is room again, the event is taken."""
        gate = threading.Event()
        handler = Handler(lambda event, attempt: gate.wait(20) and 200)
        semel = self.start(handler, webhook="depth_max = 2\n")
        self.send(semel, "evt_1")
        self.send(semel, "evt_2")
        refused = self.send(semel, "evt_3", expected=503)
        self.assertTrue(refused.get("Retry-After"))
        gate.set()
        self.assert_states(semel, done=2)
        self.send(semel, "evt_3")
        self.assert_states(semel, done=3)

    def test_events_of_an_object_come_in_order(self):
        """fifo: one at a time, oldest first, though the first is tried several times."""
        handler = Handler(lambda event, attempt: 500 if event == "evt_1" and attempt < 3 else 200)
        semel = self.start(handler, webhook='order = "fifo"\n')
        for i in (1, 2, 3):
            self.send(semel, f"evt_{i}", created=1_700_000_000 + i)
        self.assert_states(semel, done=3)
        self.assertEqual([call[0] for call in handler.calls], ["evt_1", "evt_1", "evt_1", "evt_2", "evt_3"])
        self.assertEqual(handler.troubles, [])

    def test_a_rate_holds_back_and_lets_go(self):
        """What a rate has held back is delivered when the rate allows it, though nothing else comes."""
        handler = Handler(lambda event, attempt: 200)
        semel = self.start(handler, more='rate = "5/s"')
        for number in range(12):
            self.send(semel, f"evt_{number}")
        self.assert_states(semel, seconds=30, done=12)
        self.assertEqual(handler.troubles, [])

    def test_the_next_of_an_object_runs_when_the_one_before_is_discarded(self):
        """However the one before it has ended: here an operator discards it while it waits."""
        handler = Handler(lambda event, attempt: 200 if event != "evt_0" else server.Reply(503, [("Retry-After", "60")]))
        semel = self.start(handler, webhook='order = "fifo"')
        for number in range(3):
            self.send(semel, f"evt_{number}", created=1000 + number)
        self.assert_states(semel, waiting=3)
        [head] = [one for one in self.listed(semel, "?state=waiting") if not one["in_line"]]
        self.assertEqual(self.post(semel, f"/v1/inbox/{head['id']}/discard", reason="it will never be taken")[0], 200)
        self.assert_states(semel, done=2, discarded=1, seconds=30)

    def test_filters_choose_destinations(self):
        """What a filter does not take is recorded as skipped, with the rule."""
        handler = Handler()
        more = '[destination.crm]\nupstream = "app"\ntarget = "/crm/{type}"\n'
        text = '{ to = "app" }, { to = "crm", when = "{type} ^= \'customer.\'" }'
        semel = self.start_with_deliver(handler, more, text)
        self.send(semel, "evt_1", type="customer.created")
        self.send(semel, "evt_2", type="payout.paid")
        self.assert_states(semel, done=3, skipped=1)
        self.assertEqual(sorted(request.target for request in handler.requests),
                         ["/crm/customer.created", "/hooks/stripe", "/hooks/stripe"])
        skipped = self.listed(semel, "?state=skipped")
        self.assertEqual([(item["destination"], item["why"]) for item in skipped], [("crm", "{type} ^= 'customer.'")])

    def start_with_deliver(self, handler, more, deliver):
        self.addCleanup(handler.close)
        text = CONFIG + INBOX % {"give_up": "1h", "more": more, "webhook": ""}
        text = text.replace('deliver = [ { to = "app" } ]', f"deliver = [ {deliver} ]")
        semel = self.gateway(text, upstream="%s:%d" % handler.address)
        for name, value in (("secret", SECRET), ("sign", "shared")):
            (semel.folder / f"data-{name}").write_text(value, encoding="utf-8")
        return semel.start()

    def test_operators_send_again_discard_and_pause(self):
        """Each act needs a reason and is in the audit log; a redelivery is never swallowed; a pause survives a restart."""
        handler = Handler()
        semel = self.start(handler)
        self.send(semel, "evt_1")
        self.assert_states(semel, done=1)
        event = self.listed(semel)[0]["id"]
        self.assertEqual(self.post(semel, f"/v1/inbox/{event}/redeliver")[0], 400)
        for attempt in (2, 3):
            status, answer = self.post(semel, f"/v1/inbox/{event}/redeliver", reason="the handler lost it")
            self.assertEqual((status, answer["delivery"]["state"]), (200, "waiting"))
            self.assertTrue(wire.eventually(lambda attempt=attempt: handler.count() == attempt))
            self.assert_states(semel, done=1)
        self.assertEqual(self.post(semel, f"/v1/inbox/{event}/discard", reason="x")[0], 409)
        self.assertEqual(self.post(semel, "/v1/destinations/app/pause", reason="a deploy")[0], 200)
        self.assertEqual(semel.stop(), 0)
        semel.start()
        self.send(semel, "evt_2")
        time.sleep(1)
        self.assertEqual(handler.count("evt_2"), 0)
        waiting = self.listed(semel, "?state=waiting")
        self.assertEqual([item["attempt"] for item in waiting], [0])
        destinations = operators.ByApi(self, semel).good("GET", "/v1/destinations")["items"]
        self.assertEqual([(each["name"], each["paused"], each["reason"]) for each in destinations],
                         [("app", True, "a deploy")])
        self.assertEqual(self.post(semel, "/v1/destinations/app/resume", reason="done")[0], 200)
        self.assertTrue(wire.eventually(lambda: handler.count("evt_2") == 1))
        shown = operators.ByApi(self, semel).good("GET", f"/v1/inbox/{event}/body")
        self.assertIn(b"evt_1", base64.b64decode(shown["body_base64"]))
        log = operators.ByApi(self, semel).entries()
        acts = [json.loads(entry["entry"]).get("act") for entry in log]
        self.assertEqual([act for act in acts if act], ["redeliver event", "redeliver event", "discard event",
                                                        "pause destination", "resume destination", "read event"])
        self.assertEqual(handler.troubles, [])

    def test_a_handler_that_is_gone_is_paused(self):
        """410 pauses its destination: nothing more is sent until somebody resumes it."""
        handler = Handler(lambda event, attempt: 410 if attempt == 1 else 200)
        semel = self.start(handler)
        self.send(semel, "evt_1")
        self.assertTrue(wire.eventually(lambda: self.metrics(semel).get("semel_inbox_paused") == 1))
        self.send(semel, "evt_2")
        time.sleep(0.5)
        self.assertEqual(handler.count(), 1)

    def test_draining_finishes_what_runs(self):
        """SIGTERM: an attempt under way ends and is settled; what waits is there after the next start."""
        gate = threading.Event()
        handler = Handler(lambda event, attempt: gate.wait(20) and 200)
        semel = self.start(handler)
        self.send(semel, "evt_1")
        self.assertTrue(wire.eventually(lambda: len(handler.requests) == 1))
        threading.Timer(0.5, gate.set).start()
        self.assertEqual(semel.stop(), 0)
        self.assertEqual(handler.count(), 1)
        semel.start()
        self.assert_states(semel, done=1)
        self.assertEqual(handler.count(), 1)

    def test_encrypted_bodies_are_delivered(self):
        """With encryption_keys neither the body nor a field of an event is on disk in clear; the handler gets both."""
        handler = Handler(lambda event, attempt: 500 if attempt == 1 else 200)
        self.addCleanup(handler.close)
        text = CONFIG.replace('url = "$store"', 'url = "$store"\nencryption_keys = ["%s"]' % harness.KEY_ONE)
        text += INBOX % {"give_up": "1h", "more": "", "webhook": ""}
        semel = self.gateway(text, upstream="%s:%d" % handler.address)
        for name, value in (("secret", SECRET), ("sign", "shared")):
            (semel.folder / f"data-{name}").write_text(value, encoding="utf-8")
        semel.start()
        self.send(semel, "evt_secret", note="attack at dawn")
        self.assert_states(semel, done=1)
        self.assertIn(b"attack at dawn", handler.requests[-1].body)
        self.assertEqual(semel.stop(), 0)
        files = [path for path in (semel.folder / "data").rglob("*") if path.is_file()]
        self.assertTrue(files)
        for path in files:
            self.assertNotIn(b"attack at dawn", path.read_bytes(), path)


if __name__ == "__main__":
    operators.run()
