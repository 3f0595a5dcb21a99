"""The connection to PostgreSQL is cut just when a commit has been sent, and its answer is dropped

Nobody knows then whether the claim or the answer was written. The gateway finds out by asking again as the same owner: a
request is forwarded once, and what was answered stays. I1 to I8 and I10.
"""
import random
import socket
import threading
import time


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
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(source, sink, client), daemon=True).start()

    def pump(self, source, sink, client):
        try:
            while data := source.recv(65536):
                if sink is client and client in self.doomed:
                    break  # the server has answered, and nobody hears it
                sink.sendall(data)
        except OSError:
            pass
        for sock in (source, sink):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """One of the connections dies with its next answer."""
        living = [client for client, _ in self.pairs if client not in self.doomed]
        if living:
            self.doomed.add(self.chance.choice(living))

    def close(self):
        self.listener.close()
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
