#!/usr/bin/env python3
"""on_unknown = "probe" of an inbox: what became of an attempt whose answer was lost is asked at the upstream. --binary SEMEL
[--postgres]

The upstream takes effect and says nothing, or says nothing and takes none. What it did is in its own record, and what a probe of
that record answers decides.
"""
import sys
import threading

import inbox
import inbox_handler
import operators
import postgres_server
import server
import wire

PROBE = 'on_unknown = "probe"\nprobe = "/effects/{json:/id}"\n'
ROUTE = """
[[route]]
path = "/jobs/*"
upstream = "app"
scope = ""
delivery = "inbox"
lease = "1s"
on_unknown = "probe"
probe = "/effects/{key}"
"""


class Ledger(inbox_handler.Handler):
    """A handler with effects, which a GET tells. `act(ledger, event, attempt)` returns a status, or None: the connection is closed
    without a word. Effects are what it puts into `effects`."""

    def __init__(self, act, **options):
        self.effects, self.probes = [], []
        self.probe_status = None  # instead of what it knows
        super().__init__(lambda event, attempt: act(self, event, attempt), **options)

    def answer(self, request):
        if request.method != "GET":
            return super().answer(request)
        event = request.target.removeprefix("/effects/")
        with self.lock:
            self.probes.append((event, request))
            known = event in self.effects
        if self.probe_status is not None:
            return server.Reply(self.probe_status)
        return server.Reply(200, [("Content-Type", "text/plain")], b"it is done") if known else server.Reply(404)


def lose(takes_effect):
    """A handler whose first answer is lost, after it took effect or before."""
    def act(ledger, event, attempt):
        if attempt == 1 and not takes_effect:
            return None
        with ledger.lock:
            ledger.effects.append(event)
        return None if attempt == 1 else 200

    return act


