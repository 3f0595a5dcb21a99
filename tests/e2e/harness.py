"""What the test programs of this folder have in common: the binary to test, a stage, and gateways in front of it."""
import argparse
import pathlib
import sys
import threading
import unittest

import gateway
import programs
import stage as staging
import wire

SKIPPED = 77

CONFIG = """
[server]
listen = "$listen"
threads = 2
[admin]
listen = "$admin"
[store]
url = "$store"
[upstream.app]
url = "http://$upstream"
"""

KEY_ONE = "11" * 32  # of encryption
KEY_TWO = "22" * 32

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

    def run_semel(self, *words, **options):
        """Runs the binary to its end, with these words."""
        return programs.run(programs.path(self.binary), *words, **options)

    def demo(self, *arguments, **options):
        """A demo that has started."""
        demo = programs.Demo(self.binary, *arguments, **options)
        self.addCleanup(demo.close)
        return demo.start()

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

    def connect_until_refused(self, semel, count):
        """So many connections are served, and one more is told that there is no room; those that are open."""
        kept = [semel.connect() for _ in range(count)]
        for connection in kept:
            self.assertEqual(connection.ask("GET", "/v1/x").status, 200)
        with semel.connect() as refused:
            reply = refused.reply()
            self.assertEqual((reply.status, reply.get("Retry-After")), (503, "1"))
            self.assertEqual(refused.wait_closed(), b"")
        return kept

    def assert_problem(self, reply, status, slug):
        self.assertEqual(reply.status, status, reply)
        self.assertIn(f'"urn:semel:problem:{slug}"'.encode(), reply.body)


def skip(why):
    """Ends a program that cannot run here, with the code by which ctest and the proof know that."""
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def has_sanitizer(binary, *names):
    """Whether a program was built with one of these sanitizers: asan, tsan."""
    text = pathlib.Path(binary).read_bytes()
    return any(f"__{name}_init".encode() in text for name in names)


def encrypted(config, *keys, more=""):
    """The configuration with a store that is encrypted by these keys; `more` are further lines of its section."""
    names = ", ".join(f'"{key}"' for key in keys)
    return config.replace("[upstream.app]", f"encryption_keys = [{names}]\n{more}\n[upstream.app]")


def keyed(key, scope="alice", **more):
    """The fields of a guarded request."""
    return [("Authorization", scope), ("Idempotency-Key", key), *more.items()]


def run(**prepare):
    """Runs the tests of the calling program: PROGRAM --binary SEMEL [unittest's arguments]. For each name in `prepare` there
    is a further option; what is given there is passed to the function before the tests begin."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("binary", *prepare):
        parser.add_argument(f"--{name}", required=True)
    options, rest = parser.parse_known_args()
    Case.binary = options.binary
    for name, function in prepare.items():
        function(getattr(options, name))
    unittest.main(argv=[sys.argv[0], *rest], warnings="ignore")
