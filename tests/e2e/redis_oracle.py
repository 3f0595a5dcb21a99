#!/usr/bin/env python3
"""Two gateways on one Redis server, faults, and the oracle: redis_oracle.py --binary SEMEL [--faults N] [--losses N] [--seed N]
[--only FAULT]

First the server syncs every write and the promises must hold whatever happens: it is killed and comes back, stands still,
pauses its clients, rewrites its log, forgets its scripts, cuts its connections, runs out of memory, evicts for a while; a
gateway is killed, is stopped for longer than its leases, ends in good order and is started again. Nothing may be lost, and no
gateway may say that something was. Origin, callers and checker are those of oracle.py.

Then, --losses times, the server is killed and the end of its log is cut off, as a crash under everysec or the promotion of a
replica that lagged behind does. What was acknowledged and is gone is counted in the records, and the gateways must have
noticed all of it. Exit code 0: the promises held.
"""
import collections
import random
import sys
import threading
import time

import checker
import gateway
import harness
import oracle
import programs
import redis_server
import wire

KINDS = ("kill_the_server", "flush_its_scripts", "kill_a_gateway", "cut_its_connections", "stop_the_server",
         "rewrite_its_log", "pause_its_clients", "fill_its_memory", "restart_a_gateway", "stop_a_gateway_past_its_leases",
         "let_it_evict")
LOST = "semel_store_lost_calls_total"
CLIENTS = 8
# A batch whose beat is gone counts as lost, though some of its calls may have been kept: at most one, the one that was cut.
SLACK = 2 * CLIENTS
NOTICED_WITHIN_S = 30  # a gateway notices when it has connected again, which a busy machine delays


class Faults:
    """Each is noted on the stage for as long as it lasts."""

    def __init__(self, server, stage, chance, kinds=KINDS):
        self.server = server
        self.stage = stage
        self.nodes = stage.nodes
        self.chance = chance
        self.kinds = kinds
        self.count = collections.Counter()

    def of_the_store(self, what):
        return self.stage.fault(checker.STORE, what)

    def kill_the_server(self):
        with self.of_the_store("the server is killed"):
            self.server.kill()
            time.sleep(self.chance.uniform(0, 0.5))
            self.server.start()

    def stop_the_server(self):
        with self.of_the_store("the server stands still"):
            self.server.signal(19)
            time.sleep(self.chance.uniform(0.2, 1.5))
            self.server.signal(18)

    def pause_its_clients(self):
        with self.of_the_store("its clients are paused"):
            self.server.run("CLIENT", "PAUSE", 700, "ALL")
            time.sleep(0.8)

    def rewrite_its_log(self):
        with self.of_the_store("its log is rewritten"):
            self.server.run("BGREWRITEAOF")
            time.sleep(0.3)

    def flush_its_scripts(self):
        with self.of_the_store("its scripts are flushed"):
            for _ in range(5):
                self.server.run("SCRIPT", "FLUSH")
                time.sleep(0.02)

    def cut_its_connections(self):
        with self.of_the_store("its connections are cut"):
            for _ in range(5):
                self.server.run("CLIENT", "KILL", "TYPE", "normal")
                time.sleep(0.02)

    def fill_its_memory(self):
        with self.of_the_store("its memory is full"):
            self.server.run("CONFIG", "SET", "maxmemory", "1mb")
            time.sleep(0.5)
            self.server.run("CONFIG", "SET", "maxmemory", "0")

    def let_it_evict(self):
        """There is memory enough, so nothing is evicted; a gateway that looks meanwhile takes no claims until it looks again."""
        with self.of_the_store("its policy is changed"):
            self.server.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            time.sleep(0.5)
            self.server.run("CONFIG", "SET", "maxmemory-policy", "noeviction")
            time.sleep(1.2)

    def kill_a_gateway(self):
        oracle.kill_and_restart(self.chance.choice(self.nodes))

    def stop_a_gateway_past_its_leases(self):
        with self.chance.choice(self.nodes).stopped():
            time.sleep(oracle.LEASE_SECONDS + 0.5)

    def restart_a_gateway(self):
        node = self.chance.choice(self.nodes)
        node.stop()
        node.start()

    def next(self, number):
        fault = getattr(self, self.kinds[number % len(self.kinds)])
        self.count[fault.__name__] += 1
        fault()


def hold(options, folder):
    """The promises under every fault, on a server that syncs every write. The verdict, what was done, and whether a gateway
    has said that something was lost."""
    chance = random.Random(options.seed)
    server = redis_server.Server(options.binary)
    try:
        with oracle.Oracle(options.binary, folder, options.seed, options.clients, nodes=2, store=server.url) as stage:
            stage.start()
            faults = Faults(server, stage, chance, [options.only] if options.only else KINDS)
            for number in range(options.faults):
                time.sleep(chance.uniform(0.05, 0.9))
                faults.next(number)
            stage.settle()
            verdict = stage.end()
            alarms = [line for node in stage.nodes for line in node.stderr().splitlines() if "has lost" in line]
    finally:
        server.close()
    return verdict, faults.count, alarms


