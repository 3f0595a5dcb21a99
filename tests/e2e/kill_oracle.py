#!/usr/bin/env python3
"""kill -9 under load, and the oracle: kill_oracle.py --binary SEMEL [--kills N] [--seed N]

The gateway is killed at random moments and started again on the same folder, while clients send operations, retry them,
send them at once from several sides and now and then reuse a key (oracle.py). When the killing is over every key is
retried until it is settled; then the gateway is killed once more, and every key is asked for again. Exit code 0: the
promises held.
"""
import argparse
import pathlib
import random
import sys
import tempfile
import time

import oracle


def run(options, folder):
    chance = random.Random(options.seed)
    with oracle.Oracle(options.binary, folder, options.seed, options.clients) as stage:
        stage.start()
        for _ in range(options.kills):
            time.sleep(chance.uniform(0.05, 0.9))
            oracle.kill_and_restart(stage.nodes[0])
        stage.settle()
        oracle.kill_and_restart(stage.nodes[0])
        stage.settle()
        return stage.end()


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
    verdict = run(options, folder)
    print(f"{options.kills + 1} kills, {options.clients} clients, seed {options.seed}, "
          f"{time.monotonic() - started:.1f} s")
    verdict.print()
    return 0 if verdict.good else 1


if __name__ == "__main__":
    sys.exit(main())
