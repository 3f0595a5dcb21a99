#!/usr/bin/env python3
"""What is too much, too long or too late, and what the log says of it. --binary SEMEL"""
import json
import shutil
import signal
import subprocess
import time
import unittest

import harness
import wire
from harness import CONFIG, ROUTE, keyed


def limits(text):
    return CONFIG + f"\n[limits]\n{text}\n" + ROUTE


class Heads(harness.Case):
    def status(self, semel, target, fields=()):
        with semel.connect() as connection:
            reply = connection.ask("POST", target, [("Authorization", "a"), ("Idempotency-Key", "k"), *fields], b"")
            if reply.status in (414, 431):
                self.assertEqual(reply.get("Connection"), "close")
                self.assertEqual(json.loads(reply.body)["status"], reply.status)
                self.assertEqual(connection.wait_closed(), b"")
            return reply.status

    def test_each_limit_has_its_status(self):
        """Target 414, one line 431, number of fields 431; a request of exactly the limit is taken."""
        with self.gateway(limits('target_bytes = "1KiB"\nheader_line_bytes = "512B"\nheader_fields = 20')) as semel:
            self.answer_all()
            prefix = "/v1/x?"
            self.assertEqual(self.status(semel, prefix + "q" * (1024 - len(prefix))), 200)
            self.assertEqual(self.status(semel, prefix + "q" * (1025 - len(prefix))), 414)
            self.assertEqual(self.status(semel, prefix + "q" * 70000), 414)
            self.assertEqual(self.status(semel, "/v1/a", [("X-Long", "v" * (512 - 6))]), 422)  # the key was used above
            self.assertEqual(self.status(semel, "/v1/a", [("X-Long", "v" * (513 - 6))]), 431)
            self.assertEqual(self.status(semel, "/v1/a", [("X-Long", "v" * 70000)]), 431)
            many = [(f"X-{number}", "v") for number in range(16)]  # with Host, Content-Length and the two of status()
            self.assertEqual(self.status(semel, "/v1/a", many), 422)
            self.assertEqual(self.status(semel, "/v1/a", [*many, ("X-16", "v")]), 431)
        self.assertEqual(self.stage.count(), 1)

    def test_one_address_gets_so_many_connections(self):
        """One too many from an address is told so and closed; when another leaves there is room again."""
        with self.gateway(limits("connections_per_ip = 3")) as semel:
            self.answer_all()
            kept = [semel.connect() for _ in range(3)]
            for connection in kept:
                self.assertEqual(connection.ask("GET", "/v1/x").status, 200)
            with semel.connect() as refused:
                reply = refused.reply()
                self.assertEqual((reply.status, reply.get("Retry-After")), (503, "1"))
                self.assertEqual(refused.wait_closed(), b"")
            with wire.Wire(semel.address, source="127.0.0.2") as neighbour:
                self.assertEqual(neighbour.ask("GET", "/v1/x").status, 200)
            kept.pop().close()
            self.assertTrue(wire.eventually(lambda: semel.ask("GET", "/v1/x").status == 200))


class Bodies(harness.Case):
    HEAD = b"POST /v1/x HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nIdempotency-Key: k1\r\nContent-Length: 9\r\n\r\n"

    def test_a_body_that_does_not_come_is_told_so(self):
        """408 and the connection is closed, whether the body stops or drips; the key is as free as before."""
        with self.gateway(limits('body_timeout = "700ms"')) as semel:
            self.answer_all()
            with semel.connect() as stopped:
                stopped.send(self.HEAD + b"abc")
                self.assert_late(stopped)
            with semel.connect() as dripping:
                dripping.send(self.HEAD)
                started = time.monotonic()
                while time.monotonic() - started < 5 and not wire.readable(dripping.sock, 0.2):
                    dripping.send(b"a")
                self.assertLess(time.monotonic() - started, 3)
                self.assert_late(dripping)
            self.assertEqual(semel.ask("POST", "/v1/x", [("Authorization", "a"), ("Idempotency-Key", "k1")]).status, 200)
        self.assertEqual(self.stage.count(), 1)

    def assert_late(self, connection):
        reply = connection.reply()
        self.assertEqual((reply.status, reply.get("Connection")), (408, "close"))
        self.assertEqual(json.loads(reply.body)["retry"], "same-key")

    def test_a_key_is_looked_at_before_the_body_is_read(self):
        """No key, a bad one or no scope: refused while the body is still on its way, and never invited."""
        body = [("Content-Length", "100000"), ("Expect", "100-continue")]
        with self.gateway() as semel:
            for status, slug, fields in ((400, "key-missing", [("Authorization", "a")]),
                                         (400, "key-invalid", [("Authorization", "a"), ("Idempotency-Key", "")]),
                                         (401, "scope-missing", [("Idempotency-Key", "k1")])):
                with semel.connect() as connection:
                    connection.request("POST", "/v1/x", [*fields, *body])
                    reply = connection.reply()
                    self.assert_problem(reply, status, slug)
                    self.assertEqual(reply.get("Connection"), "close")  # nobody knows whether the body will come
                    self.assertEqual(connection.wait_closed(), b"")
        self.assertEqual(self.stage.count(), 0)

    def test_a_small_body_that_nobody_wanted_is_read_past(self):
        """A refusal before the body was read leaves the connection usable if the body is there."""
        with self.gateway() as semel, semel.connect() as connection:
            self.answer_all()
            self.assertEqual(connection.ask("POST", "/v1/x", [("Authorization", "a")], b"x" * 5000).status, 400)
            self.assertEqual(connection.ask("POST", "/v1/x", keyed("k1"), b"{}").status, 200)


