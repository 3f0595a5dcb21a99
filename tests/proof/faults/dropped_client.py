"""A client is cut off in the middle of its request, while it waits, in the middle of its reply, and then the gateway is killed

What was said in part is said again in whole: the retry gets the stored answer, and there was one effect. A client that is gone
while it waits has been heard: its request runs to its end. One that is gone before its request is whole has asked for nothing.
"""
import time

import callers
import oracle
import proof
import wire

FAULTS = ("F03",)
QUICK = {"times": 6}
RELEASE = {"times": 50, "episodes": 10}

LARGE = 8 << 20


WORK_MS = 150


def fields_of(operation, *more):
    return [("Authorization", operation.scope), ("Idempotency-Key", operation.key), ("X-Request", f"cut-{operation.key}"), *more]


def cut_off(address, operation):
    """Reads the beginning of the reply and resets the connection."""
    client = wire.Wire(address)
    client.request("POST", operation.target, fields_of(operation, ("X-Reply-Bytes", str(LARGE))), operation.body)
    client.reader.exactly(100)
    client.reset()


def go_while_waiting(stage, operation):
    """As soon as its request is known to run; what somebody else was told of it then."""
    client = wire.Wire(stage.addresses[0])
    client.request("POST", operation.target, fields_of(operation, ("X-Delay-Ms", str(WORK_MS))), operation.body)
    time.sleep(WORK_MS / 3000)
    other = callers.Caller(stage.addresses[0], stage.journal)
    told = other.call(operation)
    other.hang_up()
    client.reset()
    return told


def go_within_the_request(address, operation, leave):
    """Half of the body, and not a byte more."""
    client = wire.Wire(address)
    head = fields_of(operation, ("Host", "localhost"), ("Content-Length", str(len(operation.body))))
    client.send(wire.head_bytes(f"POST {operation.target} HTTP/1.1", head) + operation.body[:len(operation.body) // 2])
    time.sleep(0.05)
    leave(client)


def drop_while_waiting(stage, number, report):
    operation = callers.Operation("alice", f"gone-{number}", b"{}")
    stage.load.operations.add(operation)
    told = go_while_waiting(stage, operation)
    heard = ask_again(stage, operation)
    report.must(heard["kind"] == "ok" and heard["replayed"], f"who had gone while waiting heard {heard}")
    return told.get("problem") == "in-flight"


def drop_within_the_request(stage, number, report):
    operation = callers.Operation("alice", f"half-{number}", b'{"amount": 100, "currency": "EUR"}')
    stage.load.operations.add(operation)
    go_within_the_request(stage.addresses[0], operation, (wire.Wire.reset, wire.Wire.close)[number % 2])
    time.sleep(0.05)
    report.must(not any(record["request"] == f"cut-{operation.key}" for record in stage.origin.records()),
                "half a request was forwarded")
    heard = ask_again(stage, operation)
    report.must(heard["kind"] == "ok" and not heard["replayed"], f"who had sent half a request heard {heard}")


def ask_again(stage, operation):
    caller = callers.Caller(stage.addresses[0], stage.journal)
    heard = callers.call_until_terminal(caller, operation, oracle.SETTLED_WITHIN)
    caller.hang_up()
    return heard


def run(context, times):
    report = proof.Report()
    with context.oracle(clients=2) as stage:
        stage.start()
        semel = stage.nodes[0]
        waiting = 0
        for number in range(times):
            operation = callers.Operation("alice", f"cut-{number}", b"{}")
            stage.load.operations.add(operation)
            cut_off(semel.address, operation)
            oracle.kill_and_restart(semel)
            heard = ask_again(stage, operation)
            report.must(heard["kind"] == "ok" and heard["replayed"], f"the retry heard {heard}")
            waiting += drop_while_waiting(stage, number, report)
            drop_within_the_request(stage, number, report)
        stage.settle()
        report.add(context.judged(stage.end(), {"kills": times, "faults": 3 * times}))
    report.must(waiting > 0, "nobody went while its request ran")
    return report
