#!/usr/bin/env python3
"""Memory that does not grow with what goes through, and bodies that cost what they are, once. --binary SEMEL

SEMEL_STREAM_BYTES, SEMEL_IDLE_CONNECTIONS and SEMEL_BODIES say how much; docs/limits.md has the figures of a full run.
"""
import os
import pathlib
import resource
import socket
import threading

import harness
import tls
import wire
from harness import CONFIG, ROUTE

STREAM_BYTES = int(os.environ.get("SEMEL_STREAM_BYTES", 256 << 20))
IDLE_CONNECTIONS = int(os.environ.get("SEMEL_IDLE_CONNECTIONS", 1000))
PROCESS_BYTES_MAX = 48 << 20
EXTRA_BYTES_MAX = 32 << 20
IDLE_BYTES_MAX = 20 << 10
BODIES = int(os.environ.get("SEMEL_BODIES", 64))
BODY_BYTES = 1 << 20
BODY_BYTES_MAX = BODY_BYTES * 5 // 2
SHARED_BYTES_MAX = 64 << 10
SECURE_CONNECTIONS = min(IDLE_CONNECTIONS, 2000)
SECURE_BYTES_MAX = 30 << 10
PIECE = bytes(1 << 18)


def memory(semel, what):
    """VmRSS or VmHWM of the process, in bytes."""
    status = pathlib.Path(f"/proc/{semel.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(what))


def connect_slowly(semel, seconds=30.0):
    """A client that takes next to nothing while it does not read. Segments as on a network, not of 64 KiB as on the loopback:
    otherwise the kernel takes megabytes off the gateway's hands."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
    sock.connect(semel.address)
    client = wire.Wire.__new__(wire.Wire)
    client.sock, client.reader = sock, wire.Reader(sock, seconds)
    return client


def open_many(case, count):
    """Lets this process have so many connections; skips the test if that cannot be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 200:
        case.skipTest(f"only {hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    case.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))


def forget_peak(semel):
    pathlib.Path(f"/proc/{semel.process.pid}/clear_refs").write_text("5", encoding="ascii")


def send_all(sock, size):
    sock.settimeout(120)
    while size > 0:
        size -= sock.send(PIECE[:min(size, len(PIECE))])


def receive_all(reader, size):
    size -= len(reader.take(len(reader.buffer)))
    reader.sock.settimeout(120)
    while size > 0:
        got = len(reader.sock.recv(1 << 20))
        if got == 0:
            raise wire.Cut(f"{size} bytes are missing")
        size -= got


class Memory(harness.Case):
    def test_a_process_with_an_empty_store_is_small(self):
        """Before anybody has asked anything."""
        with self.gateway(CONFIG + ROUTE) as semel:
            held = memory(semel, "VmRSS")
            print(f"with an empty store: {held / (1 << 20):.0f} MiB")
            self.assertLess(held, PROCESS_BYTES_MAX)

    def test_an_upload_and_a_download_at_once(self):
        """Both take as long as the slower side likes; the gateway holds a few pieces, not the streams."""
        with self.gateway(CONFIG + ROUTE) as semel:
            self.answer_all("warm")
            semel.ask("PUT", "/v1/x", [("X-Scenario", "warm")], b"x" * 100_000)
            before = memory(semel, "VmRSS")
            forget_peak(semel)
            faults = []

            def part(work):
                def guarded():
                    try:
                        work()
                    except Exception as fault:  # told below, on the thread that counts
                        faults.append(fault)
                thread = threading.Thread(target=guarded, daemon=True)
                thread.start()
                return thread

            def take_upload():
                arrival = self.stage.next("up", seconds=20)
                receive_all(arrival.reader, STREAM_BYTES)
                arrival.answer(200, body=b"taken")

            def give_download():
                arrival = self.stage.next("down", seconds=20)
                arrival.send(wire.head_bytes("HTTP/1.1 200 OK", [("Content-Length", str(STREAM_BYTES))]))
                send_all(arrival.sock, STREAM_BYTES)
                arrival.end(keep=True)

            def upload():
                with semel.connect(seconds=120) as client:
                    client.request("PUT", "/v1/up", [("X-Scenario", "up"), ("Content-Length", str(STREAM_BYTES))])
                    send_all(client.sock, STREAM_BYTES)
                    self.assertEqual(client.reply("PUT").body, b"taken")

            def download():
                with semel.connect(seconds=120) as client:
                    client.request("GET", "/v1/down", [("X-Scenario", "down")])
                    wire.read_head(client.reader)
                    receive_all(client.reader, STREAM_BYTES)

            for thread in [part(work) for work in (take_upload, give_download, upload, download)]:
                thread.join(600)
            self.assertEqual(faults, [])
            extra = memory(semel, "VmHWM") - before
            print(f"{STREAM_BYTES >> 20} MiB up and down at once: {extra / (1 << 20):.1f} MiB more than before")
            self.assertLess(extra, EXTRA_BYTES_MAX)

    def test_a_reader_that_does_not_read_holds_the_writer_up(self):
        """The client takes nothing: the gateway stops taking from the upstream instead of gathering it."""
        with self.gateway(CONFIG + ROUTE) as semel, semel.connect() as client:
            before = memory(semel, "VmRSS")
            client.request("GET", "/v1/down", [("X-Scenario", "down")])
            arrival = self.stage.next("down")
            arrival.send(wire.head_bytes("HTTP/1.1 200 OK", [("Content-Length", str(1 << 40))]))
            arrival.sock.settimeout(2)
            sent = 0
            with self.assertRaises(socket.timeout):
                while sent < STREAM_BYTES * 4:
                    sent += arrival.sock.send(PIECE)
            self.assertLess(memory(semel, "VmRSS") - before, EXTRA_BYTES_MAX)
            arrival.reset()

    def test_idle_connections_are_cheap(self):
        """Each has sent a request and waits; what it costs is bounded."""
        open_many(self, IDLE_CONNECTIONS)
        self.answer_all()
        config = CONFIG + f"\n[limits]\nconnections = {IDLE_CONNECTIONS + 100}\n" + ROUTE
        with self.gateway(config) as semel:
            for _ in range(20):
                semel.ask("GET", "/v1/x")
            before = memory(semel, "VmRSS")
            connections = [semel.connect(seconds=30) for _ in range(IDLE_CONNECTIONS)]
            for connection in connections:
                connection.request("GET", "/v1/x")
                self.assertEqual(connection.reply("GET").status, 200)
            each = (memory(semel, "VmRSS") - before) / IDLE_CONNECTIONS
            print(f"{IDLE_CONNECTIONS} idle connections: {each / 1024:.1f} KiB each")
            for connection in connections:
                connection.close()
            self.assertLess(each, IDLE_BYTES_MAX)


    def test_idle_connections_give_back_what_a_large_head_took(self):
        """Each has sent a head of 56 KiB once, and waits since; the allocator is told to give pages back at once."""
        count = min(IDLE_CONNECTIONS, 1000)
        open_many(self, count)
        self.answer_all()
        head = b"GET /v1/x HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 8000) for n in range(7))
        with self.gateway(environment={"MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}) as semel:
            semel.ask("GET", "/v1/x")
            before = memory(semel, "VmRSS")
            connections = [semel.connect(seconds=30) for _ in range(count)]
            for connection in connections:
                connection.send(head)
            for connection in connections:  # one after another: the stage takes only so many at once
                connection.send(b"\r\n")
                self.assertEqual(connection.reply("GET").status, 200)
            peak = (memory(semel, "VmHWM") - before) / count
            each = (memory(semel, "VmRSS") - before) / count
            print(f"{count} heads of {len(head) >> 10} KiB: {peak / 1024:.1f} KiB each, then {each / 1024:.1f} KiB")
            for connection in connections:
                connection.close()
            self.assertLess(each, IDLE_BYTES_MAX)


class Bodies(harness.Case):
    def told(self, semel, before, what, bytes_max):
        """What each of the bodies has cost at the most."""
        each = (memory(semel, "VmHWM") - before) / BODIES
        print(f"{BODIES} {what} of {BODY_BYTES >> 10} KiB at once: {each / 1024:.0f} KiB each")
        self.assertLess(each, bytes_max)

    def test_guarded_bodies_cost_what_they_are(self):
        """Each is held until it is whole, then sent on, and all are under way at once."""
        open_many(self, BODIES)
        with self.gateway() as semel:
            before = memory(semel, "VmRSS")
            clients = [semel.connect(seconds=60) for _ in range(BODIES)]
            body = os.urandom(BODY_BYTES)
            for number, client in enumerate(clients):
                fields = [*harness.keyed(f"k{number}"), ("Content-Length", str(BODY_BYTES))]
                client.request("POST", "/v1/x", fields)
                client.send(body[:-1])
            self.assertEqual(self.stage.count(), 0)
            for client in clients:
                client.send(body[-1:])
            self.assertTrue(wire.eventually(lambda: self.stage.count() == BODIES, 60))
            self.answer_all()
            for client in clients:
                self.assertEqual(client.reply().status, 200)
                client.close()
            self.told(semel, before, "guarded bodies", BODY_BYTES_MAX)

    def test_replays_that_nobody_takes_share_one_answer(self):
        """A stored answer is asked for from many sides, and none of them reads; it is there once for all."""
        open_many(self, BODIES)
        body = os.urandom(BODY_BYTES)
        self.answer_all(body=lambda arrival: body)
        with self.gateway() as semel:
            semel.ask("POST", "/v1/x", harness.keyed("k1"))
            before = memory(semel, "VmRSS")
            forget_peak(semel)
            clients = [connect_slowly(semel) for _ in range(BODIES)]
            for client in clients:
                client.request("POST", "/v1/x", harness.keyed("k1"))
            for client in clients:
                self.assertTrue(wire.readable(client.sock, 30))
            self.told(semel, before, "replays that nobody takes", SHARED_BYTES_MAX)
            for client in clients:
                self.assertEqual(client.reply().body, body)
                client.close()


class SecureMemory(tls.Case):
    def test_idle_connections_with_tls_are_cheap(self):
        """Each has sent a request and waits; what OpenSSL and we keep of it is bounded. Printed, and judged with room:
        how much OpenSSL keeps is not ours to say."""
        open_many(self, SECURE_CONNECTIONS)
        context = tls.trusting(self.authority)
        self.answer_all()
        with self.secure() as semel:
            for _ in range(20):
                with self.client(semel) as client:
                    client.ask("GET", "/v1/x")
            before = memory(semel, "VmRSS")
            connections = [tls.SecureWire(semel.address, context) for _ in range(SECURE_CONNECTIONS)]
            for connection in connections:
                self.assertEqual(connection.ask("GET", "/v1/x").status, 200)
            each = (memory(semel, "VmRSS") - before) / SECURE_CONNECTIONS
            print(f"{SECURE_CONNECTIONS} idle connections with TLS: {each / 1024:.1f} KiB each")
            for connection in connections:
                connection.close()
            self.assertLess(each, SECURE_BYTES_MAX)


if __name__ == "__main__":
    harness.run()
