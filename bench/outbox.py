"""What an outbox costs and how fast it is: bench/run --only outbox

  send     what semel.send() adds to a transaction, by the server's clock, in a loop of many calls
  moved    rows per second from a full outbox into the inbox, while the destination is paused: on the embedded store, and on
           PostgreSQL in a server of its own
  delay    from the answer to COMMIT to the arrival of the request: with a doorbell, while there is traffic, and after silence
  idle     transactions per second that an idle mover costs the program's database

Programs speak to the database by libpq itself, because starting psql takes longer than what is measured.
"""
import contextlib
import ctypes
import ctypes.util
import importlib.util
import json
import pathlib
import shutil
import statistics
import threading
import time

import database  # finds tests/e2e, too
import inbox_handler
import wire

ROWS = 50_000
BODY = json.dumps({"id": "%s", "note": "x" * 200})
CONFIG = """
[server]
listen = "$listen"
[admin]
listen = "$admin"
[store]
url = "$store"
[log]
requests = false
[upstream.app]
url = "http://$upstream"
[[route]]
path = "/v1/*"
upstream = "app"
[destination.mailer]
upstream = "app"
target = "/send"
[[outbox]]
name = "shop"
database = "$database"
deliver = ["mailer"]
doorbell = $doorbell
"""
SEND = """DO $$ DECLARE begun timestamptz; i integer; BEGIN
FOR i IN 1..500 LOOP PERFORM semel.send('mailer', 'warm' || i, '{}'); END LOOP;
begun := clock_timestamp();
FOR i IN 1..10000 LOOP PERFORM semel.send('mailer', 'k' || i, '%s'%s); END LOOP;
CREATE TEMP TABLE IF NOT EXISTS measured (us double precision);
INSERT INTO measured VALUES (extract(epoch FROM clock_timestamp() - begun) * 100);
END $$; SELECT us FROM measured; ROLLBACK"""


class Libpq:
    """One connection; statements without parameters."""

    def __init__(self, url):
        self.lib = ctypes.CDLL(ctypes.util.find_library("pq") or "libpq.so.5")
        for name, kind in (("PQconnectdb", ctypes.c_void_p), ("PQexec", ctypes.c_void_p), ("PQresultStatus", ctypes.c_int),
                           ("PQerrorMessage", ctypes.c_char_p)):
            getattr(self.lib, name).restype = kind
        self.connection = ctypes.c_void_p(self.lib.PQconnectdb(url.encode()))

    def run(self, sql):
        result = ctypes.c_void_p(self.lib.PQexec(self.connection, sql.encode()))
        status = self.lib.PQresultStatus(result)
        self.lib.PQclear(result)
        if status not in (1, 2):
            raise RuntimeError(self.lib.PQerrorMessage(self.connection).decode())

    def close(self):
        self.lib.PQfinish(self.connection)


