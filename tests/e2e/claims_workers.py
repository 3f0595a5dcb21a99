#!/usr/bin/env python3
"""Workers of a queue that die: 200 of them are killed under load, with `retry`, and others sleep through their lease and wake
as zombies. No result is overwritten, attempts grow by one, every zombie is fenced, and every answer is as the API is described.
--binary SEMEL --build FOLDER [--kills N] [--seed N]"""
import collections
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

import claims_api
import harness
import postgres_server

WORKERS = 12
KEYS_AT_ONCE = 60
KEYS_A_SECOND = 30
BEGUN = time.monotonic()
LEASE_MS = 400
KILLS = 200
SEED = random.randrange(1 << 32)


class Answers:
    """Written down at once: the process that heard them is killed."""

    def __init__(self, path):
        self.out = open(path, "ab", buffering=0)

    def append(self, line):
        self.out.write(line.encode() + b"\n")


class Worker:
    """A process that takes keys from a list, as a consumer of a queue does, and writes down what it heard."""

    def __init__(self, book, addresses, number):
        self.path = book / f"{number}.jsonl"
        self.answers = book / f"{number}.answers"
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                claims_api.ANSWERS = Answers(self.answers)
                work(self.path, addresses, random.Random(f"{SEED}-{number}"))
                status = 0
            finally:
                os._exit(status)  # whatever happens: this process is a copy of the test

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def lines(self):
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def work(path, addresses, chance):
    with open(path, "ab", buffering=0) as out:
        def note(**what):
            out.write(json.dumps(what).encode() + b"\n")

        callers = [claims_api.Caller(address) for address in addresses]
        while True:
            caller = chance.choice(callers)
            newest = int((time.monotonic() - BEGUN) * KEYS_A_SECOND)  # the queue moves on
            key = f"key-{newest + chance.randrange(KEYS_AT_ONCE)}"
            owner = claims_api.fresh_owner()
            note(at="asks", key=key, owner=owner)
            claim = caller.claim(key, owner, lease_ms=LEASE_MS, on_unknown="retry", payload={"key": key})
            note(at="claim", key=key, owner=owner, outcome=claim.outcome, attempt=claim.attempt,
                 body=claim.result and claim.result["body"])
            if claim.outcome != "granted":
                continue
            zombie = chance.random() < 0.15
            time.sleep(LEASE_MS / 1000 * 1.5 if zombie else chance.random() * 0.03)
            end = "/release" if not zombie and chance.random() < 0.1 else "/complete"
            more = {} if end == "/release" else {"result": {"body": f"{key} by {claim.attempt}"}}
            note(at="ends", key=key, attempt=claim.attempt, zombie=zombie, end=end)
            caller = chance.choice(callers)
            answer = caller.end(end, key, claim.fence, **more)
            note(at="end", key=key, attempt=claim.attempt, zombie=zombie, end=end, outcome=answer.outcome)


def killed(addresses, kills, chance):
    """What all workers have written down, when so many of them have been killed."""
    with tempfile.TemporaryDirectory(prefix="semel-workers-") as folder:
        book = pathlib.Path(folder)
        every = [Worker(book, addresses, number) for number in range(WORKERS)]
        alive = list(every)
        try:
            for _ in range(kills):
                time.sleep(chance.random() * 0.08)
                alive.pop(chance.randrange(len(alive))).kill()
                worker = Worker(book, addresses, len(every))
                every.append(worker)
                alive.append(worker)
            time.sleep(1)
        finally:
            for worker in alive:
                worker.kill()
        for worker in every:
            heard = worker.answers.read_text(encoding="utf-8").splitlines() if worker.answers.exists() else []
            claims_api.ANSWERS += [line for line in heard if line.endswith("}")]  # of the last it may have written a part
        return [worker.lines() for worker in every]


class Workers(harness.Case):
    kills = KILLS

    def judge(self, books, caller, kills):
        lines = [line for book in books for line in book]
        grants = collections.defaultdict(list)
        bodies = collections.defaultdict(set)
        completed = collections.defaultdict(set)
        for line in lines:
            if line["at"] == "claim" and line["outcome"] == "granted":
                grants[line["key"]].append(line["attempt"])
            if line["at"] == "claim" and line["outcome"] == "done":
                bodies[line["key"]].add(line["body"])
            if line["at"] == "end" and line["end"] == "/complete" and line["outcome"] == "completed":
                completed[line["key"]].add(line["attempt"])
        # A worker that was killed while it asked may have been granted the key, and nobody heard.
        unheard = collections.Counter()
        for book in books:
            if book and book[-1]["at"] == "asks":
                unheard[book[-1]["key"]] += 1
        for key, attempts in grants.items():
            self.assertEqual(len(attempts), len(set(attempts)), f"{key} was granted twice with one number")
            self.assertLessEqual(max(attempts) - len(attempts), unheard[key], f"{key}: attempts do not grow by one: {sorted(attempts)}")
        for key, said in bodies.items():
            self.assertEqual(len(said), 1, f"the result of {key} was overwritten")
        for key, attempts in completed.items():
            self.assertEqual(len(attempts), 1, f"{key} was completed by {attempts}")
            self.assertLessEqual(bodies[key], {f"{key} by {max(attempts)}"})
            self.assertEqual(caller.get(key).result["body"], f"{key} by {max(attempts)}")
        zombies = [line for line in lines if line["at"] == "end" and line["zombie"]]
        self.assertEqual({line["outcome"] for line in zombies}, {"fenced"})
        taken_over = sum(max(attempts) > 1 for attempts in grants.values())
        print(f"seed {SEED}: {len(lines)} lines, {len(grants)} keys, {len(completed)} completed, {taken_over} in several attempts, "
              f"{len(zombies)} zombies, {sum(unheard.values())} claims unheard")
        self.assertGreater(len(completed), kills)
        self.assertGreater(taken_over, kills // 10)
        self.assertGreater(len(zombies), kills // 20)
        wrong, count = claims_api.validate()
        self.assertEqual(wrong, "")
        self.assertGreater(count, len(completed))
        claims_api.ANSWERS.clear()

    def test_on_the_embedded_store(self):
        semel = claims_api.gateway(self).start()
        self.judge(killed([semel.api], self.kills, random.Random(SEED)), semel.caller, self.kills)

    def test_on_two_gateways(self):
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        nodes = [claims_api.gateway(self, store=server.url).start() for _ in range(2)]
        kills = self.kills // 2
        self.judge(killed([node.api for node in nodes], kills, random.Random(SEED)), nodes[0].caller, kills)


if __name__ == "__main__":
    for name, convert in (("--kills", lambda text: setattr(Workers, "kills", int(text))),
                          ("--seed", lambda text: globals().update(SEED=int(text)))):
        if name in sys.argv:
            place = sys.argv.index(name)
            convert(sys.argv[place + 1])
            del sys.argv[place:place + 2]
    harness.run(build=claims_api.prepare)
