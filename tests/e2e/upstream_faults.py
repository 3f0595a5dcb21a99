#!/usr/bin/env python3
"""Upstreams that misbehave: a request is forwarded once, or it is said that nobody knows. --binary SEMEL

What each fault must lead to: not one byte was written, so it may be sent again; a whole answer came, so it is kept;
anything else is unknown, told once as 502 or 504 and from then on as 409, and never sent again.
"""
import random
import signal
import threading
import time

import harness
import programs
import wire
from harness import CONFIG, ROUTE, keyed

QUICK = CONFIG + 'timeout = "1500ms"\nconnect_timeout = "1s"\n' + ROUTE
ONE_THREAD = CONFIG.replace("threads = 2", "threads = 1")  # so that a pooled connection is certainly used again


class Faults(harness.Case):
    def assert_unknown(self, semel, reply, status, key, body=b"{}"):
        """`reply` told of an unknown outcome, and a retry hears of it too without anything being sent."""
        self.assert_problem(reply, status, "outcome-unknown")
        before = self.stage.count()
        for _ in range(3):
            self.assert_problem(semel.ask("POST", "/v1/x", keyed(key), body), 409, "outcome-unknown")
        self.assertEqual(self.stage.count(), before)

    def warm(self, semel, key="warm"):
        """Leaves one idle connection in the gateway's pool; its serial number."""
        with semel.connect() as client:
            client.request("POST", "/v1/x", keyed(key), b"{}")
            arrival = self.stage.next()
            arrival.read_body()
            arrival.answer(200, body=b"warm")
            self.assertEqual(client.reply().status, 200)
        return arrival

    def begin(self, semel, key, body=b"{}"):
        client = semel.connect(seconds=15)
        client.request("POST", "/v1/x", keyed(key), body)
        return client

    # F04

    def test_reset_after_the_whole_request(self):
        """The connection is reset where an answer should begin, on a fresh connection and on a pooled one."""
        with self.gateway(ONE_THREAD + ROUTE) as semel:
            for key in ("fresh", "pooled"):
                client = self.begin(semel, key)
                arrival = self.stage.next()
                arrival.read_body()
                arrival.reset()
                self.assert_unknown(semel, client.reply(), 502, key)
                self.warm(semel, key + "-warm")

    def test_closed_after_the_whole_request(self):
        """As above, with a polite close. Unlike a GET, a guarded request is not sent again."""
        with self.gateway(ONE_THREAD + ROUTE) as semel:
            serial = self.warm(semel).serial
            client = self.begin(semel, "k1")
            arrival = self.stage.next()
            self.assertEqual(arrival.serial, serial)
            arrival.read_body()
            arrival.close()
            self.assert_unknown(semel, client.reply(), 502, "k1")

    def test_reset_in_the_middle_of_the_request(self):
        """Part of it is out, on a pooled connection too: it is not sent again, however little has arrived."""
        config = ONE_THREAD.replace("[upstream.app]", '[limits]\nbody_bytes = "64MiB"\n[upstream.app]') + ROUTE
        with self.gateway(config) as semel:
            body = b"x" * (24 << 20)
            for key in ("fresh", "pooled"):
                client = self.begin(semel, key, body)
                arrival = self.stage.next()
                arrival.reader.exactly(1000)
                arrival.reset()
                self.assert_unknown(semel, client.reply(), 502, key, body)
                self.warm(semel, key + "-warm")

    # F05

    def test_idle_connection_was_closed_before(self):
        """Nothing was written yet, so another connection carries the request, and it runs once."""
        with self.gateway(ONE_THREAD + ROUTE) as semel:
            arrival = self.warm(semel)
            arrival.sock.shutdown(2)
            time.sleep(0.2)
            client = self.begin(semel, "k1")
            second = self.stage.next()
            self.assertNotEqual(second.serial, arrival.serial)
            second.answer(201, body=b"once")
            self.assertEqual(client.reply().body, b"once")
            self.assertEqual(self.stage.count(), 2)

    def test_idle_connection_is_closed_in_the_very_moment(self):
        """Whichever side is faster: at most one effect, and either its answer or the word that nobody knows."""
        with self.gateway(ONE_THREAD + ROUTE) as semel:
            answered = unknown = 0
            for number in range(150):
                scenario = f"race-{number}"
                arrival = self.warm(semel, f"warm-{number}")
                cutter = threading.Timer(random.uniform(0, 0.004), arrival.sock.shutdown, [2])
                client = semel.connect()
                cutter.start()
                client.request("POST", "/v1/x", keyed(scenario) + [("X-Scenario", scenario)], b"{}")
                try:
                    second = self.stage.next(scenario, seconds=0.5)
                    second.read_body()
                    second.answer(201, body=b"once")
                except (wire.Silent, wire.Cut, OSError):
                    pass
                reply = client.reply()
                client.close()
                cutter.join()
                self.assertIn(reply.status, (201, 502))
                answered += reply.status == 201
                unknown += reply.status == 502
                again = semel.ask("POST", "/v1/x", keyed(scenario) + [("X-Scenario", scenario)], b"{}")
                self.assertEqual(again.status, 201 if reply.status == 201 else 409)
                self.assertLessEqual(self.stage.count(scenario), 1)
            self.assertEqual(answered + unknown, 150)
            self.assertGreater(answered, 0)

    # F06

    def test_cut_answers_are_not_stored(self):
        """A body short of its length, a chunk that is cut, chunks without an end, a head that is cut."""
        cuts = {
            "length": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
            "nothing": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
            "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf",
            "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            "size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0",
            "trailer": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\nX: y\r\n",
            "head": b"HTTP/1.1 200 OK\r\nContent-Le",
            "line": b"HTTP/1.1 2",
        }
        with self.gateway() as semel:
            for how in ("close", "reset"):
                for name, bytes_sent in cuts.items():
                    client = self.begin(semel, f"{name}-{how}")
                    arrival = self.stage.next()
                    arrival.read_body()
                    arrival.send(bytes_sent)
                    time.sleep(0.02)
                    getattr(arrival, how)()
                    self.assert_unknown(semel, client.reply(), 502, f"{name}-{how}")

    def test_reset_behind_an_answer_without_length(self):
        """An answer that ends with the connection ends with a proper close, never with a reset."""
        with self.gateway() as semel:
            client = self.begin(semel, "k1")
            arrival = self.stage.next()
            arrival.read_body()
            arrival.send(b"HTTP/1.1 200 OK\r\n\r\nperhaps half")
            time.sleep(0.1)
            arrival.reset()
            self.assert_unknown(semel, client.reply(), 502, "k1")

    # F07

    def test_a_second_answer_is_never_given_to_another_request(self):
        """Two answers in one write: the first is the answer, the connection is not used again."""
        with self.gateway(ONE_THREAD + ROUTE) as semel:
            client = self.begin(semel, "k1")
            arrival = self.stage.next()
            arrival.read_body()
            first = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
            arrival.send(first + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil!")
            arrival.end(keep=True)
            self.assertEqual(client.reply().body, b"one")
            self.assert_next_is_clean(semel, arrival)

    def test_late_bytes_on_an_idle_connection_are_never_an_answer(self):
        """They come while nobody asks: the connection is given up."""
        for late in (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil!", b"\r\n", b"x"):
            with self.gateway(ONE_THREAD + ROUTE) as semel:
                arrival = self.warm(semel)
                arrival.send(late)
                time.sleep(0.1)
                self.assert_next_is_clean(semel, arrival)
                semel.stop()

    def test_bytes_behind_the_last_chunk_are_never_an_answer(self):
        """A chunked answer with more behind it."""
        with self.gateway(ONE_THREAD + ROUTE) as semel:
            client = self.begin(semel, "k1")
            arrival = self.stage.next()
            arrival.read_body()
            arrival.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n"
                         b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil!")
            arrival.end(keep=True)
            self.assertEqual(client.reply().body, b"one")
            self.assert_next_is_clean(semel, arrival)

    def test_a_body_behind_204_is_never_an_answer(self):
        """A 204 that brings a body all the same."""
        with self.gateway(ONE_THREAD + ROUTE) as semel:
            client = self.begin(semel, "k1")
            arrival = self.stage.next()
            arrival.read_body()
            arrival.send(b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nevil!")
            arrival.end(keep=True)
            self.assertEqual(client.reply().status, 204)
            self.assert_next_is_clean(semel, arrival)

    def assert_next_is_clean(self, semel, before):
        """The next request goes out on another connection and gets its own answer."""
        client = self.begin(semel, "next")
        arrival = self.stage.next()
        self.assertNotEqual(arrival.serial, before.serial)
        arrival.read_body()
        arrival.answer(201, body=b"mine")
        reply = client.reply()
        self.assertEqual((reply.status, reply.body), (201, b"mine"))

    # F08, with one process

    def test_a_gateway_that_slept_through_its_lease(self):
        """SIGSTOP past the lease, with the answer waiting: either it counts and is replayed, or nobody knows."""
        route = '\n[[route]]\npath = "/v1/*"\nupstream = "app"\nlease = "1s"\n'
        with self.gateway(CONFIG + route) as semel:
            client = self.begin(semel, "k1")
            arrival = self.stage.next()
            arrival.read_body()
            semel.signal(signal.SIGSTOP)
            arrival.answer(201, body=b"while you slept")
            time.sleep(2)
            semel.signal(signal.SIGCONT)
            reply = client.reply()
            again = semel.ask("POST", "/v1/x", keyed("k1"), b"{}")
            if reply.status == 201:
                self.assertEqual((again.status, again.body), (201, b"while you slept"))
            else:
                self.assert_problem(reply, 502, "outcome-unknown")
                self.assert_problem(again, 409, "outcome-unknown")
            self.assertEqual(self.stage.count(), 1)

    # F09

    def test_slower_than_the_lease(self):
        """Lease 2 s, answer after 6 s: the claim is renewed, a retry hears in-flight all the while, one forward."""
        route = '\n[[route]]\npath = "/v1/*"\nupstream = "app"\nlease = "2s"\n'
        with self.gateway(CONFIG + route) as semel:
            client = self.begin(semel, "k1")
            arrival = self.stage.next()
            arrival.read_body()
            until = time.monotonic() + 6
            while time.monotonic() < until:
                self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1"), b"{}"), 409, "in-flight")
                time.sleep(0.2)
            arrival.answer(201, body=b"at last")
            self.assertEqual(client.reply().body, b"at last")
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1"), b"{}").body, b"at last")
            self.assertEqual(self.stage.count(), 1)

    # Stalls

    def test_no_answer_in_time(self):
        """504, unknown, one forward; and the answer that comes too late reaches nobody."""
        with self.gateway(QUICK) as semel:
            client = self.begin(semel, "k1")
            arrival = self.stage.next()
            arrival.read_body()
            reply = client.reply()
            try:
                arrival.answer(200, body=b"too late")
            except OSError:
                arrival.close()
            self.assert_unknown(semel, reply, 504, "k1")

    def test_no_answer_in_time_to_a_request_that_passes(self):
        """504, which says no more than it knows: nothing is remembered, and the next one is sent on."""
        with self.gateway(QUICK) as semel:
            for count in (1, 2):
                with semel.connect(seconds=15) as client:
                    client.request("GET", "/v1/x")
                    arrival = self.stage.next()
                    self.assertEqual(client.reply("GET").status, 504)
                    arrival.close()
                self.assertEqual(self.stage.count(), count)

    def test_an_answer_that_stops(self):
        """In its head, in its body, between chunks: 504 and unknown."""
        stops = [b"HTTP/1.1 200 OK\r\nX-", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
                 b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
                 b"HTTP/1.1 100 Continue\r\n\r\n"]
        with self.gateway(QUICK) as semel:
            clients = []
            for number, sent in enumerate(stops):
                clients.append(self.begin(semel, f"k{number}"))
                arrival = self.stage.next()
                arrival.read_body()
                arrival.send(sent)
            for number, client in enumerate(clients):
                self.assert_unknown(semel, client.reply(), 504, f"k{number}")

    def test_endless_interim_answers(self):
        """32 of them may come before the answer; then the upstream is given up, and nobody knows what it did."""
        interim = b"HTTP/1.1 102 Processing\r\n\r\n"
        with self.gateway() as semel:
            for key, count in (("k1", 32), ("k2", 33)):
                client = self.begin(semel, key)
                arrival = self.stage.next()
                arrival.read_body()
                arrival.send(interim * count + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                reply = client.reply()
                arrival.close()
                if count == 32:
                    self.assertEqual((reply.status, reply.body), (200, b"ok"))
                else:
                    self.assert_unknown(semel, reply, 502, key)

    def test_endless_chunks_and_trailers(self):
        """64 KiB for the line of a chunk, and for all trailers; below it they are dropped."""
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
        trailers = b"".join(b"X-%d: %s\r\n" % (number, b"t" * 1000) for number in range(60))
        with self.gateway() as semel:
            for key, rest, status in (("k1", b"0\r\n" + trailers + b"\r\n", 200), ("k2", b"0\r\n" + trailers * 2 + b"\r\n", 502),
                                      ("k3", b"0" * 70_000, 502)):
                client = self.begin(semel, key)
                arrival = self.stage.next()
                arrival.read_body()
                arrival.send(head + rest)
                reply = client.reply()
                arrival.close()
                if status == 200:
                    self.assertEqual((reply.status, reply.body, reply.get("X-1")), (200, b"ok", None))
                else:
                    self.assert_unknown(semel, reply, 502, key)

    def test_a_body_that_is_not_taken(self):
        """The upstream reads the head and no more: part of the request is out, so the outcome is unknown."""
        config = QUICK.replace("[upstream.app]", '[limits]\nbody_bytes = "64MiB"\n[upstream.app]')
        with self.gateway(config) as semel:
            body = b"x" * (48 << 20)
            client = self.begin(semel, "k1", body)
            self.stage.next()
            self.assert_unknown(semel, client.reply(), 504, "k1", body)

    def test_an_early_answer_to_a_large_body(self):
        """The upstream answers before it has read the body and goes on reading: its answer counts, and no more comes."""
        config = CONFIG.replace("[upstream.app]", '[limits]\nbody_bytes = "64MiB"\n[upstream.app]') + ROUTE
        with self.gateway(config) as semel:
            client = self.begin(semel, "k1", b"x" * (24 << 20))
            arrival = self.stage.next()
            arrival.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
            time.sleep(0.3)
            with self.assertRaises(wire.Cut):
                arrival.read_body()
            arrival.close()
            reply = client.reply()
            self.assertEqual((reply.status, reply.body), (413, b"no"))

    def test_an_early_success_to_a_large_body(self):
        """The upstream begins a success before it has read the body: it may need the rest of it, and gets it."""
        config = CONFIG.replace("[upstream.app]", '[limits]\nbody_bytes = "64MiB"\n[upstream.app]') + ROUTE
        with self.gateway(config) as semel:
            client = self.begin(semel, "k1", b"x" * (24 << 20))
            arrival = self.stage.next()
            arrival.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n")
            time.sleep(0.3)
            arrival.read_body()
            arrival.send(b"done")
            arrival.close()
            reply = client.reply()
            self.assertEqual((reply.status, reply.body), (200, b"done"))

    def test_an_early_answer_of_an_upstream_that_reads_no_more(self):
        """It answers in the middle of the body, and closes or stays: the answer counts by its status, here and later."""
        config = CONFIG.replace("[upstream.app]", '[limits]\nbody_bytes = "64MiB"\n[upstream.app]') + ROUTE
        body = b"x" * (24 << 20)
        with self.gateway(config) as semel:
            for key, leave in (("stays", lambda arrival: None), ("closes", lambda arrival: arrival.close())):
                client = self.begin(semel, key, body)
                arrival = self.stage.next()
                arrival.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
                time.sleep(0.3)
                leave(arrival)
                reply = client.reply()
                self.assertEqual((reply.status, reply.body), (413, b"no"), key)
                before = self.stage.count()
                again = semel.ask("POST", "/v1/x", keyed(key), body)
                self.assertEqual((again.status, again.body), (413, b"no"), key)
                self.assertEqual(self.stage.count(), before)
            # Half a request is on that connection: it is not used again.
            self.warm(semel)

    # Several addresses

    def test_one_of_two_addresses_is_dead(self):
        """Nobody listens there, so nothing was sent there: the other one takes the request, once."""
        dead = programs.DeadPort()
        self.addCleanup(dead.close)
        config = CONFIG.replace('url = "http://$upstream"', 'url = ["http://$dead", "http://$upstream"]') + ROUTE
        with self.gateway(config, dead="%s:%d" % dead.address) as semel:
            self.answer_all()
            for number in range(20):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(f"k{number}"), b"{}").status, 200)
            self.assertEqual(self.stage.count(), 20)

    def test_an_upstream_that_comes_back(self):
        """While it is down requests are refused and released; the same keys run when it is up again."""
        with self.gateway() as semel:
            address = self.stage.address
            self.stage.close()
            for number in range(5):
                reply = semel.ask("POST", "/v1/x", keyed(f"k{number}"), b"{}")
                self.assert_problem(reply, 502, "upstream-unreachable")
            self.stage = harness.staging.Stage(port=address[1])
            self.addCleanup(self.stage.close)
            self.answer_all(status=201)
            for number in range(5):
                reply = wire.eventually(lambda: (lambda got: got if got.status == 201 else None)(
                    semel.ask("POST", "/v1/x", keyed(f"k{number}"), b"{}")))
                self.assertEqual(reply.status, 201)
            self.assertEqual(self.stage.count(), 5)


if __name__ == "__main__":
    harness.run()
