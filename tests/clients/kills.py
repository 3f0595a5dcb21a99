#!/usr/bin/env python3
"""Workers, the claims API and the store are killed under load, and the oracle: kills.py --binary SEMEL --app CMD
[--faults N] [--seed N] [--postgres] [--keep FOLDER]

Two processes of the app serve clients that send operations, retry them, send them at once from several sides and now and then
reuse a key. Meanwhile, again and again: an app is killed; one is stopped for longer than its leases, and goes on as if nothing
had been; the claims API is killed; with --postgres the store is a server of its own, and crashes. Then every key is asked for at
both until it is settled. Origin, callers and checker are those of the gateway (tests/e2e/oracle.py): one effect per key, the same
bytes for everybody, no key stuck beyond its lease. Exit code 0: the promises held.
"""
import collections
import random
import sys
import time

import apps  # first: it says where the modules of tests/e2e are

import callers
import checker
import gateway
import oracle
import origin
import postgres_server
import programs

LEASE_MS = int(oracle.LEASE_SECONDS * 1000)
ROUTES = ("hold", "wait", "retry")


class Worker(gateway.Noted, apps.App):
    """An app that notes when it was killed, stopped or not there, as a gateway does."""

    def start(self, *arguments, seconds=120.0):
        return super().start(*arguments, seconds=seconds)


class Oracle(oracle.Oracle):
    """The gateway's, with apps in the places of gateways."""

    def __init__(self, options, folder, store):
        port = programs.free_port()
        self.journal = callers.Journal(folder / "calls.jsonl")
        self.origin = origin.Origin(port, folder / "origin.jsonl")
        (folder / "semel").mkdir()
        self.semel = apps.Semel(options.binary, folder=folder / "semel", store=store)
        self.nodes = []
        for number in (1, 2):
            home = folder / f"app{number}"
            home.mkdir()
            self.nodes.append(Worker(options.app, self.semel.api, self.origin.address, LEASE_MS, folder=home))
        self.addresses = [node.address for node in self.nodes]
        self.load = oracle.Load(self.addresses, self.journal, options.seed, options.clients, routes=ROUTES)
        self.clients = options.clients + callers.SETTLERS
        self.pulse = oracle.Pulse(folder / "pulse")
        self.faults = []
        self.last_fault = None
        self.codes = []

    def start(self):
        self.semel.start()
        return super().start()

    def __exit__(self, *words):
        super().__exit__(*words)
        self.semel.close()


class Faults:
    def __init__(self, stage, chance, server):
        self.stage, self.chance, self.server = stage, chance, server
        self.count = collections.Counter()
        self.kinds = [self.kill_an_app, self.kill_the_api, self.stop_an_app_past_its_leases]
        if server is not None:
            self.kinds.append(self.crash_the_store)

    def kill_an_app(self):
        oracle.kill_and_restart(self.chance.choice(self.stage.nodes))

    def stop_an_app_past_its_leases(self):
        with self.chance.choice(self.stage.nodes).stopped():
            time.sleep(oracle.LEASE_SECONDS + 0.5)

    def kill_the_api(self):
        with self.stage.fault(checker.STORE, "the claims API is killed"):
            self.stage.semel.kill()
            time.sleep(self.chance.uniform(0, 0.5))
            self.stage.semel.start()
            time.sleep(oracle.LEASE_SECONDS)  # what was under way is told later

    def crash_the_store(self):
        with self.stage.fault(checker.STORE, "the server crashes"):
            self.server.crash()
            time.sleep(self.chance.uniform(0, 0.5))
            self.server.start()
            time.sleep(oracle.LEASE_SECONDS)

    def next(self, number):
        fault = self.kinds[number % len(self.kinds)]
        self.count[fault.__name__] += 1
        fault()


def run(options, folder):
    chance = random.Random(options.seed)
    server = postgres_server.Server(options.binary) if options.postgres else None
    try:
        with Oracle(options, folder, None if server is None else server.url) as stage:
            stage.start()
            faults = Faults(stage, chance, server)
            for number in range(options.faults):
                time.sleep(chance.uniform(0.2, 1.2))
                faults.next(number)
            stage.settle()
            return stage.end(), faults.count
    finally:
        if server is not None:
            server.close()


def main():
    parser = apps.arguments(__doc__, faults=6, clients=8)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--postgres", action="store_true", help="the store is a PostgreSQL server of our own")
    parser.add_argument("--keep", type=programs.path, help="leave logs and data in this folder")
    options = apps.parsed(parser)
    (verdict, count), seconds = oracle.in_folder(options, run)
    return verdict.tell(f"{options.faults} faults, {options.clients} clients, seed {options.seed}, {seconds:.1f} s",
                        *(f"  {times:8}  {what.replace('_', ' ')}" for what, times in count.items()))


if __name__ == "__main__":
    sys.exit(main())
