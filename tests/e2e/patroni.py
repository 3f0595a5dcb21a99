#!/usr/bin/env python3
"""Two gateways on a Patroni pair whose primary is killed under load: patroni.py --binary SEMEL [--kills N] [--seed N]

Strict synchronous mode; each kill takes the primary and its patroni at once (cluster.py), the standby is promoted, and
the killed one comes back as the standby of the other before the next kill. Origin, callers and checker are those of
kill_oracle.py: exit code 0 says that nothing was lost and nothing ran twice. Takes some 25 seconds for each kill, so it
is not among the tests that always run; skipped (77) where patroni or etcd is not installed.
"""
import argparse
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import callers
import checker
import cluster
import gateway
import kill_oracle
import origin

SKIPPED = 77
CONFIG = kill_oracle.CONFIG.replace('"embedded:$data"', '"$store"')
LOADED_S = (2.0, 5.0)  # how long a pair is under load before its primary is killed


def serves(address, journal, load, seconds):
    """Waits until a new key is served."""
    deadline = time.monotonic() + seconds
    caller = callers.Caller(address, journal)
    operation = callers.Operation("alice", f"probe-{len(load.operations)}", b"{}", "/wait/effects")
    with load.lock:
        load.operations.add(operation)
    while not callers.is_terminal(caller.call(operation)):
        if time.monotonic() > deadline:
            raise RuntimeError(f"no key was served within {seconds} s")
        time.sleep(0.05)
    caller.hang_up()


def run(options, folder):
    chance = random.Random(options.seed)
    port = gateway.free_port()
    journal = callers.Journal(folder / "calls.jsonl")
    recorder = origin.Origin(port, folder / "origin.jsonl")
    pair = cluster.Cluster()
    nodes, load, outages = [], None, []
    try:
        pair.start()
        pair.wait_for_pair()
        subprocess.run([options.binary, "migrate", "--url", pair.url], check=True, capture_output=True)
        for name in ("a", "b"):
            (folder / name).mkdir()
            nodes.append(gateway.Gateway(options.binary, CONFIG, folder=folder / name, store=pair.url,
                                         upstream=f"127.0.0.1:{port}").start())
        addresses = [node.address for node in nodes]
        load = kill_oracle.Load(addresses, journal, options.seed, options.clients)
        load.start()
        for number in range(options.kills):
            time.sleep(chance.uniform(*LOADED_S))
            killed = pair.wait_for_pair()
            killed.kill()
            at = time.monotonic()
            pair.wait_for("another primary", lambda: pair.primary() not in (None, killed))  # pylint: disable=W0640
            promoted = time.monotonic() - at
            killed.start()
            pair.wait_for_pair()
            serves(addresses[number % 2], journal, load, 30)
            outages.append((killed.name, promoted, time.monotonic() - at))
            print(f"kill {number + 1}: {killed.name} gone, another primary after {promoted:.1f} s, "
                  f"a pair that serves again after {outages[-1][2]:.1f} s", flush=True)
        last_fault = time.monotonic()
        load.stop()
        for address in addresses:
            kill_oracle.settle(address, journal, load.operations, kill_oracle.SETTLED_WITHIN + 10)
        codes = [node.stop() for node in nodes]
    finally:
        if load is not None:
            load.stopped.set()
        for node in nodes:
            node.close()
        recorder.close()
        pair.close()
    return recorder.records(), journal.records(), last_fault, codes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    missing = cluster.missing_programs()
    if missing:
        print(f"skipped: {' and '.join(missing)} not found")
        return SKIPPED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended, whoever ends us
    options.seed = random.randrange(1 << 32) if options.seed is None else options.seed
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="semel-oracle-") as folder:
        records, calls, last_fault, codes = run(options, pathlib.Path(folder))
    violations = checker.check(records, calls, last_fault, kill_oracle.SETTLED_WITHIN)
    print(f"{options.kills} primaries killed, {options.clients} clients, seed {options.seed}, "
          f"{time.monotonic() - started:.1f} s")
    for what, times in checker.summary(records, calls).items():
        print(f"  {times:8}  {what}")
    for invariant, scope, key, what in violations[:20]:
        print(f"{invariant} violated: {scope} {key}: {what}")
    if any(codes):
        print(f"the gateways ended with {codes}")
    print(f"{len(violations)} violations")
    return 1 if violations or any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
