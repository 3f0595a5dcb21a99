"""Redis under two gateways fails in every way: alone, with a Sentinel, as a cluster; then it loses what it has acknowledged

With a server that syncs every write, I1 to I12 hold over both gateways whatever happens to it: it is killed, stands still, forgets
its scripts, is full (F17, F18). They hold as well through failovers by a Sentinel and in a cluster, if every call waits for the
replica, also if the clock of the promoted one is three leases ahead or behind. Nothing is lost, and no gateway says that
something was. When the end of the log is cut off, as by a crash under everysec, or a replica that was cut off is promoted,
acknowledged calls are gone: the gateways must have noticed every one.
"""
import argparse
import contextlib
import shutil
import time

import proof
import redis_failover
import redis_oracle
import redis_server

FAULTS = ("F17", "F18")
QUICK = {"faults": 22, "failovers": 4, "losses": 2}
RELEASE = {"faults": 44, "failovers": 24, "losses": 5, "episodes": 20}


def alarms(stage):
    return [line for node in stage.nodes for line in node.stderr().splitlines() if "has lost" in line]


def hold_alone(context, faults):
    with contextlib.closing(redis_server.Server(str(context.binary))) as server, \
            context.oracle(clients=12, nodes=2, store=server.url) as stage:
        stage.start()
        doing = redis_oracle.Faults(server, stage, context.chance)
        for number in range(faults):
            context.say(f"fault {number + 1} of {faults}")
            time.sleep(context.chance.uniform(0.05, 0.9))
            doing.next(number)
        stage.settle()
        report = context.judged(stage.end(), {"faults": faults})
        report.must(not alarms(stage), f"nothing was lost, but a gateway says so: {alarms(stage)[:1]}")
        return report


def hold_on(context, kind, failovers):
    make_servers, make_faults = redis_failover.sets(context.build)[kind]
    context.say(f"{failovers} failovers, {kind}")
    with contextlib.closing(make_servers(str(context.binary))) as servers, \
            context.oracle(clients=12, nodes=2, store=servers.url, config=redis_failover.ACKNOWLEDGED) as stage:
        faults = make_faults(servers, stage, context.chance)
        verdict, said = redis_failover.hold(stage, faults, failovers, context.chance)
        report = context.judged(verdict, {"faults": failovers})
        report.must(not said, f"nothing was lost, but a gateway says so: {said[:1]}")
        return report


def run(context, faults, failovers, losses):
    if shutil.which("redis-server") is None or shutil.which("redis-sentinel") is None:
        raise proof.Skipped("redis-server or redis-sentinel is not installed")
    report = hold_alone(context, faults)
    for kind in redis_failover.sets(context.build):
        report.add(hold_on(context, kind, failovers))
    options = argparse.Namespace(binary=str(context.binary), seed=context.seed, losses=losses)
    for least, lost, noticed in (*redis_oracle.lose(options), *redis_failover.lose_on("sentinel", options, losses),
                                 *redis_failover.lose_on("cluster", options, losses)):
        report.counts["faults"] += 1
        report.must(least > 0, "nothing was lost")
        report.must(least <= noticed <= lost + redis_oracle.SLACK, f"{lost} calls lost, {noticed} noticed")
    return report
