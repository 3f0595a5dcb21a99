"""Stored answers are damaged, cut, swapped between keys and made up, behind the gateway's back, on both stores

What does not bear the marks of its own claim is not replayed and not run again: 500, nothing of it is emitted, nothing is
forwarded, and the key stays blocked for an operator to look at. Keys that were left alone go on as ever. The embedded store is
altered as somebody would who can compute its checksums (tamper.cc), once with encrypted answers and once without; without, only
what is no HTTP can be told from an answer.
"""
import time

import callers
import oracle
import proof

FAULTS = ("F37",)
QUICK = {"rounds": 2}
RELEASE = {"rounds": 1, "episodes": 100}

# Each works on the response of the n-th key; what it does to it.
HARM = {
    "one bit": "UPDATE semel.keys SET response = set_byte(response, length(response) / 2, "
               "get_byte(response, length(response) / 2) # 1) WHERE {key}",
    "cut": "UPDATE semel.keys SET response = substring(response FROM 1 FOR length(response) - 5) WHERE {key}",
    "a line break": "UPDATE semel.keys SET response = overlay(response PLACING '\\x0d0a583a20'::bytea FROM 40) WHERE {key}",
    "another key's": "UPDATE semel.keys SET response = (SELECT response FROM semel.keys WHERE {other}) WHERE {key}",
    "empty": "UPDATE semel.keys SET response = ''::bytea WHERE {key}",
    "made up": "UPDATE semel.keys SET response = decode(md5('x') || md5('y'), 'hex') WHERE {key}",
}
HARM_SEALED = ("bit", "cut", "other", "key-id", "made-up")
HARM_PLAIN = ("line-break", "nul")
KEY = "5e" * 32
TICK_S = 0.003  # stores count in milliseconds; keys are told apart by when they were claimed
SEALED = oracle.CONFIG.replace('url = "$store"', f'url = "$store"\nencryption_keys = ["{KEY}"]')


def nth(number):
    return f"id = (SELECT id FROM semel.keys ORDER BY claimed_at, id LIMIT 1 OFFSET {number})"


def check(stage, names, harm):
    """Keys are answered, harm() is done to the n-th of them while the gateway is down, and they are asked for again."""
    report = proof.Report()
    semel = stage.nodes[0]
    stage.start()
    caller = callers.Caller(stage.addresses[0], stage.journal)
    operations = [callers.Operation("alice", f"k{number}", b'{"n": 1}') for number in range(len(names) + 2)]
    first = []
    for operation in operations:
        first.append(caller.call(operation))
        time.sleep(TICK_S)
    report.must(all(one["kind"] == "ok" for one in first), "the first answers did not come")
    caller.hang_up()
    semel.kill()  # so that nothing is replayed from memory
    harm()
    semel.start()
    before = len(stage.origin.records())
    for name, operation in zip([*names, "untouched", "untouched"], operations):
        for _ in range(2):
            again = caller.call(operation)
            if name == "untouched":
                report.must(again["kind"] == "ok" and again["replayed"], f"an untouched key heard {again}")
            else:
                report.must((again["status"], again.get("problem")) == (500, "record-corrupt"), f"{name}: {again}")
    caller.hang_up()
    report.must(len(stage.origin.records()) == before, "a damaged record was forwarded again")
    refused = semel.metrics()[1]["semel_records_refused_total"]
    report.must(refused == 2 * len(names), f"{refused} refused records were counted, not {2 * len(names)}")
    report.counts.update({"faults": len(names), "requests": len(operations) * 3, "retries": len(operations) * 2})
    report.must(stage.end().codes == [0], "the gateway did not end in good order")
    return report


def run_postgres(context):
    with context.postgres() as server, context.oracle(clients=0, store=server.url) as stage:
        def harm():
            for number, statement in enumerate(HARM.values()):
                server.run(statement.format(key=nth(number), other=nth(len(HARM))))

        return check(stage, HARM, harm)


def run_embedded(context, names, config, key):
    with context.oracle(clients=0, config=config) as stage:
        def harm():
            tamper, data = context.build / "tests" / "proof" / "tamper", stage.nodes[0].folder / "data"
            said, code = context.program(tamper, data, key, *names)
            if code != 0:
                raise RuntimeError(f"tamper: {said}")

        return check(stage, names, harm)


def run(context, rounds):
    report = proof.Report()
    for _ in range(rounds):
        report.add(run_postgres(context))
        report.add(run_embedded(context, HARM_SEALED, SEALED, KEY))
        report.add(run_embedded(context, HARM_PLAIN, oracle.CONFIG, ""))
    return report
