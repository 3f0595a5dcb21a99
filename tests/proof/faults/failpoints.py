"""kill -9 at each failpoint, on both stores, with routes that hold and routes that retry

One request is on its way when the process dies at the point; then the gateway is started again and the request is retried
from three sides. Before the claim is written the retry runs. After that, until the first byte goes out, a route that retries
runs it once; a route that holds says that nobody knows, because a gateway that died cannot say how far it got. From the
first byte to the origin up to the write of the answer a route that holds says that nobody knows, and never sends the request
again. When the answer is stored a retry gets it, the same bytes, on any route. No key stays in flight.
"""
import concurrent.futures
import threading
import time

import callers
import checker
import gateway
import oracle
import origin
import programs
import proof
import wire

FAULTS = ("F02",)
QUICK = {"stores": ("embedded", "postgres"), "rounds": 1}
RELEASE = {"stores": ("embedded", "postgres"), "rounds": 4, "episodes": 10}

LARGE = 12 << 20
LATE_S = 0.3
# Each failpoint; written-in-part is passed with a request and with a reply, and the sizes of the two say which it is.
# What may be heard in the end, and how many effects there may be. "runs" is a first answer, "replays" is not.
HOLDS = {"request-parsed": ("runs", 1), "claim-prepared": ("runs", 1), "claim-written": ("unknown", 0),
         "claim-granted": ("unknown", 0), "upstream-connected": ("unknown", 0), "request-written-in-part": ("unknown", 0),
         "request-sent": ("unknown", (0, 1)), "answer-begun": ("unknown", 1), "answer-read-in-part": ("unknown", 1),
         "outcome-known": ("unknown", 1), "completion-begun": (("unknown", "replays"), 1), "outcome-kept": ("replays", 1),
         "reply-written-in-part": ("replays", 1)}
RETRIES = {**HOLDS, "claim-written": ("runs", 1), "claim-granted": ("runs", 1), "upstream-connected": ("runs", 1),
           "request-written-in-part": ("runs", 1), "request-sent": ("runs", (1, 2)), "answer-begun": ("runs", 2),
           "answer-read-in-part": ("runs", 2), "outcome-known": ("runs", 2),
           "completion-begun": (("runs", "replays"), (1, 2))}
CASES = tuple(HOLDS)


def among(value, allowed):
    return value in allowed if isinstance(allowed, tuple) else value == allowed


def failpoint_of(case):
    return "written-in-part" if case.endswith("-written-in-part") else case


def heard(records):
    """What the callers were told in the end, all of them the same thing."""
    ends = {"unknown" if r.get("problem") == "outcome-unknown" else r["kind"] for r in records}
    if ends == {"ok"}:
        return "replays" if all(r["replayed"] for r in records) else "runs"
    return ends.pop() if len(ends) == 1 else f"different things: {sorted(ends)}"


class LateReader(wire.Wire):
    """Reads its reply some time after it came, so that the gateway cannot get rid of all of it at once."""

    def ask(self, method, target, fields=(), body=None):
        self.request(method, target, fields, body)
        time.sleep(LATE_S)
        return self.reply(method)


def retry(address, journal, operation, extra):
    """From three sides at once; the last thing each of them heard."""
    records = []

    def one():
        caller = callers.Caller(address, journal)
        records.append(callers.call_until_terminal(caller, operation, oracle.SETTLED_WITHIN, extra))
        caller.hang_up()

    threads = [threading.Thread(target=one, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return records


def kill_at(context, case, route, store, upstream, journal, number):
    """One kill; the report, and the operation."""
    report = proof.Report()
    where = f"{case} on a route that {route}s, {store.split(':')[0]}"
    body = b"x" * LARGE if case == "request-written-in-part" else b'{"n": 1}'
    extra = [("X-Reply-Bytes", str(LARGE))] if case in ("answer-read-in-part", "reply-written-in-part") else []
    operation = callers.Operation("alice", f"{case}-{route}-{number}", body, f"/{route}/effects")
    room = context.room()
    semel = gateway.Gateway(context.binary, oracle.CONFIG, folder=room, upstream=upstream,
                            store=None if store == "embedded" else store,
                            environment={"SEMEL_FAILPOINT": f"{failpoint_of(case)}:kill"})
    try:
        semel.start()
        caller = callers.Caller(semel.address, journal)
        caller.connection = LateReader(semel.address)
        late = [("X-Pause-Ms", str(LATE_S * 1000))] if case == "request-written-in-part" else []
        first = caller.call(operation, [*extra, *late])
        caller.hang_up()
        if not report.must(semel.wait(5) == -9, f"{where}: the point was not passed"):
            return report, operation
        report.counts["kills"] += 1
        report.must(first["kind"] == "lost", f"{where}: the first caller heard {first['kind']}")
        del semel.environment["SEMEL_FAILPOINT"]
        semel.start()
        records = retry(semel.address, journal, operation, extra)
        wanted = (HOLDS if route == "hold" else RETRIES)[case][0]
        report.must(among(heard(records), wanted), f"{where}: retries heard {heard(records)}, not {wanted}")
        report.must(semel.stop() == 0, f"{where}: semel did not end in good order")
    finally:
        semel.close()
    return report, operation


def run_store(context, store, rounds, workers):
    """All points on one store."""
    report = proof.Report()
    room = context.room()
    journal = callers.Journal(room / "calls.jsonl")
    port = programs.free_port()
    recorder = origin.Origin(port, room / "origin.jsonl")
    try:
        tasks = [(case, route, number) for number in range(rounds) for case in CASES for route in ("hold", "retry")]
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            done = list(pool.map(lambda task: kill_at(context, task[0], task[1], store, f"127.0.0.1:{port}", journal,
                                                      task[2]), tasks))
    finally:
        recorder.close()
    records, calls = recorder.records(), journal.records()
    for (case, route, _), (one, operation) in zip(tasks, done):
        report.add(one)
        effects = sum(r["what"] == "effect" for r in records if r["key"] == operation.key)
        wanted = (HOLDS if route == "hold" else RETRIES)[case][1]
        report.must(among(effects, wanted), f"{case}, {route}, {store.split(':')[0]}: {effects} effects, not {wanted}")
    # A route that retries is allowed a second effect once bytes have gone out; of the others everything must hold.
    held = [operation.key for (_, route, _), (_, operation) in zip(tasks, done) if route == "hold"]
    violations = checker.check([r for r in records if r["key"] in held], [c for c in calls if c["key"] in held])
    report.add(context.judged(oracle.Verdict(records, calls, None, [], violations)))
    return report


def run(context, stores, rounds, workers=4):
    report = proof.Report()
    # Those of an event in the inbox, and of an outbox, are tried by the faults of those names.
    known = [name for name in proof.failpoints_of(context.binary) if not name.startswith(("event-", "outbox-", "audit-"))]
    tried = {failpoint_of(case) for case in CASES}
    report.must(set(known) == tried, f"the binary's failpoints are {known}, these are tried: {sorted(tried)}")
    for store in stores:
        context.say(store)
        if store == "embedded":
            report.add(run_store(context, store, rounds, workers))
        else:
            with context.postgres() as server:
                report.add(run_store(context, server.url, rounds, workers))
    return report
