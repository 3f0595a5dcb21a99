#!/usr/bin/env python3
"""Two gateways on one PostgreSQL server, faults, and the oracle: postgres_oracle.py --binary SEMEL [--faults N] [--seed N]
[--only FAULT] [--between SECONDS SECONDS]

While clients send operations to both gateways, retry them, send them at once from several sides and now and then reuse a
key, one of these happens, again and again: the server crashes and comes back; its connections are terminated; commits wait
for a standby that is not there, and their waits are cancelled; a gateway is killed, or is stopped for longer than its
leases, or ends in good order and is started again. --only names one of them, as the methods of Faults are called. Origin,
callers and checker are those of oracle.py. Exit code 0: the promises held.
"""
import collections
import random
import sys
import time

import checker
import oracle
import postgres_server

TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'semel'"
CANCEL = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
KINDS = ("crash_the_server", "cut_its_connections", "kill_a_gateway", "stop_a_gateway_past_its_leases", "restart_a_gateway",
         "cancel_commits_that_wait")


class Faults:
    """Each is noted on the stage for as long as it lasts."""

    def __init__(self, server, stage, chance, kinds=KINDS):
        self.kinds = kinds
        self.cancelled = 0
        self.server = server
        self.stage = stage
        self.nodes = stage.nodes
        self.chance = chance
        self.count = collections.Counter()

    def crash_the_server(self):
        with self.stage.fault(checker.STORE, "the server crashes"):
            self.server.crash()
            time.sleep(self.chance.uniform(0, 0.5))
            self.server.start()

    def cut_its_connections(self):
        with self.stage.fault(checker.STORE, "its connections are cut"):
            for _ in range(5):
                self.server.run(TERMINATE)
                time.sleep(0.02)

    def cancel_commits_that_wait(self):
        """PostgreSQL then calls them a success; nobody may believe it before the rows have been written again."""
        with self.stage.fault(checker.STORE, "commits that wait are cancelled"):
            self.wait_for_standby("ghost")
            for _ in range(10):
                self.cancelled += int(self.server.run(CANCEL))
                time.sleep(0.05)
            self.wait_for_standby("")

    def wait_for_standby(self, name):
        self.server.run(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self.server.run("SELECT pg_reload_conf()")

    def kill_a_gateway(self):
        oracle.kill_and_restart(self.chance.choice(self.nodes))

    def stop_a_gateway_past_its_leases(self):
        with self.chance.choice(self.nodes).stopped():
            time.sleep(oracle.LEASE_SECONDS + 0.5)

    def restart_a_gateway(self):
        node = self.chance.choice(self.nodes)
        node.stop()
        node.start()

    def next(self, number):
        fault = getattr(self, self.kinds[number % len(self.kinds)])
        self.count[fault.__name__] += 1
        fault()


def run(options, folder):
    chance = random.Random(options.seed)
    server = postgres_server.Server(options.binary)
    try:
        with oracle.Oracle(options.binary, folder, options.seed, options.clients, nodes=2, store=server.url) as stage:
            stage.start()
            faults = Faults(server, stage, chance, [options.only] if options.only else KINDS)
            for number in range(options.faults):
                time.sleep(chance.uniform(*options.between))
                faults.next(number)
            stage.settle()
            verdict = stage.end()
    finally:
        server.close()
    if faults.cancelled:
        faults.count["waits cancelled"] = faults.cancelled
    return verdict, faults.count


def main():
    parser = oracle.arguments(faults=10, clients=8)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--between", type=float, nargs=2, default=(0.05, 0.9), help="seconds between faults")
    options = parser.parse_args()
    (verdict, count), seconds = oracle.in_folder(options, run)
    return verdict.tell(f"{options.faults} faults, {options.clients} clients, seed {options.seed}, {seconds:.1f} s",
                        *(f"  {times:8}  {what.replace('_', ' ')}" for what, times in count.items()))


if __name__ == "__main__":
    sys.exit(main())
