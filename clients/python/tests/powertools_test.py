#!/usr/bin/env python3
"""The persistence layer for AWS Lambda Powertools, with a stand-in for Powertools itself: powertools_test.py"""
import time
import unittest

import paths  # noqa: F401
import powertools_stand_in as powertools
import semel
from fake_api import FakeApi

powertools.install()
import semel_powertools  # noqa: E402


class Layer(unittest.TestCase):
    def setUp(self):
        self.fake = FakeApi()
        self.addCleanup(self.fake.close)
        self.layer = self.another()
        self.ran = 0

    def another(self, **options):
        api = semel.Client(self.fake.url, "secret", lease=0.6)
        self.addCleanup(api.close)
        return semel_powertools.SemelPersistenceLayer(api, **options)

    def work(self, event):
        self.ran += 1
        return {"charged": event["amount"], "run": self.ran}

    def test_a_repeated_event_gets_the_first_answer(self):
        event = {"id": 1, "amount": 5}
        first = powertools.handle(self.layer, self.work, event)
        self.assertEqual(powertools.handle(self.another(), self.work, event), first)
        self.assertEqual(self.ran, 1)

    def test_while_it_runs_another_is_told_so(self):
        event = {"id": 1, "amount": 5}

        def slow(asked):
            with self.assertRaises(powertools.IdempotencyAlreadyInProgressError):
                powertools.handle(self.another(), self.work, asked)
            self.assertEqual(self.another().get_record(asked).status, "INPROGRESS")
            return "slow"

        self.assertEqual(powertools.handle(self.layer, slow, event), "slow")
        self.assertEqual(self.ran, 0)

    def test_an_exception_frees_the_key(self):
        event = {"id": 1, "amount": 5}
        with self.assertRaises(ZeroDivisionError):
            powertools.handle(self.layer, lambda asked: 1 / 0, event)
        with self.assertRaises(powertools.IdempotencyItemNotFoundError):
            self.layer.get_record(event)
        self.assertEqual(powertools.handle(self.layer, self.work, event)["run"], 1)

    def test_another_payload_is_refused(self):
        for layer in (self.layer, self.another()):
            layer.validate = "amount"
        powertools.handle(self.layer, self.work, {"id": 1, "amount": 5})
        with self.assertRaises(powertools.IdempotencyValidationError):
            powertools.handle(self.layer, self.work, {"id": 1, "amount": 6})
        self.assertEqual(powertools.handle(self.layer, self.work, {"id": 1, "amount": 5})["run"], 1)
        self.assertEqual(self.layer.get_record({"id": 1, "amount": 5}).status, "COMPLETED")

    def test_a_function_that_died_runs_again_when_its_time_is_over_and_is_fenced_off(self):
        event = {"id": 1, "amount": 5}
        self.layer.save_inprogress(event, 1)
        dead = self.layer.attempts.popitem()[1]
        self.layer.api._keeper.drop(dead)  # nobody renews it
        with self.assertRaises(powertools.IdempotencyAlreadyInProgressError):
            powertools.handle(self.another(), self.work, event)
        time.sleep(semel_powertools.LEASE_LEAST_S + 0.1)
        self.assertEqual(powertools.handle(self.another(), self.work, event)["run"], 1)
        with self.assertRaises(semel.ClaimLost):
            dead.complete(semel.result_of("stale"))
        self.assertEqual(powertools.handle(self.another(), self.work, event)["run"], 1)

    def test_without_a_store_nothing_runs(self):
        self.fake.down = True
        with self.assertRaises(powertools.IdempotencyPersistenceLayerError) as caught:
            powertools.handle(self.layer, self.work, {"id": 1, "amount": 5})
        self.assertIsInstance(caught.exception.__cause__, semel.StoreUnavailable)
        self.assertEqual(self.ran, 0)


if __name__ == "__main__":
    unittest.main()