class Logs(harness.Case):
    def lines(self, level):
        config = CONFIG + f'\n[log]\nlevel = "{level}"\n' + ROUTE
        with self.gateway(config) as semel:
            self.answer_all()
            semel.ask("POST", "/v1/x", keyed("k1"))
            semel.ask("POST", "/v1/x", keyed("k1"))
            semel.ask("POST", "/v1/x", keyed("k1"), b"other")
            with semel.connect() as broken:
                broken.send(b"POST /v1/secret-path HTTP/1.1\r\nBad line\r\n\r\n")
                self.assertEqual(broken.reply().status, 400)
            with semel.connect() as long:
                self.assertEqual(long.ask("GET", "/v1/" + "x" * 9000).status, 414)
            busy = semel.connect()
            busy.request("POST", "/v1/lost", keyed("k2") + [("X-Scenario", "lost")])
            self.stage.next("lost").close()
            self.assertEqual(busy.reply().status, 502)
            text, counts = semel.metrics()
            self.assertEqual(counts['semel_requests_total{route="",outcome="malformed"}'], 2, text)
            self.assertEqual(semel.stop(), 0)
            self.assertNotIn("secret-path", semel.stdout())
            lines = [json.loads(line) for line in semel.stdout().splitlines()]
            return sorted((line["level"], line["outcome"], line["status"]) for line in lines)

    def test_a_level_keeps_what_matters_as_much(self):
        """error: what somebody has to look at; warning: what was refused, too; info: everything. Malformed is refused."""
        error = [("error", "unknown", 502)]
        warning = [*error, ("warning", "malformed", 400), ("warning", "malformed", 414), ("warning", "refused", 422)]
        info = [*error, ("info", "ran", 200), ("info", "replayed", 200), *warning[1:]]
        self.assertEqual(self.lines("error"), error)
        self.assertEqual(self.lines("warning"), warning)
        self.assertEqual(self.lines("info"), info)


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class SlowStore(harness.Case):
    """The disk takes its time: strace holds up every fdatasync of the running gateway."""

    def slow_down(self, semel, seconds):
        tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                                   f"inject=fdatasync:delay_enter={int(seconds * 1e6)}", "-p", str(semel.process.pid)],
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(self.speed_up, tracer)
        status = f"/proc/{semel.process.pid}/status"
        traced = lambda: f"TracerPid:\t{tracer.pid}" in open(status, encoding="ascii").read()  # noqa: E731
        self.assertTrue(wire.eventually(traced), "strace could not attach")
        time.sleep(0.3)
        return tracer

    @staticmethod
    def speed_up(tracer):
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
            tracer.wait(10)

    def test_a_store_that_is_too_slow_is_not_waited_for(self):
        """503 in time and nothing is forwarded; what was granted too late is given up, so that the retry runs."""
        with self.gateway(limits('store_timeout = "500ms"\n')) as semel:
            self.answer_all()
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).status, 200)
            tracer = self.slow_down(semel, 2.0)
            started = time.monotonic()
            with semel.connect() as connection:
                reply = connection.ask("POST", "/v1/x", keyed("k1"))
                self.assert_problem(reply, 503, "store-unavailable")
                self.assertEqual((reply.get("Retry-After"), reply.get("Connection")), ("1", "close"))
                self.assertLess(time.monotonic() - started, 1.5)
                self.assertEqual(connection.wait_closed(), b"")
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k0")).get("Idempotent-Replayed"), "true")
            self.speed_up(tracer)
            retried = lambda: (lambda got: got if got.status == 200 else None)(  # noqa: E731
                semel.ask("POST", "/v1/x", keyed("k1")))
            # Far sooner than the lease of the claim that came too late (30 s) would have let it.
            self.assertTrue(wire.eventually(retried, 8), "the key stayed taken")
            self.assertEqual(semel.stop(), 0)
        self.assertEqual(self.stage.count(), 2)

    def test_a_route_may_forward_then(self):
        """on_store_down = "forward": the request goes up, once, when the store's time is up."""
        with self.gateway(limits('store_timeout = "500ms"\n') + 'on_store_down = "forward"\n') as semel:
            self.answer_all()
            tracer = self.slow_down(semel, 2.0)
            reply = semel.ask("POST", "/v1/x", keyed("k1"))
            self.assertEqual((reply.status, reply.body), (200, b"answer"))
            self.speed_up(tracer)
            self.assertEqual(semel.stop(), 0)
        self.assertEqual(self.stage.count(), 1)


if __name__ == "__main__":
    harness.run()
