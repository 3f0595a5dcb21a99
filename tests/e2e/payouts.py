#!/usr/bin/env python3
"""The payout service of examples/payouts, with and without Semel in front of it: payouts.py --binary SEMEL"""
import json
import pathlib
import re

import harness
import programs
import wire

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "payouts"
EVENT = '{"id":"evt_1","type":"payout.paid","data":{"object":{"id":"po_1","amount":10000}}}'


class Payouts(harness.Case):
    def setUp(self):
        super().setUp()
        server = programs.Printing("node", FOLDER / "server.mjs", environment={"PORT": "0"})
        self.addCleanup(server.close)
        self.service = server.start().address

    def ten_at_once(self, address, path):
        """How often each status came."""
        done = self.run_semel("sign", "stripe", "--secret", "whsec_test", "--body", EVENT, "--send", "--url",
                              "http://%s:%d%s" % (*address, path), "--times", 10, "--parallel", 10)
        return {status: int(count) for count, status in re.findall(r"(\d+) x (\S+)", done.stdout)}

    def fees(self):
        return json.loads(wire.ask(self.service, "GET", "/").body)

    def test_a_naive_service_charges_ten_times(self):
        """What happens without Semel, so that the next test means something."""
        self.assertEqual(self.ten_at_once(self.service, "/"), {"200": 10})
        self.assertEqual(len(self.fees()), 10)

    def test_behind_semel_it_charges_once(self):
        """Ten signed deliveries at once, then ten more: one fee of 50 on 10,000; 409 while it runs, then 200."""
        config = (FOLDER / "semel.toml").read_text(encoding="utf-8")
        config = config.replace("127.0.0.1:8080", "$listen").replace("./semel-data", "$data")
        config = config.replace("127.0.0.1:3000", "%s:%d" % self.service) + '\n[admin]\nlisten = "$admin"\n'
        semel = self.gateway(config, environment={"STRIPE_SECRET": "whsec_test"}).start()
        first = self.ten_at_once(semel.address, "/webhooks/stripe")
        self.assertLessEqual(set(first), {"200", "409"})
        self.assertEqual(sum(first.values()), 10)
        self.assertEqual(self.ten_at_once(semel.address, "/webhooks/stripe"), {"200": 10})
        self.assertEqual(self.fees(), [{"payout": "po_1", "fee": 50}])


if __name__ == "__main__":
    harness.run()
