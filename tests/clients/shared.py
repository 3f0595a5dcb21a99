#!/usr/bin/env python3
"""Two services share keys, one behind the gateway and one with the middleware: shared.py --binary SEMEL --app CMD

What one of them has answered the other replays, byte for byte; a key that one has taken is refused to another request by the
other; and while one runs, the other waits.
"""
import concurrent.futures
import pathlib
import sys
import tempfile
import time
import unittest

import apps  # first: it says where the modules of tests/e2e are

import origin
import programs
import wire

BODY = b'{"amount": 1.0, "to": "\xc3\xa9"}'
SAME = b'{"to":"\\u00e9","amount":1}'
BYTES = bytes(range(256))


def ask(address, key, target="/hold/pay?x=1", body=BODY, extra=(("Content-Type", "application/json"),)):
    fields = [("Authorization", "Bearer alice"), ("Idempotency-Key", key), *extra]
    return wire.ask(address, "POST", target, fields, body, 20)


def kept(reply):
    left_out = {"date", "connection", "keep-alive", "via", "idempotent-replayed", "content-length", "transfer-encoding"}
    return reply.status, reply.body, sorted((name.lower(), value) for name, value in reply.fields if name.lower() not in left_out)


class Shared(unittest.TestCase):
    options = None

    @classmethod
    def enter(cls, context):
        entered = context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)
        return entered

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enter(tempfile.TemporaryDirectory(prefix="semel-shared-"))
        home = pathlib.Path(cls.folder)
        cls.origin = cls.enter(origin.Origin(programs.free_port(), home / "origin.jsonl"))
        cls.gateway = apps.Semel(cls.options.binary, apps.BESIDE + apps.API, upstream="%s:%d" % cls.origin.address, lease="1s")
        cls.enter(cls.gateway)
        cls.app = cls.enter(apps.App(cls.options.app, cls.gateway.api, cls.origin.address))
        cls.both = ((cls.gateway.address, cls.app.address), (cls.app.address, cls.gateway.address))

    def effects(self, key):
        return sum(record["key"] == key for record in self.origin.records())

    def test_the_answer_of_one_is_replayed_by_the_other(self):
        for number, (one, other) in enumerate(self.both):
            first, again = ask(one, f"replay-{number}"), ask(other, f"replay-{number}", body=SAME)
            self.assertEqual(first.status, 201)
            self.assertEqual(again.get("Idempotent-Replayed"), "true")
            self.assertEqual(kept(again), kept(first))
            self.assertEqual(self.effects(f"replay-{number}"), 1)

    def test_bytes_that_are_not_json_are_the_same_request_too(self):
        for number, (one, other) in enumerate(self.both):
            ask(one, f"bytes-{number}", body=BYTES, extra=())
            self.assertEqual(ask(other, f"bytes-{number}", body=BYTES, extra=()).get("Idempotent-Replayed"), "true")
            self.assertEqual(ask(other, f"bytes-{number}", body=BYTES[1:], extra=()).status, 422)

    def test_a_key_of_one_is_refused_to_another_request_by_the_other(self):
        for number, (one, other) in enumerate(self.both):
            ask(one, f"reused-{number}")
            for refused in (ask(other, f"reused-{number}", body=b"{}"), ask(other, f"reused-{number}", "/hold/pay?x=2")):
                self.assertEqual(refused.status, 422)
            self.assertEqual(self.effects(f"reused-{number}"), 1)

    def test_while_one_runs_the_other_waits(self):
        for number, (one, other) in enumerate(self.both):
            slow = [("Content-Type", "application/json"), ("X-Delay-Ms", "700")]
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                first = pool.submit(ask, one, f"running-{number}", "/wait/pay", BODY, slow)
                time.sleep(0.3)
                waited = ask(other, f"running-{number}", "/wait/pay")
            self.assertEqual(kept(waited), kept(first.result()))
            self.assertEqual(self.effects(f"running-{number}"), 1)

    def test_namespaces_stay_apart(self):
        answers = [ask(address, "apart", target) for address, target in
                   ((self.gateway.address, "/hold/a"), (self.app.address, "/own/a"))]
        self.assertEqual([answer.get("Idempotent-Replayed") for answer in answers], [None, None])


if __name__ == "__main__":
    Shared.options = apps.parsed(apps.arguments(__doc__))
    unittest.main(argv=sys.argv[:1])
