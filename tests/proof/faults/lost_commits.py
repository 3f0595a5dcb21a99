"""The connection to PostgreSQL is cut just when a commit has been sent, and its answer is dropped

Nobody knows then whether the claim or the answer was written. The gateway finds out by asking again as the same owner: a
request is forwarded once, and what was answered stays. I1 to I8 and I10.
"""
import functools
import random
import socket
import threading
import time

import wire

FAULTS = ("F11",)
QUICK = {"cuts": 60}
RELEASE = {"cuts": 100, "episodes": 50}


class Relay:
    """Passes bytes between a gateway and the server. cut() lets what is on its way to the server pass, then drops the answer."""

    def __init__(self, target, seed):
        self.target = target
        self.chance = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        self.doomed = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.target)
            except OSError:
                client.close()
                continue
            self.pairs.append((client, server))
            threading.Thread(target=wire.pump, args=(client, server), daemon=True).start()
            # Once it is doomed, the server answers and nobody hears it.
            heard = functools.partial(self.is_heard, client)
            threading.Thread(target=wire.pump, args=(server, client, heard), daemon=True).start()

    def is_heard(self, client):
        return client not in self.doomed

    def cut(self):
        """One of the connections dies with its next answer."""
        living = [client for client, _ in self.pairs if client not in self.doomed]
        if living:
            self.doomed.add(self.chance.choice(living))

    def close(self):
        wire.stop_listening(self.listener)
        for pair in self.pairs:
            for sock in pair:
                sock.close()


def run(context, cuts):
    with context.postgres() as server:
        relay = Relay(str(server.folder / ".s.PGSQL.5432"), context.seed)
        url = f"postgres://postgres@127.0.0.1:{relay.port}/postgres?sslmode=disable"
        try:
            with context.oracle(high=True, nodes=2, store=url) as stage:
                stage.start()
                for number in range(cuts):
                    context.say(f"cut {number + 1} of {cuts}")
                    time.sleep(context.chance.uniform(0.05, 0.3))
                    relay.cut()
                stage.settle()
                return context.judged(stage.end(), {"faults": len(relay.doomed)})
        finally:
            relay.close()
