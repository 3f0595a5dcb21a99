#!/usr/bin/env python3
"""The client by itself, against an API that can be made to fail: client_test.py"""
import os
import threading
import time
import unittest

import paths  # noqa: F401
import semel
from fake_api import FakeApi


class Case(unittest.TestCase):
    def setUp(self):
        self.fake = FakeApi()
        self.addCleanup(self.fake.close)
        self.api = semel.Client(self.fake.url, "secret", lease=0.6, timeout=2.0)


class Once(Case):
    def test_runs_once_and_repeats_its_value(self):
        ran = []

        def work(attempt):
            ran.append(attempt.number)
            return {"id": 7, "of": ("a", "tuple")}

        first = self.api.once("k", work)
        self.assertEqual(first, {"id": 7, "of": ["a", "tuple"]})
        self.assertEqual(self.api.once("k", work), first)
        self.assertEqual(ran, [1])

    def test_bytes_come_back_as_bytes(self):
        data = bytes(range(256))
        self.assertEqual(self.api.once("k", lambda attempt: data), data)
        self.assertEqual(self.api.once("k", lambda attempt: b"other"), data)

    def test_another_payload_is_refused(self):
        self.api.once("k", lambda attempt: 1, payload={"amount": 5})
        with self.assertRaises(semel.KeyReused):
            self.api.once("k", lambda attempt: self.fail("it ran"), payload={"amount": 6})

    def test_a_running_key_is_told_with_the_time_to_come_again(self):
        held = self.api.begin("k")
        with self.assertRaises(semel.InFlight) as caught:
            self.api.once("k", lambda attempt: self.fail("it ran"))
        self.assertEqual(caught.exception.retry_after, 0.8)
        held.complete(semel.result_of("done"))
        self.assertEqual(self.api.once("k", lambda attempt: self.fail("it ran")), "done")

    def test_waiting_gets_the_result_of_the_one_that_runs(self):
        held = self.api.begin("k")
        threading.Timer(0.2, lambda: held.complete(semel.result_of("late"))).start()
        self.assertEqual(self.api.once("k", lambda attempt: self.fail("it ran"), wait=5), "late")

    def test_an_exception_leaves_the_outcome_unknown(self):
        with self.assertRaises(ZeroDivisionError):
            self.api.once("k", lambda attempt: 1 / 0)
        with self.assertRaises(semel.OutcomeUnknown):
            self.api.once("k", lambda attempt: self.fail("it ran"), on_unknown="hold")
        self.assertEqual(self.api.once("k", lambda attempt: attempt.number, on_unknown="retry"), 2)

    def test_what_json_cannot_say_is_unknown_not_lost(self):
        with self.assertRaises(TypeError):
            self.api.once("k", lambda attempt: object())
        self.assertEqual(self.fake.state("k"), "unknown")

    def test_no_effect_releases(self):
        def declined(attempt):
            raise semel.NoEffect("the account is closed")

        with self.assertRaises(semel.NoEffect):
            self.api.once("k", declined)
        self.assertEqual(self.fake.state("k"), "free")
        self.assertEqual(self.api.once("k", lambda attempt: attempt.number), 2)


class Leases(Case):
    def test_a_long_function_keeps_its_claim(self):
        self.assertEqual(self.api.once("k", lambda attempt: time.sleep(1.5) or attempt.lost.is_set()), False)
        self.assertGreaterEqual(len([path for path, _ in self.fake.calls if path == "/renew"]), 4)

    def test_many_claims_are_renewed_in_one_call(self):
        attempts = [self.api.begin(f"k{number}") for number in range(20)]
        time.sleep(1.3)
        renewals = [body for path, body in self.fake.calls if path == "/renew"]
        self.assertLess(len(renewals), 20)
        self.assertEqual({item["key"] for body in renewals for item in body["items"]}, {a.key for a in attempts})
        for attempt in attempts:
            self.assertFalse(attempt.lost.is_set())
            attempt.release()

    def test_a_claim_that_somebody_took_over_is_lost_and_says_so(self):
        attempt = self.api.begin("k")
        heard = threading.Event()
        attempt.on_lost = heard.set
        with self.fake.lock:
            self.fake.keys["default", "", "k"].fence = "2.other"
        self.assertTrue(heard.wait(2.0))
        with self.assertRaises(semel.ClaimLost):
            attempt.check()
        with self.assertRaises(semel.ClaimLost):
            attempt.complete(semel.result_of(1))

    def test_what_a_caller_does_about_one_claim_does_not_stop_the_renewals_of_others(self):
        bad, good = self.api.begin("bad"), self.api.begin("good")

        def raises():
            raise RuntimeError("the loop is closed")

        bad.on_lost = raises
        with self.fake.lock:
            self.fake.keys["default", "", "bad"].fence = "2.other"
        with self.assertLogs("semel", "ERROR"):
            self.assertTrue(bad.lost.wait(2.0))
            time.sleep(1.2)
        self.assertFalse(good.lost.is_set())
        good.complete(semel.result_of(1))

    def test_a_claim_is_renewed_while_its_result_is_being_told(self):
        attempt = self.api.begin("k")
        first, told = self.fake.one, []

        def slow(path, item):
            if path.endswith("/complete") and not told:
                told.append(path)
                time.sleep(1.0)  # longer than the lease
            return first(path, item)

        self.fake.one = slow
        attempt.complete(semel.result_of("late"))
        self.assertEqual(self.fake.state("k"), "done")

    def test_a_claim_that_cannot_be_renewed_is_lost_when_its_lease_is_over(self):
        attempt = self.api.begin("k")
        began = time.monotonic()
        self.fake.down = True
        self.assertTrue(attempt.lost.wait(3.0))
        self.assertGreaterEqual(time.monotonic() - began, 0.4)

    def test_a_result_that_comes_after_the_lease_is_dropped(self):
        attempt = self.api.begin("k")
        self.api._keeper.drop(attempt)  # as if the process had stood still
        time.sleep(0.7)
        self.assertEqual(self.api.once("k", lambda other: other.number, on_unknown="retry"), 2)
        with self.assertRaises(semel.ClaimLost):
            attempt.complete(semel.result_of("stale"))
        self.assertEqual(self.api.once("k", lambda other: self.fail("it ran")), 2)


