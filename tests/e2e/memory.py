#!/usr/bin/env python3
"""Memory that does not grow with what goes through: streams and idle connections. --binary SEMEL

SEMEL_STREAM_BYTES and SEMEL_IDLE_CONNECTIONS say how much; docs/limits.md has the figures of a full run.
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
EXTRA_BYTES_MAX = 32 << 20
IDLE_BYTES_MAX = 20 << 10
SECURE_CONNECTIONS = min(IDLE_CONNECTIONS, 2000)
SECURE_BYTES_MAX = 30 << 10
PIECE = bytes(1 << 18)


def memory(semel, what):
    """VmRSS or VmHWM of the process, in bytes."""
    status = pathlib.Path(f"/proc/{semel.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(what))


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
