"""Events in an inbox while the gateway is killed, at random and at exact points of an event's way, and the handler fails

Nothing acknowledged is lost; of one event one call at a time, each under a greater number, none before its Retry-After; the order
of an object is kept; what was accepted is the sum of all states (N1 to N4 of inbox_oracle.py).
"""
import re
import sys

import proof

FAULTS = ("F36",)
QUICK = {"kills": 24}
RELEASE = {"kills": 200, "episodes": 10}


def run(context, kills, feeders=6):
    report = proof.Report()
    said, code = context.program(sys.executable, "-B", proof.E2E / "inbox_oracle.py", "--binary", context.binary, "--kills", kills,
                                 "--feeders", feeders, "--seed", context.seed, "--seconds-max", 120 + 6 * kills)
    found = re.search(r"(\d+) events, (\d+) requests, (\d+) calls, (\d+) kills \((.*)\)", said)
    if not report.must(code == 0 and found is not None, f"inbox_oracle.py: {said[-1500:]}"):
        return report
    report.counts.update({"kills": int(found[4]), "requests": int(found[2]), "retries": int(found[2]) - int(found[1]),
                          "keys": int(found[1])})
    for point in (name for name in proof.failpoints_of(context.binary) if name.startswith("event-")):
        report.must(point in found[5], f"no gateway died at {point}: {found[5]}")
    return report
