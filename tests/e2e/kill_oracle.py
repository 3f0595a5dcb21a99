#!/usr/bin/env python3
"""kill -9 under load, and the oracle: kill_oracle.py --binary SEMEL [--kills N] [--seed N]

The gateway is killed at random moments and started again on the same folder, while clients send operations, retry them,
send them at once from several sides and now and then reuse a key (oracle.py). When the killing is over every key is
retried until it is settled; then the gateway is killed once more, and every key is asked for again. Exit code 0: the
promises held.
"""
import random
import sys
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
    options = oracle.arguments(kills=8, clients=8).parse_args()
    verdict, seconds = oracle.in_folder(options, run)
    return verdict.tell(f"{options.kills + 1} kills, {options.clients} clients, seed {options.seed}, {seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
