#!/usr/bin/env python3
"""A crowd of slow clients: on heads, on bodies, on answers. Everybody else is served meanwhile. --binary SEMEL

SEMEL_CROWD says how many of each kind; docs/limits.md has the figures of a full run.
"""
import os
import time

import harness
import wire
from harness import CONFIG, ROUTE, keyed
from memory import connect_slowly, memory, open_many

CROWD = int(os.environ.get("SEMEL_CROWD", 200))
READERS = min(CROWD, 1000)  # the kernel holds up to 1 MiB for each
LIMITS = '\n[limits]\nheader_timeout = "3s"\nbody_timeout = "3s"\n'
EXTRA_BYTES_MAX = 16 << 20  # and for each of the crowd:
BYTES_MAX = 64 << 10


def millis(times):
    """The median and the slowest but one in a hundred."""
    return f"{times[len(times) // 2] * 1000:.1f} and {times[len(times) * 99 // 100] * 1000:.1f}"


class Crowd(harness.Case):
    def setUp(self):
        super().setUp()
        open_many(self, CROWD + READERS)  # clients, and what the gateway opens to the stage

    def told(self, semel, before, crowd, what):
        extra = memory(semel, "VmHWM") - before
        print(f"{crowd} {what}: {extra / crowd / 1024:.1f} KiB each", flush=True)
        if not harness.has_sanitizer(self.binary, "asan", "tsan"):  # they keep freed memory for a while
            self.assertLess(extra, EXTRA_BYTES_MAX + crowd * BYTES_MAX)

    def drip(self, semel, slow, seconds=1.5):
        """The crowd, if there is one, sends a byte now and then; the time of each request of somebody else meanwhile."""
        times = []
        deadline = time.monotonic() + seconds
        with semel.connect() as client:
            number = 0
            while time.monotonic() < deadline:
                for each in slow[number % 10::10]:
                    each.send(b"x")
                started = time.monotonic()
                self.assertEqual(client.ask("POST", "/v1/x", keyed(f"n{len(slow)}-{number}")).status, 200)
                times.append(time.monotonic() - started)
                number += 1
                time.sleep(0.05)
        return sorted(times)

    def wait_all_closed(self, slow):
        """What each of them got before it was closed."""
        return {client.wait_closed()[:12] for client in slow}

    def crowded(self, opening, what):
        self.answer_all()
        with self.gateway(CONFIG + LIMITS + ROUTE) as semel:
            calm = self.drip(semel, [])
            before = memory(semel, "VmRSS")
            slow = [semel.connect(seconds=20) for _ in range(CROWD)]
            for client in slow:
                client.send(opening)
            times = self.drip(semel, slow)
            self.assertLess(times[len(times) // 2], 0.25)
            self.told(semel, before, CROWD, what)
            print(f"  others: {millis(calm)} ms without them, {millis(times)} ms with them", flush=True)
            started = time.monotonic()
            got = self.wait_all_closed(slow)
            self.assertLess(time.monotonic() - started, 8)
            self.assertEqual(semel.ask("GET", "/v1/x").status, 200)
            return got

    def test_slow_heads(self):
        """Each head has header_timeout; then it is told 408 and closed."""
        self.assertEqual(self.crowded(b"GET /v1/x HTTP/1.1\r\nHost: x\r\nX-Slow: ", "slow heads"), {b"HTTP/1.1 408"})

    def test_slow_bodies(self):
        """Each guarded body has body_timeout; then it is told 408 and closed, and its key was never claimed."""
        head = b"POST /v1/x HTTP/1.1\r\nHost: x\r\nAuthorization: slow\r\nIdempotency-Key: s\r\nContent-Length: 1000\r\n\r\n"
        self.assertEqual(self.crowded(head, "slow bodies"), {b"HTTP/1.1 408"})

    def test_slow_readers(self):
        """Answers that nobody takes are dropped when their time is up, and hold no more than a piece each meanwhile."""
        body = b"y" * (1 << 20)
        for _ in range(READERS):  # each is held up until the one who does not read has been cut off
            self.answer_all("large", body=lambda arrival: body)
        self.answer_all()
        with self.gateway(CONFIG + LIMITS + ROUTE) as semel:
            before = memory(semel, "VmRSS")
            slow = [connect_slowly(semel, seconds=20) for _ in range(READERS)]
            for client in slow:
                client.request("GET", "/v1/large", [("X-Scenario", "large")])
            for number in range(20):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(f"r{number}")).status, 200)
            self.assertTrue(wire.eventually(lambda: semel.metrics()[1].get("semel_in_flight") == 0, 10))
            def cut_off():
                return semel.metrics()[1]["semel_slow_clients_total"]

            self.assertTrue(wire.eventually(lambda: cut_off() == READERS, 60), f"{cut_off()} were cut off")
            self.told(semel, before, READERS, "slow readers")
            cut = sum(len(client.wait_closed()) < len(body) for client in slow)
            self.assertEqual(cut, len(slow))


if __name__ == "__main__":
    harness.run()
