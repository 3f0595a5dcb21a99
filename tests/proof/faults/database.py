"""PostgreSQL under two gateways crashes, loses its connections, waits for a standby; its commits are cancelled

A server that is down is told as 503, and nothing is forwarded without a claim (F10). Commits that wait for a standby that is
not there may not be taken for durable, neither when the client gave up (F12) nor when their wait is cancelled and the server
calls them a success (F13); failover.py then loses them. In between gateways are killed. I1 to I12 hold over both gateways.
"""
import time

import checker
import postgres_oracle

FAULTS = ("F10", "F12", "F13")
QUICK = {"rounds": 20}
RELEASE = {"rounds": 20, "episodes": 50}


class Faults(postgres_oracle.Faults):
    def leave_commits_waiting(self):
        """For longer than a client and the gateway's own patience."""
        with self.stage.fault(checker.STORE, "commits wait for a standby"):
            self.wait_for_standby("ghost")
            time.sleep(1.5)
            self.wait_for_standby("")


def run(context, rounds):
    with context.postgres() as server, context.oracle(clients=12, nodes=2, store=server.url) as stage:
        stage.start()
        faults = Faults(server, stage, context.chance)
        others = (faults.cut_its_connections, faults.cancel_commits_that_wait, faults.kill_a_gateway,
                  faults.leave_commits_waiting)
        for number in range(rounds):
            context.say(f"restart {number + 1} of {rounds}")
            faults.crash_the_server()
            time.sleep(context.chance.uniform(0.3, 1.2))
            others[number % len(others)]()
            time.sleep(context.chance.uniform(0.1, 0.4))
        stage.settle()
        counts = {"database restarts": rounds, "kills": (rounds + 1) // 4, "faults": rounds - (rounds + 1) // 4}
        report = context.judged(stage.end(), counts)
    report.must(rounds < 2 or faults.cancelled, "no commit was cancelled while it waited")
    return report
