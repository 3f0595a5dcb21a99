"""The primary of a Patroni pair with strict synchronous replication is killed under load, again and again

The standby takes over, and nothing that was claimed or answered is lost: I1 to I8 and I10 over two gateways. Takes about half a
minute for each kill, so it is part of --release only.
"""
import re
import sys

import cluster
import proof

FAULTS = ("F14",)
QUICK = None
RELEASE = {"kills": 5, "episodes": 2}


def run(context, kills):
    proof.need(*cluster.missing_programs())
    report = proof.Report()
    said, code = context.program(sys.executable, "-B", proof.E2E / "patroni.py", "--binary", context.binary, "--kills", kills)
    calls = re.search(r"^ +(\d+)  calls$", said, re.M)
    keys = re.search(r"^ +(\d+)  keys$", said, re.M)
    if report.must(code == 0 and calls and keys, f"patroni.py: {said[-1500:]}"):
        report.counts.update({"failovers": kills, "requests": int(calls[1]), "keys": int(keys[1]),
                              "retries": int(calls[1]) - int(keys[1])})
    return report
