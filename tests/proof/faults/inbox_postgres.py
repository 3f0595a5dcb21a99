"""Events in an inbox that two gateways share on PostgreSQL: these are killed, stopped and cut off, and the database crashes

Nothing acknowledged is lost; of one event one call at a time, each under a greater number, none before its Retry-After; the order
of an object is kept; what was accepted is the sum of all states (N1 to N4 of inbox_oracle.py). A dead gateway is noticed by the
other one, which delivers what it left.
"""
import re
import sys

import postgres_server
import proof

FAULTS = ("F10", "F36")
QUICK = {"faults": 10}
RELEASE = {"faults": 50, "episodes": 8}
KINDS = ("kill_for_good", "crash_the_database", "kill_and_restart", "stop_past_its_beats", "cut_off")


def run(context, faults, feeders=6):
    if not (postgres_server.PROGRAMS / "initdb").exists():
        raise proof.Skipped("PostgreSQL 15 is not installed")
    report = proof.Report()
    said, code = context.program(sys.executable, "-B", proof.E2E / "inbox_nodes.py", "--binary", context.binary, "--faults", faults,
                                 "--feeders", feeders, "--seed", context.seed, "--stops", "--cuts", "--seconds-max",
                                 240 + 15 * faults)
    found = re.search(r"(\d+) events, (\d+) requests, (\d+) calls, (\d+) kills \((.*)\)", said)
    if not report.must(code == 0 and found is not None, f"inbox_nodes.py: {said[-1500:]}"):
        return report
    done = {what: int(count) for count, what in re.findall(r"(\d+) (\w+)", found[5])}
    report.counts.update({"kills": done.get("kill_for_good", 0) + done.get("kill_and_restart", 0),
                          "database restarts": done.get("crash_the_database", 0),
                          "faults": done.get("stop_past_its_beats", 0) + done.get("cut_off", 0), "requests": int(found[2]),
                          "retries": int(found[2]) - int(found[1]), "keys": int(found[1])})
    for kind in KINDS[:faults]:
        report.must(kind in done, f"there was no {kind}: {found[5]}")
    return report
