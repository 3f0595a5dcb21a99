#!/usr/bin/env python3
"""The programs that are the proof's load and origin write what those in Python write: load_test.py BUILD_FOLDER"""
import collections
import json
import pathlib
import sys
import tempfile
import threading
import time
import unittest

import proof

import callers
import checker
import oracle
import origin
import programs
import quick_load
import server
import wire

sys.dont_write_bytecode = True
PROGRAMS = pathlib.Path(sys.argv.pop() if len(sys.argv) > 1 else "build/dev").resolve() / "tests" / "proof"


def problem(status, name, retry):
    body = json.dumps({"type": f"urn:semel:problem:{name}", "retry": retry, "status": status}).encode()
    return server.Reply(status, [("Content-Type", "application/problem+json")], body)


ANSWER = server.Reply(201, [("Content-Type", "application/json"), ("Location", '/a"b'), ("X-Nonce", "n1"), ("X-Nonce", "n2"),
                            ("Idempotency-Expires", "caf\xe9")], b'{"a": 1}')
REPLAY = server.Reply(200, [("Idempotent-Replayed", "true"), ("X-Nonce", "n1")], b"again")
REPLIES = [ANSWER, REPLAY, server.Reply(503, [("Connection", "close")], b"refused"), problem(409, "in-flight", "same-key"),
           problem(409, "outcome-unknown", "never"), problem(502, "outcome-unknown", "same-key"),
           problem(422, "key-reused", "new-key"), problem(503, "store-unavailable", "same-key"),
           b"HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n", b"HTTP/1.1 200 Fine\r\nContent-Le",
           b"HTTP/1.1 200 Fine\r\nContent-Length: 9\r\n\r\nhalf", None]
PER_RUN = ("request", "key", "scope", "body", "route", "invoked", "ended", "node")


class InTurn:
    """Gives everybody the next reply, and remembers who got which."""

    def __init__(self, *replies):
        self.replies, self.given, self.requests = replies, {}, []
        self.lock = threading.Lock()

    def __call__(self, request):
        with self.lock:
            number = len(self.given) % len(self.replies)
            self.given[request.get("X-Request")] = number
            self.requests.append(request)
        return self.replies[number]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.journal = callers.Journal(self.folder / "calls.jsonl")

    def load(self, address, clients=4, routes=("hold", "wait"), seed="5"):
        made = quick_load.QuickLoad(PROGRAMS, [address], self.journal, seed, clients, (0,), routes)
        self.addCleanup(made.abandon)
        return made


class Records(Folder):
    def test_calls_are_written_as_python_writes_them(self):
        """Whatever is heard: answers, problems, and nothing; fields that come twice, and bytes that are not ASCII."""
        turn = InTurn(*REPLIES)
        with server.Server(server.replies(turn)) as stage:
            load = self.load(stage.address)
            load.start()
            self.assertTrue(wire.eventually(lambda: len(turn.given) > 6 * len(REPLIES), 30))
            load.stop()
            quick = self.journal.records()
            caller = callers.Caller(stage.address, self.journal)
            for _ in REPLIES:
                caller.call(callers.Operation("alice", "k", b"{}"))
            caller.hang_up()
        heard = collections.defaultdict(list)
        for record in self.journal.records():
            number = turn.given.get(record["request"])
            if number is None:  # its connection had ended with the reply before
                self.assertEqual(record["kind"], "lost")
                continue
            heard[number].append({name: value for name, value in record.items() if name not in PER_RUN})
        self.assertEqual(set(heard), set(range(len(REPLIES))))
        for records in heard.values():
            self.assertTrue(all(record == records[0] for record in records), records)
        self.assertTrue(all(set(PER_RUN) <= set(record) and record["invoked"] <= record["ended"] for record in quick))

    def test_the_clock_is_the_same(self):
        """A call lies between two moments of ours; nobody there is noted as Python notes it."""
        gone = programs.DeadPort()
        self.addCleanup(gone.close)
        before = time.monotonic()
        load = self.load(gone.address)
        load.start()
        self.assertTrue(wire.eventually(load.known, 30))
        load.stop()
        after = time.monotonic()
        records = self.journal.records()
        self.assertEqual({record["why"] for record in records}, {"ConnectionRefusedError"})
        self.assertTrue(before <= records[0]["invoked"] <= records[-1]["ended"] <= after)

    def test_a_problem_that_cannot_be_read_ends_the_run(self):
        turn = InTurn(server.Reply(500, [("Content-Type", "application/problem+json")], b"{"))
        with server.Server(server.replies(turn)) as stage:
            load = self.load(stage.address)
            with self.assertRaisesRegex(RuntimeError, "the load ended with"):
                load.start()
                wire.eventually(lambda: load.process.poll() is not None, 20)
                load.stop()


