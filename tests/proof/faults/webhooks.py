"""Signed deliveries that come twice and out of order while the gateway is killed and the handler fails

No event is handled twice, none is lost, none overtakes a newer one of its object, and 2xx is said only when the handler is
done: a delivery of an event that is running hears 409 (D1 to D5 of delivery_oracle.py, and webhooks.py).
"""
import re
import sys

import proof

FAULTS = ("F31", "F28")
QUICK = {"deliveries": 4000, "kills": 12}
RELEASE = {"deliveries": 20_000, "kills": 10, "episodes": 10}


def run(context, deliveries, kills):
    report = proof.Report()
    oracle = proof.E2E / "delivery_oracle.py"
    said, code = context.program(sys.executable, "-B", oracle, "--binary", context.binary, "--deliveries", deliveries,
                                 "--kills", kills, "--seed", context.seed, "--seconds-max", 200 if deliveries < 10_000 else 20_000)
    found = re.search(r"(\d+) deliveries of (\d+) events, (\d+) requests, (\d+) kills", said)
    if report.must(code == 0 and found is not None, f"delivery_oracle.py: {said[-1500:]}"):
        report.counts.update({"kills": int(found[4]), "requests": int(found[3]), "retries": int(found[3]) - int(found[2]),
                              "keys": int(found[2])})
    said, code = context.program(sys.executable, "-B", proof.E2E / "webhooks.py", "--binary", context.binary)
    report.must(code == 0, f"webhooks.py: {said[-1500:]}")
    return report
