#!/usr/bin/env python3
"""A gateway is restarted under load while somebody else holds its socket, as systemd does. --binary SEMEL [--restarts 100]

Clients connect anew for each request, and each has a key of its own. A connection that is refused, cut or left without an answer
is a gap. Prints what happened, and fails if there was one.
"""
import argparse
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

import harness
import programs
import stage as staging
import wire

# Becomes the program, with the sockets where sd_listen_fds(3) says that they are. The first word is how many there are.
PASS_ON = """
import os, sys
count = int(sys.argv[1])
for to, number in enumerate([os.dup2(int(word), 100 + i) for i, word in enumerate(sys.argv[2:2 + count])], 3):
    os.dup2(number, to)
    os.close(number)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count))
os.execv(sys.argv[2 + count], sys.argv[2 + count:])
"""


class Held:
    """Sockets that stay open whoever accepts on them, and a process that gets them."""

    def __init__(self, binary, folder, config, count):
        self.sockets = [socket.create_server((programs.HOST, 0), backlog=4096) for _ in range(count)]
        self.addresses = [each.getsockname() for each in self.sockets]
        self.folder = pathlib.Path(folder)
        self.config = self.folder / "semel.toml"
        self.config.write_text(config(*("%s:%d" % address for address in self.addresses)), encoding="utf-8")
        numbers = [each.fileno() for each in self.sockets]
        self.command = [str(word) for word in (sys.executable, "-c", PASS_ON, count, *numbers, binary, "serve", self.config)]
        self.process = None

    def start(self):
        with open(self.folder / "stderr", "ab") as said, open(self.folder / "stdout", "ab") as out:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=said, cwd=self.folder,
                                            pass_fds=[each.fileno() for each in self.sockets])

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)

    def said(self):
        return (self.folder / "stderr").read_text(encoding="utf-8")


def configuration(upstream, threads):
    def with_sockets(listen, admin, api):
        return f"""
[server]
listen = "{listen}"
threads = {threads}
[admin]
listen = "{admin}"
[api]
listen = "{api}"
[[api.token]]
name = "worker"
secret = "0123456789abcdef"
namespaces = ["*"]
[store]
url = "embedded:data"
[upstream.app]
url = "http://{upstream}"
[[route]]
path = "/v1/*"
upstream = "app"
scope = ""
"""
    return with_sockets


class Client(threading.Thread):
    def __init__(self, address, number, over):
        super().__init__(daemon=True)
        self.address, self.number, self.over = address, number, over
        self.answered, self.gaps, self.slowest = 0, [], 0.0

    def run(self):
        serial = 0
        while not self.over.is_set():
            serial += 1
            begun = time.monotonic()
            try:
                reply = wire.ask(self.address, "POST", "/v1/x", [("Idempotency-Key", f"{self.number}-{serial}")], b"1", 60)
                if reply.status == 200:
                    self.answered += 1
                else:
                    self.gaps.append(f"status {reply.status}")
            except (OSError, wire.Cut, wire.Closed, wire.Silent) as trouble:
                self.gaps.append(repr(trouble))
            self.slowest = max(self.slowest, time.monotonic() - begun)


def answer_all(stage):
    def serve():
        while True:
            try:
                arrival = stage.next(seconds=60)
                arrival.read_body()
                arrival.answer(200, [], b"done")
            except (wire.Silent, wire.Cut, OSError):
                return

    for _ in range(8):
        threading.Thread(target=serve, daemon=True).start()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        harness.skip("only Linux passes sockets on")
    stage = staging.Stage()
    answer_all(stage)
    with tempfile.TemporaryDirectory(prefix="semel-restarts-") as folder:
        held = Held(programs.path(options.binary), folder, configuration("%s:%d" % stage.address, 2), 3)
        held.start()
        over = threading.Event()
        clients = [Client(held.addresses[0], number, over) for number in range(options.clients)]
        for client in clients:
            client.start()
        codes = []
        for _ in range(options.restarts):
            before = sum(client.answered for client in clients)
            if not wire.eventually(lambda: sum(client.answered for client in clients) > before + 20, 60):
                break
            codes.append(held.stop())
            held.start()
        ready = wire.eventually(lambda: programs.answers(held.addresses[1], "/readyz"), 60)
        claims = wire.ask(held.addresses[2], "GET", "/", seconds=30).status
        over.set()
        for client in clients:
            client.join(90)
        codes.append(held.stop())
        gaps = [gap for client in clients for gap in client.gaps]
        answered = sum(client.answered for client in clients)
        slowest = max(client.slowest for client in clients)
        print(f"{len(codes) - 1} restarts, {answered} requests answered, {len(gaps)} gaps, the longest wait {slowest:.1f} s")
        fine = (len(codes) == options.restarts + 1 and not any(codes) and not gaps and ready and claims in (401, 404, 405)
                and "was passed on" not in held.said())
        if not fine:
            print(f"exit codes {codes}, ready {ready}, claims {claims}, gaps {gaps[:10]}\n{held.said()[-2000:]}")
        sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
