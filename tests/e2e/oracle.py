"""The oracle: an origin that writes down every effect, gateways in front of it, clients that write down every answer.

Whoever has faults to make brings them about while the load runs, and says when: an outcome may be unknown only where a fault
cut an attempt. Then the load stops, every key is retried until it is settled, and checker.py says whether the promises held:

    with Oracle(binary, folder, seed) as oracle:
        oracle.start()
        oracle.nodes[0].kill()      # gateways note themselves when they are killed and restarted
        with oracle.fault(checker.STORE, "the server crashes"):
            ...
        oracle.settle()
        verdict = oracle.end()
"""
import argparse
import collections
import contextlib
import dataclasses
import functools
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

import callers
import checker
import gateway
import harness
import origin
import programs
import quick_load

LEASE_SECONDS = checker.LEASE_SECONDS
PULSE_S = 0.05
STOOD_STILL = "the machine stood still"
SETTLED_WITHIN = LEASE_SECONDS + 5.0

CONFIG = harness.CONFIG + """
[log]
requests = false
[limits]
body_bytes = "16MiB"
[[route]]
path = "/hold/*"
upstream = "app"
lease = "1s"
store_body_max = "16MiB"
[[route]]
path = "/wait/*"
upstream = "app"
lease = "1s"
in_flight = "wait"
wait_max = "2s"
[[route]]
path = "/retry/*"
upstream = "app"
lease = "1s"
on_unknown = "retry"
store_body_max = "16MiB"
[[route]]
path = "/probe/*"
upstream = "app"
lease = "1s"
on_unknown = "probe"
probe = "/outcome?scope={header:Authorization}&key={key}"
"""

USUAL_ROUTES = ("hold", "wait")
ALL_ROUTES = ("hold", "wait", "retry", "probe")
USUAL_DELAYS_MS = (0, 0, 0, 5, 20, 60)


