#!/usr/bin/env python3
"""How long pages of the desk take with many keys in the store: every list, find and key page, 95 in 100 of them.

  tests/e2e/desk_lists.py --binary SEMEL --store-bench STORE_BENCH [--keys 10000000] [--rounds 200] [--stores embedded,postgres]

Finished keys are put into the store directly; some that are unknown and some that run are added through the gateway. Times are
those of a client on this machine, connection and JSON included. The goal is 50 ms at ten million keys.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import gateway
import operators
import postgres_server
import stage as staging
import wire
from harness import keyed

# Only reading is measured, so the server need not make durable what it is filled with.
SETTINGS = "shared_buffers = 1GB\nmax_wal_size = 4GB\nfsync = off\nwal_level = minimal\nmax_wal_senders = 0\n"
# Finished keys, packed as bench/postgres.py packs them.
FILL = """SET synchronous_commit = off;
ALTER TABLE semel.keys SET (autovacuum_enabled = off, fillfactor = 90);
ALTER TABLE semel.keys DROP CONSTRAINT keys_pkey; DROP INDEX semel.keys_expires_at;
INSERT INTO semel.keys (claimed_at, lease_until, expires_at, fence, owner, state, space, scope, id, fingerprint, response)
  SELECT now(), now() + interval '30 seconds', now() + interval '2 days' + n * interval '8 milliseconds', 1, n, 'done',
         'bench', decode(repeat('00', 32), 'hex'), sha256(int8send(n)), sha256('request'), decode(repeat('78', 600), 'hex')
    FROM generate_series(1, {count}) AS n;
SET maintenance_work_mem = '1GB';
ALTER TABLE semel.keys ADD CONSTRAINT keys_pkey PRIMARY KEY (id);
CREATE INDEX keys_expires_at ON semel.keys (expires_at);
ANALYZE semel.keys;
"""
UNKNOWN = 300


class Asserting:
    @staticmethod
    def assertEqual(one, other, what=""):
        if one != other:
            raise SystemExit(f"{one} is not {other}: {what}")


def lose_some(semel, stage):
    """Payments whose answers are lost, one that is done, one that runs on."""
    def upstream():
        while True:
            try:
                arrival = stage.next(seconds=600)
                arrival.read_body()
                key = arrival.message.get("Idempotency-Key")
                if key.startswith("lost"):
                    arrival.reset()
                elif key != "runs":
                    arrival.answer(201, (), b"done")
            except (wire.Silent, wire.Cut, OSError):
                return

    threading.Thread(target=upstream, daemon=True).start()
    for number in range(UNKNOWN):
        semel.ask("POST", "/v1/payments", keyed(f"lost-{number}"), b"1")
    semel.ask("POST", "/v1/payments", keyed("done"), b"1")

    def run_on():
        try:
            semel.ask("POST", "/v1/payments", keyed("runs"), b"1", seconds=600)
        except (OSError, wire.Closed, wire.Cut, wire.Silent):
            pass

    threading.Thread(target=run_on, daemon=True).start()


def pages(desk):
    found = desk.find("done", "alice")["id"]
    unknown = desk.find("lost-7", "alice")["id"]
    first = desk.good("GET", "/v1/keys?limit=50")
    return {
        "list unknown, 100": ("GET", "/v1/keys?state=unknown", None),
        "list unknown, 1000": ("GET", "/v1/keys?state=unknown&limit=1000", None),
        "list unknown, from a cursor": ("GET", f"/v1/keys?limit=50&cursor={first['cursor'].replace('/', '%2F')}", None),
        "list unknown, older than 1 h": ("GET", "/v1/keys?older=1h", None),
        "list unknown of a scope": ("GET", "/v1/keys?scope=nobody", None),
        "list running": ("GET", "/v1/keys?state=running", None),
        "find by text": ("POST", "/v1/keys/find", {"scope": "alice", "key": "done"}),
        "find what is not there": ("POST", "/v1/keys/find", {"scope": "alice", "key": "nobody"}),
        "find by route": ("POST", "/v1/keys/find",
                          {"route": "/v1/payments", "fields": {"Authorization": "alice"}, "key": "lost-7"}),
        "show a done key": ("GET", f"/v1/keys/{found}", None),
        "show by 12 digits": ("GET", f"/v1/keys/{unknown[:12]}", None),
        "audit log": ("GET", "/v1/audit", None),
    }


def measure(semel, rounds):
    desk = operators.ByApi(Asserting, semel)
    figures = {}
    for name, (method, target, body) in pages(desk).items():
        times = []
        complete = None
        for _ in range(rounds):
            begun = time.perf_counter()
            reply, said = desk.call(method, target, body)
            times.append((time.perf_counter() - begun) * 1000)
            complete = said.get("complete")
            if reply.status not in (200, 404):
                raise SystemExit(f"{name}: {reply.status} {said}")
        operators.ANSWERS.clear()
        figures[name] = {"p50_ms": round(statistics.median(times), 2), "p95_ms": round(statistics.quantiles(times, n=20)[18], 2),
                         "complete": complete}
        print(f"  {name:32} p50 {figures[name]['p50_ms']:8.2f} ms   p95 {figures[name]['p95_ms']:8.2f} ms   complete {complete}",
              flush=True)
    return figures


def run(options, store, folder):
    stage = staging.Stage()
    database = None
    url = None
    begun = time.monotonic()
    if store == "embedded":
        data = folder / "data"
        subprocess.run([options.store_bench, "fill", data, str(options.keys)], check=True, stdout=subprocess.DEVNULL)
        url = f"embedded:{data}"
    else:
        database = postgres_server.Server(options.binary, SETTINGS)
        database.prepare("lists")
        database.run(FILL.format(count=options.keys), "lists")
        url = database.url_of("lists")
    print(f"{store}: {options.keys} keys, filled in {time.monotonic() - begun:.0f} s", flush=True)
    semel = gateway.Gateway(options.binary, operators.WITH_TOKENS, upstream="%s:%d" % stage.address, store=url)
    try:
        semel.start()
        lose_some(semel, stage)
        return measure(semel, options.rounds)
    finally:
        semel.close()
        stage.close()
        if database:
            database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--store-bench", required=True)
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--stores", default="embedded,postgres")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="semel-lists-") as folder:
        figures = {store: run(options, store, pathlib.Path(folder)) for store in options.stores.split(",")}
    print(json.dumps({"keys": options.keys, "rounds": options.rounds, "figures": figures}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
