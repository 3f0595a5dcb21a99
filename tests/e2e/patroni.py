#!/usr/bin/env python3
"""Two gateways on a Patroni pair whose primary is killed under load: patroni.py --binary SEMEL [--kills N] [--seed N]

Strict synchronous mode; each kill takes the primary and its patroni at once (cluster.py), the standby is promoted, and
the killed one comes back as the standby of the other before the next kill. Origin, callers and checker are those of
oracle.py: exit code 0 says that nothing was lost and nothing ran twice. Takes some 25 seconds for each kill, so it
is not among the tests that always run; skipped (77) where patroni or etcd is not installed.
"""
import random
import signal
import subprocess
import sys
import time

import callers
import checker
import cluster
import harness
import oracle

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


def fail_over(pair, number):
    """The primary is killed, and comes back as the standby of the other; how long that took."""
    killed = pair.wait_for_pair()
    killed.kill()
    at = time.monotonic()
    pair.wait_for("another primary", lambda: pair.primary() not in (None, killed))
    promoted = time.monotonic() - at
    killed.spawn()
    pair.wait_for_pair()
    print(f"kill {number}: {killed.name} gone, another primary after {promoted:.1f} s, "
          f"a pair again after {time.monotonic() - at:.1f} s", flush=True)


def run(options, folder):
    chance = random.Random(options.seed)
    pair = cluster.Cluster()
    try:
        pair.start()
        pair.wait_for_pair()
        subprocess.run([options.binary, "migrate", "--url", pair.url], check=True, capture_output=True)
        with oracle.Oracle(options.binary, folder, options.seed, options.clients, nodes=2, store=pair.url) as stage:
            stage.start()
            for number in range(options.kills):
                time.sleep(chance.uniform(*LOADED_S))
                with stage.fault(checker.STORE, "the primary is killed"):
                    fail_over(pair, number + 1)
                serves(stage.addresses[number % 2], stage.journal, stage.load, 30)
            stage.settle()
            return stage.end()
    finally:
        pair.close()


def main():
    options = oracle.arguments(kills=5, clients=8).parse_args()
    missing = cluster.missing_programs()
    if missing:
        harness.skip(f"{' and '.join(missing)} not found")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended, whoever ends us
    verdict, seconds = oracle.in_folder(options, run)
    return verdict.tell(f"{options.kills} primaries killed, {options.clients} clients, seed {options.seed}, {seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
