"""Plays one scenario (script.py) against a gateway, with a stage (stage.py) as its upstream."""
import json
import re
import socket
import time

import script
import signers
import stage as staging
import wire

MARKER = "Idempotent-Replayed"
FRAMING = {"connection", "content-length", "transfer-encoding"}
PERSONAL = {"set-cookie", "date", "www-authenticate", "authentication-info", "proxy-authenticate"}


class Mismatch(Exception):
    """What came is not what the scenario says."""


def shown(message):
    body = message.body if len(message.body) <= 600 else message.body[:600] + b"... %d bytes" % len(message.body)
    fields = "".join(f"\n    {name}: {value}" for name, value in message.fields)
    return f"    {message.start}{fields}\n\n    {body.decode('latin-1')}"


def without(fields, *sets):
    dropped = set().union(*sets)
    return [(name, value) for name, value in fields if name.lower() not in dropped]


def check_problem(message, text):
    slug, _, advice = text.partition(" ")
    kind = slug if ":" in slug else "urn:semel:problem:" + slug
    if message.get("Content-Type") != "application/problem+json":
        raise Mismatch(f"Content-Type is {message.get('Content-Type')}, not application/problem+json")
    try:
        problem = json.loads(message.body)
    except ValueError:
        raise Mismatch("the body is not JSON") from None
    if set(problem) != {"type", "title", "status", "detail", "retry"}:
        raise Mismatch(f"the problem has the members {sorted(problem)}")
    if problem["type"] != kind:
        raise Mismatch(f"the problem is {problem['type']}, not {kind}")
    if advice and problem["retry"] != advice:
        raise Mismatch(f"retry is {problem['retry']}, not {advice}")
    if problem["status"] != message.status:
        raise Mismatch(f"the problem says status {problem['status']}")
    if not message.body.endswith(b"}\n"):
        raise Mismatch("the problem does not end its line, so a terminal goes on behind it")
    if not problem["title"] or len(problem["detail"]) < 10:
        raise Mismatch("title or detail says nothing")


def check_field(message, name, expected):
    got = message.all(name)
    if expected == ["-"]:
        right = not got
    elif expected == ["*"]:
        right = bool(got)
    elif expected[0].startswith("~ "):
        right = len(got) == 1 and re.fullmatch(expected[0][2:], got[0])
    else:
        right = got == expected
    if not right:
        raise Mismatch(f"{name} is {got or 'not there'}, not {expected}")


def check_body(message, lines, name):
    if lines and lines[0].startswith("~ "):
        text = message.body.decode("latin-1")
        for line in lines:
            if not re.search(script.expand(line[2:], name), text):
                raise Mismatch(f"the body does not hold {line[2:]!r}")
        return
    expected = script.body_bytes(lines, name)
    if message.body != expected:
        raise Mismatch(f"the body has {len(message.body)} bytes, not these {len(expected)}: {expected[:600]!r}")


def check_message(message, block, name):
    wanted = {}
    for field, value in block.fields:
        wanted.setdefault(field, []).append(script.expand(value, name))
    for field, values in wanted.items():
        if field == "problem":
            check_problem(message, values[0])
        elif field == "framing":
            if message.framing != values[0]:
                raise Mismatch(f"the framing is {message.framing}, not {values[0]}")
        else:
            check_field(message, field, values)
    if block.body is not None:
        check_body(message, block.body, name)


def at_once(_side, send, data):
    send(data)


