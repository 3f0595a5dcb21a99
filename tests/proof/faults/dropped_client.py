"""A client is cut off in the middle of its reply, and then the gateway is killed

What was said in part is said again in whole: the retry gets the stored answer, and there was one effect.
"""
import callers
import oracle
import wire

FAULTS = ("F03",)
QUICK = {"times": 6}
RELEASE = {"times": 50, "episodes": 10}

LARGE = 8 << 20


def cut_off(address, operation):
    """Reads the beginning of the reply and resets the connection."""
    client = wire.Wire(address)
    client.request("POST", operation.target, [("Authorization", operation.scope), ("Idempotency-Key", operation.key),
                                              ("X-Request", f"cut-{operation.key}"), ("X-Reply-Bytes", str(LARGE))],
                   operation.body)
    client.reader.exactly(100)
    client.reset()


def run(context, times):
    with context.oracle(clients=2) as stage:
        stage.start()
        semel = stage.nodes[0]
        for number in range(times):
            operation = callers.Operation("alice", f"cut-{number}", b"{}")
            stage.load.operations.add(operation)
            cut_off(semel.address, operation)
            oracle.kill_and_restart(semel)
            caller = callers.Caller(semel.address, stage.journal)
            again = callers.call_until_terminal(caller, operation, oracle.SETTLED_WITHIN)
            caller.hang_up()
            if again["kind"] != "ok" or not again["replayed"]:
                raise AssertionError(f"the retry heard {again}")
        stage.settle()
        return context.judged(stage.end(), {"kills": times, "faults": times})
