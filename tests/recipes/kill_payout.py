#!/usr/bin/env python3
"""kill -9 of an operation of several steps: kill_payout.py --examples FOLDER --binary SEMEL --kills 200

A payout is started and killed at a random point of its life, again and again, until it comes to its end by itself; then
the next one. Each step's effect must have happened once, whatever it was killed in, and every payout must have ended.
"""
import collections
import random
import subprocess
import time

import examples
from examples import expect

import postgres_server

BANK_MS = 100


def start(options, server, key):
    return subprocess.Popen([options.examples / "example_payout", server.url, key, "100", str(BANK_MS)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def place(server, key):
    """How far it got, in words."""
    entries = server.run(f"SELECT count(*) FROM ledger WHERE key = '{key}'")
    return {"0": "before the first commit", "1": "after reserve", "2": "after transfer", "3": "after book"}[entries]


def main():
    options = examples.arguments("examples", kills=200, seed=examples.any_seed()).parse_args()
    chance = random.Random(options.seed)
    server = postgres_server.Server(options.binary)
    places = collections.Counter()
    try:
        began = time.monotonic()
        for number in range(3):
            said, _ = start(options, server, f"warm-{number}").communicate(timeout=60)
            expect(said == "ran: paid out 100 cents\n", f"an undisturbed payout said {said}")
        usual = (time.monotonic() - began) / 3
        kills, payouts = 0, 3
        while kills < options.kills:
            payouts += 1
            key = f"p-{payouts}"
            while True:
                process = start(options, server, key)
                try:
                    # Most of its life is starting and connecting, so the early part is left out more often than not.
                    said, trouble = process.communicate(timeout=usual * chance.uniform(0.2, 1.3))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
                    places[place(server, key)] += 1
                    continue
                expect(said.endswith("paid out 100 cents\n"), f"{key} ended with {said!r} {trouble!r}")
                break
        whole = server.run("SELECT count(*) FROM (SELECT key FROM ledger GROUP BY key HAVING "
                           "string_agg(entry, ' ' ORDER BY entry) = 'booked paid reserved') AS t")
        expect(whole == str(payouts), f"{whole} of {payouts} payouts have each step's entry once")
        for sql, expected in (("SELECT count(*) FROM ledger", 3 * payouts), ("SELECT count(*) FROM bank_transfers", payouts),
                              ("SELECT count(*) FROM payouts WHERE state = 'booked'", payouts),
                              ("SELECT cents FROM accounts", 1000000000 - 100 * payouts),
                              ("SELECT count(*) FROM semel.keys WHERE state = 'done'", 4 * payouts),
                              ("SELECT count(*) FROM semel.keys WHERE state <> 'done'", 0)):
            expect(server.run(sql) == str(expected), f"{sql} is {server.run(sql)}, not {expected}")
        print(f"seed {options.seed}: {kills} kills ({', '.join(f'{n} {where}' for where, n in places.most_common())}), "
              f"{payouts} payouts, each step's effect once, 0 unknown")
    finally:
        server.close()


if __name__ == "__main__":
    main()
