#!/usr/bin/env python3
"""What the gateway lets through, read by a second parser: differential.py --binary SEMEL [--seconds 15] [--seed N]

First the list of payloads.py, each with its own verdict, then for so many seconds mutations of it. Of every one:

- each connection to the upstream carries one request, whole or cut off, and Node's parser reads exactly that request in
  the bytes that arrived: method, target, body, and nothing behind it;
- what reached the upstream is what Node reads in the bytes that the client sent, in that order. If Node reads nothing
  there, we were less strict than it is, which only TOLERATED may be.

Needs node in PATH; without it the test is skipped (exit code 77).
"""
import argparse
import collections
import json
import random
import re
import shutil
import socket
import sys
import time

import gateway
import harness
import payloads
import raw_origin
import wire

# What Node refuses although RFC 9112 allows it, and we take.
TOLERATED = (
    re.compile(rb"^Transfer-Encoding:[ \t,]*chunked[ \t,]*\r$", re.M | re.I),  # empty members of the list, white space
    re.compile(rb"^Content-Length:[ \t]*\d+[ \t]+\r$", re.M | re.I),  # white space behind a length
)
# Methods that the gateway is told of and Node does not know.
FOREIGN = re.compile(rb"(?:^|\n)(?:%b) " % b"|".join(re.escape(method.encode()) for method in payloads.METHODS[2:]))
INSERTED = (b"\r", b"\n", b"\r\n", b" ", b"\t", b"\x00", b":", b",", b";", b"0", b"2", b"a", b"\x0b", b"\xff", b"-", b"_", b"\r\n ", b"\n\n",
            b"Content-Length: 2\r\n", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 0\r\n", b"0\r\n\r\n", b"Connection: close\r\n",
            b"GET /v1/y HTTP/1.1\r\nHost: a\r\n\r\n", b"Host: b\r\n", b"Expect: 100-continue\r\n", b"X: y\r\n", b"HTTP/1.0", b"HTTP/1.1")


