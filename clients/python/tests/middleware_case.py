"""What the tests of the middlewares share: a client of an API in memory, and how often the application ran."""
import logging
import unittest

import paths  # noqa: F401
import semel
from fake_api import FakeApi


class Case(unittest.TestCase):
    def setUp(self):
        self.fake = FakeApi()
        self.addCleanup(self.fake.close)
        self.api = semel.Client(self.fake.url, "secret", timeout=2.0)
        self.addCleanup(self.api.close)
        self.ran = 0
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def state(self, key="k"):
        return self.fake.state(key, "alice")