class Probe(operators.Case):
    send, metrics, states = inbox.Inbox.send, inbox.Inbox.metrics, inbox.Inbox.states
    assert_states, listed, post = inbox.Inbox.assert_states, inbox.Inbox.listed, inbox.Inbox.post
    database, databases = None, 0

    def start(self, handler, more=PROBE, **values):
        if self.database:
            Probe.databases += 1
            values["store"] = self.database.prepare(f"probe_{Probe.databases}")
        return inbox.Inbox.start(self, handler, more=more, **values)

    def delivery(self, semel):
        return self.listed(semel)[0]

    def test_what_took_effect_is_not_done_again(self):
        """The handler has the event and its answer is lost: the probe says so, and there is no second attempt."""
        handler = Ledger(lose(True))
        semel = self.start(handler)
        self.send(semel, "evt_1")
        self.assert_states(semel, done=1)
        self.assertEqual((handler.effects, handler.count("evt_1")), (["evt_1"], 1))
        self.assertEqual(len(handler.probes), 1)
        self.assertTrue(handler.probes[0][1].get("Semel-Event"))
        self.assertIsNone(handler.probes[0][1].get("Content-Type"))
        self.assertIn("an earlier attempt took effect", self.delivery(semel)["why"])

    def test_what_took_none_is_tried_again(self):
        """The probe says 404: the next attempt is made, and is the only effect."""
        handler = Ledger(lose(False))
        semel = self.start(handler)
        self.send(semel, "evt_1")
        self.assert_states(semel, done=1)
        self.assertEqual((handler.effects, handler.count("evt_1")), (["evt_1"], 2))
        self.assertEqual(len(handler.probes), 1)
        self.assertEqual(handler.troubles, [])

    def test_a_probe_that_does_not_know_is_asked_again(self):
        """While the probe is no help, nothing is sent; when it is, its answer decides."""
        handler = Ledger(lose(True))
        handler.probe_status = 503
        semel = self.start(handler)
        self.send(semel, "evt_1")
        self.assertTrue(wire.eventually(lambda: len(handler.probes) >= 3, 20))
        self.assertEqual(handler.count("evt_1"), 1)
        self.assertIn(self.delivery(semel)["state"], ("waiting", "running"))
        handler.probe_status = None
        self.assert_states(semel, done=1)
        self.assertEqual((handler.effects, handler.count("evt_1")), (["evt_1"], 1))

    def test_it_ends_as_unknown_and_not_as_dead(self):
        """Given up while nobody knows: an operator decides, as with "hold"."""
        handler = Ledger(lose(True))
        handler.probe_status = 500
        semel = self.start(handler, give_up="1s")
        self.send(semel, "evt_1")
        self.assert_states(semel, unknown=1, seconds=20)
        self.assertEqual(handler.count("evt_1"), 1)
        self.assertEqual(self.post(semel, "/v1/inbox/%s/resolve" % self.delivery(semel)["id"], reason="it is in the books")[0], 200)
        self.assert_states(semel, done=1)

    def test_a_killed_gateway_asks_before_it_tries_again(self):
        """The gateway dies while the handler works: what was left is probed, and not done a second time."""
        reached, gate = threading.Event(), threading.Event()

        def act(ledger, event, attempt):
            with ledger.lock:
                ledger.effects.append(event)
            reached.set()
            gate.wait(30)
            return 200

        handler = Ledger(act)
        self.addCleanup(gate.set)
        semel = self.start(handler, webhook='[inbox]\nnode_beat = "1s"\n')
        self.send(semel, "evt_1")
        self.assertTrue(reached.wait(20))
        semel.kill()
        gate.set()
        semel.start()
        self.assert_states(semel, done=1, seconds=30)
        self.assertEqual((handler.effects, len(handler.probes)), (["evt_1"], 1))

    def test_what_an_operator_sends_again_is_not_swallowed(self):
        """The probe would say that it is done: it is not asked. If that answer is lost, too, it waits for the operator."""
        answers = iter([200, 200, None])

        def act(ledger, event, attempt):
            with ledger.lock:
                ledger.effects.append(event)
            return next(answers)

        handler = Ledger(act)
        semel = self.start(handler)
        self.send(semel, "evt_1")
        self.assert_states(semel, done=1)
        where = "/v1/inbox/%s/redeliver" % self.delivery(semel)["id"]
        self.assertEqual(self.post(semel, where, reason="again")[0], 200)
        self.assertTrue(wire.eventually(lambda: handler.count("evt_1") == 2, 20))
        self.assert_states(semel, done=1)
        self.assertEqual(self.post(semel, where, reason="and again")[0], 200)
        self.assert_states(semel, unknown=1)
        self.assertEqual((len(handler.effects), handler.probes), (3, []))

    def test_a_redelivery_that_a_death_cut_waits_for_the_operator(self):
        """The gateway dies during what an operator sent again. A probe could not tell it from what was there before, and to send it
        once more might be a third effect."""
        reached, gate = threading.Event(), threading.Event()

        def act(ledger, event, attempt):
            with ledger.lock:
                ledger.effects.append(event)
            if attempt == 2:
                reached.set()
                gate.wait(30)
            return 200

        handler = Ledger(act)
        self.addCleanup(gate.set)
        semel = self.start(handler, webhook='[inbox]\nnode_beat = "1s"\n')
        self.send(semel, "evt_1")
        self.assert_states(semel, done=1)
        where = "/v1/inbox/%s/redeliver" % self.delivery(semel)["id"]
        self.assertEqual(self.post(semel, where, reason="again")[0], 200)
        self.assertTrue(reached.wait(20))
        semel.kill()
        gate.set()
        semel.start()
        self.assert_states(semel, unknown=1, seconds=30)
        self.assertEqual((handler.effects, handler.probes), (["evt_1"] * 2, []))
        self.assertEqual(self.post(semel, where, reason="it is not in the books")[0], 200)
        self.assert_states(semel, done=1)
        self.assertEqual(handler.troubles, [])

    def test_a_request_on_a_route_gets_the_answer_of_the_probe(self):
        """The route's own probe, with the key as the client wrote it; what it answers is what the key remembers."""
        handler = Ledger(lose(True), name=lambda request: request.get("Idempotency-Key"))
        semel = self.start(handler, more="", webhook=ROUTE)
        fields = [("Idempotency-Key", "k-1"), ("Content-Type", "application/json")]
        first = semel.ask("POST", "/jobs/a", fields, b"{}")
        self.assertEqual(first.status, 202)
        self.assert_states(semel, done=1, seconds=30)
        again = semel.ask("POST", "/jobs/a", fields, b"{}")
        self.assertEqual((again.status, again.body), (200, b"it is done"))
        self.assertEqual((handler.effects, [event for event, _ in handler.probes]), (["k-1"], ["k-1"]))


if __name__ == "__main__":
    if "--postgres" in sys.argv:
        sys.argv.remove("--postgres")
        Probe.database = postgres_server.Server(sys.argv[sys.argv.index("--binary") + 1])
    try:
        operators.run()
    finally:
        if Probe.database:
            Probe.database.close()
