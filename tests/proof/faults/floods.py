"""Crowds of slow clients, a flood of keys by one tenant, more connections than files

Slow heads, bodies and readers cost bounded memory and hold nobody up (F38). One tenant's flood of keys is refused with 429, the
others go on, and no claim is evicted (F39). Out of descriptors, the gateway refuses or closes, and forgets nothing (F40): once
it has known from its start how few it has, and once they are taken from it while it works.
"""
import os
import pathlib
import re
import resource
import sys
import time

import checker
import proof
import wire

FAULTS = ("F38", "F39", "F40")
QUICK = {"tests": ("crowd", "quotas", "limits"), "seconds": 4, "crowd": 9000}
RELEASE = {"tests": ("crowd", "quotas", "limits", "memory"), "seconds": 120, "crowd": 9000}

FILES_MAX = 90  # RocksDB and the listeners have theirs; the load wants more than what is left
FILES_LEFT = 12
CALLS_AFTERWARDS = 16  # enough to meet each of its threads


def files_of(semel):
    return len(list(pathlib.Path(f"/proc/{semel.process.pid}/fd").iterdir()))


def is_served(address):
    try:
        return wire.ask(address, "GET", "/hold/x", seconds=1.0).status == 200
    except (wire.Closed, wire.Cut, wire.Silent, OSError):
        return False


def most_files(semel, seconds):
    """How many it had open at a time."""
    return max(files_of(semel) for _ in proof.until(time.monotonic() + seconds, 0.01))


def run_short_of_files(context, seconds):
    """More clients than descriptors from the start, for a while: most are turned away. Then everything is settled."""
    with context.oracle(clients=60) as stage:
        semel = stage.nodes[0]
        semel.prefix = ["prlimit", f"--nofile={FILES_MAX}:{FILES_MAX}"]
        with stage.fault(checker.CLIENTS, "few files"):
            stage.start()
            used = most_files(semel, seconds)
            stage.load.stop()
        turned_away = semel.metrics()[1]["semel_connections_refused_total"]
        semel.stop()
        semel.prefix = []
        semel.start()
        stage.settle()
        report = context.judged(stage.end(), {"faults": 1})
    report.must(turned_away > 0 or used >= FILES_MAX, f"there were files enough for everybody: {used} of {FILES_MAX}")
    return report


def run_out_of_files(context, seconds):
    """The files that are left are too few, of a sudden: connections cannot be taken, nor made. Then there are enough again, and
    the same process goes on."""
    with context.oracle(clients=40) as stage:
        semel = stage.nodes[0]
        stage.start()
        usual = resource.prlimit(semel.process.pid, resource.RLIMIT_NOFILE)
        stage.load.pause()
        most = files_of(semel) + FILES_LEFT
        with stage.fault(checker.CLIENTS, "no files"):
            resource.prlimit(semel.process.pid, resource.RLIMIT_NOFILE, (most, usual[1]))
            stage.load.go_on()
            used = most_files(semel, seconds)
            resource.prlimit(semel.process.pid, resource.RLIMIT_NOFILE, usual)
            time.sleep(1)
            stage.load.pause()
            deaf = sum(not is_served(semel.address) for _ in range(CALLS_AFTERWARDS))
            if deaf:
                return proof.Report(violations=[f"with files again {deaf} of {CALLS_AFTERWARDS} connections were not served"])
        stage.settle()
        verdict = stage.end()
    report = context.judged(verdict, {"faults": 1})
    report.must(used >= most, f"of {most} files only {used} were in use")
    return report


def run(context, tests, seconds, crowd):
    report = proof.Report()
    crowd = min(crowd, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 2)  # the programme says 10,000; a client is a file
    environment = {**os.environ, "SEMEL_CROWD": str(crowd)}
    for name in tests:
        context.say(name)
        said, code = context.program(sys.executable, "-B", proof.E2E / f"{name}.py", "--binary", context.binary, seconds=280,
                                     environment=environment)
        ran = re.search(r"^Ran (\d+) tests", said, re.M)
        if report.must(code == 0 and ran is not None, f"{name}.py: {said[-1500:]}"):
            report.counts["faults"] += int(ran[1])
    context.say("no descriptors left")
    report.add(run_out_of_files(context, seconds))
    if not report.violations:
        report.add(run_short_of_files(context, seconds))
    return report
