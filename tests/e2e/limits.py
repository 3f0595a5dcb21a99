#!/usr/bin/env python3
"""What is too much, too long or too late, and what the log says of it. --binary SEMEL"""
import json
import shutil
import signal
import subprocess
import threading
import time
import unittest

import claims_api
import harness
import wire
from harness import CONFIG, ROUTE, keyed
from memory import connect_slowly


def limits(text):
    return CONFIG + f"\n[limits]\n{text}\n" + ROUTE


def pour(arrival):
    """Sends without end, on a thread of its own, until somebody closes."""
    def send():
        try:
            while True:
                arrival.sock.sendall(bytes(1 << 16))
        except OSError:
            pass

    arrival.sock.settimeout(20)
    threading.Thread(target=send, daemon=True).start()


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

    def test_all_fields_together_have_a_limit(self):
        """Short lines, many of them: 431 and closed, over `header_bytes`; below it they are taken."""
        with self.gateway(limits('header_bytes = "4KiB"\nheader_line_bytes = "1KiB"')) as semel:
            self.answer_all()
            self.assertEqual(self.status(semel, "/v1/a", [(f"X-{number}", "v" * 900) for number in range(4)]), 200)
            self.assertEqual(self.status(semel, "/v1/a", [(f"X-{number}", "v" * 900) for number in range(5)]), 431)
        self.assertEqual(self.stage.count(), 1)

    def test_one_address_gets_so_many_connections(self):
        """One too many from an address is told so and closed; when another leaves there is room again."""
        with self.gateway(limits("connections_per_ip = 3")) as semel:
            self.answer_all()
            kept = self.connect_until_refused(semel, 3)
            with wire.Wire(semel.address, source="127.0.0.2") as neighbour:
                self.assertEqual(neighbour.ask("GET", "/v1/x").status, 200)
            self.assertEqual(semel.metrics()[1]["semel_connections_refused_total"], 1)
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


    def test_a_client_that_reads_last_hears_the_refusal(self):
        """Most clients send all of a body before they look for an answer: it must still be there, whatever the size."""
        answers = {"/v1/x": (413, [("Content-Length", str(4 << 20))]), "/no-such-route": (404, [("Content-Length", str(4 << 20))]),
                   "/v1/odd": (400, [("Content-Length", str(4 << 20)), ("Transfer-Encoding", "chunked")])}
        with self.gateway(limits('body_bytes = "1KiB"')) as semel:
            for target, (status, fields) in answers.items():
                for round_ in range(5):
                    with self.subTest(target=target, round=round_), semel.connect() as connection:
                        fields_all = [("Host", "a"), ("Authorization", "a"), ("Idempotency-Key", f"k{round_}"), *fields]
                        connection.send(wire.head_bytes(f"POST {target} HTTP/1.1", fields_all))
                        for _ in range(64):
                            connection.send(bytes(1 << 16))
                        self.assertEqual(connection.reply("POST").status, status)
        self.assertEqual(self.stage.count(), 0)


class Chunks(harness.Case):
    HEAD = b"PUT /v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    def status(self, semel, body):
        """What a body of these chunks hears; whoever is refused is closed on, too."""
        with semel.connect() as client:
            client.send(self.HEAD + body)
            reply = client.reply("PUT")
            if reply.status != 200:
                self.assertEqual(reply.get("Connection"), "close")
                self.assertEqual(client.wait_closed(), b"")
            return reply.status

    def test_extensions_have_a_limit_in_all(self):
        """4 KiB, shared out over as many chunks as one likes."""
        with self.gateway(CONFIG + ROUTE + "buffer = true\n") as semel:
            self.answer_all()
            piece = b"1;" + b"e" * 1000 + b"\r\nx\r\n"
            self.assertEqual(self.status(semel, piece * 4 + b"0\r\n\r\n"), 200)
            self.assertEqual(self.status(semel, piece * 5 + b"0\r\n\r\n"), 400)
            self.assertEqual(self.status(semel, b"1;" + b"e" * 5000 + b"\r\nx\r\n0\r\n\r\n"), 400)
        self.assertEqual(self.stage.count(), 1)

    def test_lines_and_trailers_have_the_limit_of_heads(self):
        """`header_bytes` for the line of a chunk that does not end, and for all trailers together, ended or not."""
        trailers = b"".join(b"X-%d: %s\r\n" % (number, b"t" * 1000) for number in range(9))
        for size, statuses in (("8KiB", (400, 400, 400)), ("16KiB", (200, 400, 400))):
            with self.gateway(CONFIG + f'[limits]\nheader_bytes = "{size}"\n' + ROUTE + "buffer = true\n") as semel:
                self.answer_all()
                said = tuple(self.status(semel, body) for body in (b"1\r\nx\r\n0\r\n" + trailers + b"\r\n",
                                                                   b"1\r\nx\r\n0\r\n" + trailers * 2, b"0" * 17000))
                self.assertEqual(said, statuses, size)
        self.assertEqual(self.stage.count(), 1)


