"""fdatasync fails with EIO under the gateway (strace injects it), and the gateway is started again

Whoever was not answered when the disk refused is told 503, or 502 if his request had gone out; nothing more is accepted until
the process is started anew, and then all that was ever answered is there: I1 to I8 and I10.
"""
import time

import checker
import proof
import wire

FAULTS = ("F20",)
QUICK = {"times": 8}
RELEASE = {"times": 30, "episodes": 10}


def has_stopped(semel):
    """Whether its store takes no more: /readyz writes a key."""
    try:
        return wire.ask(semel.admin, "GET", "/readyz").status == 503
    except (OSError, wire.Closed, wire.Cut, wire.Silent):
        return False


def run(context, times):
    proof.need("strace")
    report = proof.Report()
    with context.oracle(clients=16) as stage:
        semel = stage.nodes[0]
        stage.start()
        for number in range(times):
            context.say(f"error {number + 1} of {times}")
            semel.kill()
            when = context.chance.randrange(10, 150)
            semel.prefix = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                            f"inject=fdatasync:error=EIO:when={when}"]
            with stage.fault(checker.STORE, f"fdatasync {when} fails"):
                semel.start()
                report.must(wire.eventually(lambda: has_stopped(semel), 20, 0.1), f"it went on after fdatasync {when} failed")
                time.sleep(0.2)
                semel.kill()
            semel.prefix = []
            semel.start()
            time.sleep(0.3)
        stage.settle()
        report.add(context.judged(stage.end(), {"sync errors": times, "kills": 2 * times}))
    return report
