"""A gateway is stopped past its lease with the request sent; another one is asked; the first goes on

On a route that holds the other gateway does not forward: it says in-flight, and when the lease is over that nobody knows. On
one that retries it runs the request again, once. When the first gateway goes on, its late write is refused by the fence,
and both gateways say the same from then on.
"""
import concurrent.futures
import os
import pathlib
import signal
import threading
import time

import callers
import checker
import oracle
import proof
import wire

FAULTS = ("F08",)
QUICK = {"times": 8}
RELEASE = {"times": 50, "episodes": 10}

PAST_THE_LEASE = {"hold": "outcome-unknown", "retry": "ok"}


def is_stopped(semel):
    stat = pathlib.Path(f"/proc/{semel.process.pid}/stat").read_text(encoding="ascii")
    return stat.rpartition(")")[2].split()[0] == "T"


def stop_once(context, store, number, route):
    report = proof.Report()
    with context.oracle(clients=0, nodes=2, store=store) as stage:
        sleeper, other = stage.nodes
        sleeper.environment["SEMEL_FAILPOINT"] = "request-sent:stop"
        stage.start()
        operation = callers.Operation("alice", f"stopped-{number}", b"{}", f"/{route}/effects")
        stage.load.operations.add(operation)
        begun = time.monotonic()
        first = threading.Thread(target=callers.Caller(sleeper.address, stage.journal).call, args=(operation,))
        first.start()
        report.must(wire.eventually(lambda: is_stopped(sleeper)), "the gateway was not stopped")
        caller = callers.Caller(other.address, stage.journal)
        until = time.monotonic() + oracle.LEASE_SECONDS + 0.7
        told = [said.get("problem", said["kind"]) for _ in proof.until(until) for said in (caller.call(operation),)]
        report.must(told[-1] == PAST_THE_LEASE[route], f"past the lease the other gateway says {told[-1]} ({route})")
        report.must(set(told) <= {"in-flight", told[-1]}, f"the other gateway said {set(told)} ({route})")
        os.kill(sleeper.process.pid, signal.SIGCONT)
        sleeper.note(checker.MACHINE, "stopped", begun)
        first.join()
        stage.settle()
        verdict = stage.end()
        effects = sum(record["what"] == "effect" for record in verdict.records)
        report.must(effects == (1 if route == "hold" else 2), f"{effects} effects on a route that {route}s")
        if route == "retry":  # the second effect is what this route is told to risk
            verdict.violations = [one for one in verdict.violations if one[0] != "I1"]
        report.add(context.judged(verdict, {"stops": 1}))
    return report


def run(context, times):
    report = proof.Report()
    with context.postgres() as server, concurrent.futures.ThreadPoolExecutor(4) as pool:
        tasks = [pool.submit(stop_once, context, server.url, number, ("hold", "retry")[number % 2])
                 for number in range(times)]
        for task in tasks:
            report.add(task.result())
    return report
