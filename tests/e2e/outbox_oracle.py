#!/usr/bin/env python3
"""An outbox while everything around it is killed: outbox_oracle.py --binary SEMEL [--faults N] [--writers N] [--seed N]
[--seconds-max N] [--nodes N] [--pooled]

Writers are psql processes. Each transaction writes a row of its own and sends; some commit, some roll back, some are slow, so
that commits come out of the order of the numbers; and some are killed between two statements. Every second effect belongs
to an object. Meanwhile somebody holds a snapshot of the beginning. Again and again: a gateway is killed with SIGKILL, at random
and at exact points of a batch where its build has them (taken, accepted, moved); the programs' database crashes and comes
back; writers are killed. With --nodes 2 the gateways share a store on PostgreSQL; with --pooled they reach the programs'
database through a PgBouncer in transaction mode. The handler fails now and then. When all has come to rest:

  O1  no effect without a commit: whatever the handler was called for has its row
  O2  no commit without an effect: whatever has a row was taken by the handler; nothing is left in the tables
  O3  each once: one key for all attempts of an effect, one delivery in the books, attempts under rising numbers, one at a time
  O4  of one object, in the order of the commits: none begins before the ones that were committed before it have been taken

Exit code 0: all of it holds.
"""
import argparse
import collections
import contextlib
import random
import subprocess
import sys
import threading
import time

import gateway
import harness
import inbox_handler
import inbox_oracle
import pgbouncer
import postgres_server
import programs
import wire

CONFIG = harness.CONFIG + """timeout = "2s"
[log]
requests = false
[inbox]
node_beat = "500ms"
[[route]]
path = "/v1/*"
upstream = "app"
[destination.mailer]
upstream = "app"
target = "/send"
concurrency = 16
schedule = ["0s", "50ms", "200ms"]
breaker = { in_a_row = 1000, failures = "100%" }
[[outbox]]
name = "shop"
database = "$database"
deliver = ["mailer"]
"""
TABLE = """CREATE SEQUENCE committed_in;
CREATE TABLE orders (key text PRIMARY KEY, object text NOT NULL, n bigint NOT NULL)"""


