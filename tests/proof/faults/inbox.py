"""Events in an inbox while the gateway is killed, its syncs fail, its disk is full, and the handler fails

Kills come at random and at exact points of an event's way.
Nothing acknowledged is lost; of one event one call at a time, each under a greater number, none before its Retry-After; the order
of an object is kept; what was accepted is the sum of all states (N1 to N4 of inbox_oracle.py).
"""
import contextlib
import os
import re
import shutil
import sys

import proof

FAULTS = ("F36",)
QUICK = {"kills": 24, "sync_errors": 2, "full_disks": 2}
RELEASE = {"kills": 200, "sync_errors": 5, "full_disks": 4, "episodes": 10}


def run(context, kills, feeders=6, sync_errors=0, full_disks=0, slow=False):
    report = proof.Report()
    words = ["--kills", kills, "--feeders", feeders, "--seed", context.seed, "--seconds-max", 120 + 6 * kills] + ["--slow"] * slow
    if shutil.which("strace"):
        words += ["--sync-errors", sync_errors]
    with contextlib.ExitStack() as stack:
        if full_disks and os.geteuid() == 0:
            words += ["--full-disks", full_disks, "--disk", stack.enter_context(proof.small_disk(context.folder / "disk", "512m"))]
        said, code = context.program(sys.executable, "-B", proof.E2E / "inbox_oracle.py", "--binary", context.binary, *words)
    found = re.search(r"(\d+) events, (\d+) requests, (\d+) calls, (\d+) kills \((.*)\)", said)
    if not report.must(code == 0 and found is not None, f"inbox_oracle.py: {said[-1500:]}"):
        return report
    for what, name in (("sync error", "sync errors"), ("full disk", "full disks")):
        report.counts[name] += sum(map(int, re.findall(rf"(\d+) {what}", found[5])))
    report.counts.update({"kills": int(found[4]), "requests": int(found[2]), "retries": int(found[2]) - int(found[1]),
                          "keys": int(found[1])})
    if slow:  # each kill waits for a slow call instead of a point
        return report
    for point in (name for name in proof.failpoints_of(context.binary) if name.startswith("event-")):
        report.must(point in found[5], f"no gateway died at {point}: {found[5]}")
    return report
