#!/usr/bin/env python3
"""What operators see and do of ordered webhooks: metrics, log lines, reopening an event. --binary SEMEL"""
import json

import harness
import webhooks

CONFIG = webhooks.CONFIG.replace('[admin]\nlisten = "$admin"', '[admin]\nlisten = "$admin"\ntoken = "operator"') + \
    "ordered = true\n"
TOKEN = [("Authorization", "Bearer operator")]
REOPEN = "/v1/webhooks/reopen?path=/hooks/stripe"


class OrderedWebhook(harness.Case):
    def start(self, config=CONFIG):
        semel = self.gateway(config)
        (semel.folder / "data-secret").write_text("first", encoding="utf-8")
        semel.start()
        self.answer_all()
        return semel

    def deliver(self, semel, event, created):
        fields, body = webhooks.delivery("first", event, created=created)
        return semel.ask("POST", "/hooks/stripe", fields, body)

    def ask_admin(self, semel, target, body, fields=()):
        return webhooks.wire.ask(semel.admin, "POST", target, fields, body)

    def test_what_is_overtaken_is_counted_and_logged(self):
        """One handled, one again, one overtaken, one without a stamp: each is counted as what it is, and logged."""
        semel = self.start(CONFIG.replace('\ntoken = "operator"', ""))
        self.assertEqual(self.deliver(semel, "evt_2", 2).status, 200)
        self.assertEqual(self.deliver(semel, "evt_2", 2).get("Idempotent-Replayed"), "true")
        overtaken = self.deliver(semel, "evt_1", 1)
        self.assertEqual((overtaken.status, overtaken.get("Idempotent-Replayed")), (200, None))
        self.assertEqual(self.deliver(semel, "evt_3", "soon").status, 200)
        handled = 'semel_webhook_events_total{route="/hooks/stripe",provider="stripe",outcome="handled"}'
        webhooks.wire.eventually(lambda: semel.metrics()[1][handled] == 2)  # who is answered is counted a moment later
        counts = semel.metrics()[1]

        def count(name, more=""):
            return counts[f'semel_webhook_{name}{{route="/hooks/stripe",provider="stripe"{more}}}']

        for outcome, expected in (("handled", 2), ("duplicate", 1), ("out_of_order", 1), ("failed", 0)):
            self.assertEqual(count("events_total", f',outcome="{outcome}"'), expected, outcome)
        self.assertEqual(count("unplaced_total"), 1)
        self.assertEqual(count("attempts_count"), 2)
        self.assertEqual(count("attempts_sum"), 2)
        self.assertEqual(count("handler_seconds_count"), 2)
        self.assertEqual(counts['semel_requests_total{route="/hooks/stripe",outcome="superseded"}'], 1)
        self.assertEqual(semel.stop(), 0)
        lines = [json.loads(line) for line in semel.out_path.read_text(encoding="utf-8").splitlines()]
        superseded = [line for line in lines if line.get("outcome") == "superseded"]
        self.assertEqual([(line["status"], line["event_type"], line["object"], line["level"]) for line in superseded],
                         [(200, "payout.paid", "po_1", "info")])

    def test_an_operator_lets_an_event_run_again(self):
        """A processed event runs once more after it was reopened, as the next attempt; others stay as they are."""
        semel = self.start()
        self.assertEqual(self.deliver(semel, "evt_1", 5).status, 200)
        self.assertEqual(self.deliver(semel, "evt_2", 5).status, 200)
        for _ in range(8):  # until every thread has the answer in its memory
            self.assertEqual(self.deliver(semel, "evt_1", 5).get("Idempotent-Replayed"), "true")
        reply = self.ask_admin(semel, REOPEN, b'{"id":"evt_1"}', TOKEN)
        self.assertEqual((reply.status, json.loads(reply.body)), (200, {"reopened": True, "in_effect_within_ms": 0}))
        self.assertEqual(self.deliver(semel, "evt_1", 5).get("Idempotent-Replayed"), None)
        self.assertEqual(self.deliver(semel, "evt_2", 5).get("Idempotent-Replayed"), "true")
        self.assertEqual(self.stage.count(), 3)
        self.assertEqual(self.ask_admin(semel, REOPEN, b'{"id":"evt_9"}', TOKEN).status, 404)

    def test_only_an_operator_does_that(self):
        """Without the token nothing is reopened; without a token in the configuration nobody can, nor by GET."""
        semel = self.start()
        self.assertEqual(self.deliver(semel, "evt_1", 5).status, 200)
        for fields in ((), [("Authorization", "Bearer guessed")]):
            self.assertEqual(self.ask_admin(semel, REOPEN, b'{"id":"evt_1"}', fields).status, 401)
        self.assertEqual(self.ask_admin(semel, "/v1/webhooks/reopen?path=/v1/x", b'{"id":"evt_1"}', TOKEN).status, 400)
        self.assertEqual(self.ask_admin(semel, "/v1/webhooks/reopen", b'{"id":"evt_1"}', TOKEN).status, 400)
        self.assertEqual(self.ask_admin(semel, REOPEN, b'{}', TOKEN).status, 400)
        self.assertEqual(webhooks.wire.ask(semel.admin, "GET", REOPEN, TOKEN).status, 404)
        self.assertEqual(self.deliver(semel, "evt_1", 5).get("Idempotent-Replayed"), "true")
        open_to_all = self.start(CONFIG.replace('\ntoken = "operator"', ""))
        self.assertEqual(self.ask_admin(open_to_all, REOPEN, b'{"id":"evt_1"}').status, 403)
        self.assertEqual(self.stage.count(), 1)


if __name__ == "__main__":
    harness.run()
