"""The one server of the tests. It accepts connections, gives each a thread, and ends them when it is closed.

What happens on a connection is a behaviour, a function of a Connection:

    Server(replies(answer))     reads requests; answer(request) says what each of them gets
    Server(relays(connect))     passes bytes to and from the socket that connect() makes
    Server(ignores)             takes what comes and never says a word

Those with a life of their own build on it: the scripted upstream (stage.py), the origin that remembers (origin.py), the
charges API that is not well (charges.py), the upstream that keeps every byte (raw_origin.py).
"""
import dataclasses
import socket
import threading

import wire

HOST = "127.0.0.1"


@dataclasses.dataclass(eq=False)
class Connection:
    """An accepted connection. Two requests with one serial number came on the same one."""

    sock: object
    reader: wire.Reader
    serial: int

    def send(self, data):
        self.sock.sendall(data)


@dataclasses.dataclass
class Reply:
    """A whole answer with its length."""

    status: int
    fields: list = dataclasses.field(default_factory=list)
    body: bytes = b""

    def bytes(self):
        length = ("Content-Length", str(len(self.body)))
        return wire.head_bytes(f"HTTP/1.1 {self.status} Fine", [*self.fields, length]) + self.body


class Server:
    def __init__(self, behave, host=HOST, port=0, wrap=lambda sock: sock):
        """`wrap` makes of an accepted socket the one that is read and written, as ssl does."""
        self._behave = behave
        self._wrap = wrap
        self._changed = threading.Condition()
        self._open = {}  # serial number → the accepted socket, its Connection or None while it is being wrapped
        self._serial = 0
        self.listener = socket.create_server((host, port), backlog=512)
        self.address = self.listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """No new connections, and the open ones end."""
        wire.stop_listening(self.listener)
        with self._changed:
            sockets = [sock for sock, _ in self._open.values()]
        for sock in sockets:
            wire.hang_up(sock)

    def connections(self):
        """Those that are open now."""
        with self._changed:
            return [connection for _, connection in self._open.values() if connection is not None]

    def wait_idle(self, seconds):
        """Waits until no connection is open; whether that came to pass."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self._serial += 1
                self._open[self._serial] = sock, None
            threading.Thread(target=self._serve, args=(sock, self._serial), daemon=True).start()

    def _serve(self, raw, serial):
        sock = raw
        try:
            sock = self._wrap(raw)
            connection = Connection(sock, wire.Reader(sock, seconds=600), serial)
            with self._changed:
                self._open[serial] = raw, connection
            self._behave(connection)
        except (wire.Closed, wire.Cut, wire.Silent, OSError):
            pass
        finally:
            sock.close()
            with self._changed:
                del self._open[serial]
                self._changed.notify_all()


def replies(answer, at_head=lambda head: None):
    """Requests are read one after the other. answer(request) returns a Reply; bytes, which are sent as they are before the
    connection ends; or None: it ends without a word. at_head(head) is called before the body is read."""
    def behave(connection):
        while True:
            head = wire.read_head(connection.reader)
            at_head(head)
            reply = answer(wire.read_body(connection.reader, head, until_close=False))
            if not isinstance(reply, Reply):
                connection.send(reply or b"")
                return
            connection.send(reply.bytes())

    return behave


def relays(connect, is_heard=lambda connection: True):
    """Bytes pass both ways. What comes back is dropped, and both sides end, once is_heard(connection) is false."""
    def behave(connection):
        with connect() as other:
            there = threading.Thread(target=wire.pump, args=(connection.sock, other), daemon=True)
            there.start()
            wire.pump(other, connection.sock, lambda: is_heard(connection))
            there.join()

    return behave


def ignores(connection):
    while connection.reader.more():
        connection.reader.take(len(connection.reader.buffer))
