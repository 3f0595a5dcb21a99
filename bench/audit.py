"""What audits and resolvers cost: bench/run --only audit

  window    a million effects of a million keys that a gateway knows: how long the window takes, and how much memory more
  table     the same of a table with ten times as many rows, of which the window sees a tenth
  load      what the audit costs the database at 1,000 effects a second, with an hour of them behind: CPU of all its processes
  resolver  10,000 keys in doubt, of which the database knows half: from the start of the gateway until all are settled

The keys are claimed and completed by the API, in batches, so that they are as a gateway leaves them.
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import threading
import time

import database  # finds tests/e2e, too
import outbox
import programs
import wire

SECRET = "bench-0123456789abcdef"
BATCH = 100
CONFIG = """
[server]
listen = "$listen"
[admin]
listen = "$admin"
token = "%s"
[store]
url = "$store"
[log]
requests = false
[upstream.app]
url = "http://127.0.0.1:$upstream"
timeout = "1s"
[[route]]
path = "/v1/*"
upstream = "app"
lease = "500ms"
scope = ""
on_unknown = "hold"
""" % SECRET
HEAD = [("Authorization", f"Bearer {SECRET}")]
API = """
[api]
listen = "127.0.0.1:$api"
[[api.token]]
name = "bench"
secret = "%s"
namespaces = ["default"]
""" % SECRET
AUDIT = """
[[audit]]
name = "payments"
database = "$database"
query = "SELECT idempotency_key AS key, '' AS scope, id AS effect, created_at AS at, amount::text AS value FROM payments WHERE created_at >= $$1 AND created_at < $$2"
every = "$every"
"""
RESOLVER = """
[[resolver]]
route = "/v1/*"
ask = "sql"
database = "$database"
query = "SELECT key, status, body FROM answers WHERE key = ANY($$1)"
every = "1s"
certain_after = "3s"
decide = "apply"
"""
TABLE = """CREATE %s TABLE payments (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, idempotency_key text, amount int,
created_at timestamptz NOT NULL DEFAULT clock_timestamp()); GRANT SELECT ON payments TO reader"""
NGINX = """
pid {folder}/nginx.pid;
error_log /dev/null;
events {{}}
http {{ access_log off; keepalive_requests 1000000; server {{ listen 127.0.0.1:{port}; location / {{ return 444; }} }} }}
"""
KEYS = """
local run, number = "", 0
function init(words) run = words[1] end
function request()
  number = number + 1
  return wrk.format("POST", "/v1/payments", {["Idempotency-Key"] = "doubt-" .. run .. "-" .. number}, "12")
end
"""


class Bench:
    def __init__(self, work, binary, say):
        self.work, self.binary, self.say, self.number = pathlib.Path(work), binary, say, 0
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.stack = contextlib.ExitStack()
        self.server = database.Database(binary, self.work)
        self.stack.callback(self.server.close)
        self.server.run("CREATE ROLE reader LOGIN")

    def shop(self):
        self.number += 1
        name = f"shop_{self.number}"
        self.server.run(f"CREATE DATABASE {name}")
        return name

    def gateway(self, name, config, **values):
        url = self.server.url_of(name).replace("user=postgres", "user=reader")
        made = outbox.semel_e2e_gateway(self.binary, CONFIG + config, database=url, **{"upstream": 9, **values})
        self.stack.callback(made.close)
        return made


def claim(port, numbers):
    """Claims and completes the keys of these numbers, by the API."""
    link = http.client.HTTPConnection("127.0.0.1", port)
    head = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"}

    def call(path, items):
        body = json.dumps({"defaults": {"namespace": "default"}, "items": items})
        link.request("POST", path, body, head)
        answer = json.loads(link.getresponse().read())
        if len(answer.get("items", ())) != len(items):
            raise RuntimeError(str(answer)[:500])
        return answer["items"]

    for first in range(numbers.start, numbers.stop, BATCH):
        keys = [f"key-{i}" for i in range(first, min(first + BATCH, numbers.stop))]
        granted = call("/v1/claims", [{"key": key, "owner": "0123456789abcdef", "payload": 1} for key in keys])
        ended = call("/v1/claims/complete", [{"key": key, "fence": each["fence"], "result": {"body": 1}}
                                             for key, each in zip(keys, granted)])
        if any(each.get("outcome") != "completed" for each in ended):
            raise RuntimeError(str(ended)[:500])


def memory_mib(pid, name):
    for line in open(f"/proc/{pid}/status", encoding="ascii"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    return 0


def standing(semel):
    """Of the audit."""
    return json.loads(wire.ask(semel.admin, "GET", "/v1/audits", HEAD).body)["items"][0]


def resolver_metric(semel, name):
    text = wire.ask(semel.admin, "GET", "/metrics", HEAD).body.decode()
    found = re.search(rf"^semel_resolver_{name}{{.*}} (\d+)$", text, re.M)
    return int(found[1]) if found else 0


def look(semel, begin, end):
    """One window: how long it took, by the gateway's own clock, what it saw, and the memory at its height over that before."""
    pid = semel.process.pid
    before = memory_mib(pid, "VmRSS")
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")  # the peak is counted from now on
    body = json.dumps({"from": begin, "to": end}).encode()
    began = time.monotonic()
    reply = wire.ask(semel.admin, "POST", "/v1/audits/payments/run", HEAD, body, seconds=600)
    took = time.monotonic() - began
    found = json.loads(reply.body)
    if reply.status != 200:
        raise RuntimeError(reply.body.decode())
    return {"s": took, "mib": memory_mib(pid, "VmHWM") - before, "found": found}


