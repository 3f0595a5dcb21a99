"""A scripted upstream: requests arrive, and the test decides what each of them gets, byte for byte and when it likes.

Requests are handed out by the value of their X-Scenario field, so that many tests can share one stage and one gateway.
"""
import queue
import threading

import server
import wire

FIELD = "X-Scenario"


class Arrival:
    """One request at the upstream. It waits until somebody answers it, closes it or cuts it off."""

    def __init__(self, connection, message):
        self.sock = connection.sock
        self.reader = connection.reader
        self.serial = connection.serial  # two requests with one serial shared a connection
        self.message = message
        self._body_read = False
        self._over = threading.Event()
        self._keep = False

    def read_body(self):
        if not self._body_read:
            self._body_read = True
            wire.read_body(self.reader, self.message, until_close=False)
        return self.message

    def send(self, data):
        self.sock.sendall(data)

    def answer(self, status, fields=(), body=b"", reason="Fine"):
        """A whole answer with a length; the connection stays open unless the fields say otherwise."""
        fields = list(fields)
        framed = any(name.lower() in ("content-length", "transfer-encoding") for name, _ in fields)
        if not framed and status not in (204, 304):
            fields.append(("Content-Length", str(len(body))))
        self.send(wire.head_bytes(f"HTTP/1.1 {status} {reason}", fields) + body)
        self.end(keep=not any(n.lower() == "connection" and "close" in v.lower() for n, v in fields))

    def end(self, keep):
        """No more bytes for this request; the connection is read on, or closed. What was said first counts."""
        if not self._over.is_set():
            self._keep = keep
            self._over.set()

    def close(self):
        self.end(keep=False)

    def reset(self):
        wire.reset(self.sock)
        self.end(keep=False)

    def wait_over(self):
        self._over.wait()
        return self._keep


class Stage(server.Server):
    def __init__(self, **options):
        self._lock = threading.Lock()
        self._queues = {}
        self._counts = {}
        super().__init__(self._hand_out, **options)

    def arrivals(self, name):
        with self._lock:
            return self._queues.setdefault(name, queue.Queue())

    def next(self, name="", seconds=20.0):
        """The next request of a scenario; wire.Silent if none arrives."""
        try:
            return self.arrivals(name).get(timeout=seconds)
        except queue.Empty:
            raise wire.Silent(f"no request arrived at the upstream within {seconds:g} s") from None

    def count(self, name=""):
        """How many requests of a scenario have arrived, answered or not."""
        with self._lock:
            return self._counts.get(name, 0)

    def _hand_out(self, connection):
        goes_on = True
        while goes_on:
            arrival = Arrival(connection, wire.read_head(connection.reader))
            name = arrival.message.get(FIELD, "")
            with self._lock:
                self._counts[name] = self._counts.get(name, 0) + 1
            self.arrivals(name).put(arrival)
            goes_on = arrival.wait_over()
