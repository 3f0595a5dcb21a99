#!/usr/bin/env python3
"""Stripe's own client for Node.js in front of a charges API that is not well (charges.py).
stripe_client.py --binary SEMEL --build FOLDER

The package comes with `npm ci` from stripe/package-lock.json into FOLDER. Without node, npm or a registry that can be
reached the test is skipped (exit code 77) and says why. docs/clients.md explains the configuration.
"""
import collections
import json
import pathlib

import charges
import harness
import npm
import programs

SOURCE = pathlib.Path(__file__).resolve().parent / "stripe"
CALLS, CONCURRENCY, RETRIES = 80, 16, 12

PAYMENTS = harness.CONFIG + """timeout = "1500ms"
connect_timeout = "1s"

[reply]
error_member = true

[[route]]
path = "/v1/*"
upstream = "app"
in_flight = "wait"
wait_max = "10s"
keep = { "5xx" = "unknown" }
on_unknown = "probe"
probe = "/v1/charges?key={key}"
"""

HOLDING = PAYMENTS.replace('on_unknown = "probe"\nprobe = "/v1/charges?key={key}"\n', 'on_unknown = "hold"\n')


class StripeClient(harness.Case):
    folder = None

    def run_calls(self, config, retries, **origin):
        api = charges.Charges(stall_s=2.2, **origin)
        self.addCleanup(api.close)
        semel = self.gateway(config, upstream="%s:%d" % api.address)
        with semel:
            done = programs.run("node", "charge.mjs", semel.address[1], CALLS, CONCURRENCY, retries, cwd=self.folder,
                                seconds=240)
            self.assertEqual(done.returncode, 0, done.stderr)
            calls = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(semel.stop(), 0, semel.stderr())
        self.assertEqual(len(calls), CALLS + CALLS // 2)
        return api, calls

    @staticmethod
    def by_amount(api):
        made = collections.defaultdict(list)
        for _, charge, amount in api.charges:
            made[amount].append(charge)
        return made

    def show(self, title, api, calls):
        met = ", ".join(f"{count} {fault}" for fault, count in sorted(collections.Counter(api.met).items()))
        print(f"{title}: {len(calls)} calls for {CALLS} charges; {len(api.charges)} charges made; slowest call "
              f"{max(call['ms'] for call in calls) / 1000:.1f} s; faults: {met or 'none'}")

    def test_every_call_ends_with_its_one_charge(self):
        """Probing: whatever the API did, each amount was charged once and every call got the id of that charge."""
        api, calls = self.run_calls(PAYMENTS, RETRIES, seed=7)
        self.show("probe", api, calls)
        made = self.by_amount(api)
        self.assertEqual({amount: len(ids) for amount, ids in made.items() if len(ids) != 1}, {})
        self.assertEqual(len(made), CALLS)
        for call in calls:
            self.assertEqual(call.get("id"), made[call["amount"]][0], call)
            self.assertEqual(call["charged"], call["amount"])
        self.assertGreater(len(set(api.met)), 6, "the API was too well for this to mean anything")

    def test_holding_never_charges_twice_and_says_what_it_does_not_know(self):
        """Without a probe: a call whose answer was lost fails, nothing is charged twice, the rest get their charge."""
        api, calls = self.run_calls(HOLDING, 2, seed=8, faults=("drop_before", "drop_after", "act_then_500"), chance=0.4)
        self.show("hold", api, calls)
        made = self.by_amount(api)
        self.assertEqual({amount: len(ids) for amount, ids in made.items() if len(ids) > 1}, {})
        failed = [call for call in calls if "error" in call]
        for call in calls:
            if "error" not in call:
                self.assertEqual(call["id"], made[call["amount"]][0], call)
        self.assertTrue(failed, "no answer was lost")
        said = {(call["error"], call.get("code"), call["status"]) for call in failed}
        self.assertEqual(said, {("StripeAPIError", "outcome-unknown", 409)})
        self.assertGreater(len(calls), len(failed))


if __name__ == "__main__":
    npm.run(StripeClient, SOURCE)