class Bench:
    def __init__(self, work, binary, say):
        self.work, self.binary, self.say, self.number = pathlib.Path(work), binary, say, 0
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.stack = contextlib.ExitStack()
        self.server = database.Database(binary, self.work)
        self.stack.callback(self.server.close)
        self.arrived, self.lock = {}, threading.Lock()
        self.handler = inbox_handler.Handler(self.note)
        self.stack.callback(self.handler.close)

    def note(self, event, _):
        with self.lock:
            self.arrived[event] = time.monotonic()
        return 200

    def shop(self):
        """A new database with an outbox."""
        self.number += 1
        name = f"shop_{self.number}"
        self.server.run(f"CREATE DATABASE {name}")
        database.run(self.binary, "migrate", "--outbox", "--url", self.server.url_of(name))
        return name

    def gateway(self, name, doorbell=False, store=None):
        made = semel_e2e_gateway(self.binary, CONFIG, upstream="%s:%d" % self.handler.address, store=store,
                                 database=self.server.url_of(name), doorbell="true" if doorbell else "false")
        self.stack.callback(made.close)
        return made

    def send_us(self, more):
        name = self.shop()
        return float(self.server.run("BEGIN;" + SEND % (BODY.replace("%s", "e"), more), name).splitlines()[-1])

    def moved_per_s(self, store=None):
        """The destination is paused first, in a life of the gateway that has nothing to move."""
        name = self.shop()
        semel = self.gateway(name, store=store).start()
        wire.ask(semel.admin, "POST", "/v1/destinations/mailer/pause", [], b'{"reason": "a measurement"}')
        semel.stop()
        self.server.run(f"""SELECT count(semel.send('mailer', 'k' || i, replace('{BODY}', '%s', 'e' || i)))
                            FROM generate_series(1, {ROWS}) i""", name)
        semel.start()
        counter = 'semel_outbox_moved_total{outbox="shop"}'
        seen = []
        while not seen or seen[-1][1] < ROWS:
            seen.append((time.monotonic(), semel.metrics()[1].get(counter, 0)))
            time.sleep(0.05)
        semel.stop()
        first = next(each for each in seen if each[1] > 0)
        return (seen[-1][1] - first[1]) / max(seen[-1][0] - first[0], 0.001)

    def standing(self, semel):
        """Where an effect may be that did not come."""
        said = [wire.ask(semel.admin, "GET", target).body.decode()
                for target in ("/v1/outbox", "/v1/destinations", "/v1/inbox?state=waiting", "/v1/inbox?state=running")]
        return "\n".join([*said, semel.stderr()[-2000:]])

    def delays(self, semel, name, count, pause, ring=False):
        connection = Libpq(self.server.url_of(name))
        found = []
        for i in range(count):
            key = f"{name}-{ring}-{pause}-{i}"
            connection.run("BEGIN")
            connection.run(f"SELECT semel.send('mailer', '{key}', '{BODY.replace('%s', key)}')")
            connection.run("COMMIT")
            committed = time.monotonic()
            if ring:
                connection.run("NOTIFY semel_outbox")
            if not wire.eventually(lambda: key in self.arrived, 10, 0.001):
                raise RuntimeError(f"{key} did not come: {self.standing(semel)}")
            found.append(1000 * (self.arrived[key] - committed))
            time.sleep(pause)
        connection.close()
        return {"p50_ms": statistics.median(found), "max_ms": max(found), "count": count}

    def idle_per_s(self, name, seconds):
        """By the server's own count, which it writes down now and then; our two questions are among them."""
        text = f"SELECT pg_stat_clear_snapshot(); SELECT xact_commit FROM pg_stat_database WHERE datname = '{name}'"
        time.sleep(3)
        begun, before = time.monotonic(), int(self.server.run(text).splitlines()[-1])
        time.sleep(seconds)
        return (int(self.server.run(text).splitlines()[-1]) - before) / (time.monotonic() - begun)


def semel_e2e_gateway(*arguments, **values):
    """The class of the end-to-end tests; bench/ has a module of the same name."""
    path = pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e" / "gateway.py"
    spec = importlib.util.spec_from_file_location("e2e_gateway", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Gateway(*arguments, **values)


def measure(work, binary, rounds, say):
    bench = Bench(work, binary, say)
    with bench.stack:
        found = {"send": [], "send_object": [], "moved": [], "moved_postgres": []}
        for number in range(rounds):
            say(f"outbox: round {number + 1}/{rounds}")
            found["send"].append(bench.send_us(""))
            found["send_object"].append(bench.send_us(", object => 'o' || (i % 50)"))
            found["moved"].append(bench.moved_per_s())
            store = database.Database(binary, bench.work)
            bench.stack.callback(store.close)
            store.prepare()
            found["moved_postgres"].append(bench.moved_per_s(store.url))
        results = {name: statistics.median(values) for name, values in found.items()}
        name = bench.shop()
        semel = bench.gateway(name).start()
        results["busy"] = bench.delays(semel, name, 40 * rounds, 0.05)
        results["after_silence"] = bench.delays(semel, name, 6 * rounds, 2.5)
        results["idle_per_s"] = bench.idle_per_s(name, 15)
        semel.stop()
        name = bench.shop()
        semel = bench.gateway(name, doorbell=True).start()
        time.sleep(1)
        results["doorbell"] = bench.delays(semel, name, 15 * rounds, 1.5, ring=True)
    shutil.rmtree(work, ignore_errors=True)
    return results


def table(results):
    rows = ["| | measured | goal |", "|---|---:|---:|",
            f"| `semel.send` in a transaction | {results['send']:.0f} µs | 60 µs |",
            f"| the same, with an object | {results['send_object']:.0f} µs | 60 µs |",
            f"| rows moved to the embedded store | {results['moved']:,.0f} /s | 10,000 /s |",
            f"| rows moved to a PostgreSQL store | {results['moved_postgres']:,.0f} /s | 10,000 /s |"]
    names = {"doorbell": ("commit to arrival, with a doorbell", "3 ms"), "busy": ("the same by looking, with traffic", "15 ms"),
             "after_silence": ("the same after silence", "260 ms")}
    for name, (words, goal) in names.items():
        one = results[name]
        rows.append(f"| {words}, median (longest of {one['count']}) | {one['p50_ms']:.1f} ms ({one['max_ms']:.0f} ms) | {goal} |")
    rows.append(f"| transactions of an idle mover | {results['idle_per_s']:.1f} /s | 5 /s |")
    return "\n".join(rows)
