"""HTTP/1.1 over a plain socket, byte for byte: what a test sends is what goes out, what it reads is what came.

Used on both sides: Wire is a client's connection, and read_head/read_body serve the scripted upstream too.
"""
import dataclasses
import select
import socket
import struct
import time


class Closed(Exception):
    """The peer closed the connection where a message could have begun."""


class Cut(Exception):
    """The peer closed the connection in the middle of a message."""


class Silent(Exception):
    """Nothing came in time."""


@dataclasses.dataclass
class Message:
    """A request or a reply. `start` is the first line; `fields` keep order, case and repetition."""

    start: str
    fields: list
    body: bytes = b""
    framing: str = "none"  # none, length, chunked, close

    @property
    def status(self):
        return int(self.start.split(" ")[1])

    @property
    def method(self):
        return self.start.split(" ")[0]

    @property
    def target(self):
        return self.start.split(" ")[1]

    def all(self, name):
        return [value for field, value in self.fields if field.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default


class Reader:
    """Bytes of a socket, with a buffer. `seconds` is the patience with each read."""

    def __init__(self, sock, seconds=10.0):
        self.sock = sock
        self.seconds = seconds
        self.buffer = b""

    def more(self):
        """Adds what comes next; False at the end of the stream."""
        self.sock.settimeout(self.seconds)
        try:
            got = self.sock.recv(262144)
        except socket.timeout:
            raise Silent(f"nothing came for {self.seconds:g} s; so far: {self.buffer[:200]!r}") from None
        except ConnectionError:
            got = b""
        self.buffer += got
        return bool(got)

    def take(self, size):
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def exactly(self, size):
        while len(self.buffer) < size:
            if not self.more():
                raise Cut(f"{len(self.buffer)} of {size} bytes came")
        return self.take(size)

    def line(self):
        while b"\r\n" not in self.buffer:
            if not self.more():
                raise Cut(f"the stream ended in a line: {self.buffer!r}")
        return self.take(self.buffer.index(b"\r\n") + 2)[:-2]

    def to_end(self):
        while self.more():
            pass
        return self.take(len(self.buffer))


def read_head(reader):
    """The start line and the fields. Closed if the stream ends before the first byte."""
    while b"\r\n\r\n" not in reader.buffer:
        if not reader.more():
            if not reader.buffer:
                raise Closed()
            raise Cut(f"the stream ended in a head: {reader.buffer[:200]!r}")
    head = reader.take(reader.buffer.index(b"\r\n\r\n") + 4)[:-4].decode("latin-1")
    start, *lines = head.split("\r\n")
    fields = []
    for line in lines:
        name, _, value = line.partition(":")
        fields.append((name, value.strip(" \t")))
    return Message(start, fields)


def read_chunks(reader):
    body = b""
    while True:
        size = int(reader.line().split(b";")[0], 16)
        if size == 0:
            while reader.line():
                pass
            return body
        body += reader.exactly(size)
        if reader.exactly(2) != b"\r\n":
            raise Cut("a chunk does not end where it says")


def read_body(reader, message, until_close):
    """Fills in the body. `until_close`: a message without a length ends with the connection."""
    if "chunked" in message.get("Transfer-Encoding", "").lower():
        message.framing, message.body = "chunked", read_chunks(reader)
    elif message.get("Content-Length") is not None:
        message.framing, message.body = "length", reader.exactly(int(message.get("Content-Length")))
    elif until_close:
        message.framing, message.body = "close", reader.to_end()
    return message


def chunked(pieces):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece) + b"0\r\n\r\n"


def head_bytes(start, fields):
    return "\r\n".join([start, *(f"{name}: {value}" for name, value in fields)]).encode("latin-1") + b"\r\n\r\n"


def reset(sock):
    """Closes with RST, so that the peer's next read or write fails."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def hang_up(sock):
    """Ends a connection, or a listener, and wakes the thread that waits for it; closing alone does not."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def stop_listening(listener):
    hang_up(listener)
    listener.close()


def pump(source, sink, goes_on=lambda: True):
    """Passes bytes on until either side ends, or somebody does not want the next ones passed on."""
    try:
        while (data := source.recv(65536)) and goes_on():
            sink.sendall(data)
    except OSError:
        pass
    hang_up(source)
    hang_up(sink)


def readable(sock, seconds):
    """Whether bytes, or the end of them, come within this time."""
    return bool(select.select([sock], [], [], seconds)[0])


class Wire:
    """A client's connection."""

    def __init__(self, address, seconds=10.0, source=""):
        self.sock = socket.create_connection(address, timeout=seconds, source_address=(source, 0) if source else None)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = Reader(self.sock, seconds)

    def send(self, data):
        self.sock.settimeout(self.reader.seconds)
        self.sock.sendall(data)

    def request(self, method, target, fields=(), body=None):
        """Sends a whole request; Host and Content-Length are added unless given."""
        fields = list(fields)
        names = {name.lower() for name, _ in fields}
        if "host" not in names:
            fields.insert(0, ("Host", "localhost"))
        if body is not None and not names & {"content-length", "transfer-encoding"}:
            fields.append(("Content-Length", str(len(body))))
        self.send(head_bytes(f"{method} {target} HTTP/1.1", fields) + (body or b""))

    def reply(self, method="POST"):
        """The next reply to a request of this method; interim ones count."""
        message = read_head(self.reader)
        bodiless = method == "HEAD" or message.status < 200 or message.status in (204, 304)
        return message if bodiless else read_body(self.reader, message, until_close=True)

    def ask(self, method, target, fields=(), body=None):
        self.request(method, target, fields, body)
        return self.reply(method)

    def is_open(self, seconds=0.05):
        """Whether the peer has left the connection open, and silent."""
        if self.reader.buffer:
            return True
        self.sock.settimeout(seconds)
        try:
            return self.sock.recv(1, socket.MSG_PEEK) != b""
        except socket.timeout:
            return True
        except ConnectionError:
            return False

    def wait_closed(self):
        """Returns what still came before the peer closed."""
        return self.reader.to_end()

    def close(self):
        self.sock.close()

    def reset(self):
        reset(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def ask(address, method, target, fields=(), body=None, seconds=10.0):
    """One request on a connection of its own."""
    with Wire(address, seconds) as wire:
        return wire.ask(method, target, fields, body)


def eventually(condition, seconds=5.0, pause=0.02):
    """Asks until it is true; what it said last."""
    deadline = time.monotonic() + seconds
    while True:
        said = condition()
        if said or time.monotonic() > deadline:
            return said
        time.sleep(pause)
