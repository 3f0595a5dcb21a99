#!/usr/bin/env python3
"""Routes with an inbox: 202 with a Location at once, the answer when it is there. --binary SEMEL"""
import json
import threading
import time

import harness
import server
import wire
from inbox_handler import Handler

CONFIG = harness.CONFIG + """
[destination.app]
upstream = "app"
schedule = ["0s", "100ms"]
on_unknown = "%(on_unknown)s"
[[route]]
path = "/jobs/*"
upstream = "app"
delivery = "inbox"
destination = "app"
lease = "1s"
%(more)s
[[route]]
path = "/plain/*"
upstream = "app"
"""
BODY = b'{"amount": 12}'


def created(body=b'{"id": "job_1"}'):
    return server.Reply(201, [("Content-Type", "application/json"), ("Location", "/jobs/job_1")], body)


class Routes(harness.Case):
    def start(self, speak, on_unknown="retry", more="", config=CONFIG):
        self.handler = Handler(speak, name=lambda request: request.get("Idempotency-Key"))
        self.addCleanup(self.handler.close)
        semel = self.gateway(config % {"on_unknown": on_unknown, "more": more}, upstream="%s:%d" % self.handler.address)
        return semel.start()

    def post(self, semel, key="k1", body=BODY, who="alice", prefer=None, target="/jobs/new"):
        fields = [("Content-Type", "application/json"), ("Authorization", who)]
        fields += [("Idempotency-Key", key)] if key else []
        fields += [("Prefer", prefer)] if prefer else []
        return semel.ask("POST", target, fields, body, seconds=30)

    def look(self, semel, location, who="alice", prefer=None):
        fields = [("Authorization", who)] + ([("Prefer", prefer)] if prefer else [])
        return semel.ask("GET", location, fields, seconds=30)

    def location(self, reply):
        self.assertEqual(reply.status, 202, reply.body)
        self.assertTrue(reply.get("Location").startswith("/.semel/deliveries/"), reply.get("Location"))
        return reply.get("Location")

    def eventually_done(self, semel, location):
        self.assertTrue(wire.eventually(lambda: self.look(semel, location).status != 202, 20))

    def test_a_location_at_once_and_the_answer_later(self):
        """A retry gets the same Location while the request waits, and the stored answer afterwards; so does the Location, for
        the scope that sent the request. The handler is called once."""
        gate = threading.Event()
        semel = self.start(lambda key, attempt: gate.wait(20) and created())
        location = self.location(self.post(semel))
        again = self.post(semel)
        self.assertEqual(self.location(again), location)
        shown = self.look(semel, location)
        self.assertEqual((shown.status, json.loads(shown.body)["state"]), (202, "running"))
        self.assertEqual(self.post(semel, body=b'{"amount": 13}').status, 422)
        gate.set()
        self.eventually_done(semel, location)
        for reply in (self.look(semel, location), self.post(semel)):
            self.assertEqual((reply.status, reply.body, reply.get("Location")), (201, b'{"id": "job_1"}', "/jobs/job_1"))
            self.assertEqual(reply.get("Idempotent-Replayed"), "true")
        for who, where in (("bob", location), ("alice", location[:-1] + ("0" if location[-1] != "0" else "1")),
                           ("alice", "/.semel/deliveries/x")):
            self.assertEqual(self.look(semel, where, who).status, 404)
        self.assertEqual(self.handler.count(), 1)
        self.assertEqual(self.handler.requests[0].get("Idempotency-Attempt"), "1")
        self.assertIsNone(self.handler.requests[0].get("Authorization"))
        self.assertEqual(self.handler.requests[0].body, BODY)

    def test_a_client_can_wait_for_the_answer(self):
        """Prefer: wait. The first gets the answer as it is; a duplicate that waits, marked; who waits too short, 202."""
        gate = threading.Event()
        semel = self.start(lambda key, attempt: gate.wait(20) and created())
        heard = {}
        threads = [threading.Thread(target=lambda name=name: heard.update({name: self.post(semel, prefer="wait=9")}))
                   for name in ("first", "second")]
        threads[0].start()
        self.assertTrue(wire.eventually(lambda: len(self.handler.requests) == 1))
        location = self.location(self.post(semel, prefer="respond-async, wait=1"))
        threads[1].start()
        looking = threading.Thread(target=lambda: heard.update({"location": self.look(semel, location, prefer="wait=9")}))
        looking.start()
        time.sleep(0.2)  # so that they wait; if they do not yet, they find the answer
        gate.set()
        for thread in (*threads, looking):
            thread.join()
        self.assertEqual({name: reply.status for name, reply in heard.items()}, dict.fromkeys(heard, 201))
        self.assertEqual(len(heard), 3)
        self.assertIsNone(heard["first"].get("Idempotent-Replayed"))
        self.assertEqual(heard["second"].get("Idempotent-Replayed"), "true")
        self.assertEqual(self.handler.count(), 1)

    def test_what_an_answer_means(self):
        """An answer 4xx is the answer. One that says that nothing was done is tried again, until there is another."""
        def speak(key, attempt):
            if key == "bad":
                return server.Reply(422, [], b"no such account")
            return 500 if attempt < 3 else created()

        semel = self.start(speak)
        refused = self.post(semel, "bad", prefer="wait=9")
        self.assertEqual((refused.status, refused.body), (422, b"no such account"))
        self.assertEqual(self.post(semel, "good", prefer="wait=9").status, 201)
        self.assertEqual([call[1] for call in self.handler.calls if call[0] == "good"], [1, 2, 3])
        self.assertEqual(self.handler.troubles, [])

    def test_fatal_and_gone_are_for_events(self):
        """To a client they are answers like any other. That nobody is to try again can be said in so many words."""
        def speak(key, attempt):
            if key == "buried":
                return server.Reply(422, [("Semel-Outcome", "dead")], b"never")
            return server.Reply(410 if key == "gone" else 422, [], b"no such account")

        config = CONFIG.replace("[destination.app]\n", '[destination.app]\nfatal = ["410", "422"]\n')
        semel = self.start(speak, config=config)
        for key, status in (("bad", 422), ("gone", 410)):
            location = self.location(self.post(semel, key))
            self.eventually_done(semel, location)
            for reply in (self.look(semel, location), self.post(semel, key)):
                self.assertEqual((reply.status, reply.body), (status, b"no such account"))
        location = self.location(self.post(semel, "buried"))
        self.eventually_done(semel, location)
        self.assertEqual(self.look(semel, location).status, 502)
        self.assertEqual(self.handler.count(), 3)

    def test_an_outcome_that_nobody_knows(self):
        """A gateway that dies while the handler works: with "hold" nothing is sent again, and the Location says so; with "retry" it
        is sent again under the next number."""
        for on_unknown, status, attempts in (("hold", 409, [1]), ("retry", 201, [1, 2])):
            gate = threading.Event()
            semel = self.start(lambda key, attempt, gate=gate: (attempt > 1 or gate.wait(20)) and created(), on_unknown)
            location = self.location(self.post(semel))
            self.assertTrue(wire.eventually(lambda: len(self.handler.requests) == 1))
            semel.kill()
            gate.set()
            self.assertTrue(wire.eventually(lambda: self.handler.count() == 1))
            semel.start()
            self.assertTrue(wire.eventually(lambda: self.look(semel, location).status == status, 20),
                            self.look(semel, location).body)
            self.assertEqual([call[1] for call in self.handler.calls], attempts)
            self.assertEqual(self.location(self.post(semel)) if on_unknown == "hold" else self.post(semel).status,
                             location if on_unknown == "hold" else 201)

    def test_credentials_are_kept_if_the_route_says_so(self):
        semel = self.start(lambda key, attempt: created(), more="keep_credentials = true\n")
        self.assertEqual(self.post(semel, prefer="wait=9").status, 201)
        self.assertEqual(self.handler.requests[0].get("Authorization"), "alice")

    def test_a_full_inbox_is_no_success(self):
        gate = threading.Event()
        semel = self.start(lambda key, attempt: gate.wait(20) and created(), more="depth_max = 1\n")
        self.location(self.post(semel, "a"))
        full = self.post(semel, "b")
        self.assertEqual(full.status, 503)
        self.assertTrue(full.get("Retry-After"))
        gate.set()
        self.assertEqual(self.post(semel, "a", prefer="wait=9").status, 201)
        self.assertTrue(wire.eventually(lambda: self.post(semel, "b").status == 202))

    def test_other_requests_are_as_they_were(self):
        """Without a key where none is needed, and on a route without an inbox, the client gets the upstream's answer at once."""
        semel = self.start(lambda key, attempt: created(), more='key = "optional"\n')
        self.assertEqual(self.post(semel, None).status, 201)
        self.assertEqual(self.post(semel, target="/plain/x").status, 201)

    def test_answers_are_encrypted_at_rest(self):
        """With encryption_keys neither the request nor the answer is on disk in clear, and both are found again after a restart."""
        config = CONFIG.replace('url = "$store"', 'url = "$store"\nencryption_keys = ["%s"]' % harness.KEY_ONE)
        semel = self.start(lambda key, attempt: created(b"attack at dawn"), config=config)
        location = self.location(self.post(semel, body=b'{"note": "burn after reading"}'))
        self.eventually_done(semel, location)
        self.assertEqual(semel.stop(), 0)
        files = [path for path in (semel.folder / "data").rglob("*") if path.is_file()]
        for path in files:
            for text in (b"attack at dawn", b"burn after reading"):
                self.assertNotIn(text, path.read_bytes(), path)
        semel.start()
        self.assertEqual(self.look(semel, location).body, b"attack at dawn")
        self.assertEqual(self.post(semel, body=b'{"note": "burn after reading"}').body, b"attack at dawn")


if __name__ == "__main__":
    harness.run()
