"""An upstream that writes down every byte that it gets, by connection; and Node's parser as a second reader of them."""
import base64
import json
import pathlib
import socket
import subprocess
import threading
import time

import wire

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class RawOrigin:
    """Answers each request once it has all of it, and asks for the connection to be closed: one request on each."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = self.listener.getsockname()
        self._changed = threading.Condition()
        self._open = 0
        self._seen = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        wire.stop_listening(self.listener)

    def take(self, seconds=5.0):
        """What came on each connection since the last time, now that all of them are closed."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._open > 0:
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    raise wire.Silent("the gateway leaves a connection to the upstream open")
            seen, self._seen = self._seen, []
            return seen

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self._changed:
                self._open += 1
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        kept = Recorded(sock)
        try:
            reader = wire.Reader(kept, seconds=20)
            wire.read_body(reader, wire.read_head(reader), until_close=False)
            sock.sendall(ANSWER)
            reader.to_end()
        except (wire.Closed, wire.Cut, wire.Silent, OSError, ValueError):
            pass
        sock.close()
        with self._changed:
            self._seen.append(kept.bytes)
            self._open -= 1
            self._changed.notify_all()


class Recorded:
    """A socket to read from that remembers."""

    def __init__(self, sock):
        self.sock = sock
        self.bytes = b""
        self.settimeout = sock.settimeout

    def recv(self, size):
        got = self.sock.recv(size)
        self.bytes += got
        return got


class Node:
    """llhttp.mjs: what Node's strict parser makes of a stream of bytes."""

    def __init__(self):
        program = pathlib.Path(__file__).resolve().parent / "llhttp.mjs"
        self.process = subprocess.Popen(["node", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, data):
        """([(method, target, body, complete)], error or None)"""
        self.process.stdin.write(base64.b64encode(data).decode() + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        requests = [(one["method"], one["target"], base64.b64decode(one["body"]), one["complete"])
                    for one in found["requests"]]
        return requests, found["error"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
