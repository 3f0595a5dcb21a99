#!/usr/bin/env python3
"""kill -9 of the one-transaction example under load: kill_payments.py --examples FOLDER --binary SEMEL --kills 200

Clients pay under keys of their own, repeat every request until it is answered, and now and then repeat an answered one.
After so many answers, another number each time, the program is killed. Then, each time: every key has either no payment
and no record, or one payment and one record that is done. At the end every key is asked for once more: one payment each,
the answer that was given first, and no outcome is unknown.
"""
import collections
import json
import random
import threading
import time

import examples
from examples import expect, pay, wire

import postgres_server
from programs import Program, free_address

CLIENTS = 6


class Load:
    """Clients that go on through every crash."""

    def __init__(self, address, seed):
        self.address = address
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.answers = collections.defaultdict(set)  # by key: every body that was given with 201
        self.wrong = []
        self.answered = 0
        self.cut = 0  # requests whose answer was lost
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self._pay_on, args=(n,), daemon=True) for n in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def _pay_on(self, client):
        number = 0
        while not self.stop.is_set():
            number += 1
            key = f"c{client}-{number}"
            for _ in range(2 if number % 3 == 0 else 1):
                self.pay_until_answered(key)

    def pay_until_answered(self, key):
        while True:
            try:
                reply = pay(self.address, key, json.dumps({"key": key}).encode())
            except (OSError, wire.Closed, wire.Cut, wire.Silent):
                with self.lock:
                    self.cut += 1
                if self.stop.is_set():
                    return
                time.sleep(0.002)
                continue
            with self.lock:
                self.answered += 1
                if reply.status == 201:
                    self.answers[key].add(bytes(reply.body))
                elif reply.status not in (409, 503):
                    self.wrong.append((key, reply.status, reply.body))
            if reply.status == 201:
                return

    def finish(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def check_database(server):
    """Asked when the program is dead and its sessions are over."""
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = '' AND pid <> pg_backend_pid() " \
               "AND backend_type = 'client backend'"
    expect(wire.eventually(lambda: server.run(sessions) == "0", 10.0), "sessions of the killed program are left")
    twice = server.run("SELECT count(*) FROM (SELECT request FROM payments GROUP BY request HAVING count(*) > 1) AS t")
    expect(twice == "0", f"{twice} keys were paid for twice")
    states = server.run("SELECT coalesce(string_agg(DISTINCT state::text, ' '), 'done') FROM semel.keys")
    expect(states == "done", f"records are {states}")
    payments, records = server.run("SELECT (SELECT count(*) FROM payments), (SELECT count(*) FROM semel.keys)").split("|")
    expect(payments == records, f"{payments} payments, but {records} records")
    return int(payments)


def main():
    options = examples.arguments("examples", kills=200, seed=examples.any_seed()).parse_args()
    chance = random.Random(options.seed)
    server = postgres_server.Server(options.binary, "max_connections = 60")
    address = free_address()
    program = Program(options.examples / "example_payments", server.url, address[1], 8)
    load = None
    try:
        program.start()
        load = Load(address, options.seed)
        for _ in range(options.kills):
            enough = load.answered + chance.randrange(1, 40)
            expect(wire.eventually(lambda: load.answered >= enough, 60.0), "the program answers no more")
            time.sleep(chance.random() * 0.005)  # so that it does not die just behind an answer every time
            program.kill()
            check_database(server)
            program.start()
        load.finish()
        expect(not load.wrong, f"odd answers: {load.wrong[:3]}")
        expect(all(len(bodies) == 1 for bodies in load.answers.values()), "a key got two different answers")
        for key, bodies in load.answers.items():
            again = pay(address, key, json.dumps({"key": key}).encode())
            expect(again.status == 201 and again.get("Idempotent-Replayed") == "true" and {bytes(again.body)} == bodies,
                   f"{key} is not replayed as it was answered")
        program.kill()
        payments = check_database(server)
        print(f"seed {options.seed}: {options.kills} kills, {load.answered} answers, {load.cut} requests cut off or refused, "
              f"{payments} payments of {payments} keys, 0 unknown")
    finally:
        if load is not None:
            load.stop.set()
        program.close()
        server.close()


if __name__ == "__main__":
    main()
