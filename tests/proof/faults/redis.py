"""Redis under two gateways is killed, stands still, forgets its scripts, is full; then it loses the end of its log

With a server that syncs every write, I1 to I12 hold over both gateways whatever happens to it, nothing is lost, and no gateway
says that something was (F17, F18). When the end of its log is cut off, as by a crash under everysec or the promotion of a
replica that lagged behind, acknowledged calls are gone: the gateways must have noticed every one of them.
"""
import argparse
import shutil
import time

import proof
import redis_oracle
import redis_server

FAULTS = ("F17", "F18")
QUICK = {"faults": 22, "losses": 4}
RELEASE = {"faults": 44, "losses": 10, "episodes": 20}


def run(context, faults, losses):
    if shutil.which("redis-server") is None:
        raise proof.Skipped("redis-server is not installed")
    server = redis_server.Server(str(context.binary))
    try:
        with context.oracle(clients=12, nodes=2, store=server.url) as stage:
            stage.start()
            doing = redis_oracle.Faults(server, stage, context.chance)
            for number in range(faults):
                context.say(f"fault {number + 1} of {faults}")
                time.sleep(context.chance.uniform(0.05, 0.9))
                doing.next(number)
            stage.settle()
            report = context.judged(stage.end(), {"faults": faults})
            alarms = [line for node in stage.nodes for line in node.stderr().splitlines() if "has lost" in line]
    finally:
        server.close()
    report.must(not alarms, f"nothing was lost, but a gateway says so: {alarms[:1]}")
    options = argparse.Namespace(binary=str(context.binary), seed=context.seed, losses=losses)
    for least, lost, noticed in redis_oracle.lose(options):
        report.counts["faults"] += 1
        report.must(least > 0, "nothing was lost by cutting the log")
        report.must(least <= noticed <= lost + redis_oracle.SLACK, f"{lost} calls lost, {noticed} noticed")
    return report
