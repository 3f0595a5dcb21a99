"""Clients that write down what they asked and what they heard, for the checker (checker.py)."""
import dataclasses
import json
import os
import threading
import time

import checker
import origin
import wire

STORED = ("Content-Type", "Location", "X-Nonce", "Idempotency-Expires")
SETTLERS = 8


@dataclasses.dataclass(frozen=True)
class Operation:
    """What one key is meant for. Retries are the same operation; another body under the key is another one."""

    scope: str
    key: str
    body: bytes
    target: str = "/hold/effects"

    @property
    def route(self):
        return self.target.split("/")[1]


class Journal:
    """A line per finished call. Times are of one monotonic clock. Other programs may write to the same file."""

    def __init__(self, path):
        self.path = path
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.lock = threading.Lock()
        self.next_request = 0

    def request_id(self):
        with self.lock:
            self.next_request += 1
            return f"r{self.next_request}"

    def write(self, record):
        os.write(self.file, json.dumps(record).encode() + b"\n")

    def records(self):
        """In the order of their ends."""
        return sorted(origin.read_records(self.path), key=lambda record: record["ended"])


def heard(reply):
    """What a reply says, as a record."""
    said = {"status": reply.status, "replayed": reply.get("Idempotent-Replayed") == "true"}
    if reply.get("Content-Type") == "application/problem+json":
        problem = json.loads(reply.body)
        return {**said, "kind": "problem", "problem": problem["type"].rpartition(":")[2], "retry": problem["retry"]}
    kind = "ok" if reply.status < 300 else "refused"
    return {**said, "kind": kind, "digest": origin.digest(reply.body), "nonce": reply.get("X-Nonce"),
            "fields": [[name, reply.all(name)] for name in STORED]}


class Caller:
    """One connection at a time, opened again when it breaks."""

    def __init__(self, address, journal, seconds=15.0):
        self.address = address
        self.journal = journal
        self.seconds = seconds
        self.connection = None

    def call(self, operation, extra=()):
        """Sends the operation once and writes down what came of it; the record."""
        request = self.journal.request_id()
        record = {"request": request, "scope": operation.scope, "key": operation.key,
                  "body": origin.digest(operation.body), "node": "%s:%d" % self.address, "route": operation.route, "invoked": time.monotonic()}
        try:
            if self.connection is None:
                self.connection = wire.Wire(self.address, self.seconds)
            fields = [("Authorization", operation.scope), ("Idempotency-Key", operation.key), ("X-Request", request)]
            reply = self.connection.ask("POST", operation.target, [*fields, *extra], operation.body)
            record.update(heard(reply))
            if reply.get("Connection") == "close":
                self.hang_up()
        except (wire.Closed, wire.Cut, wire.Silent, OSError) as error:
            record.update({"kind": "lost", "why": type(error).__name__})
            self.hang_up()
        record["ended"] = time.monotonic()
        self.journal.write(record)
        return record

    def hang_up(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def is_terminal(record):
    """Whether the caller knows what became of its operation, or that nobody can know, or that the key is another's. Where an
    unknown outcome may be retried, it is not the last word."""
    return checker.settles(record)


def call_until_terminal(caller, operation, seconds, extra=()):
    """Retries as the replies advise; the last record, terminal unless time ran out."""
    deadline = time.monotonic() + seconds
    while True:
        record = caller.call(operation, extra)
        if is_terminal(record) or time.monotonic() > deadline:
            return record
        time.sleep(0.05)


def settle(address, journal, operations, seconds, clients=SETTLERS):
    """Calls every operation until it is terminal, or time is up."""
    waiting = list(operations)
    lock = threading.Lock()

    def run():
        caller = Caller(address, journal)
        while True:
            with lock:
                if not waiting:
                    break
                operation = waiting.pop()
            call_until_terminal(caller, operation, seconds)
        caller.hang_up()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
