#!/usr/bin/env python3
"""A crowd of slow clients: on heads, on bodies, on answers. Everybody else is served meanwhile. --binary SEMEL

SEMEL_CROWD says how many of each kind.
"""
import os
import socket
import time

import harness
import wire
from harness import CONFIG, ROUTE, keyed
from memory import memory

CROWD = int(os.environ.get("SEMEL_CROWD", 200))
LIMITS = '\n[limits]\nheader_timeout = "3s"\nbody_timeout = "3s"\n'
EXTRA_BYTES_MAX = 64 << 20


class Crowd(harness.Case):
    def drip(self, semel, slow, opening, seconds=1.5):
        """The crowd sends a byte now and then; the time of each request of somebody else meanwhile."""
        for client in slow:
            client.send(opening)
        times = []
        deadline = time.monotonic() + seconds
        with semel.connect() as client:
            number = 0
            while time.monotonic() < deadline:
                for each in slow[number % 10::10]:
                    each.send(b"x")
                started = time.monotonic()
                self.assertEqual(client.ask("POST", "/v1/x", keyed(f"n{number}")).status, 200)
                times.append(time.monotonic() - started)
                number += 1
                time.sleep(0.05)
        return sorted(times)

    def wait_all_closed(self, slow):
        """What each of them got before it was closed."""
        return {client.wait_closed()[:12] for client in slow}

    def crowded(self, opening):
        self.answer_all()
        with self.gateway(CONFIG + LIMITS + ROUTE) as semel:
            before = memory(semel, "VmRSS")
            slow = [semel.connect(seconds=20) for _ in range(CROWD)]
            times = self.drip(semel, slow, opening)
            self.assertLess(times[len(times) // 2], 0.25)
            self.assertLess(memory(semel, "VmHWM") - before, EXTRA_BYTES_MAX)
            started = time.monotonic()
            got = self.wait_all_closed(slow)
            self.assertLess(time.monotonic() - started, 8)
            self.assertEqual(semel.ask("GET", "/v1/x").status, 200)
            return got

    def test_slow_heads(self):
        """Each head has header_timeout; then it is told 408 and closed."""
        self.assertEqual(self.crowded(b"GET /v1/x HTTP/1.1\r\nHost: x\r\nX-Slow: "), {b"HTTP/1.1 408"})

    def test_slow_bodies(self):
        """Each guarded body has body_timeout; then it is told 408 and closed, and its key was never claimed."""
        head = b"POST /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: slow\r\nIdempotency-Key: s\r\nContent-Length: 1000\r\n\r\n"
        self.assertEqual(self.crowded(head), {b"HTTP/1.1 408"})

    def test_slow_readers(self):
        """Answers that nobody takes are dropped when their time is up, and hold no more than a piece each meanwhile."""
        body = b"y" * (4 << 20)
        self.answer_all("large", body=lambda arrival: body)
        self.answer_all()
        with self.gateway(CONFIG + LIMITS + ROUTE) as semel:
            before = memory(semel, "VmRSS")
            slow = []
            for _ in range(CROWD // 4):
                client = wire.Wire.__new__(wire.Wire)
                client.sock = socket.socket()
                client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.sock.connect(semel.address)
                client.reader = wire.Reader(client.sock, 20)
                client.request("GET", "/v1/large", [("X-Scenario", "large")])
                slow.append(client)
            for number in range(20):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(f"r{number}")).status, 200)
            self.assertTrue(wire.eventually(lambda: semel.metrics()[1].get("semel_in_flight") == 0, 10))
            self.assertLess(memory(semel, "VmHWM") - before, EXTRA_BYTES_MAX)
            time.sleep(4)
            cut = sum(len(client.wait_closed()) < len(body) for client in slow)
            self.assertEqual(cut, len(slow))


if __name__ == "__main__":
    harness.run()