class Writer(threading.Thread):
    """A program: one transaction after the other, in a psql that is killed now and then."""

    def __init__(self, world, number):
        super().__init__(daemon=True)
        self.world, self.number = world, number
        self.chance = random.Random(f"writer-{world.seed}-{number}")
        self.psql = None
        self.begun = collections.Counter()

    def statements(self, key):
        """Of one transaction. `n` is taken while the lock of the object is held, so it grows in the order of the commits."""
        lined = self.chance.random() < 0.5
        name = f"object-{self.chance.randrange(6)}" if lined else ""
        end = self.chance.choices(("COMMIT", "ROLLBACK", "killed"), (8, 1, 1))[0]
        self.begun[end] += 1
        yield "BEGIN;"
        yield (f"SELECT semel.send(destination => 'mailer', key => '{key}', body => '{{\"id\": \"{key}\"}}', "
               f"object => nullif('{name}', ''));")
        if self.chance.random() < 0.2:
            yield f"SELECT pg_sleep({self.chance.uniform(0, 0.3):.3f});"
        yield f"INSERT INTO orders VALUES ('{key}', '{name}', nextval('committed_in'));"
        if self.chance.random() < 0.1:  # the code runs again within its transaction: it asks once
            yield (f"SELECT semel.send(destination => 'mailer', key => '{key}', body => '{{\"id\": \"{key}\"}}', "
                   f"object => nullif('{name}', ''));")
        yield "" if end == "killed" else f"{end};"

    def open(self):
        self.close()
        self.psql = subprocess.Popen(["psql", self.world.database.url_of("shop"), "-qAt", "-v", "ON_ERROR_STOP=1"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def close(self):
        if self.psql is not None:
            self.psql.kill()
            with contextlib.suppress(OSError):
                self.psql.stdin.close()
            self.psql.stdout.close()
            self.psql.wait()
            self.psql = None

    def await_end(self):
        """Until the transaction has ended, in whatever way: it would be killed with those behind it otherwise."""
        self.psql.stdin.write("\\echo ended\n")
        self.psql.stdin.flush()
        for line in self.psql.stdout:
            if line.strip() == "ended":
                return

    def run(self):
        for i in range(1_000_000):
            if self.world.stop.is_set():
                break
            if self.psql is None or self.psql.poll() is not None:
                time.sleep(0.05)
                self.open()
            try:
                for statement in self.statements(f"order-{self.number}-{i}"):
                    if not statement:
                        time.sleep(self.chance.uniform(0, 0.02))
                        self.close()
                        break
                    self.psql.stdin.write(statement + "\n")
                    self.psql.stdin.flush()
                else:
                    self.await_end()
                time.sleep(self.chance.uniform(0, 0.02))
            except OSError:  # the database is away, or a statement has failed
                self.close()
        if self.psql is not None:  # what it has committed is for the table to say
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self.psql.stdin.close()
                self.psql.wait(30)
        self.close()


class Snapshot:
    """Somebody who looks at the database as it was, all the while."""

    def __init__(self, database):
        self.database, self.psql = database, None

    def hold(self):
        self.release()
        self.psql = subprocess.Popen(["psql", self.database.url_of("shop"), "-qAt"], stdin=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        self.psql.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM orders;\n")
        self.psql.stdin.flush()

    def release(self):
        if self.psql is not None:
            self.psql.kill()
            with contextlib.suppress(OSError):
                self.psql.stdin.close()
            self.psql.wait()
            self.psql = None


def points_of(binary):
    """The failpoints of a batch; none in a build without them."""
    done = programs.run(binary, "version", env={"SEMEL_FAILPOINT": "list"})
    return [] if done.stdout.startswith("semel ") else [word for word in done.stdout.split() if word.startswith("outbox-")]


def out_of_order(orders, calls):
    """O4. `orders` are (n, key) of one object; `calls` are those of the handler."""
    began, taken = {}, {}
    for event, _, begin, end, status in calls:
        began[event] = min(begin, began.get(event, begin))
        if status == 200:
            taken[event] = min(end, taken.get(event, end))
    before = None
    for _, key in sorted(orders):
        if before is not None and key in began and began[key] < taken.get(before, float("inf")):
            yield f"O4: {key} began before {before} was taken"
        before = key


class World:
    def __init__(self, binary, seed, writers, nodes=1, pooled=False):
        self.seed, self.chance = seed, random.Random(f"outbox-{seed}")
        self.points = points_of(binary)
        self.database = postgres_server.Server(binary, "fsync = on")
        self.database.run("CREATE DATABASE shop")
        migrated = programs.run(binary, "migrate", "--outbox", "--url", self.database.url_of("shop"))
        if migrated.returncode != 0:
            raise RuntimeError(migrated.stderr)
        self.database.run(TABLE, "shop")
        self.store = postgres_server.Server(binary) if nodes > 1 else None
        self.pool = pgbouncer.PgBouncer(self.database) if pooled else None
        url = self.pool.url_of("shop") if pooled else self.database.url_of("shop")
        self.handler = inbox_handler.Handler(inbox_oracle.speaker(seed))
        self.nodes = [gateway.Gateway(binary, CONFIG, upstream="%s:%d" % self.handler.address, database=url,
                                      store=self.store.url if self.store else None) for _ in range(nodes)]
        self.snapshot = Snapshot(self.database)
        self.stop = threading.Event()
        self.writers = [Writer(self, number) for number in range(writers)]
        self.faults = collections.Counter()

    def more_calls(self, count, seconds=30):
        goal = self.handler.count() + count
        wire.eventually(lambda: self.handler.count() >= goal, seconds)

    def kill_at_random(self):
        node = self.chance.choice(self.nodes)
        node.kill()
        time.sleep(self.chance.uniform(0, 0.3))
        node.start()

    def kill_at_a_point(self):
        if not self.points:
            return self.kill_at_random()
        node = self.chance.choice(self.nodes)
        point = self.points[self.faults["points"] % len(self.points)]
        self.faults["points"] += 1
        node.stop()
        node.environment["SEMEL_FAILPOINT"] = f"{point}:kill:{self.chance.randint(1, 5)}"
        with contextlib.suppress(RuntimeError):  # it may be dead before it is ready
            node.start()
        if node.wait(10) is not None:
            self.faults[point] += 1
        node.environment.pop("SEMEL_FAILPOINT")
        node.kill()
        node.start()
        return None

    def crash_the_database(self):
        self.database.crash()
        time.sleep(self.chance.uniform(0, 1))
        self.database.start()
        self.snapshot.hold()

    def run(self, faults, seconds_max):
        deadline = time.monotonic() + seconds_max
        if self.pool:
            self.pool.start()
        for node in self.nodes:
            node.start()
        for writer in self.writers:
            writer.start()
        self.snapshot.hold()
        kinds = ("kill_at_random", "kill_at_a_point", "crash_the_database", "kill_at_a_point")
        for number in range(faults):
            if time.monotonic() > deadline - 60:
                break
            self.more_calls(self.chance.randint(10, 60))
            self.faults[kinds[number % len(kinds)]] += 1
            getattr(self, kinds[number % len(kinds)])()
        self.more_calls(20)
        self.stop.set()
        for writer in self.writers:
            writer.join(60)
        return self.judge(max(90.0, deadline - time.monotonic()))

    def orders(self):
        rows = self.database.run("SELECT key, object, n FROM orders", "shop")
        return {key: (name, int(n)) for key, name, n in (line.split("|") for line in rows.splitlines())}

    def left(self):
        return sum(int(self.database.run(f"SELECT count(*) FROM semel.outbox_{i}", "shop")) for i in range(3))

    def judge(self, seconds):
        orders = self.orders()
        wire.eventually(lambda: set(orders) <= self.handler.events() and self.left() == 0, seconds, 0.2)
        with self.handler.lock:
            calls, requests = list(self.handler.calls), list(self.handler.requests)
            troubles = [f"O3: {text}" for text in self.handler.troubles[:5]]
        called = {call[0] for call in calls}
        troubles += [f"O1: {key} came, and was never committed" for key in sorted(called - set(orders))[:5]]
        troubles += [f"O2: {key} was committed and never came" for key in sorted(set(orders) - self.handler.events())[:5]]
        if self.left():
            troubles.append(f"O2: {self.left()} rows are left in the tables")
        keys = collections.defaultdict(set)
        for request in requests:
            keys[self.handler.name(request)].add(request.get("Idempotency-Key"))
        troubles += [f"O3: {event} came under {len(under)} keys" for event, under in keys.items() if len(under) > 1][:5]
        accepted = self.accepted()
        if accepted != len(orders):
            troubles.append(f"O3: {len(orders)} were committed, and the inbox has accepted {accepted}")
        lines = collections.defaultdict(list)
        for key, (name, n) in orders.items():
            if name:
                lines[name].append((n, key))
        for line in lines.values():
            troubles += list(out_of_order(line, calls))[:5]
        return troubles

    def accepted(self):
        """By the books of the inbox, when nothing waits there any more."""
        counts = {}

        def settled():
            nonlocal counts
            counts = self.nodes[0].metrics()[1]
            return not any(value for name, value in counts.items() if 'state="waiting"' in name or 'state="running"' in name)

        wire.eventually(settled, 60, 0.5)
        return int(counts.get("semel_inbox_accepted_total", -1))

    def close(self):
        self.stop.set()
        self.snapshot.release()
        for writer in self.writers:
            writer.close()
        for part in (*self.nodes, self.handler, self.pool, self.store, self.database):
            if part is not None:
                part.close()

    def summary(self):
        begun = sum((writer.begun for writer in self.writers), collections.Counter())
        faults = ", ".join(f"{count} {what}" for what, count in sorted(self.faults.items()) if what != "points")
        return (f"{len(self.orders())} committed of {sum(begun.values())} transactions ({begun['ROLLBACK']} rolled back, "
                f"{begun['killed']} killed), {self.handler.count()} calls, {faults}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--faults", type=int, default=12)
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seconds-max", type=float, default=200)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--pooled", action="store_true")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    world = World(options.binary, seed, options.writers, options.nodes, options.pooled)
    try:
        troubles = world.run(options.faults, options.seconds_max)
        print(f"seed {seed}: {world.summary()}")
    finally:
        world.close()
    for trouble in troubles:
        print(trouble)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