class Client:
    """One connection, and what was sent on it."""

    def __init__(self, address, automatic, frame_all, deliver=at_once):
        self.deliver = deliver
        self.address = address
        self.frame_all = frame_all  # `Content-Length: 0` where there is no body
        self.automatic = automatic  # fields that a request gets unless it has them
        self.wire = None
        self.last = None
        self.held = None
        self.methods = []  # of requests that wait for their reply
        self.early = None  # a reply that was read already

    def connected(self):
        if self.wire is None or (not self.methods and not self.wire.is_open(0.0001)):
            self.wire = wire.Wire(self.address)
        return self.wire

    def send_request(self, block, name):
        if block.first == "again":
            start, fields, body = self.last
        else:
            start, fields, body = script.expand(block.first, name), [], None
        replaced = {field.lower() for field, _ in block.fields}
        fields = without(fields, replaced)
        fields += [(field, script.expand(value, name)) for field, value in block.fields]
        if block.body is not None:
            body = block.body
        self.last = (start, fields, body)
        self.write(start, fields, body, name)

    def write(self, start, fields, body, name):
        left_out = {field.lower() for field, value in fields if value == "-"}
        given = {field.lower() for field, _ in fields}
        out = [(field, value) for field, value in self.automatic if field.lower() not in given]
        out += [(field, value) for field, value in fields if field.lower() not in left_out]
        data = script.body_bytes(body, name)
        for sign in [value for field, value in out if field == "sign"]:
            out = without(out, {"sign"}) + [pair for pair in signers.sign(sign, data) if pair[0].lower() not in given]
        if data is None and self.frame_all and not start.startswith(("GET ", "HEAD ", "OPTIONS ")):
            data = b""
        if data is not None and not given & {"content-length", "transfer-encoding"}:
            out.append(("Content-Length", str(len(data))))
        if data is not None and ("Transfer-Encoding", "chunked") in fields:
            data = wire.chunked(script.body_bytes([line], name) for line in body)
        if not re.search(r" HTTP/1\.\d$", start):
            start += " HTTP/1.1"
        self.methods.append(start.split(" ")[0])
        self.held = data if any(field.lower() == "expect" for field, _ in out) else None
        self.deliver("request", self.connected().send,
                     wire.head_bytes(start, out) + (b"" if self.held is not None else data or b""))

    def send_until(self, status, name):
        """Sends the last request again until it gets this status; that reply is the next one to be read."""
        def reply():
            self.write(*self.last, name)
            return self.read_reply()

        self.early = wire.eventually(lambda: (lambda got: got if got.status == status else None)(reply()), 10.0)
        if self.early is None:
            raise Mismatch(f"no reply had the status {status} within 10 s")

    def read_reply(self):
        if self.early is not None:
            early, self.early = self.early, None
            return early
        reply = self.wire.reply(self.methods[0] if self.methods else "GET")
        if reply.status >= 200 and self.methods:
            self.methods.pop(0)
        return reply

    def hang_up(self, how):
        if how == "reset":
            self.wire.reset()
        else:
            self.wire.close()
        self.wire, self.methods = None, []


