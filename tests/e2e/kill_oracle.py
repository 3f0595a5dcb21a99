#!/usr/bin/env python3
"""kill -9 under load, and an oracle: kill_oracle.py --binary SEMEL [--kills N] [--seed N]

The gateway is killed at random moments and started again on the same folder, while clients send operations, retry them,
send them at once from several sides and now and then reuse a key. The origin (origin.py) writes down every effect, the
clients (callers.py) every answer. When the killing is over every key is retried until it is settled; then the gateway is
killed once more, and every key is asked for again. checker.py says whether the promises held. Exit code 0: they did.
"""
import argparse
import collections
import pathlib
import random
import sys
import tempfile
import threading
import time

import callers
import checker
import gateway
import origin

LEASE_SECONDS = 1.0
SETTLED_WITHIN = LEASE_SECONDS + 5.0

CONFIG = """
[server]
listen = "$listen"
threads = 2
[admin]
listen = "$admin"
[store]
url = "embedded:$data"
[log]
requests = false
[upstream.app]
url = "http://$upstream"
[[route]]
path = "/hold/*"
upstream = "app"
lease = "1s"
[[route]]
path = "/wait/*"
upstream = "app"
lease = "1s"
in_flight = "wait"
wait_max = "2s"
"""


class Load:
    """Clients that go on until they are told to stop, shared out over the gateways at `addresses`."""

    def __init__(self, addresses, journal, seed, clients):
        self.journal = journal
        self.lock = threading.Lock()
        self.recent = collections.deque(maxlen=40)
        self.operations = set()
        self.number = 0
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True,
                                         args=(random.Random(f"{seed}-{i}"), addresses[i % len(addresses)]))
                        for i in range(clients)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def pick(self, chance):
        """A new operation, one of late again, one of late under another tenant, or its key for another request."""
        with self.lock:
            kind = chance.random()
            if kind < 0.35 or not self.recent:
                self.number += 1
                operation = callers.Operation(scope=chance.choice(["alice", "bob"]), key=f"k{self.number}",
                                              body=b'{"n": %d}' % self.number,
                                              target=chance.choice(["/hold/effects", "/wait/effects"]))
            else:
                operation = chance.choice(self.recent)
                if kind > 0.95:
                    operation = callers.Operation(operation.scope, operation.key, b'{"other": true}', operation.target)
                elif kind > 0.90:
                    other = "bob" if operation.scope == "alice" else "alice"
                    operation = callers.Operation(other, operation.key, operation.body, operation.target)
            self.recent.append(operation)
            self.operations.add(operation)
            return operation

    def run(self, chance, address):
        caller = callers.Caller(address, self.journal)
        while not self.stopped.is_set():
            operation = self.pick(chance)
            extra = [("X-Delay-Ms", str(chance.choice([0, 0, 0, 5, 20, 60])))]
            if chance.random() < 0.05:
                extra.append(("X-Refuse", "yes"))
            record = caller.call(operation, extra)
            if record["kind"] == "lost" or record.get("problem") == "store-unavailable":
                time.sleep(0.02)
        caller.hang_up()


def settle(address, journal, operations, seconds, clients=8):
    """Calls every operation until it is terminal, or time is up."""
    waiting = list(operations)
    lock = threading.Lock()

    def run():
        caller = callers.Caller(address, journal)
        while True:
            with lock:
                if not waiting:
                    break
                operation = waiting.pop()
            callers.call_until_terminal(caller, operation, seconds)
        caller.hang_up()

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def kill_and_restart(semel):
    semel.kill()
    semel.start()


def run(options, folder):
    chance = random.Random(options.seed)
    port = gateway.free_port()
    journal = callers.Journal(folder / "calls.jsonl")
    recorder = origin.Origin(port, folder / "origin.jsonl")
    semel = gateway.Gateway(options.binary, CONFIG, folder=folder, upstream=f"127.0.0.1:{port}")
    load = Load([semel.address], journal, options.seed, options.clients)
    try:
        semel.start()
        load.start()
        for _ in range(options.kills):
            time.sleep(chance.uniform(0.05, 0.9))
            kill_and_restart(semel)
        last_fault = time.monotonic()
        load.stop()
        settle(semel.address, journal, load.operations, SETTLED_WITHIN + 10)
        kill_and_restart(semel)
        settle(semel.address, journal, load.operations, SETTLED_WITHIN + 10)
        code = semel.stop()
    finally:
        load.stopped.set()
        semel.close()
        recorder.close()
    return recorder.records(), journal.records(), last_fault, code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=pathlib.Path, help="leave logs and data in this folder")
    options = parser.parse_args()
    options.seed = random.randrange(1 << 32) if options.seed is None else options.seed
    temporary = None if options.keep else tempfile.TemporaryDirectory(prefix="semel-oracle-")
    folder = options.keep or pathlib.Path(temporary.name)
    folder.mkdir(parents=True, exist_ok=True)

    started = time.monotonic()
    records, calls, last_fault, code = run(options, folder)
    violations = checker.check(records, calls, last_fault, SETTLED_WITHIN)
    print(f"{options.kills + 1} kills, {options.clients} clients, seed {options.seed}, "
          f"{time.monotonic() - started:.1f} s")
    for what, count in checker.summary(records, calls).items():
        print(f"  {count:8}  {what}")
    found = collections.Counter(invariant for invariant, *_ in violations)
    print("  " + "  ".join(f"{name} {found[name]}" for name in checker.INVARIANTS))
    for invariant, scope, key, what in violations[:20]:
        print(f"{invariant} violated: {scope} {key}: {what}")
    if code != 0:
        print(f"semel ended with {code}")
    print(f"{len(violations)} violations")
    return 1 if violations or code != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
