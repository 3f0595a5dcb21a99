"""64 identical requests at once, on a key that nobody has seen, over two gateways

One of them runs. The others hear in-flight, or wait and get the same answer, byte for byte.
"""
import threading

import callers

FAULTS = ("F01",)
QUICK = {"storms": 30}
RELEASE = {"storms": 500, "episodes": 3}


def storm(stage, operation):
    together = threading.Barrier(64)

    def one(number):
        caller = callers.Caller(stage.addresses[number % 2], stage.journal)
        together.wait()
        caller.call(operation, [("X-Delay-Ms", "5")])
        caller.hang_up()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run(context, storms):
    with context.postgres() as server, context.oracle(clients=0, nodes=2, store=server.url) as stage:
        stage.start()
        for number in range(storms):
            operation = callers.Operation("alice", f"storm-{number}", b"{}", ("/hold/effects", "/wait/effects")[number % 2])
            stage.load.operations.add(operation)
            storm(stage, operation)
        stage.settle()
        verdict = stage.end()
        report = context.judged(verdict, {"faults": storms})
    told = {call.get("problem", call["kind"]) for call in verdict.calls}
    report.must(told <= {"ok", "in-flight"}, f"some were told {sorted(told)}")
    report.must("in-flight" in told, "no two requests met")
    waiting = {f"storm-{number}" for number in range(1, storms, 2)}
    impatient = [call["request"] for call in verdict.calls if call["kind"] != "ok" and call["key"] in waiting]
    report.must(not impatient, f"{len(impatient)} of those who were to wait did not hear the answer")
    report.must(report.counts["effects"] == storms, f"{report.counts['effects']} effects of {storms} storms")
    return report