class Choice(Folder):
    def test_the_load_is_of_all_kinds(self):
        """New operations, the same again, another tenant's, another request's; some that the origin is to refuse."""
        turn = InTurn(ANSWER)
        with server.Server(server.replies(turn)) as stage:
            load = self.load(stage.address, routes=oracle.ALL_ROUTES)
            load.start()
            self.assertTrue(wire.eventually(lambda: len(turn.given) > 3000, 60))
            load.pause(10)
            self.assertTrue(stage.wait_idle(10))
            load.go_on()
            load.stop()
            asked = len(turn.given)
            load.settle(stage.address, 5)
        known = load.known()
        keys = collections.defaultdict(set)
        for operation in known:
            keys[operation.key].add((operation.scope, operation.body))
        self.assertEqual(asked + len(known), len(turn.given))
        self.assertEqual({operation.route for operation in known}, set(oracle.ALL_ROUTES))
        self.assertTrue(0.25 < len(keys) / asked < 0.45, f"{len(keys)} keys, {asked} calls")
        self.assertTrue(any(len({scope for scope, _ in uses}) == 2 for uses in keys.values()))
        self.assertTrue(any(len({body for _, body in uses}) == 2 for uses in keys.values()))
        refused = sum(request.get("X-Refuse") is not None for request in turn.requests[:asked])
        self.assertTrue(0.02 < refused / asked < 0.09, f"{refused} of {asked}")

    def test_settling_goes_on_until_it_is_settled(self):
        """And not a call longer."""
        turn = InTurn(problem(409, "in-flight", "same-key"), problem(502, "outcome-unknown", "same-key"), ANSWER)
        with server.Server(server.replies(InTurn(ANSWER))) as stage:
            load = self.load(stage.address, clients=1)
            load.start()
            wire.eventually(lambda: self.journal.path.stat().st_size > 0, 20)
            load.stop()
        operations = load.known()
        with server.Server(server.replies(turn)) as stage:
            load.settle(stage.address, 30)
        last = {}
        for record in self.journal.records():
            last[record["scope"], record["key"], record["body"]] = record
        self.assertTrue(all(checker.settles(record) for record in last.values()))
        self.assertEqual(sum(number == 2 for number in turn.given.values()), len(operations))


class Origins(Folder):
    def ask(self, made, target, fields, body=b"{}", method="POST"):
        names = [("Authorization", "alice"), ("Idempotency-Key", "k 1"), ("Idempotency-Attempt", "3"), ("X-Request", "r1")]
        return wire.ask(made.address, method, target, [*names, *fields], body)

    def talk(self, program):
        """What an origin answers and writes, without what chance and time made of it."""
        home = self.folder / ("quick" if program else "python")
        home.mkdir()
        with origin.Origin(programs.free_port(), home / "origin.jsonl", program=program) as made:
            replies = [self.ask(made, "/hold/effects", []), self.ask(made, "/hold/effects", [("X-Refuse", "yes")]),
                       self.ask(made, "/hold/effects", [("X-Reply-Bytes", "3000"), ("X-Delay-Ms", "20"), ("X-Pause-Ms", "20")]),
                       self.ask(made, "/", [], None, "GET"),
                       self.ask(made, "/outcome?scope=alice&key=k%201", [], None, "GET"),
                       self.ask(made, "/outcome?scope=bob&key=k%201", [], None, "GET")]
            records = made.records()
        nonces = [record.pop("nonce") for record in records if record["what"] == "effect"]
        self.assertEqual(len(set(nonces)), 2)
        self.assertTrue(all(record.pop("at") <= time.monotonic() for record in records))
        said = [(reply.status, [(name, value) for name, value in reply.fields if name != "X-Nonce"], len(reply.body))
                for reply in replies]
        self.assertEqual([reply.get("X-Nonce") for reply in replies], [nonces[0], None, nonces[1], None, nonces[1], None])
        self.assertEqual(json.loads(replies[2].body)["nonce"], nonces[1])
        return said, records

    def test_both_say_and_write_the_same(self):
        self.assertEqual(self.talk(PROGRAMS / quick_load.ORIGIN), self.talk(None))

    def test_each_arrival_has_its_line(self):
        """Many at once share a sync, and none a line."""
        made = origin.Origin(programs.free_port(), self.folder / "origin.jsonl", program=PROGRAMS / quick_load.ORIGIN)
        self.addCleanup(made.close)
        load = self.load(made.address, clients=16)
        load.start()
        self.assertTrue(wire.eventually(lambda: len(made.records()) > 1000, 60))
        load.stop()
        made.close()
        records, calls = made.records(), self.journal.records()
        self.assertEqual([record["seq"] for record in records], list(range(1, len(records) + 1)))
        self.assertEqual({record["request"] for record in records}, {call["request"] for call in calls})
        nonces = {record["nonce"]: record["request"] for record in records if record["what"] == "effect"}
        self.assertTrue(all(nonces[call["nonce"]] == call["request"] for call in calls if call["kind"] == "ok"))


if __name__ == "__main__":
    unittest.main()
