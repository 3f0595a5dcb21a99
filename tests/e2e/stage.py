"""A scripted upstream: requests arrive, and the test decides what each of them gets, byte for byte and when it likes.

Requests are handed out by the value of their X-Scenario field, so that many tests can share one stage and one gateway.
"""
import queue
import socket
import threading

import wire

FIELD = "X-Scenario"


class Arrival:
    """One request at the upstream. It waits until somebody answers it, closes it or cuts it off."""

    def __init__(self, stage, sock, reader, message, serial):
        self.stage = stage
        self.sock = sock
        self.reader = reader
        self.message = message
        self.serial = serial  # of the connection: two requests with one serial shared it
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


class Stage:
    def __init__(self, host="127.0.0.1", port=0, wrap=lambda sock: sock):
        """`wrap` makes of an accepted socket the one that is read and written, as ssl does."""
        self._wrap = wrap
        self.listener = socket.create_server((host, port), backlog=256)
        self.address = self.listener.getsockname()
        self._lock = threading.Lock()
        self._queues = {}
        self._counts = {}
        self._open = set()
        self._serial = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        wire.stop_listening(self.listener)
        with self._lock:
            connections = list(self._open)
        for sock in connections:
            wire.hang_up(sock)

    def arrivals(self, name):
        with self._lock:
            return self._queues.setdefault(name, queue.Queue())

    def next(self, name="", seconds=5.0):
        """The next request of a scenario; wire.Silent if none arrives."""
        try:
            return self.arrivals(name).get(timeout=seconds)
        except queue.Empty:
            raise wire.Silent(f"no request arrived at the upstream within {seconds:g} s") from None

    def count(self, name=""):
        """How many requests of a scenario have arrived, answered or not."""
        with self._lock:
            return self._counts.get(name, 0)

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._serial += 1
                self._open.add(sock)
            threading.Thread(target=self._serve, args=(sock, self._serial), daemon=True).start()

    def _serve(self, sock, serial):
        raw = sock
        try:
            sock = self._wrap(raw)
            reader = wire.Reader(sock, seconds=600)
            while True:
                message = wire.read_head(reader)
                name = message.get(FIELD, "")
                arrival = Arrival(self, sock, reader, message, serial)
                with self._lock:
                    self._counts[name] = self._counts.get(name, 0) + 1
                self.arrivals(name).put(arrival)
                if not arrival.wait_over():
                    return
        except (wire.Closed, wire.Cut, wire.Silent, OSError):
            pass
        finally:
            with self._lock:
                self._open.discard(raw)
            sock.close()
