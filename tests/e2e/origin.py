#!/usr/bin/env python3
"""An origin that remembers: origin.py --port PORT --log FILE [--host ADDRESS]

It is not idempotent. Each POST has its effect once per arrival: a line in FILE, synced to disk, and only then an answer
with a fresh nonce. What the file says is what happened; the checker (checker.py) compares it with what clients saw.

A request may ask for trouble: X-Delay-Ms waits before the effect, X-Refuse answers 503 without one, X-Reply-Bytes makes the
answer that long, X-Pause-Ms waits before the body is read.

GET /outcome?scope=SCOPE&key=KEY says what became of a key: the answer that it got, or 404.
"""
import argparse
import functools
import hashlib
import json
import os
import secrets
import sys
import threading
import time
import urllib.parse

import programs
import server


class Recorder:
    """Appends lines to a file; a line is on disk when write() returns."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.lock = threading.Lock()
        self.seq = 0
        self.answers = {}  # (scope, key) → the last one that was given

    def write(self, record):
        with self.lock:
            self.seq += 1
            os.write(self.file, json.dumps({"seq": self.seq, **record}).encode() + b"\n")
            os.fsync(self.file)
            return self.seq


def digest(data):
    return hashlib.sha256(data).hexdigest()


def answer(recorder, request):
    """The whole reply to a request."""
    if request.target.startswith("/outcome?"):
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(request.target).query)
        return recorder.answers.get((asked["scope"][0], asked["key"][0]), server.Reply(404))
    if request.method != "POST":
        return server.Reply(200, [], b"alive")
    time.sleep(float(request.get("X-Delay-Ms", "0")) / 1000)
    record = {"scope": request.get("Authorization"), "key": request.get("Idempotency-Key"),
              "attempt": int(request.get("Idempotency-Attempt", "0")), "request": request.get("X-Request"),
              "body": digest(request.body), "at": time.monotonic()}
    if request.get("X-Refuse"):
        recorder.write({"what": "refused", **record})
        return server.Reply(503, [], b"nothing was done")
    nonce = secrets.token_hex(16)
    seq = recorder.write({"what": "effect", "nonce": nonce, **record})
    body = json.dumps({"seq": seq, "nonce": nonce}).encode().ljust(int(request.get("X-Reply-Bytes", "0")))
    fields = [("Content-Type", "application/json"), ("Location", f"/effects/{seq}"), ("X-Nonce", nonce)]
    reply = server.Reply(201, fields, body)
    recorder.answers[record["scope"], record["key"]] = reply
    return reply


def pause(head):
    time.sleep(float(head.get("X-Pause-Ms", "0")) / 1000)


class Origin(programs.Answering):
    """The origin as a process of its own, started."""

    def __init__(self, port, log, host=programs.HOST, program=None):
        """`program` does the same in a hurry (tests/proof/load/origin.cc)."""
        self.log = programs.path(log)
        folder = self.log.parent / "origin"
        folder.mkdir()
        command = [sys.executable, "-B", __file__, "--host", host, "--port", port, "--log", self.log]
        super().__init__((host, port), *([program, host, port, self.log] if program else command), folder=folder)
        self.start()

    def records(self):
        return read_records(self.log)


def read_records(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default=programs.HOST)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    behave = server.replies(functools.partial(answer, Recorder(options.log)), at_head=pause)
    server.Server(behave, options.host, options.port)
    threading.Event().wait()  # until somebody ends the process


if __name__ == "__main__":
    main()
