"""A synchronous standby of PostgreSQL is lost, the waits for it are cancelled, and then the primary is lost and the standby takes over

What was committed on the primary alone is gone then, for good: whoever believed the server that called it a success forgets
claims and answers. Commits wait for a standby that is there, and that is cut off; some waits are cancelled (F13), some clients
give up (F12); then the primary dies, the standby is promoted (F14), and what was the primary is made its standby. Two gateways
that know both addresses go on by themselves. I1 to I12.
"""
import shutil
import socket
import time

import checker
import oracle
import postgres_oracle
import postgres_server
import proof
import server
import wire

FAULTS = ("F12", "F13", "F14")
QUICK = {"failovers": 2}
RELEASE = {"failovers": 20, "episodes": 5}

NAME = "walreceiver"  # what a standby calls itself unless it is told otherwise
SYNCHRONOUS = f"synchronous_standby_names = '{NAME}'"
RETRIES_SOON = "wal_retrieve_retry_interval = 100ms"
REMEMBERED_S = 5.0  # how long a gateway trusts an answer in its memory
PRIMARY_LOST = "the standby is cut off, the primary is lost"
IN_STEP = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"


class Line(server.Server):
    """The only way from a standby to its primary. What is cut off is not sent later."""

    def __init__(self):
        self.target, self.whole = None, True
        super().__init__(server.relays(self.connect))

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        if not self.whole:
            raise OSError("cut")
        sock.connect(str(self.target.sockets / ".s.PGSQL.5432"))
        return sock

    def cut(self):
        self.whole = False
        for connection in self.connections():
            wire.hang_up(connection.sock)

    def mend(self):
        self.whole = True


class Pair:
    def __init__(self, primary):
        self.line = Line()
        self.primary = self.line.target = primary
        self.standby = postgres_server.Postgres(postgres_server.own_folder())
        folders = (primary.sockets, self.standby.sockets)
        self.url = f"postgres:///postgres?host={folders[0]},{folders[1]}&user=postgres"
        self.attach()
        primary.run(f"ALTER SYSTEM SET {SYNCHRONOUS}")
        primary.run("SELECT pg_reload_conf()")

    def attach(self):
        """The standby begins anew with what the primary has."""
        shutil.rmtree(self.standby.data, ignore_errors=True)
        postgres_server.copy(self.standby.data, "-h", self.line.address[0], "-p", self.line.address[1])
        self.standby.configure(f"{SYNCHRONOUS}\n{RETRIES_SOON}")
        self.standby.start()

    def wait_in_step(self):
        if not wire.eventually(lambda: self.primary.run(IN_STEP) == "1", 30, 0.05):
            raise RuntimeError("the standby does not follow")

    def fail_over(self):
        self.primary.crash()
        self.standby.run("SELECT pg_promote()")
        self.primary, self.standby = self.standby, self.primary
        self.line.target = self.primary
        self.line.mend()
        self.attach()
        self.wait_in_step()

    def close(self):
        self.line.close()
        self.primary.close()
        self.standby.close()


def lose_the_standby(pair, stage, seconds):
    with stage.fault(checker.STORE, "the standby is cut off"):
        pair.line.cut()
        time.sleep(seconds)
        pair.line.mend()
        pair.wait_in_step()


def lose_the_primary(pair, stage):
    """With commits that only it has; how many of them were called a success."""
    with stage.fault(checker.STORE, PRIMARY_LOST):
        pair.line.cut()
        cancelled = 0
        for _ in range(10):
            time.sleep(0.05)
            cancelled += int(pair.primary.run(postgres_oracle.CANCEL))
        pair.fail_over()
    return cancelled


def forget_the_gap(verdict, clients):
    """What others could read of a commit whose wait was cancelled, and which is then lost, is a gap of PostgreSQL's own
    (docs/postgres.md), and gateways remember what they read for a while. Those who were answered for their own attempt are
    not in it."""
    gaps = [{**one, "until": one["until"] + REMEMBERED_S} for one in verdict.faults if one["what"] == PRIMARY_LOST]
    verdict.calls = [call for call in verdict.calls
                     if not (call.get("replayed") and any(checker.overlaps(call, one) for one in gaps))]
    verdict.violations = checker.check(verdict.records, verdict.calls, verdict.last_fault, oracle.SETTLED_WITHIN,
                                       verdict.faults, clients)


def run(context, failovers):
    with context.postgres("wal_level = replica\n") as first:
        pair = Pair(first)
        try:
            pair.wait_in_step()
            with context.oracle(clients=12, nodes=2, store=pair.url) as stage:
                stage.start()
                cancelled = 0
                for number in range(failovers):
                    context.say(f"failover {number + 1} of {failovers}")
                    time.sleep(context.chance.uniform(0.5, 1.0))
                    lose_the_standby(pair, stage, context.chance.uniform(0.2, 1.5))
                    time.sleep(context.chance.uniform(0.3, 0.6))
                    cancelled += lose_the_primary(pair, stage)
                time.sleep(REMEMBERED_S + 0.5)  # what is told from now on is no gateway's memory of the gap
                stage.settle()
                verdict = stage.end()
                forget_the_gap(verdict, stage.clients)
                report = context.judged(verdict, {"failovers": failovers, "faults": failovers})
        finally:
            pair.close()
    report.must(cancelled > 0, "no wait was cancelled, so nothing was lost")
    return report
