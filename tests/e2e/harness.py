"""What the test programs of this folder have in common: the binary to test, a stage, and gateways in front of it."""
import argparse
import pathlib
import sys
import threading
import unittest

import gateway
import stage as staging
import wire

CONFIG = """
[server]
listen = "$listen"
threads = 2
[admin]
listen = "$admin"
[store]
url = "embedded:$data"
[upstream.app]
url = "http://$upstream"
"""

ROUTE = """
[[route]]
path = "/v1/*"
upstream = "app"
"""


class Case(unittest.TestCase):
    """Each test has a stage of its own, and gateways that end with it."""

    binary = None

    def setUp(self):
        self.stage = staging.Stage()
        self.addCleanup(self.stage.close)

    def gateway(self, config=CONFIG + ROUTE, **values):
        semel = gateway.Gateway(self.binary, config, **{"upstream": "%s:%d" % self.stage.address, **values})
        self.addCleanup(semel.close)
        return semel

    def answer_all(self, name="", status=200, body=lambda arrival: b"answer", fields=()):
        """Answers whatever arrives from now on."""
        def serve():
            while True:
                try:
                    arrival = self.stage.next(name, seconds=60)
                    arrival.read_body()
                    arrival.answer(status, fields, body(arrival))
                except (wire.Silent, wire.Cut, OSError):
                    return

        threading.Thread(target=serve, daemon=True).start()

    def assert_problem(self, reply, status, slug):
        self.assertEqual(reply.status, status, reply)
        self.assertIn(f'"urn:semel:problem:{slug}"'.encode(), reply.body)


def has_sanitizer(binary, *names):
    """Whether a program was built with one of these sanitizers: asan, tsan."""
    text = pathlib.Path(binary).read_bytes()
    return any(f"__{name}_init".encode() in text for name in names)


def keyed(key, scope="alice", **more):
    """The fields of a guarded request."""
    return [("Authorization", scope), ("Idempotency-Key", key), *more.items()]


def run():
    """Runs the tests of the calling program: PROGRAM --binary SEMEL [unittest's arguments]"""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--binary", required=True)
    options, rest = parser.parse_known_args()
    Case.binary = options.binary
    unittest.main(argv=[sys.argv[0], *rest], warnings="ignore")
