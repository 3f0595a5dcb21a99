#!/usr/bin/env python3
"""What is streamed and never kept: WebSocket, server-sent events. --binary SEMEL"""
import base64
import hashlib
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

import harness
import wire
from harness import CONFIG, ROUTE

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def asking(key="dGhlIHNhbXBsZSBub25jZQ==", **more):
    return [("Connection", "keep-alive, Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", key), *more.items()]


def frame(text, masked):
    """One text frame of up to 125 bytes (RFC 6455 section 5.2)."""
    data = text.encode()
    if not masked:
        return struct.pack("!BB", 0x81, len(data)) + data
    mask = os.urandom(4)
    return struct.pack("!BB", 0x81, 0x80 | len(data)) + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(data))


def read_frame(reader):
    first, second = reader.exactly(2)
    mask = reader.exactly(4) if second & 0x80 else bytes(4)
    data = reader.exactly(second & 0x7F)
    return first & 0x0F, bytes(c ^ mask[i % 4] for i, c in enumerate(data)).decode(errors="replace")


def agree(arrival):
    digest = hashlib.sha1(arrival.message.get("Sec-WebSocket-Key").encode() + MAGIC).digest()
    accept = base64.b64encode(digest).decode()
    arrival.send(wire.head_bytes("HTTP/1.1 101 Switching Protocols", [
        ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Accept", accept)]))


class WebSocket(harness.Case):
    def connect(self, semel):
        client = semel.connect()
        client.request("GET", "/v1/socket", asking())
        arrival = self.stage.next()
        self.assertEqual(arrival.message.get("Upgrade"), "websocket")
        self.assertEqual(arrival.message.get("Connection"), "Upgrade")
        agree(arrival)
        reply = wire.read_head(client.reader)
        self.assertEqual(reply.status, 101)
        self.assertEqual(reply.get("Upgrade"), "websocket")
        self.assertEqual(reply.get("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        self.assertIsNone(reply.get("Content-Length"))
        return client, arrival

    def test_frames_go_both_ways(self):
        """Each side hears what the other says, when it is said, and the end of one is the end of the other."""
        with self.gateway() as semel:
            client, arrival = self.connect(semel)
            for i in range(3):
                client.send(frame(f"up {i}", masked=True))
                self.assertEqual(read_frame(arrival.reader), (1, f"up {i}"))
                arrival.send(frame(f"down {i}", masked=False))
                self.assertEqual(read_frame(client.reader), (1, f"down {i}"))
            arrival.close()
            self.assertEqual(client.wait_closed(), b"")

    def test_half_closed_is_half_open(self):
        """The client says that it will say no more; the upstream hears that and may still answer."""
        with self.gateway() as semel:
            client, arrival = self.connect(semel)
            client.sock.shutdown(1)
            self.assertEqual(arrival.reader.to_end(), b"")
            arrival.send(frame("last", masked=False))
            self.assertEqual(read_frame(client.reader), (1, "last"))
            arrival.close()
            self.assertEqual(client.wait_closed(), b"")

    def test_an_upstream_that_declines_is_heard(self):
        """Any other answer is an ordinary one, and the connection is used again."""
        with self.gateway() as semel, semel.connect() as client:
            client.request("GET", "/v1/socket", asking())
            self.stage.next().answer(400, body=b"no")
            reply = client.reply("GET")
            self.assertEqual((reply.status, reply.body), (400, b"no"))
            client.request("GET", "/v1/x")
            self.stage.next().answer(200)
            self.assertEqual(client.reply("GET").status, 200)

    def test_nobody_is_switched_who_did_not_ask(self):
        """101 without a request for it, or to another protocol, is 502: bytes behind it would be anybody's."""
        cases = [((), "websocket"), (asking(), "h2c"), ([("Connection", "Upgrade"), ("Upgrade", "h2c")], "h2c"),
                 ([("Upgrade", "websocket")], "websocket")]
        with self.gateway() as semel:
            for fields, protocol in cases:
                with self.subTest(fields=fields, protocol=protocol), semel.connect() as client:
                    client.request("GET", "/v1/socket", fields)
                    arrival = self.stage.next()
                    if fields != asking():
                        self.assertIsNone(arrival.message.get("Upgrade"))
                    arrival.send(wire.head_bytes("HTTP/1.1 101 Switching Protocols",
                                                 [("Connection", "Upgrade"), ("Upgrade", protocol)]))
                    self.assertEqual(client.reply("GET").status, 502)
                    arrival.close()

    def test_a_guarded_request_is_never_switched(self):
        """A POST may not carry an Upgrade further; what the upstream makes of it is unknown, not a tunnel."""
        with self.gateway() as semel, semel.connect() as client:
            client.request("POST", "/v1/x", harness.keyed("k1") + asking())
            arrival = self.stage.next()
            self.assertIsNone(arrival.message.get("Upgrade"))
            agree(arrival)
            self.assert_problem(client.reply(), 502, "outcome-unknown")
            arrival.close()

    def test_a_silent_tunnel_is_closed(self):
        """Nothing moves for tunnel_timeout: both sides are closed."""
        with self.gateway(CONFIG + '\n[limits]\ntunnel_timeout = "1s"\n' + ROUTE) as semel:
            client, arrival = self.connect(semel)
            started = time.monotonic()
            for _ in range(3):
                time.sleep(0.5)
                client.send(frame("still here", masked=True))
                self.assertEqual(read_frame(arrival.reader), (1, "still here"))
            client.wait_closed()
            self.assertEqual(arrival.reader.to_end(), b"")
            arrival.close()
            self.assertGreater(time.monotonic() - started, 2.0)

    def test_draining_lets_a_tunnel_go_on_for_its_time(self):
        """SIGTERM: the tunnel works until drain_timeout, then the process ends."""
        with self.gateway(CONFIG + '\n[limits]\ndrain_timeout = "1s"\n' + ROUTE) as semel:
            client, arrival = self.connect(semel)
            semel.signal(signal.SIGTERM)
            client.send(frame("late", masked=True))
            self.assertEqual(read_frame(arrival.reader), (1, "late"))
            self.assertEqual(semel.wait(10), 0)
            arrival.close()


class Events(harness.Case):
    def test_each_event_arrives_when_it_is_sent(self):
        """An event is there long before the next one, chunked or ended by the connection."""
        for framing in ("chunked", "close"):
            with self.subTest(framing=framing), self.gateway() as semel, semel.connect() as client:
                client.request("GET", "/v1/events", [("Accept", "text/event-stream")])
                arrival = self.stage.next()
                fields = [("Content-Type", "text/event-stream")]
                fields.append(("Transfer-Encoding", "chunked") if framing == "chunked" else ("Connection", "close"))
                arrival.send(wire.head_bytes("HTTP/1.1 200 OK", fields))
                head = wire.read_head(client.reader)
                self.assertEqual(head.get("Content-Type"), "text/event-stream")
                for i in range(5):
                    event = f"data: {i}\n\n".encode()
                    sent = time.monotonic()
                    arrival.send(b"%x\r\n%s\r\n" % (len(event), event) if framing == "chunked" else event)
                    size = int(client.reader.line(), 16)
                    self.assertEqual(client.reader.exactly(size + 2), event + b"\r\n")
                    self.assertLess(time.monotonic() - sent, 1.0)
                if framing == "chunked":
                    arrival.send(b"0\r\n\r\n")
                arrival.close()
                self.assertEqual(client.reader.exactly(5), b"0\r\n\r\n")


# A browser's objects, in Node: says what it gets, and ends.
SOCKET = """
const socket = new WebSocket(process.argv[1]);
socket.onopen = () => socket.send("from node");
socket.onmessage = (event) => { console.log(event.data); socket.close(1000); };
socket.onclose = (event) => console.log("closed", event.code);
socket.onerror = (event) => console.log("error", event.message);
"""
SOURCE = """
const source = new EventSource(process.argv[1]);
source.onmessage = (event) => { console.log(event.data); if (event.data === "2") source.close(); };
source.onerror = () => { console.log("error"); source.close(); };
"""


def node(script, url):
    return subprocess.Popen(["node", "--experimental-websocket", "--experimental-eventsource", "--no-warnings", "-e",
                             script, url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def node_has(name):
    if shutil.which("node") is None:
        return False
    said = subprocess.run(["node", "--experimental-websocket", "--experimental-eventsource", "-e",
                           f"console.log(typeof {name})"], capture_output=True, text=True, check=False)
    return said.stdout.strip() == "function"


class RealClients(harness.Case):
    @unittest.skipUnless(node_has("WebSocket"), "this Node has no WebSocket")
    def test_a_web_socket_of_node(self):
        """A client of somebody else's making opens, talks, and closes in good order."""
        with self.gateway() as semel:
            client = node(SOCKET, "ws://%s:%d/v1/socket" % semel.address)
            arrival = self.stage.next(seconds=20)
            agree(arrival)
            self.assertEqual(read_frame(arrival.reader), (1, "from node"))
            arrival.send(frame("to node", masked=False))
            self.assertEqual(read_frame(arrival.reader)[0], 8)
            arrival.send(struct.pack("!BBH", 0x88, 2, 1000))
            arrival.close()
            said, _ = client.communicate(timeout=20)
            self.assertEqual(said.splitlines(), ["to node", "closed 1000"])

    @unittest.skipUnless(node_has("EventSource"), "this Node has no EventSource")
    def test_an_event_source_of_node(self):
        """Events arrive at a client that knows nothing of gateways."""
        with self.gateway() as semel:
            client = node(SOURCE, "http://%s:%d/v1/events" % semel.address)
            arrival = self.stage.next(seconds=20)
            arrival.send(wire.head_bytes("HTTP/1.1 200 OK", [("Content-Type", "text/event-stream"),
                                                             ("Transfer-Encoding", "chunked")]))
            for i in range(3):
                event = f"data: {i}\n\n".encode()
                arrival.send(b"%x\r\n%s\r\n" % (len(event), event))
            said, _ = client.communicate(timeout=20)
            arrival.close()
            self.assertEqual(said.splitlines(), ["0", "1", "2"])


if __name__ == "__main__":
    harness.run()
