"""Two gateways on one PostgreSQL, restarted in good order one after the other under load

Nobody is cut off without a word: whoever was forwarded is answered (I12), and no outcome is unknown (I11). A client may find that
nobody listens, or that its idle connection was closed just then; each restart costs it at most one call of the latter kind.
Nothing runs twice, and what one gateway answered the other replays.
"""
import time

FAULTS = ("F27",)
QUICK = {"restarts": 12}
RELEASE = {"restarts": 50, "episodes": 5}

DELAYS_MS = (0, 0, 0, 0, 5, 400)  # whoever leaves has somebody to wait for


def run(context, restarts):
    codes = []
    with context.postgres() as server, context.oracle(high=True, nodes=2, store=server.url,
                                                            delays_ms=DELAYS_MS) as stage:
        stage.start()
        for number in range(restarts):
            context.say(f"restart {number + 1} of {restarts}")
            time.sleep(context.chance.uniform(0.2, 0.6))
            node = stage.nodes[number % 2]
            codes.append(node.stop())
            node.start()
        stage.settle()
        verdict = stage.end()
        report = context.judged(verdict, {"faults": restarts})
    cut = [call for call in verdict.calls if call["kind"] == "lost" and call["why"] != "ConnectionRefusedError"]
    report.must(len(cut) <= restarts * stage.load.clients // 2, f"{len(cut)} calls ended without a word")
    report.must(not any(codes), f"gateways ended with {codes}")
    return report
