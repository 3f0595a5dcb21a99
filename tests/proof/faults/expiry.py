"""Keys that expire every moment while they are asked for from many sides and swept

A key that has expired is free at once, swept or not, and never before: the effects of a key are as far apart as its time to
live, a replay is never older than that, and of those who find the key free at the same moment one runs.
"""
import threading
import time

import callers
import oracle
import proof

FAULTS = ("F22",)
QUICK = {"seconds": 7}
RELEASE = {"seconds": 60, "episodes": 10}

TTL_S = 1.0
TICK_S = 0.002  # stores count in milliseconds
CONFIG = oracle.CONFIG.replace('path = "/hold/*"', f'path = "/hold/*"\nttl = "{int(TTL_S * 1000)}ms"')


def ask(address, journal, keys, chance, deadline):
    caller = callers.Caller(address, journal)
    while time.monotonic() < deadline:
        caller.call(callers.Operation("alice", chance.choice(keys), b"{}"))
    caller.hang_up()


def check(records, calls):
    """What the usual checker cannot say, since it knows no expiry."""
    report = proof.Report(proof.counts_of(records, calls))
    by_request = {call["request"]: call for call in calls}
    by_nonce = {record["nonce"]: record for record in records}
    before = {}
    for effect in records:
        last = before.get(effect["key"])
        if last is not None:
            free_at = by_request[last["request"]]["invoked"] + TTL_S - TICK_S
            report.must(effect["at"] >= free_at, f"{effect['key']} ran {free_at - effect['at']:.3f} s before it was free")
        before[effect["key"]] = effect
    for call in calls:
        if call["kind"] == "ok":
            first = by_request[by_nonce[call["nonce"]]["request"]]
            report.must(call["invoked"] <= first["ended"] + TTL_S, f"{call['request']} got an answer that had expired")
        else:
            report.must(call.get("problem") == "in-flight", f"{call['request']} was told {call.get('problem', call['kind'])}")
    return report


def run_on(context, store, seconds, nodes=1, prepare=lambda stage: None, meanwhile=lambda stage: None):
    """Many sides ask for keys that live for a second. `prepare` is done before the start, `meanwhile` again and again."""
    with context.oracle(clients=0, nodes=nodes, store=store, config=CONFIG) as stage:
        prepare(stage)
        stage.start()
        keys = [f"k{number}" for number in range(400)]
        deadline = time.monotonic() + seconds
        threads = [threading.Thread(target=ask, args=(stage.addresses[number % nodes], stage.journal, keys, context.chance,
                                                      deadline)) for number in range(12)]
        for thread in threads:
            thread.start()
        for _ in proof.until(deadline):
            meanwhile(stage)
        for thread in threads:
            thread.join()
        verdict = stage.end()
    report = check(verdict.records, verdict.calls)
    expired = len(verdict.records) - len(keys)
    report.must(expired > 10 * seconds, f"only {expired} keys expired")
    report.counts["expiries"] += expired
    return report


def run(context, seconds):
    report = run_on(context, None, seconds)
    with context.postgres() as server:
        report.add(run_on(context, server.url, seconds))
    return report
