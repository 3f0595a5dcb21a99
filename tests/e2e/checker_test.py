#!/usr/bin/env python3
"""The checker finds what it is there to find: a sound history passes, and each planted fault is named.

Every fault is one that a gateway with a plausible mistake would leave behind.
"""
import copy
import unittest

import checker

FIELDS = [["Location", ["/effects/1"]]]


def effect(request, scope="alice", key="k1", attempt=1, nonce="n1", body="b1", what="effect"):
    return {"what": what, "request": request, "scope": scope, "key": key, "attempt": attempt, "nonce": nonce,
            "body": body}


def call(request, at, kind="ok", scope="alice", key="k1", body="b1", **more):
    record = {"request": request, "scope": scope, "key": key, "body": body, "invoked": at, "ended": at + 0.5,
              "kind": kind, "status": 201, "replayed": False}
    if kind == "ok":
        record.update({"digest": "d1", "nonce": "n1", "fields": FIELDS})
    record.update(more)
    return record


def refused(request, at, problem, status=409, **more):
    return call(request, at, "problem", problem=problem, status=status, **more)


# alice's k1 runs, is replayed, is reused; bob's k1 is his own; k2 is released once, then runs; k3 is cut off.
EFFECTS = [effect("r1"), effect("r5", scope="bob", nonce="n2"),
           effect("r6", key="k2", nonce=None, body="b2", what="refused"),
           effect("r7", key="k2", nonce="n3", body="b2", attempt=2), effect("r8", key="k3", nonce="n4", body="b3")]
CALLS = [call("r1", 1), refused("r2", 1, "in-flight"), call("r3", 3, replayed=True),
         refused("r4", 3, "key-reused", 422, body="other"), call("r5", 4, scope="bob", digest="d2", nonce="n2"),
         call("r6", 5, "refused", key="k2", body="b2", status=503),
         call("r7", 6, key="k2", body="b2", digest="d3", nonce="n3"), call("r8", 7, "lost", key="k3", body="b3"),
         refused("r9", 8, "in-flight", key="k3", body="b3"),
         refused("r10", 9, "outcome-unknown", key="k3", body="b3"),
         call("r11", 20, replayed=True), refused("r12", 20, "key-reused", 422, body="other"),
         call("r13", 20, scope="bob", digest="d2", nonce="n2", replayed=True),
         call("r14", 20, key="k2", body="b2", digest="d3", nonce="n3", replayed=True),
         refused("r15", 20, "outcome-unknown", key="k3", body="b3")]


class CheckerTest(unittest.TestCase):
    def setUp(self):
        self.effects = copy.deepcopy(EFFECTS)
        self.calls = copy.deepcopy(CALLS)

    def of(self, request):
        return next(record for record in self.calls if record["request"] == request)

    def found(self):
        return {invariant for invariant, *_ in checker.check(self.effects, self.calls, last_fault=10, seconds=6)}

    def test_a_sound_history_passes(self):
        """Nothing is found where nothing is wrong."""
        self.assertEqual(checker.check(self.effects, self.calls, last_fault=10, seconds=6), [])

    def test_a_second_effect(self):
        """A retry on a dead connection, or a claim lost in a crash: the request ran twice."""
        self.effects.append(effect("r3", nonce="n9", attempt=2))
        self.assertIn("I1", self.found())

    def test_another_status(self):
        """A replay with the status of today."""
        self.of("r3")["status"] = 200
        self.assertIn("I2", self.found())

    def test_another_body(self):
        """A replay with a byte missing."""
        self.of("r3")["digest"] = "other"
        self.assertIn("I2", self.found())

    def test_other_fields(self):
        """A replay that forgot a stored field."""
        self.of("r3")["fields"] = []
        self.assertIn("I2", self.found())

    def test_an_answer_forgotten(self):
        """Acknowledged before it was durable: after the restart nobody knows."""
        self.calls[self.calls.index(self.of("r11"))] = refused("r11", 20, "outcome-unknown")
        self.assertIn("I3", self.found())

    def test_an_answer_that_runs_again(self):
        """Forgotten altogether: the request ran again and got an answer of its own."""
        self.of("r11").update({"digest": "d9", "nonce": "n9", "replayed": False})
        self.effects.append(effect("r11", nonce="n9"))
        self.assertLessEqual({"I1", "I2", "I3"}, self.found())

    def test_an_answer_without_an_effect(self):
        """Made up, or of an effect that was never recorded."""
        del self.effects[0]
        self.assertIn("I4", self.found())

    def test_the_answer_of_another_key(self):
        """Late bytes on an idle connection, given to the next request."""
        self.of("r7").update({"nonce": "n1", "digest": "d1"})
        self.assertIn("I4", self.found())

    def test_forwarded_although_told_otherwise(self):
        """503 or 409 to the client, and the request went out all the same."""
        for request in ("r2", "r4", "r3"):
            self.setUp()
            self.effects.append(effect(request, attempt=2, nonce=None, what="refused"))
            self.assertIn("I5", self.found())

    def test_the_answer_of_another_request(self):
        """A reused key was answered with the first request's result."""
        self.calls[self.calls.index(self.of("r4"))] = call("r4", 3, body="other", replayed=True)
        self.assertIn("I6", self.found())

    def test_a_reused_key_that_is_not_refused(self):
        """In-flight was looked at before the fingerprint."""
        self.of("r4")["problem"] = "in-flight"
        self.assertIn("I6", self.found())

    def test_the_answer_of_another_tenant(self):
        """The scope was left out of the key."""
        self.of("r13").update({"nonce": "n1", "digest": "d1"})
        self.assertLessEqual({"I7", "I2"}, self.found())

    def test_an_endless_conflict(self):
        """A claim that nobody holds and nobody frees."""
        self.of("r15")["problem"] = "in-flight"
        self.assertIn("I8", self.found())

    def test_settled_too_late(self):
        """In-flight for longer than the lease and then some."""
        self.of("r15")["ended"] = 40
        self.assertIn("I8", self.found())

    def test_numbers_that_do_not_grow(self):
        """A fence that was lost with the record."""
        self.effects[3]["attempt"] = 1
        self.assertIn("I10", self.found())


if __name__ == "__main__":
    unittest.main()