class Payers:
    """Clients that pay under new keys all the time, and can be told to be quiet."""

    def __init__(self, addresses):
        self.going, self.stopped = threading.Event(), threading.Event()
        self.quiet = threading.Semaphore(0)
        self.numbers = iter(range(1 << 30))
        self.refused = 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(addresses[i % len(addresses)],), daemon=True)
                        for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()
        self.wait_for_quiet()

    def wait_for_quiet(self):
        """Nobody pays when this returns, and nobody is about to."""
        for _ in self.threads:
            self.quiet.acquire()

    def run(self, address):
        while not self.stopped.is_set():
            if not self.going.is_set():
                self.quiet.release()
                self.going.wait()
            with self.lock:
                key = f"p{next(self.numbers)}"
            if not self.is_paid(address, key):
                with self.lock:
                    self.refused += 1
                time.sleep(0.05)

    def is_paid(self, address, key):
        try:
            return wire.ask(address, "POST", "/v1/payments", harness.keyed(key), b'{"amount": 1}').status < 300
        except (OSError, wire.Closed, wire.Cut, wire.Silent):
            return False

    def pay(self, until):
        """Until it is so; how many were refused, whose calls the server may have taken without being heard."""
        before = self.refused
        self.going.set()
        until()
        self.going.clear()
        self.wait_for_quiet()
        return self.refused - before

    def end(self):
        self.stopped.set()
        self.going.set()


def acknowledged(server):
    """How many calls the records stand for: one that runs is a claim, one that has ended is an end, too."""
    script = ("local n = 0 for _, k in ipairs(redis.call('KEYS', 'semel:{*}*')) do if k:match('^semel:{%d+}[%w_-]+$') then "
              "local s = redis.call('GETRANGE', k, 1, 1) n = n + (s == 'r' and 1 or 2) end end return n")
    return int(server.run("EVAL", script, 0).split()[-1])


def noticed_by(nodes):
    return sum(int(node.metrics()[1][LOST]) for node in nodes)


def lose(options):
    """Of what was acknowledged: what was lost at least and at most, and what was noticed, each time."""
    chance = random.Random(options.seed)
    server = redis_server.Server(options.binary)
    api = programs.Demo(options.binary, "--without")
    nodes, found = [], []
    try:
        api.start()
        config = harness.CONFIG + harness.ROUTE
        nodes = [gateway.Gateway(options.binary, config, store=server.url, upstream="%s:%d" % api.address) for _ in range(2)]
        for node in nodes:
            node.start()
        payers = Payers([node.address for node in nodes])
        log = server.folder / "appendonlydir" / "appendonly.aof.1.incr.aof"
        noticed_before = 0
        for _ in range(options.losses):
            begin = log.stat().st_size
            refused = payers.pay(lambda: time.sleep(0.7))
            before, end = acknowledged(server), log.stat().st_size
            server.kill()
            with open(log, "ab") as file:
                file.truncate(begin + int((end - begin) * chance.uniform(0.2, 0.9)))
            server.start()
            lost = before - acknowledged(server)
            least = lost - 2 * refused  # a claim and an end
            payers.pay(lambda: time.sleep(1.5))  # over every connection
            wire.eventually(lambda: noticed_by(nodes) >= noticed_before + least, NOTICED_WITHIN_S, 0.2)
            noticed = noticed_by(nodes)
            found.append((least, lost, noticed - noticed_before))
            noticed_before = noticed
        payers.end()
    finally:
        for node in nodes:
            node.close()
        api.close()
        server.close()
    return found


def main():
    parser = oracle.arguments(faults=11, losses=3, clients=8)
    parser.add_argument("--only", choices=KINDS)
    options = parser.parse_args()
    code = 0
    if options.faults:
        (verdict, count, alarms), seconds = oracle.in_folder(options, hold)
        code = verdict.tell(f"{options.faults} faults, {options.clients} clients, seed {options.seed}, {seconds:.1f} s",
                            *(f"  {times:8}  {what.replace('_', ' ')}" for what, times in count.items()))
        for line in alarms:
            print(f"nothing was lost, but a gateway says: {line}")
        code = code or (1 if alarms else 0)
    for least, lost, noticed in lose(options) if options.losses else ():
        right = 0 < least <= noticed <= lost + SLACK
        print(f"the end of the log is cut off: {lost} acknowledged calls lost, {noticed} noticed: "
              f"{'right' if right else 'WRONG'}")
        code = code if right else 1
    return code


if __name__ == "__main__":
    sys.exit(main())