def rests(pid, seconds=3):
    """Waits until a process does nothing: a store that was just opened merges tables, and needs memory for it."""
    ticks = lambda: sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    for _ in range(40):
        before = ticks()
        time.sleep(seconds)
        if ticks() - before <= 2 * seconds:
            return


def windows(bench, effects, rows, rounds):
    """A window with so many effects in a table with so many rows; two keys have an effect too many."""
    name, port = bench.shop(), programs.free_port()
    semel = bench.gateway(name, API + AUDIT + "rows_max = 1100000\n", api=port, every="1h")
    bench.server.run(TABLE % "UNLOGGED", name)  # what is read is the same, and it is filled in half the time
    semel.start()
    share = -(-effects // 4)
    bench.say(f"audit: {effects:,} keys")
    with concurrent.futures.ProcessPoolExecutor(4) as pool:
        list(pool.map(claim, [port] * 4, [range(i, min(i + share, effects)) for i in range(0, effects, share)]))
    semel.stop()
    bench.say(f"audit: {rows:,} rows")
    insert = "INSERT INTO payments (idempotency_key, amount, created_at) SELECT"
    for text in (f"""{insert} 'key-' || i, i, now() - interval '1 hour' + i * interval '40 minutes' / {effects}
                     FROM generate_series(0, {effects - 1}) i""",
                 f"{insert} 'key-' || i, i, now() - interval '10 minutes' FROM generate_series(1, 2) i",
                 f"""{insert} 'old-' || i, i, now() - interval '10 days' + i * interval '9 days' / {rows}
                     FROM generate_series(1, {rows - effects}) i""",
                 "CREATE INDEX ON payments (created_at)", "VACUUM ANALYZE payments"):
        bench.server.run(text, name)
    semel.start()
    wire.eventually(lambda: standing(semel).get("judged_to"), 120, 0.2)
    span = bench.server.run("SELECT to_char((now() - interval '90 minutes') AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), "
                            "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')", name).split("|")
    rests(semel.process.pid)
    found = []
    for number in range(rounds):
        bench.say(f"audit: window {number + 1}/{rounds}")
        found.append(look(semel, *span))
    semel.stop()
    last = found[-1]["found"]
    if last["effects"] != effects + 2 or last["suspects"]["duplicate"] != 2:
        raise RuntimeError(f"it saw {last['effects']} effects and {last['suspects']}")
    return {"s": statistics.median(one["s"] for one in found), "mib": max(one["mib"] for one in found), "effects": effects,
            "rows": rows, "rounds": rounds}


class Inserts(threading.Thread):
    """So many effects each second, in transactions of their own kind: ten a time."""

    def __init__(self, url, per_s):
        super().__init__()
        self.url, self.per_s, self.ended, self.count = url, per_s, threading.Event(), 0

    def run(self):
        link, begun = outbox.Libpq(self.url), time.monotonic()
        while not self.ended.is_set():
            if self.count < (time.monotonic() - begun) * self.per_s:
                link.run(f"INSERT INTO payments (idempotency_key, amount) SELECT 'key-' || i, i "
                         f"FROM generate_series({self.count}, {self.count + 9}) i")
                self.count += 10
            else:
                time.sleep(0.005)
        link.close()


def judged(semel, after=None):
    """Waits until a window has been judged that ends behind this one; gives its end."""
    if not wire.eventually(lambda: standing(semel).get("judged_to") not in (None, after), 300, 0.05):
        raise RuntimeError(f"no window was judged: {standing(semel)}")
    return standing(semel)["judged_to"]


def load(bench, per_s, every_s, windows_seen):
    """CPU of the database in cores: with the effects alone, and with an audit of its usual settings beside them. Near windows
    come each `every`, and are counted over whole periods; a wide one comes when a hundred times its own length has passed."""
    name = bench.shop()
    bench.server.run(TABLE % "", name)
    bench.server.run(f"INSERT INTO payments (idempotency_key, amount, created_at) SELECT 'old-' || i, i, clock_timestamp() - "
                     f"interval '70 minutes' + i * interval '1 second' / {per_s} FROM generate_series(1, {70 * 60 * per_s}) i", name)
    bench.server.run("CREATE INDEX ON payments (created_at)", name)
    bench.server.run("VACUUM ANALYZE payments", name)
    semel = bench.gateway(name, AUDIT + 'expect = "at-most-one"\n', every=f"{every_s}s")
    before = bench.server.cpu_seconds()
    semel.start()  # its first window is a wide one
    judged(semel)
    wide_s, wide_cpu_s = standing(semel)["took_ms"] / 1000, bench.server.cpu_seconds() - before
    semel.stop()
    inserts = Inserts(bench.server.url_of(name), per_s)
    inserts.start()
    try:
        bench.say(f"audit: {per_s} effects a second, alone, {every_s * windows_seen} s")
        alone, rate = cpu_of(bench, inserts, lambda: time.sleep(every_s * windows_seen))
        semel.start()
        bench.say(f"audit: {per_s} effects a second, audited, {windows_seen} windows")
        ends = [judged(semel, judged(semel, judged(semel)))]  # two periods, so that the pace is its usual one

        def watch():
            for _ in range(windows_seen):
                ends.append(judged(semel, ends[-1]))

        audited, _ = cpu_of(bench, inserts, watch)
    finally:
        inserts.ended.set()
        inserts.join()
    near_ms = standing(semel)["took_ms"]
    semel.stop()
    near, wide = (audited - alone) / os.cpu_count(), wide_cpu_s / max(every_s, 100 * wide_s) / os.cpu_count()
    return {"per_s": rate, "alone": alone / os.cpu_count(), "near": near, "wide": wide, "share": near + wide, "near_ms": near_ms,
            "wide_s": wide_s, "every_s": every_s, "windows": windows_seen}


def cpu_of(bench, inserts, during):
    """In cores, while something goes on; and how many effects a second there were."""
    begun, before, count = time.monotonic(), bench.server.cpu_seconds(), inserts.count
    during()
    took = time.monotonic() - begun
    return (bench.server.cpu_seconds() - before) / took, (inserts.count - count) / took


def doubts(bench, count):
    """Keys in doubt: the upstream takes the request and hangs up. Half of them are in the table when the gateway starts again."""
    name, port = bench.shop(), programs.free_port()
    folder = bench.work / "nginx"
    folder.mkdir()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    (folder / "keys.lua").write_text(KEYS)
    nginx = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder, "-g", "daemon off;"], stderr=subprocess.DEVNULL)
    bench.stack.callback(lambda: (nginx.terminate(), nginx.wait()))
    semel = bench.gateway(name, RESOLVER, upstream=port).start()
    asked = lambda: resolver_metric(semel, "watched_keys")
    bench.say(f"audit: {count:,} keys in doubt")
    runs = 0
    while asked() < count and runs < 30:
        runs += 1
        subprocess.run(["wrk", "-t", "1", "-c", "32", "-d", "1s", "-s", folder / "keys.lua", "http://%s:%d" % semel.address, "--",
                        str(runs)], check=True, stdout=subprocess.PIPE)
        time.sleep(2)
    return semel, name, runs, asked()


