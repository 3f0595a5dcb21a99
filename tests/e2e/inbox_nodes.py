#!/usr/bin/env python3
"""Two gateways on one PostgreSQL with an inbox: inbox_nodes.py --binary SEMEL [--faults N] [--feeders N] [--seed N]
[--seconds-max N] [--stops] [--cuts]

Providers, handler and promises (N1 to N4) are those of inbox_oracle.py. Each feeder sends to both gateways in turn. Again and
again one of these happens: a gateway is killed with SIGKILL while it delivers, and stays away until the other has put back
what it left; it is killed and comes back at once; the database crashes and comes back; with --stops, a gateway also stands still
until it counts as dead; with --cuts, it is cut off from the database for so long. Exit code 0: all of it holds, and a dead gateway was noticed by the other one.
"""
import argparse
import collections
import contextlib
import random
import socket
import sys
import threading
import time

import gateway
import inbox_handler
import inbox_oracle
import postgres_server
import server
import wire

BEAT_S = 0.5
CONFIG = inbox_oracle.CONFIG.replace("[log]", f'[inbox]\nnode_beat = "{int(BEAT_S * 1000)}ms"\n[log]')
FAULTS = ("kill_for_good", "crash_the_database", "kill_and_restart")


class Cable(server.Server):
    """The way from a gateway to the database. While it is cut nothing gets through, and nobody is told."""

    def __init__(self, path):
        self.path, self.whole = path, threading.Event()
        self.whole.set()
        super().__init__(self.relay)
        self.url = "postgres://postgres@%s:%d/postgres?sslmode=disable" % self.address

    def relay(self, connection):
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(self.path)
            back = threading.Thread(target=self.carry, args=(other, connection.sock), daemon=True)
            back.start()
            self.carry(connection.sock, other)

    def carry(self, source, sink):
        try:
            while data := source.recv(1 << 16):
                self.whole.wait()
                sink.sendall(data)
        except OSError:
            pass
        wire.hang_up(sink)

    @contextlib.contextmanager
    def cut(self):
        self.whole.clear()
        try:
            yield
        finally:
            self.whole.set()

    def close(self):
        self.whole.set()
        super().close()


class Balanced:
    """Both gateways, in turn, as a provider reaches them."""

    def __init__(self, nodes):
        self.nodes, self.turn = nodes, 0

    def ask(self, *request):
        self.turn += 1
        return self.nodes[self.turn % len(self.nodes)].ask(*request)


class World(inbox_oracle.World):
    def __init__(self, binary, seed, feeders, faults=FAULTS):
        self.faults, self.troubles = faults, []
        self.chance = random.Random(f"inbox-nodes-{seed}")
        self.database = postgres_server.Server(binary, "fsync = on")
        self.handler = inbox_handler.Handler(inbox_oracle.speaker(seed))
        self.cables = [Cable(str(self.database.sockets / ".s.PGSQL.5432")) for _ in range(2)]
        self.nodes = [gateway.Gateway(binary, CONFIG, store=cable.url, upstream="%s:%d" % self.handler.address)
                      for cable in self.cables]
        self.semel = self.nodes[0]
        self.stop = threading.Event()
        self.feeders = [inbox_oracle.Feeder(Balanced(self.nodes), number, self.stop) for number in range(feeders)]
        self.kills = collections.Counter()
        self.adopted = 0

    def holders(self):
        return int(self.database.run("SELECT count(*) FROM semel.inbox_holders"))

    def more_calls(self, count):
        goal = self.handler.count() + count
        wire.eventually(lambda: self.handler.count() >= goal, 30)

    def kill_for_good(self):
        node = self.chance.choice(self.nodes)
        node.kill()
        wire.eventually(lambda: self.holders() == 1, 60, 0.1)
        if self.holders() != 1:
            self.troubles.append("a dead gateway was not noticed by the other one")
        self.adopted += 1
        self.more_calls(20)
        node.start()

    def kill_and_restart(self):
        node = self.chance.choice(self.nodes)
        node.kill()
        node.start()

    def stop_past_its_beats(self):
        with self.chance.choice(self.nodes).stopped():
            wire.eventually(lambda: self.holders() == 1, 60, 0.1)

    def cut_off(self):
        with self.chance.choice(self.cables).cut():
            wire.eventually(lambda: self.holders() == 1, 60, 0.1)

    def crash_the_database(self):
        self.database.crash()
        time.sleep(self.chance.uniform(0, 1))
        self.database.start()

    def run(self, faults, seconds_max):
        deadline = time.monotonic() + seconds_max
        for node in self.nodes:
            node.start()
        for feeder in self.feeders:
            feeder.start()
        for number in range(faults):
            if time.monotonic() > deadline - 90:
                break
            self.more_calls(self.chance.randint(20, 100))
            name = self.faults[number % len(self.faults)]
            self.kills[name] += 1
            getattr(self, name)()
        self.more_calls(20)
        self.stop.set()
        for feeder in self.feeders:
            feeder.join(60)
        return self.troubles + self.judge(max(60.0, deadline - time.monotonic()))

    def close(self):
        self.stop.set()
        for node in self.nodes:
            node.close()
        for cable in self.cables:
            cable.close()
        self.handler.close()
        self.database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--faults", type=int, default=8)
    parser.add_argument("--feeders", type=int, default=4)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seconds-max", type=float, default=240)
    parser.add_argument("--stops", action="store_true")
    parser.add_argument("--cuts", action="store_true")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    faults = FAULTS + ("stop_past_its_beats",) * options.stops + ("cut_off",) * options.cuts
    world = World(options.binary, seed, options.feeders, faults)
    try:
        troubles = world.run(options.faults, options.seconds_max)
    finally:
        world.close()
    print(f"seed {seed}: {world.summary()}")
    for trouble in troubles:
        print(trouble)
    return 1 if troubles or world.adopted == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
