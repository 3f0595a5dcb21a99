"""kill -9 under load on the embedded store, at random moments and at failpoints that are passed for the umpteenth time

Every second kill comes from outside whenever it likes, the others hit the process as it passes a point for the n-th time.
The load retries, sends one operation from several sides, reuses keys and crosses tenants. In the end every key is asked
for, the gateway is killed once more, and every key is asked for again: I1 to I8 and I10.
"""
import time

import oracle
import proof

FAULTS = ("F02", "F36")
QUICK = {"kills": 100, "pause": (0.1, 0.5)}
RELEASE = {"kills": 100, "pause": (0.1, 0.5), "episodes": 90}

POINTS = ("request-parsed", "claim-prepared", "claim-written", "claim-granted", "upstream-connected", "request-sent",
          "answer-begun", "outcome-known", "completion-begun", "outcome-kept")
PATIENCE_S = 3.0  # until the point has been passed so often; then from outside


def start_again(semel, point=None):
    """Starts it, with a point to die at or without. It may die there before it is known to listen."""
    semel.environment.pop("SEMEL_FAILPOINT", None)
    if point is not None:
        semel.environment["SEMEL_FAILPOINT"] = point
    try:
        semel.start()
    except RuntimeError:
        if point is None or semel.process.returncode != -9:
            raise


def kill(semel, chance, pause):
    """One kill, and the start after it; whether it died at a point. Half of the starts carry the point of the next kill."""
    time.sleep(chance.uniform(*pause))
    if "SEMEL_FAILPOINT" in semel.environment:
        semel.wait(PATIENCE_S)
    at_a_point = not semel.is_running()
    semel.kill()
    start_again(semel, f"{chance.choice(POINTS)}:kill:{chance.randrange(1, 400)}" if chance.random() < 0.5 else None)
    return at_a_point


def run(context, kills, pause, store=None, nodes=1, environment=None):
    with context.oracle(high=True, store=store, nodes=nodes) as stage:
        for semel in stage.nodes:
            semel.environment.update(environment or {})
        stage.start()
        loaded = all(proof.is_loaded(semel) for semel in stage.nodes)
        at_points = 0
        for number in range(kills):
            context.say(f"kill {number + 1} of {kills}")
            at_points += kill(context.chance.choice(stage.nodes), context.chance, pause)
        for semel in stage.nodes:
            semel.kill()
            start_again(semel)
        stage.settle()
        for semel in stage.nodes:
            oracle.kill_and_restart(semel)
        stage.settle()
        report = context.judged(stage.end(), {"kills": kills + 2 * nodes})
    report.must(loaded, "the library that breaks the disk was not loaded")
    report.must(kills < 10 or at_points > 0, "nothing died at a point")
    return report
