"""The load of an oracle as a program of its own, many times as quick as threads of Python (tests/proof/load/load.cc).

It picks operations in the same way, and its calls are lines of the same journal, so the same checker judges them.
"""
import contextlib
import hashlib
import subprocess

import callers
import origin

PROGRAM, ORIGIN = "proof_load", "proof_origin"  # in one folder


class QuickLoad:
    """As oracle.Load. `operations` are those that others have asked for; known() are all."""

    def __init__(self, folder, addresses, journal, seed, clients, delays_ms, routes):
        self.journal = journal
        self.clients = clients
        self.operations = set()
        number = int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:8], "big")
        self.errors = open(journal.path.with_name("load.stderr"), "wb")
        self.process = subprocess.Popen(
            [str(folder / PROGRAM), str(journal.path), str(clients), str(number), ",".join(routes), ",".join(map(str, delays_ms)),
             *("%s:%d" % address for address in addresses)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, bufsize=1)

    def tell(self, *words):
        """Returns when it is done. What the program cannot read of a gateway ends it, and with it the run."""
        try:
            print(*words, file=self.process.stdin)
            done = self.process.stdout.readline()
        except BrokenPipeError:
            done = ""
        if done != "done\n":
            said = self.journal.path.with_name("load.stderr").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"the load ended with {self.process.wait()}: {said[-500:]}")

    def start(self):
        self.tell("start")

    def stop(self):
        self.tell("stop")

    def pause(self, seconds=0.5):
        """Everybody hangs up and waits; what was under way has ended when this returns, unless it takes longer than that."""
        self.tell("pause", seconds)

    def go_on(self):
        self.tell("go")

    def settle(self, address, seconds):
        self.tell("settle", seconds, "%s:%d" % address)
        callers.settle(address, self.journal, self.operations, seconds)

    def known(self):
        path = self.journal.path.with_name("operations.jsonl")
        self.tell("operations", path)
        return self.operations | {callers.Operation(one["scope"], one["key"], one["body"].encode(), one["target"])
                                  for one in origin.read_records(path)}

    def abandon(self):
        """Whatever it is doing."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            with contextlib.suppress(BrokenPipeError):
                file.close()