class Waiters(harness.Case):
    def test_only_so_many_wait(self):
        """One too many is told 409 at once; those who wait get the answer."""
        with self.gateway(limits("waiters = 2") + 'in_flight = "wait"\n') as semel:
            clients = [semel.connect() for _ in range(3)]
            for client in clients:
                self.addCleanup(client.close)
                client.request("POST", "/v1/x", keyed("k1"))
                if client is clients[0]:
                    arrival = self.stage.next()
            self.assertTrue(wire.eventually(lambda: semel.metrics()[1]["semel_in_flight"] == 3))
            time.sleep(0.1)
            started = time.monotonic()
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 409, "in-flight")
            self.assertLess(time.monotonic() - started, 3)
            arrival.answer(201)
            self.assertEqual([client.reply().status for client in clients], [201] * 3)
        self.assertEqual(self.stage.count(), 1)


class Idle(harness.Case):
    def test_a_connection_may_rest_for_so_long(self):
        """Between two requests it is closed after idle_timeout, without a word; before that it is used again."""
        with self.gateway(limits('idle_timeout = "1s"')) as semel, semel.connect() as client:
            self.answer_all()
            self.assertEqual(client.ask("GET", "/v1/x").status, 200)
            time.sleep(0.4)
            self.assertEqual(client.ask("GET", "/v1/x").status, 200)
            started = time.monotonic()
            self.assertEqual(client.wait_closed(), b"")
            self.assertGreater(time.monotonic() - started, 0.7)
            self.assertLess(time.monotonic() - started, 5)