class Load:
    """Clients that go on until they are told to stop, shared out over the gateways at `addresses`."""

    def __init__(self, addresses, journal, seed, clients, delays_ms=USUAL_DELAYS_MS, routes=USUAL_ROUTES):
        self.journal = journal
        self.clients = clients
        self.routes = routes
        self.delays_ms = delays_ms
        self.lock = threading.Lock()
        self.recent = collections.deque(maxlen=40)
        self.operations = set()
        self.number = 0
        self.stopped = threading.Event()
        self.going = threading.Event()
        self.going.set()
        self.threads = [threading.Thread(target=self.run, daemon=True,
                                         args=(random.Random(f"{seed}-{i}"), addresses[i % len(addresses)]))
                        for i in range(clients)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.going.set()
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def pause(self, seconds=0.5):
        """Everybody hangs up and waits; what was under way has ended when this returns, unless it takes longer than that."""
        self.going.clear()
        time.sleep(seconds)

    def go_on(self):
        self.going.set()

    def settle(self, address, seconds):
        callers.settle(address, self.journal, self.operations, seconds)

    def known(self):
        """Every operation that was asked for."""
        return self.operations

    def abandon(self):
        """Without waiting for what is under way."""
        self.stopped.set()
        self.going.set()

    def pick(self, chance):
        """A new operation, one of late again, one of late under another tenant, or its key for another request."""
        with self.lock:
            kind = chance.random()
            if kind < 0.35 or not self.recent:
                self.number += 1
                operation = callers.Operation(scope=chance.choice(["alice", "bob"]), key=f"k{self.number}",
                                              body=b'{"n": %d}' % self.number,
                                              target=f"/{chance.choice(self.routes)}/effects")
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
            if not self.going.is_set():
                caller.hang_up()
                self.going.wait()
            operation = self.pick(chance)
            extra = [("X-Delay-Ms", str(chance.choice(self.delays_ms)))]
            if chance.random() < 0.05:
                extra.append(("X-Refuse", "yes"))
            record = caller.call(operation, extra)
            if record["kind"] == "lost" or record.get("problem") == "store-unavailable":
                time.sleep(0.02)
        caller.hang_up()


class Pulse:
    """Notices when the machine stood still, processor or disk, for so long that leases may have lapsed: that is a fault too, and
    nobody's. Writes and syncs a byte now and then, as the gateways do."""

    def __init__(self, path):
        self.faults = []
        self.stopped = threading.Event()
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        last = time.monotonic()
        while not self.stopped.wait(PULSE_S):
            os.pwrite(self.file, b".", 0)
            os.fdatasync(self.file)
            now = time.monotonic()
            if now - last > LEASE_SECONDS / 2:  # a renewal may have come too late
                self.faults.append(checker.fault(checker.MACHINE, STOOD_STILL, last, now))
            last = now

    def stop(self):
        self.stopped.set()
        if self.thread.is_alive():
            self.thread.join()


def kill_and_restart(semel):
    semel.kill()
    semel.start()


@dataclasses.dataclass
class Verdict:
    """What the origin and the clients wrote down, what the checker found, how the gateways ended, what was done to them."""

    records: list
    calls: list
    last_fault: float
    codes: list
    violations: list
    faults: list = None

    def tell(self, *lines):
        """Prints these lines, what happened and what is wrong; the exit code of a program whose verdict this is."""
        print(*lines, sep="\n")
        for what, count in checker.summary(self.records, self.calls).items():
            print(f"  {count:8}  {what}")
        found = collections.Counter(invariant for invariant, *_ in self.violations)
        print("  " + "  ".join(f"{name} {found[name]}" for name in checker.INVARIANTS))
        for invariant, scope, key, what in self.violations[:20]:
            print(f"{invariant} violated: {scope} {key}: {what}")
        if any(self.codes):
            print(f"the gateways ended with {self.codes}")
        print(f"{len(self.violations)} violations")
        return 1 if self.violations or any(self.codes) else 0


class Oracle:
    def __init__(self, binary, folder, seed, clients=8, nodes=1, store=None, config=CONFIG, delays_ms=USUAL_DELAYS_MS,
                 host=programs.HOST, origin_host=programs.HOST, routes=USUAL_ROUTES, quick=None, **values):
        """`store` is the address of a store that the nodes share; without it each has an embedded one of its own. `quick` is
        the folder of programs that are the load and the origin (quick_load.py). `host` is that of all nodes, or one for each.
        `values` are further names in the configuration."""
        folder = pathlib.Path(folder)
        port = programs.free_port()
        self.journal = callers.Journal(folder / "calls.jsonl")
        self.origin = origin.Origin(port, folder / "origin.jsonl", origin_host, quick and quick / quick_load.ORIGIN)
        self.nodes = []
        for number in range(nodes):
            home = folder / f"node{number + 1}"
            home.mkdir()
            at = host if isinstance(host, str) else host[number]
            self.nodes.append(gateway.Gateway(binary, config, folder=home, host=at, upstream=f"{origin_host}:{port}",
                                              store=store, **values))
        self.addresses = [node.address for node in self.nodes]
        load = functools.partial(quick_load.QuickLoad, quick) if quick and clients else Load
        self.load = load(self.addresses, self.journal, seed, clients, delays_ms, routes)
        self.clients = clients + callers.SETTLERS
        self.pulse = Pulse(folder / "pulse")
        self.faults = []
        self.last_fault = None
        self.codes = []

    @contextlib.contextmanager
    def fault(self, part, what, node=None):
        """What happens inside is a fault of this part (checker.py), of one node or of all."""
        begun = time.monotonic()
        try:
            yield
        finally:
            address = None if node is None else "%s:%d" % node.address
            self.faults.append(checker.fault(part, what, begun, time.monotonic(), address))

    def all_faults(self):
        """In the order in which they began."""
        found = [*self.faults, *self.pulse.faults, *(one for node in self.nodes for one in node.faults)]
        return sorted(found, key=lambda one: one["from"])

    def start(self):
        self.pulse.thread.start()
        for node in self.nodes:
            node.start()
        self.load.start()
        return self

    def settle(self):
        """No more faults and no more load: every key is asked for at every node until it is settled."""
        if self.last_fault is None:
            self.last_fault = time.monotonic()
        self.load.stop()
        for address in self.addresses:
            self.load.settle(address, SETTLED_WITHIN + 10)

    def end(self):
        """The nodes end in good order, and the books are compared."""
        self.pulse.stop()
        self.codes = [node.stop() for node in self.nodes]
        self.origin.close()
        records, calls, faults = self.origin.records(), self.journal.records(), self.all_faults()
        violations = checker.check(records, calls, self.last_fault, SETTLED_WITHIN, faults, self.clients)
        return Verdict(records, calls, self.last_fault, self.codes, violations, faults)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.load.abandon()
        self.pulse.stop()
        for node in self.nodes:
            node.close()
        self.origin.close()


# ---- For programs that are an oracle with faults of their own ----------------------------------------------------------


def arguments(**numbers):
    """A parser of the arguments that they share; each name of `numbers` is an option with that number as its default."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--keep", type=pathlib.Path, help="leave logs and data in this folder")
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    return parser


def in_folder(options, run):
    """What run(options, folder) returns, and how many seconds it took, in a folder that is kept or thrown away."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="semel-oracle-") as folder:
        if options.keep:
            folder = options.keep.resolve()
            folder.mkdir(parents=True, exist_ok=True)
        return run(options, pathlib.Path(folder)), time.monotonic() - started