def mutated(rng, data, others):
    """A few changes of one payload, some of them with parts of another one."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        at = rng.randrange(len(data) + 1)
        size = rng.choice((1, 1, 2, 4, 9, 30))
        kind = rng.randrange(7)
        if kind <= 1:
            data[at:at] = rng.choice(INSERTED)
        elif kind == 2:
            del data[at:at + size]
        elif kind == 3 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 4:
            data[at:at] = data[at:at + size]
        elif kind == 5:
            lines = bytes(data).split(b"\r\n")
            one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            data = bytearray(b"\r\n".join(lines))
        else:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            data[at:at + size] = other[begin:begin + size]
    return bytes(data)


def origin_form(target):
    return re.sub(r"^https?://[^/?]*", "", target, flags=re.I) or "/"


class Trial:
    """The gateway between a client and an upstream that writes everything down."""

    def __init__(self, binary):
        self.origin = raw_origin.RawOrigin()
        methods = json.dumps(payloads.METHODS).replace("$", "$$")  # the configuration is a template
        config = harness.CONFIG.replace("[server]\n", f"[server]\nmethods = {methods}\n")
        self.semel = gateway.Gateway(binary, config + harness.ROUTE, upstream="%s:%d" % self.origin.address)
        self.node = raw_origin.Node()
        self.semel.start()

    def close(self):
        self.semel.close()
        self.origin.close()
        self.node.close()

    def send(self, data):
        """(statuses of the replies, what the upstream got on each connection). The client sends no more after it."""
        with self.semel.connect() as client:
            try:
                client.send(data)
                client.sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # refused already
            told = client.wait_closed()
        return self.statuses(told), self.origin.take()

    @staticmethod
    def statuses(told):
        found = []
        while told:
            status = re.match(rb"HTTP/1\.1 (\d{3}) ", told)
            end = told.find(b"\r\n\r\n")
            if not status or end < 0:
                raise AssertionError(f"not an answer: {told[:200]!r}")
            length = re.search(rb"\r\nContent-Length: (\d+)\r\n", told[:end + 2])
            found.append((int(status[1]), b"\r\nConnection: close\r\n" in told[:end + 2]))
            told = told[end + 4 + (int(length[1]) if length else 0):]
        return found

    def forwarded(self, raw):
        """The whole request that Node reads in what the upstream got, or None if it was cut off."""
        requests, error = self.node.read(raw)
        if error is None and len(requests) == 1 and requests[0][3]:
            return requests[0][:3]
        if error == "HPE_INVALID_EOF_STATE" and not any(complete for *_, complete in requests):
            return None
        raise AssertionError(f"the upstream got {raw!r}, in which Node reads {requests} and then {error}")

    def check(self, payload):
        """One of the list."""
        answers, seen = self.send(payload.data)
        first, closed = answers[0] if answers else (0, True)
        if payload.verdict == payloads.TAKEN:
            if first != 200 or len(seen) != 1:
                raise AssertionError(f"answered {answers}, seen {seen}")
            self.check_taken(payload, seen[0])
        elif payload.verdict == payloads.UNFINISHED and not answers and not seen:
            pass
        elif first < 400 or seen or (payload.verdict == payloads.REFUSED and not closed):
            raise AssertionError(f"answered {answers}, seen {seen}")

    def check_taken(self, payload, raw):
        got = wire.Message("", [])
        if payload.known:
            got = self.forwarded(raw)
        else:  # by our own reading; Node's parser knows the methods of its list only
            start, _, rest = raw.partition(b" ")
            got = self.forwarded(b"PUT " + rest)
            got = got and (start.decode(), *got[1:])
        if got != (payload.method, payload.target, payload.body):
            raise AssertionError(f"the upstream got {got}")

    def check_any(self, data):
        """A mutation; how it ended."""
        answers, seen = self.send(data)
        known = re.compile(rb"^(GET|PUT|POST|PATCH|DELETE|OPTIONS|HEAD|PROPFIND|M-SEARCH) ")
        if any(raw and not known.match(raw) for raw in seen):
            return "method unknown to Node"
        there = [one for one in map(self.forwarded, filter(None, seen)) if one is not None]
        meant, error = self.node.read(data)
        meant = [(method, origin_form(target), body) for method, target, body, complete in meant if complete]
        if is_part(there, meant):
            return "taken" if there else "refused" if answers else "incomplete"
        if error == "UPGRADE" and there[:len(meant)] == meant:  # we do not agree to it, and go on as we were
            return "an upgrade"
        if error == "HPE_INVALID_METHOD" and FOREIGN.search(data):  # answered without the upstream; Node reads no further
            return "method unknown to Node"
        if error and any(known_case.search(data) for known_case in TOLERATED):
            return "less strict than Node, as meant"
        raise AssertionError(f"the upstream got {there}, Node reads {meant} and then {error}; answers {answers}")


def is_part(part, whole):
    rest = iter(whole)
    return all(one in rest for one in part)


def run_list(trial):
    failed = 0
    made = payloads.payloads()
    for payload in made:
        try:
            trial.check(payload)
        except (AssertionError, wire.Silent, OSError) as trouble:
            failed += 1
            print(f"FAILED: {payload.verdict}: {payload.name}\n  sent {payload.data[:400]!r}\n  {str(trouble)[:600]}\n")
    ended = collections.Counter(payload.verdict for payload in made)
    print(f"{len(made) - failed} payloads as they should be, {failed} not: {dict(ended)}")
    return failed


def run_mutations(trial, seed, seconds):
    rng = random.Random(seed)
    others = [payload.data for payload in payloads.payloads() if len(payload.data) < 1000]
    ended, failed = collections.Counter(), 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and failed < 5:
        number = sum(ended.values())
        data = re.sub(rb"payload-\d+", b"mutation-%d" % number, mutated(rng, rng.choice(others), others))
        try:
            ended[trial.check_any(data)] += 1
        except (AssertionError, wire.Silent, OSError) as trouble:
            failed += 1
            ended["failed"] += 1
            print(f"FAILED: mutation {number} of seed {seed}\n  sent {data!r}\n  {str(trouble)[:900]}\n")
    print(f"seed {seed}: {sum(ended.values())} mutations in {seconds:g} s: {dict(ended)}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    if shutil.which("node") is None:
        harness.skip("node is not in PATH")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    trial = Trial(options.binary)
    try:
        failed = run_list(trial) + run_mutations(trial, seed, options.seconds)
        code = trial.semel.stop()
        if code != 0:
            failed += 1
            print(f"semel ended with {code}:\n{trial.semel.stderr()}")
    finally:
        trial.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
