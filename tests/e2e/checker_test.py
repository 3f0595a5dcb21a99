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
NODE = "127.0.0.1:1"
FAULTS = [checker.fault(checker.DEATH, "killed", 7.2, 7.3, NODE), checker.fault(checker.AWAY, "not there", 7.3, 7.9, NODE)]


class CheckerTest(unittest.TestCase):
    def setUp(self):
        self.effects = copy.deepcopy(EFFECTS)
        self.calls = [{"node": NODE, **record} for record in copy.deepcopy(CALLS)]
        self.faults = copy.deepcopy(FAULTS)
        self.clients = 8

    def of(self, request):
        return next(record for record in self.calls if record["request"] == request)

    def found(self):
        return {invariant for invariant, *_ in self.check()}

    def check(self):
        return checker.check(self.effects, self.calls, 10, 6, self.faults, self.clients)

    def replace(self, request, record):
        self.calls[self.calls.index(self.of(request))] = {"node": NODE, **record}

    def test_a_sound_history_passes(self):
        """Nothing is found where nothing is wrong, whether or not the faults are known."""
        self.assertEqual(self.check(), [])
        self.faults = None
        self.assertEqual(self.check(), [])

    def test_unknown_without_a_fault(self):
        """The gateway says that nobody knows, and nothing had happened to it."""
        self.faults = []
        self.assertEqual(self.found(), {"I11", "I12"})

    def test_unknown_to_everybody(self):
        """Whoever asks is told that nobody knows, from the first on: nothing is ever answered."""
        self.effects = [effect("r1")]
        self.calls = [{"node": NODE, **refused("r1", 1, "outcome-unknown", 502)},
                      {"node": NODE, **refused("r11", 20, "outcome-unknown")}]
        self.assertEqual(self.found(), {"I11"})

    def test_a_fault_of_another_gateway(self):
        """Another one was killed meanwhile."""
        self.faults[0]["node"] = "127.0.0.1:2"
        self.assertEqual(self.found(), {"I11"})

    def test_a_fault_at_another_time(self):
        """The kill came when the call had long been lost."""
        self.faults[0].update({"from": 12, "until": 12.1})
        self.assertEqual(self.found(), {"I11"})

    def test_who_was_answered_was_not_cut(self):
        """A kill is no reason for those who had heard an answer; nor for those who found nobody."""
        self.of("r8")["why"] = "ConnectionRefusedError"
        self.assertEqual(self.found(), {"I11"})
        self.replace("r8", call("r8", 7, "refused", key="k3", body="b3", status=503))
        self.assertEqual(self.found(), {"I11"})

    def test_unknown_though_nothing_was_forwarded(self):
        """The store is down, and a request that never went out is said to be of unknown outcome."""
        self.replace("r8", refused("r8", 7, "outcome-unknown", 502, key="k3", body="b3"))
        self.faults[0].update({"part": checker.STORE, "node": None})
        self.assertEqual(self.check(), [])
        self.effects = [record for record in self.effects if record["key"] != "k3"]
        self.assertEqual(self.found(), {"I11"})
        self.faults[0]["part"] = checker.UPSTREAM  # then it may have gone out, and not arrived
        self.assertEqual(self.check(), [])

    def test_more_unknown_than_were_under_way(self):
        """One kill, and more keys are unknown than there were clients."""
        for number in range(20, 30):
            key = f"k{number}"
            self.calls += [{"node": NODE, **call(f"r{number}", 7, "lost", key=key)},
                           {"node": NODE, **refused(f"r{number}a", 20, "outcome-unknown", key=key)}]
        self.assertEqual(self.found(), {"I11"})
        self.clients = 11
        self.assertEqual(self.check(), [])

    def test_a_call_without_a_word(self):
        """The gateway closes the connection of somebody whom it had forwarded, though it only restarts in good order."""
        self.replace("r8", call("r8", 7, "lost", key="k9", body="b3"))
        self.calls = [record for record in self.calls if record["key"] != "k3"]
        self.calls.append({"node": NODE, **call("r16", 20, key="k9", body="b3", digest="d4", nonce="n4", replayed=True)})
        self.effects[-1]["key"] = "k9"
        self.assertEqual(self.check(), [])
        self.faults = [checker.fault(checker.LEAVING, "leaves", 7, 7.4, NODE)]
        self.assertEqual(self.found(), {"I12"})
        self.effects[-1]["request"] = "r16a"  # it was not this call's
        self.assertEqual(self.check(), [])
        self.faults = []
        self.assertEqual(self.found(), {"I12"})

    def test_reused_by_nobody(self):
        """422 to the only request that ever used the key."""
        self.replace("r13", refused("r13", 20, "key-reused", 422, scope="bob"))
        self.assertLessEqual({"I3", "I6", "I8"}, self.found())

    def test_a_key_that_is_nobodys(self):
        """Two requests under one key, and each is told that it is the other's."""
        self.calls = [{"node": NODE, **refused(f"r2{body}", 20, "key-reused", 422, key="k7", body=body)} for body in "xy"]
        self.assertEqual(self.found(), {"I8"})

    def test_a_second_effect(self):
        """A retry on a dead connection, or a claim lost in a crash: the request ran twice."""
        self.effects.append(effect("r3", nonce="n9", attempt=2))
        self.assertIn("I1", self.found())

    def test_a_second_effect_where_it_may_be(self):
        """A route that retries runs again what a fault cut, and nothing else."""
        self.effects.append(effect("r9", key="k3", nonce="n9", body="b3", attempt=2))
        self.assertEqual(self.found(), {"I1", "I5"})
        for record in self.calls:
            if record["key"] == "k3":
                record["route"] = "retry"
        self.assertEqual(self.found(), {"I5"})
        self.effects.append(effect("r10", key="k3", nonce="n10", body="b3", attempt=3))
        self.assertEqual(self.found(), {"I1", "I5"})

    def test_an_unknown_outcome_that_may_be_retried(self):
        """It is not the last word."""
        self.of("r15")["retry"] = "same-key"
        self.assertEqual(self.found(), {"I8"})

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

    def test_an_attempt_that_overtakes_another(self):
        """Only a process that was stopped past its lease may be so late, and even that does not use a number again."""
        self.effects[2]["attempt"], self.effects[3]["attempt"] = 2, 1
        self.assertIn("I10", self.found())
        self.faults.append(checker.fault(checker.MACHINE, "stopped", 6.1, 7.5, "127.0.0.1:2"))
        self.assertIn("I10", self.found(), "it was another process that was stopped")
        self.faults[-1]["node"] = NODE
        self.assertNotIn("I10", self.found())
        self.faults[-1]["until"] = 6.3
        self.assertIn("I10", self.found(), "its lease had not lapsed")
        self.faults[-1]["until"], self.effects[2]["attempt"] = 7.5, 1
        self.assertIn("I10", self.found(), "two attempts with one number")


if __name__ == "__main__":
    unittest.main()