class Streams(harness.Case):
    """Bodies that pass through: no limit to their size, but one to their patience."""

    HEAD = b"PUT /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"

    def drip(self, connection, piece, every, seconds):
        """Sends so often for so long, or until something comes back; whether it did."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            connection.send(piece)
            if wire.readable(connection.sock, every):
                return True
        return False

    def assert_gone(self, arrival):
        """The upstream notices at once that the rest of the body will not come."""
        with self.assertRaises(wire.Cut):
            arrival.reader.seconds = 3
            arrival.read_body()
        arrival.close()

    def test_an_upload_that_drips_is_late(self):
        """A byte now and then keeps no connection: 408, the upstream is let go, and it is counted."""
        with self.gateway(limits('body_timeout = "1s"\nbody_rate_min = "100B"')) as semel, semel.connect() as client:
            client.send(self.HEAD)
            self.assertTrue(self.drip(client, b"x", 0.3, 6), "it may drip for ever")
            reply = client.reply("PUT")
            self.assertEqual((reply.status, reply.get("Connection")), (408, "close"))
            self.assertEqual(client.wait_closed(), b"")
            self.assert_gone(self.stage.next())
            self.assertEqual(semel.metrics()[1]["semel_slow_clients_total"], 1)

    def test_an_upload_that_keeps_up_is_not(self):
        """Steady and slow, for several times body_timeout; and as slow as it likes where there is no least rate."""
        for rate, piece in (("100B", b"x" * 100), ("0B", b"x")):
            with self.gateway(limits(f'body_timeout = "1s"\nbody_rate_min = "{rate}"')) as semel:
                with semel.connect() as client:
                    client.send(self.HEAD)
                    self.assertFalse(self.drip(client, piece, 0.3, 4), rate)
                self.assert_gone(self.stage.next())

    def test_an_answer_that_nobody_takes_is_cut(self):
        """The client reads nothing: its connection is closed after body_timeout, and it is counted."""
        with self.gateway(limits('body_timeout = "1s"')) as semel, semel.connect() as client:
            client.request("GET", "/v1/down")
            arrival = self.stage.next()
            arrival.send(wire.head_bytes("HTTP/1.1 200 OK", [("Content-Length", str(1 << 40))]))
            arrival.sock.settimeout(10)
            with self.assertRaises(ConnectionError):
                while True:
                    arrival.sock.sendall(bytes(1 << 18))
            arrival.close()
            self.assertEqual(semel.metrics()[1]["semel_slow_clients_total"], 1)

    def test_an_answer_that_is_taken_too_slowly_is_cut(self):
        """A little all the time, so that no piece is late: the average is below body_rate_min."""
        for rate, stays in (("16MiB", False), ("0B", True)):
            config = limits(f'body_timeout = "2s"\nbody_rate_min = "{rate}"')
            with self.gateway(config) as semel, connect_slowly(semel) as client:
                client.request("GET", "/v1/down")
                arrival = self.stage.next()
                arrival.send(wire.head_bytes("HTTP/1.1 200 OK", [("Content-Length", str(1 << 40))]))
                pour(arrival)
                deadline = time.monotonic() + 5
                cut = False
                while time.monotonic() < deadline and not cut:
                    time.sleep(0.05)
                    for _ in range(16):
                        client.sock.recv(4096)
                    cut = semel.metrics()[1]["semel_slow_clients_total"] > 0
                self.assertEqual(cut, not stays, rate)
                arrival.close()

    def test_silence_of_the_upstream_is_not_the_clients(self):
        """Events come less often than body_timeout says; the client waits for them and stays."""
        with self.gateway(limits('body_timeout = "300ms"\nbody_rate_min = "1MiB"')) as semel, semel.connect() as client:
            client.request("GET", "/v1/events")
            arrival = self.stage.next()
            arrival.send(wire.head_bytes("HTTP/1.1 200 OK", [("Content-Type", "text/event-stream")]))
            wire.read_head(client.reader)
            for number in range(3):
                time.sleep(1)
                arrival.send(b"data: %d\n\n" % number)
                self.assertEqual(client.reader.line().rstrip(), b"9")  # a chunk of nine bytes
                self.assertEqual(client.reader.exactly(11), b"data: %d\n\n\r\n" % number)
            arrival.close()
            self.assertEqual(client.reader.exactly(5), b"0\r\n\r\n")

    def test_a_client_that_leaves_takes_the_upload_with_it(self):
        """The upstream does not wait for a body that will not come."""
        with self.gateway() as semel:
            for leave in (wire.Wire.close, wire.Wire.reset):
                client = semel.connect()
                client.send(self.HEAD + b"abc")
                arrival = self.stage.next()
                leave(client)
                self.assert_gone(arrival)

    def test_a_broken_chunk_in_the_middle_is_told(self):
        """400 and closed; the upstream sees no end of the body."""
        with self.gateway() as semel, semel.connect() as client:
            client.send(b"PUT /v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
            arrival = self.stage.next()
            client.send(b"zz\r\n")
            reply = client.reply("PUT")
            self.assertEqual((reply.status, reply.get("Connection")), (400, "close"))
            self.assert_gone(arrival)
            self.assertEqual(semel.metrics()[1]['semel_requests_total{route="/v1/*",outcome="malformed"}'], 1)


class Buffered(harness.Case):
    """`buffer = true`: a body that passes through is here before the upstream is called."""

    SENDERS = 30
    HEAD = b"PUT /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\na"

    def senders(self, semel):
        clients = [semel.connect() for _ in range(self.SENDERS)]
        for client in clients:
            self.addCleanup(client.close)
            client.send(self.HEAD)
        return clients

    def test_slow_senders_hold_no_connection_of_the_upstream(self):
        """Streamed bodies hold one each; buffered ones none until they are whole, and another client is served."""
        with self.gateway() as semel:
            self.senders(semel)
            self.assertTrue(wire.eventually(lambda: self.stage.count() == self.SENDERS))
        before = self.stage.count()
        with self.gateway(CONFIG + ROUTE + "buffer = true\n") as semel:
            clients = self.senders(semel)
            other = threading.Thread(target=lambda: self.stage.next().answer(200, (), b"served"))
            while True:
                try:
                    self.stage.next(seconds=0.1).close()  # those of the gateway before
                except wire.Silent:
                    break
            other.start()
            self.assertEqual(semel.ask("PUT", "/v1/x", body=b"quick").body, b"served")
            other.join()
            self.assertEqual(self.stage.count(), before + 1, "only the quick one has been sent on")
            for client in clients:
                client.send(b"bcdef")
                arrival = self.stage.next()
                arrival.read_body()
                self.assertEqual((arrival.message.body, arrival.message.get("Content-Length")), (b"abcdef", "6"))
                arrival.answer(200, (), b"late")
                self.assertEqual(client.reply("PUT").body, b"late")

    def test_its_limits_are_those_of_guarded_bodies(self):
        """Too much is 413, too late 408, broken chunks 400: the upstream hears of none. Its answers are still streamed."""
        limit = '[limits]\nbody_bytes = "1KiB"\nbody_timeout = "1s"\n'
        with self.gateway(CONFIG + limit + ROUTE + "buffer = true\n") as semel:
            large = semel.ask("PUT", "/v1/x", body=b"x" * 1025)
            self.assert_problem(large, 413, "body-too-large")
            self.assertIn(b"over 1KiB,", large.body)
            self.assertTrue(large.body.endswith(b"}\n"))
            with semel.connect() as client:
                client.send(self.HEAD)
                self.assertEqual(client.reply("PUT").status, 408)
            with semel.connect() as client:
                client.send(b"PUT /v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n")
                self.assertEqual(client.reply("PUT").status, 400)
            self.assertEqual(self.stage.count(), 0)
            with semel.connect() as client:
                client.send(b"PUT /v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")
                arrival = self.stage.next()
                arrival.read_body()
                self.assertEqual((arrival.message.body, arrival.message.get("Transfer-Encoding")), (b"ab", None))
                arrival.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
                self.assertIn(b"one", client.sock.recv(4096))
                arrival.close()


class Upstreams(harness.Case):
    def test_so_many_connections_are_kept(self):
        """Of two that were open at once, one is kept for the next request and the other is closed."""
        config = CONFIG.replace("threads = 2", "threads = 1") + "connections = 1\n" + ROUTE
        with self.gateway(config) as semel, semel.connect() as one, semel.connect() as other:
            serials = []
            for _ in range(2):
                for client in (one, other):
                    client.request("GET", "/v1/x")
                arrivals = [self.stage.next(), self.stage.next()]
                serials.append({arrival.serial for arrival in arrivals})
                for arrival in arrivals:
                    arrival.answer(200)
                for client in (one, other):
                    self.assertEqual(client.reply("GET").status, 200)
            self.assertEqual([len(each) for each in serials], [2, 2])
            self.assertEqual(len(serials[0] & serials[1]), 1)


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

    def test_the_claims_api_does_not_wait_for_it_either(self):
        """503 in time; the same call finds the claim that was granted too late."""
        semel = claims_api.gateway(self, store_more='[limits]\nstore_timeout = "500ms"\n').start()
        fence = semel.caller.claim("k0").fence
        tracer = self.slow_down(semel, 2.0)
        started = time.monotonic()
        for answer in (semel.caller.claim("k1", "o" * 16), semel.caller.complete("k0", fence)):
            self.assertEqual((answer.status, answer.retry), (503, "same-key"))
        self.assertEqual(semel.caller.get("k0").outcome, "running", "a look waits for no disk")
        self.assertLess(time.monotonic() - started, 2.5)
        self.speed_up(tracer)
        granted = wire.eventually(lambda: (lambda got: got if got.status == 201 else None)(semel.caller.claim("k1", "o" * 16)), 10)
        self.assertEqual(granted.attempt, 1)
        self.assertEqual(semel.caller.complete("k0", fence).outcome, "completed")

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
