"""The connection to PostgreSQL is cut just when a commit has been sent, and its answer is dropped

Nobody knows then whether the claim or the answer was written. The gateway finds out by asking again as the same owner: a
request is forwarded once, and what was answered stays. It finds out within the lease, so no outcome is unknown: these cuts are
no excuse (I11), unless a gateway is without any connection for so long that it says so. I1 to I12.
"""
import random
import socket
import time

import checker
import server

FAULTS = ("F11",)
QUICK = {"cuts": 60}
RELEASE = {"cuts": 100, "episodes": 20}


FOUND_AGAIN = "SELECT count(*) FROM semel.keys WHERE touched > 0"  # a call that was repeated, and had been applied


class Relay(server.Server):
    """Passes bytes between a gateway and the server. cut() lets what is on its way to the server pass, then drops the answer."""

    def __init__(self, target, seed):
        self.target = target
        self.chance = random.Random(seed)
        self.doomed = set()
        self.dropped = set()
        super().__init__(server.relays(self.connect, self.is_heard))

    def is_heard(self, connection):
        """Asked when an answer has come."""
        if connection in self.doomed:
            self.dropped.add(connection)
        return connection not in self.doomed

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.target)
        return sock

    def cut(self):
        """One of the connections dies with its next answer."""
        living = [connection for connection in self.connections() if connection not in self.doomed]
        if living:
            self.doomed.add(self.chance.choice(living))


def note_outages(stage):
    """If all connections of a gateway are cut at once and the machine is busy, it may be without its store for longer than a
    lease. Then, and only then, an outcome may be unknown; how many were told so."""
    told = [call for call in stage.journal.records() if call.get("problem") == "store-unavailable"]
    stage.faults += [checker.fault(checker.STORE, "no connection to the store", call["invoked"], call["ended"], call["node"])
                     for call in told]
    return len(told)


def run(context, cuts):
    with context.postgres() as database:
        relay = Relay(str(database.sockets / ".s.PGSQL.5432"), context.seed)
        url = "postgres://postgres@%s:%d/postgres?sslmode=disable" % relay.address
        try:
            with context.oracle(high=True, nodes=2, store=url) as stage:
                stage.start()
                for number in range(cuts):
                    context.say(f"cut {number + 1} of {cuts}")
                    time.sleep(context.chance.uniform(0.05, 0.3))
                    relay.cut()
                stage.settle()
                outages = note_outages(stage)
                found = int(database.run(FOUND_AGAIN))
                report = context.judged(stage.end(), {"faults": len(relay.dropped)})
            report.must(2 * len(relay.dropped) > cuts, f"only {len(relay.dropped)} answers were dropped by {cuts} cuts")
            report.must(10 * outages < report.counts["requests"], f"{outages} were told that there is no store")
            report.must(found > 0, "no commit was among the answers that were dropped")
            return report
        finally:
            relay.close()