class Player:
    def __init__(self, scenario, address, admin, stage, frame_all=False, deliver=at_once, leave=wire.Wire.close):
        """`deliver` gets "request" or "answer", what sends bytes, and the bytes; `leave` ends connections afterwards."""
        self.deliver = deliver
        self.leave = leave
        self.frame_all = frame_all
        self.scenario = scenario
        self.name = scenario.name
        self.address = address
        self.admin = admin
        self.stage = stage
        self.clients = {}
        self.arrival = None
        self.arrived = []
        self.original = None  # the last reply that came from the upstream

    def play(self):
        """Raises Mismatch with the line and what was wrong with it."""
        try:
            for step in self.scenario.steps:
                if isinstance(step, float):
                    time.sleep(step)
                else:
                    self.take(step)
            came = self.stage.count(self.name)
            if came != self.scenario.effects:
                raise Mismatch(f"{self.scenario.file}:{self.scenario.line}: {came} requests arrived at the upstream, "
                               f"not {self.scenario.effects}")
        finally:
            for arrival in self.arrived:
                arrival.close()
            for client in self.clients.values():
                if client.wire is not None:
                    self.leave(client.wire)

    def take(self, block):
        handle = {">": self.send, "<": self.expect, ">>": self.arrive, "<<": self.answer}[block.arrow]
        try:
            handle(block)
        except (Mismatch, wire.Closed, wire.Cut, wire.Silent, OSError) as error:
            what = str(error) or "the connection was closed instead"
            raise Mismatch(f"{self.scenario.file}:{block.line}: {block.who}{block.arrow} {block.first}: {what}") from error

    def client(self, who):
        if who not in self.clients:
            of_admin = who.startswith("admin")
            automatic = [("Host", "localhost" if of_admin else "semel.test")]
            if not of_admin:
                automatic += [(staging.FIELD, self.name), ("Authorization", f"Bearer {self.name}")]
            self.clients[who] = Client(self.admin if of_admin else self.address, automatic, self.frame_all,
                                       self.deliver)
        return self.clients[who]

    # ---- the client's side

    def send(self, block):
        client = self.client(block.who)
        if block.first in ("close", "reset"):
            client.hang_up(block.first)
        elif block.first == "body":
            client.wire.send(client.held)
        elif block.first.startswith("again until "):
            client.send_until(int(block.first[12:]), self.name)
        elif block.first.startswith("raw "):
            self.deliver("request", client.connected().send,
                         script.expand(script.literal(block.first[4:]).decode("latin-1"), self.name).encode("latin-1"))
        else:
            client.send_request(block, self.name)

    def expect(self, block):
        client = self.client(block.who)
        if block.first == "closed":
            rest = client.wire.wait_closed()
            if rest:
                raise Mismatch(f"before it was closed there came {rest[:300]!r}")
        elif block.first == "open":
            if not client.wire.is_open():
                raise Mismatch("the connection was closed")
        elif block.first.startswith("nothing for "):
            self.expect_nothing(client, script.seconds(block.first[12:]))
        elif block.first.startswith("raw "):
            expected = script.literal(block.first[4:])
            got = client.wire.reader.exactly(len(expected))
            if got != expected:
                raise Mismatch(f"there came {got!r}")
        else:
            self.expect_reply(client.read_reply(), block)

    @staticmethod
    def expect_nothing(client, seconds):
        client.wire.sock.settimeout(seconds)
        try:
            got = client.wire.reader.buffer or client.wire.sock.recv(1000, socket.MSG_PEEK)
        except socket.timeout:
            return
        raise Mismatch(f"there came {got!r}")

    def expect_reply(self, reply, block):
        try:
            if block.first == "replay":
                self.check_replay(reply)
            elif not re.fullmatch(block.first.removeprefix("~ "), str(reply.status)):
                raise Mismatch(f"the status is {reply.status}")
            check_message(reply, block, self.name)
        except Mismatch as mismatch:
            raise Mismatch(f"{mismatch}\n  the reply was\n{shown(reply)}") from mismatch
        if reply.status >= 200 and not reply.all(MARKER):
            self.original = reply

    def check_replay(self, reply):
        first = self.original
        if reply.status != first.status or reply.body != first.body:
            raise Mismatch(f"not the same answer again; it was\n{shown(first)}")
        if reply.all(MARKER) != ["true"]:
            raise Mismatch("not marked as replayed")
        before, after = without(first.fields, FRAMING, PERSONAL), without(reply.fields, FRAMING, {MARKER.lower()})
        if before != after:
            raise Mismatch(f"other fields than at first; those were\n{shown(first)}")

    # ---- the upstream's side

    def arrive(self, block):
        if block.first.startswith("raw "):
            expected = script.literal(block.first[4:])
            got = self.arrival.reader.exactly(len(expected))
            if got != expected:
                raise Mismatch(f"there came {got!r}")
            return
        self.arrival = self.stage.next(self.name)
        self.arrived.append(self.arrival)
        head_only = block.first.startswith("head ")
        expected = script.expand(block.first.removeprefix("head "), self.name)
        message = self.arrival.message if head_only else self.arrival.read_body()
        if not head_only and message.framing == "none":
            message.body = b""
        try:
            if f"{message.method} {message.target}" != expected:
                raise Mismatch(f"it is {message.method} {message.target}")
            check_message(message, block, self.name)
        except Mismatch as mismatch:
            raise Mismatch(f"{mismatch}\n  the request was\n{shown(message)}") from mismatch

    def answer(self, block):
        if self.arrival is None:
            self.arrival = self.stage.next(self.name)
            self.arrived.append(self.arrival)
            self.arrival.read_body()
        arrival = self.arrival
        if block.first.startswith("raw "):
            self.deliver("answer", arrival.send, script.expand(script.literal(block.first[4:]).decode("latin-1"),
                                                               self.name).encode("latin-1"))
            return
        self.arrival = None
        if block.first == "close":
            arrival.close()
        elif block.first == "reset":
            arrival.reset()
        elif block.first == "done":
            arrival.end(keep=True)
        else:
            self.answer_whole(arrival, block)

    def answer_whole(self, arrival, block):
        status, _, reason = block.first.partition(" ")
        fields = [(name, script.expand(value, self.name)) for name, value in block.fields if value != "-"]
        given = {name.lower() for name, _ in block.fields}
        body = script.body_bytes(block.body, self.name) or b""
        until_close = ("Content-Length", "-") in block.fields
        if ("Transfer-Encoding", "chunked") in fields:
            body = wire.chunked(script.body_bytes([line], self.name) for line in block.body or [])
        elif "content-length" not in given and status not in ("204", "304"):
            fields.append(("Content-Length", str(len(body))))
        bare = arrival.message.method == "HEAD"
        self.deliver("answer", arrival.send,
                     wire.head_bytes(f"HTTP/1.1 {status} {reason or 'Fine'}", fields) + (b"" if bare else body))
        arrival.end(keep=not until_close and ("Connection", "close") not in fields)