def resolved(bench, count):
    semel, name, runs, there = doubts(bench, count)
    semel.stop()
    bench.server.run(f"""CREATE TABLE answers (key text PRIMARY KEY, status int, body text); GRANT SELECT ON answers TO reader;
                         INSERT INTO answers SELECT 'doubt-' || run || '-' || i, 201, '{{"id": 1}}'
                         FROM generate_series(1, {runs}) run, generate_series(2, 60000, 2) i""", name)
    begun = time.monotonic()
    semel.start()
    settled = lambda: [resolver_metric(semel, f"{what}_total") for what in ("done", "not_done")]
    wire.eventually(lambda: sum(settled()) >= there, 300, 0.1)
    took, (done, not_done) = time.monotonic() - begun, settled()
    semel.stop()
    return {"s": took, "keys": there, "done": done, "not_done": not_done}


def measure(work, binary, quick, say):
    bench = Bench(work, binary, say)
    effects = 100_000 if quick else 10**6
    with bench.stack:
        results = {"window": windows(bench, effects, 10 * effects, 1 if quick else 3),
                   "load": load(bench, 1_000, 20 if quick else 60, 2 if quick else 3), "resolver": resolved(bench, 1_000 if quick else 10_000)}
    shutil.rmtree(work, ignore_errors=True)
    return results


def table(results):
    window, cost, resolver = results["window"], results["load"], results["resolver"]
    return "\n".join([
        "| | measured | goal for a million effects |", "|---|---:|---:|",
        f"| a window of {window['effects']:,} effects in a table of {window['rows']:,} rows, with as many look-ups of keys | "
        f"{window['s']:.1f} s | 10 s |",
        f"| memory at its height, more than before | {window['mib']:.0f} MiB | 64 MiB |",
        f"| CPU of the database at {cost['per_s']:,.0f} effects/s, of all cores: the effects themselves | "
        f"{100 * cost['alone']:.1f} % | |",
        f"| the audit beside them: {cost['windows']} near windows, one each {cost['every_s']} s ({cost['near_ms']:,.0f} ms) "
        f"{100 * cost['near']:.2f} %, and a wide one of an hour ({cost['wide_s']:.1f} s) each {100 * cost['wide_s'] / 60:.0f} min "
        f"{100 * cost['wide']:.2f} % | {100 * cost['share']:.2f} % | 1 % |",
        f"| {resolver['keys']:,.0f} keys in doubt, settled ({resolver['done']:,.0f} done, {resolver['not_done']:,.0f} not done; "
        f"`certain_after` of 3 s included) | {resolver['s']:.1f} s | 60 s |"])
