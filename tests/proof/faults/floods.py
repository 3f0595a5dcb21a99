"""Crowds of slow clients, a flood of keys by one tenant, more connections than files

Slow heads, bodies and readers cost bounded memory and hold nobody up (F38). One tenant's flood of keys is refused with 429, the
others go on, and no claim is evicted (F39). Out of descriptors, the gateway refuses or closes, and forgets nothing (F40).
"""
import os
import re
import resource
import sys
import time

import proof

FAULTS = ("F38", "F39", "F40")
QUICK = {"programs": ("crowd", "quotas", "limits"), "seconds": 6, "crowd": 9000}
RELEASE = {"programs": ("crowd", "quotas", "limits", "memory"), "seconds": 600, "crowd": 9000}

FILES_MAX = 90  # RocksDB and the listeners have theirs; the load wants more than what is left


def run_out_of_files(context, seconds):
    """More clients than descriptors, for a while; then the limit is what it was and everything is settled."""
    with context.oracle(clients=60) as stage:
        semel = stage.nodes[0]
        semel.prefix = ["prlimit", f"--nofile={FILES_MAX}:{FILES_MAX}"]
        stage.start()
        time.sleep(seconds)
        stage.load.stop()
        semel.stop()
        semel.prefix = []
        semel.start()
        stage.settle()
        return context.judged(stage.end(), {"faults": 1})


def run(context, programs, seconds, crowd):
    report = proof.Report()
    crowd = min(crowd, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 2)  # the programme says 10,000; a client is a file
    environment = {**os.environ, "SEMEL_CROWD": str(crowd)}
    for name in programs:
        context.say(name)
        said, code = context.program(sys.executable, "-B", proof.E2E / f"{name}.py", "--binary", context.binary, seconds=280,
                                     environment=environment)
        ran = re.search(r"^Ran (\d+) tests", said, re.M)
        if report.must(code == 0 and ran is not None, f"{name}.py: {said[-1500:]}"):
            report.counts["faults"] += int(ran[1])
    context.say("no descriptors left")
    report.add(run_out_of_files(context, seconds))
    return report