class Failures(Case):
    def test_nothing_runs_without_a_claim(self):
        self.fake.down = True
        with self.assertRaises(semel.StoreUnavailable):
            self.api.once("k", lambda attempt: self.fail("it ran"))

    def test_nobody_listens(self):
        api = semel.Client("http://127.0.0.1:1", "secret")
        with self.assertRaises(semel.StoreUnavailable):
            api.once("k", lambda attempt: self.fail("it ran"))

    def test_lost_answers_are_asked_for_again(self):
        self.fake.lose = 2
        self.assertEqual(self.api.once("k", lambda attempt: attempt.number), 1)
        owners = {body["owner"] for path, body in self.fake.calls if path == ""}
        self.assertEqual(len(owners), 1)

    def test_a_claim_whose_answer_never_came_is_given_back(self):
        api = semel.Client(self.fake.url, "secret", lease=10, tries=1)
        self.fake.lose = 1
        with self.assertRaises(semel.StoreUnavailable):
            api.once("k", lambda attempt: self.fail("it ran"))
        self.assertEqual(self.fake.state("k"), "running")
        deadline = time.monotonic() + 5
        while self.fake.state("k") != "free" and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.fake.state("k"), "free")

    def test_a_result_that_could_not_be_stored_is_not_given_but_stored_later(self):
        api = semel.Client(self.fake.url, "secret", lease=10)

        def work(attempt):
            self.fake.down = True
            return "made"

        with self.assertRaises(semel.OutcomeUnknown):
            api.once("k", work)
        self.fake.down = False
        self.assertEqual(api.once("k", lambda attempt: self.fail("it ran"), wait=5), "made")

    def test_a_wrong_address_or_token_is_told_at_once(self):
        for url, token in (("127.0.0.1:80", "x"), ("ftp://a", "x"), ("http://a", "")):
            with self.assertRaises(ValueError):
                semel.Client(url, token)

    def test_a_fork_has_connections_and_renewals_of_its_own(self):
        self.api.once("before", lambda attempt: 1)
        held = self.api.begin("held")
        child = os.fork()
        if child == 0:
            good = self.api.once("child", lambda attempt: time.sleep(1.0) or attempt.lost.is_set()) is False
            os._exit(0 if good else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertFalse(held.lost.is_set())
        held.release()


class Many(Case):
    def test_all_are_claimed_and_completed_together(self):
        done = self.api.once_many([f"k{n}" for n in range(30)], lambda key, attempt: key.upper())
        self.assertEqual([one.value for one in done], [f"K{n}" for n in range(30)])
        self.assertEqual([path for path, _ in self.fake.calls], ["", "/complete"])
        again = self.api.once_many([f"k{n}" for n in range(30)], lambda key, attempt: self.fail("it ran"))
        self.assertEqual([one.value for one in again], [one.value for one in done])
        self.assertTrue(all(one.replayed for one in again))

    def test_each_item_ends_by_itself(self):
        self.api.begin("busy")

        def work(item, attempt):
            if item["key"] == "bad":
                raise RuntimeError("bad")
            return item["n"]

        got = self.api.once_many([{"key": "a", "n": 1}, {"key": "busy", "n": 2},
                                  {"key": "bad", "n": 3}, {"key": "b", "n": 4}], work)
        self.assertEqual((got[0].value, got[3].value), (1, 4))
        self.assertIsInstance(got[1], semel.InFlight)
        self.assertIsInstance(got[2], RuntimeError)
        self.assertEqual(self.fake.state("bad"), "unknown")

    def test_more_than_fits_into_a_call_is_shared_out(self):
        done = self.api.once_many([f"k{n}" for n in range(1100)], lambda key, attempt: None)
        self.assertEqual({one.value for one in done}, {None})
        self.assertEqual(len([path for path, _ in self.fake.calls if path == ""]), 3)

    def test_a_key_that_is_there_twice_runs_once(self):
        ran = []
        done = self.api.once_many(["a", "b", "a", "a"], lambda key, attempt: ran.append(key) or len(ran))
        self.assertEqual((ran, [one.value for one in done]), (["a", "b"], [1, 2, 1, 1]))
        self.assertEqual([one.replayed for one in done], [False, False, True, True])

    def test_large_payloads_and_results_are_shared_out(self):
        items = [{"key": f"k{n}", "payload": "x" * 200_000} for n in range(6)]
        done = self.api.once_many(items, lambda item, attempt: "y" * 200_000)
        self.assertEqual({len(one.value) for one in done}, {200_000})
        sizes = [len(str(body)) for _, body in self.fake.calls]
        self.assertLess(max(sizes), 1 << 20)

    def test_without_a_store_nothing_runs(self):
        self.fake.down = True
        got = self.api.once_many(["a", "b"], lambda key, attempt: self.fail("it ran"))
        self.assertTrue(all(isinstance(one, semel.StoreUnavailable) for one in got))


if __name__ == "__main__":
    unittest.main()
