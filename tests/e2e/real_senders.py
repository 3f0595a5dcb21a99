#!/usr/bin/env python3
"""Senders and a handler that nobody here wrote, with an inbox between them. real_senders.py --binary SEMEL --build FOLDER

Deliveries are signed by the libraries of Stripe, Svix, Octokit and others; each attempt is verified by `standardwebhooks` and
`svix` (signers_npm/handler.mjs). The packages come with `npm ci` into FOLDER; without node, npm or a registry that can be reached
the test is skipped.
"""
import collections
import json
import pathlib
import re
import subprocess

import harness
import npm
import programs
import wire

SOURCE = pathlib.Path(__file__).resolve().parent / "signers_npm"
PUBLIC_URL = "https://hooks.example.com"
HANDLER_SECRET = "whsec_aGFuZGxlci1zZWNyZXQtdGhhdC1pcy1sb25nLWVub3VnaA=="
DESTINATION = f"""
[destination.handler]
upstream = "app"
schedule = ["0s", "2s"]
sign = "{HANDLER_SECRET}"
"""


def webhook(provider, secret):
    return (f'\n[[webhook]]\npath = "/hooks/{provider}"\nprovider = "{provider}"\nsecrets = ["{secret}"]\n'
            'delivery = "inbox"\ndeliver = [ { to = "handler" } ]\n')


class RealSenders(harness.Case):
    folder = None

    def setUp(self):
        super().setUp()
        signed = subprocess.run(["node", "sign.mjs", PUBLIC_URL], cwd=self.folder, capture_output=True, text=True,
                                check=True, timeout=60)
        self.deliveries = json.loads(signed.stdout)
        self.handler = programs.Printing("node", self.folder.resolve() / "handler.mjs", HANDLER_SECRET)
        self.addCleanup(self.handler.close)
        self.handler.start()
        secrets = {each["provider"]: each["secret"] for each in self.deliveries}
        config = harness.CONFIG.replace("threads = 2", f'threads = 2\npublic_url = "{PUBLIC_URL}"')
        config += DESTINATION + "".join(webhook(*pair) for pair in secrets.items())
        self.semel = self.gateway(config, upstream="%s:%d" % self.handler.address).start()

    def calls(self):
        return json.loads(wire.ask(self.handler.address, "GET", "/").body)

    def is_done(self, count):
        text = wire.ask(self.semel.admin, "GET", "/metrics").body.decode()
        done = re.findall(r'^semel_inbox_deliveries\{.*state="done"\} (\d+)$', text, re.M)
        return sum(map(int, done)) == count and "\nsemel_inbox_unaccounted 0\n" in text

    def test_are_acknowledged_and_delivered_once(self):
        """Each library's delivery is acknowledged, also when it comes again, and handled once, under a signature that both
        libraries verify; what a handler refuses comes again, signed anew."""
        for each in self.deliveries:
            target = each.get("target") or "/hooks/" + each["provider"]
            with self.subTest(each["provider"], target=target):
                for _ in range(3):
                    reply = self.semel.ask("POST", target, list(each["fields"].items()), each["body"].encode())
                    self.assertEqual(reply.status, 200, reply.body)
        wire.eventually(lambda: self.is_done(len(self.deliveries)), 20)
        calls = self.calls()
        self.assertEqual([call["problem"] for call in calls if call["problem"]], [])
        self.assertTrue(all(call["forged"] for call in calls), "a byte more, and the libraries refuse it")
        by_event = collections.defaultdict(list)
        for call in calls:
            by_event[call["headers"]["webhook-id"]].append(call)
        self.assertEqual(len(by_event), len(self.deliveries))
        for event in by_event.values():
            stripe = "stripe-signature" in event[0]["headers"]
            self.assertEqual([call["attempt"] for call in event], [1, 2] if stripe else [1])
        first, second = next(event for event in by_event.values() if len(event) == 2)
        self.assertNotEqual(first["headers"]["webhook-signature"], second["headers"]["webhook-signature"])
        self.assertEqual(first["headers"]["stripe-signature"], second["headers"]["stripe-signature"])
        sent = collections.Counter(each["body"] for each in self.deliveries)
        came = collections.Counter(event[0]["body"] for event in by_event.values())
        self.assertEqual(came, sent, "byte for byte, and an event of a batch alone in its body")
        self.assertEqual(self.semel.stop(), 0)


if __name__ == "__main__":
    npm.run(RealSenders, SOURCE)
