"""A handler behind an inbox that writes down every call: which event, which attempt, from when to when.

What it must never see goes into `troubles`: two calls of one event at once, an attempt number that does not rise, a call before
its Retry-After. Who holds it against what the provider heard sees the events that never came.
"""
import collections
import json
import threading
import time

import server


class Handler:
    """What it says to an event is said by `speak(event, attempt)`: a status, or a Reply. `name(request)` tells its events
    apart."""

    def __init__(self, speak=lambda event, attempt: 200, port=0, name=lambda request: json.loads(request.body)["id"]):
        self.speak, self.name = speak, name
        self.calls = []  # (event, attempt, began, ended, status), in the order of their ends
        self.requests = []
        self.troubles = []
        self.lock = threading.Lock()
        self.running = {}  # event → when its call began
        self.highest = collections.Counter()
        self.not_before = {}
        self.server = server.Server(server.replies(self.answer), port=port)
        self.address = self.server.address

    def answer(self, request):
        event = self.name(request)
        attempt = int(request.get("Idempotency-Attempt", "0"))
        began = time.monotonic()
        with self.lock:
            if event in self.running:
                self.troubles.append(f"{event}: attempt {attempt} while another one runs")
            if attempt <= self.highest[event]:
                self.troubles.append(f"{event}: attempt {attempt} after {self.highest[event]}")
            if began < self.not_before.get(event, 0):
                self.troubles.append(f"{event}: attempt {attempt} came before its Retry-After")
            self.highest[event] = max(attempt, self.highest[event])
            self.running[event] = began
            self.requests.append(request)
        reply = self.speak(event, attempt)
        reply = server.Reply(reply) if isinstance(reply, int) else reply
        with self.lock:
            self.running.pop(event, None)
            for name, value in reply.fields if reply else ():
                if name == "Retry-After":
                    self.not_before[event] = time.monotonic() + int(value)
            self.calls.append((event, attempt, began, time.monotonic(), reply.status if reply else 0))
        return reply

    def count(self, event=None):
        with self.lock:
            return sum(1 for call in self.calls if event in (None, call[0]))

    def oldest_call_s(self):
        """For how long it has been at work on the one that it began first; 0 if there is none."""
        with self.lock:
            return time.monotonic() - min(self.running.values(), default=time.monotonic())

    def events(self):
        """Those that it has taken."""
        with self.lock:
            return {call[0] for call in self.calls if 200 <= call[4] < 300}

    def close(self):
        self.server.close()
