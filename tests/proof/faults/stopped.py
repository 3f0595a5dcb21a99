"""A gateway is stopped past its lease with the request sent; another one is asked; the first goes on

The other gateway does not forward: it says in-flight, and when the lease is over that nobody knows. When the first one goes
on, its late write is refused by the fence or counted once, and both gateways say the same from then on.
"""
import concurrent.futures
import os
import pathlib
import signal
import threading
import time

import callers
import oracle
import proof

FAULTS = ("F08",)
QUICK = {"times": 8}
RELEASE = {"times": 500}


def is_stopped(semel):
    stat = pathlib.Path(f"/proc/{semel.process.pid}/stat").read_text(encoding="ascii")
    return stat.rpartition(")")[2].split()[0] == "T"


def stop_once(context, store, number):
    report = proof.Report()
    with context.oracle(clients=0, nodes=2, store=store) as stage:
        sleeper, other = stage.nodes
        sleeper.environment["SEMEL_FAILPOINT"] = "P7:stop"
        stage.start()
        operation = callers.Operation("alice", f"stopped-{number}", b"{}")
        stage.load.operations.add(operation)
        first = threading.Thread(target=callers.Caller(sleeper.address, stage.journal).call, args=(operation,))
        first.start()
        deadline = time.monotonic() + 5
        while not is_stopped(sleeper) and time.monotonic() < deadline:
            time.sleep(0.01)
        report.must(is_stopped(sleeper), "the gateway was not stopped")
        caller = callers.Caller(other.address, stage.journal)
        told = [caller.call(operation)["problem"] for _ in proof.until(time.monotonic() + oracle.LEASE_SECONDS + 0.7)]
        report.must(told[-1] == "outcome-unknown", f"past the lease the other gateway says {told[-1]}")
        report.must(set(told) <= {"in-flight", "outcome-unknown"}, f"the other gateway said {set(told)}")
        os.kill(sleeper.process.pid, signal.SIGCONT)
        first.join()
        stage.settle()
        report.add(context.judged(stage.end(), {"stops": 1}))
    return report


def run(context, times):
    report = proof.Report()
    with context.postgres() as server, concurrent.futures.ThreadPoolExecutor(4) as pool:
        for one in pool.map(lambda number: stop_once(context, server.url, number), range(times)):
            report.add(one)
    return report
