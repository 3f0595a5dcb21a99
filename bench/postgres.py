"""Semel on PostgreSQL beside what people use today, on one server, in turn.

  middleware   the gateway against the usual Node middleware (bench/node), 64 connections, first runs, same upstream; and
               the gateway with a store that costs next to nothing, which is what no database can exceed
  pairs        the store alone against pgbench doing INSERT … ON CONFLICT and UPDATE one row at a time with 32 clients
  alone        one connection: what Semel adds, beside what a commit of one row takes
  size         the store with many keys stored against the store with few

Each round measures both sides, every other round the other way about; ratios are taken within a round.
"""
import contextlib
import json
import pathlib
import resource
import shutil
import statistics
import subprocess

import gateway
from database import Database, run
from programs import free_port  # of tests/e2e, which gateway.py has put on the path

HERE = pathlib.Path(__file__).resolve().parent
CONNECTIONS = 64
SMALL = 10_000

# The middleware's table has what the articles' tables have: the key, the request's hash, the answer, an expiry.
MIDDLEWARE_TABLE = """CREATE TABLE idempotency_keys (key text PRIMARY KEY, fingerprint bytea NOT NULL, state text NOT NULL,
  expires_at timestamptz NOT NULL, status integer, body text);
CREATE INDEX ON idempotency_keys (expires_at);"""
PLAIN_TABLE = """CREATE TABLE plain (id bigint PRIMARY KEY, fingerprint bytea NOT NULL, state text NOT NULL,
  expires_at timestamptz NOT NULL, response bytea);
CREATE INDEX ON plain (expires_at);"""
ONE_AT_A_TIME = """\\set n random(1, 9223372036854775806)
INSERT INTO plain (id, fingerprint, state, expires_at)
  VALUES (:n, sha256('request'), 'running', now() + interval '1 day') ON CONFLICT DO NOTHING;
UPDATE plain SET state = 'done', response = decode(repeat('78', 512), 'hex') WHERE id = :n AND state = 'running';
"""
# The same pair for many rows at a time, written by hand: what the server can do at most.
ROWS = 64
MANY_AT_A_TIME = f"""\\set n random(1, 9000000000000000000)
INSERT INTO plain (id, fingerprint, state, expires_at)
  SELECT hashint8extended(:n::bigint + i, 0), sha256('request'), 'running', now() + interval '1 day'
    FROM generate_series(1, {ROWS}) AS i ON CONFLICT DO NOTHING;
UPDATE plain SET state = 'done', response = decode(repeat('78', 512), 'hex')
  WHERE id = ANY (ARRAY(SELECT hashint8extended(:n::bigint + i, 0) FROM generate_series(1, {ROWS}) AS i)) AND state = 'running';
"""
ONE_COMMIT = """\\set n random(1, 9223372036854775806)
INSERT INTO plain (id, fingerprint, state, expires_at)
  VALUES (:n, sha256('request'), 'running', now() + interval '1 day') ON CONFLICT DO NOTHING;
"""
# Finished keys with responses of 512 bytes, packed as they are after a life of claims and ends (a page holds about nine;
# the fillfactor only keeps room for ends that are yet to come), spread over a day of expiry.
FILL = """SET synchronous_commit = off;
ALTER TABLE semel.keys SET (autovacuum_enabled = off, fillfactor = 90);
ALTER TABLE semel.keys DROP CONSTRAINT keys_pkey; DROP INDEX semel.keys_expires_at;
INSERT INTO semel.keys (claimed_at, lease_until, expires_at, fence, owner, state, space, scope, id, fingerprint, response)
  SELECT now(), now() + interval '30 seconds', now() + interval '2 days' + n * interval '8 milliseconds', 1, n, 'done',
         'bench', decode(repeat('00', 32), 'hex'), sha256(int8send(n)), sha256('request'),
         decode(repeat('78', 600), 'hex')
    FROM generate_series(1, {count}) AS n;
SET maintenance_work_mem = '1GB';
ALTER TABLE semel.keys ADD CONSTRAINT keys_pkey PRIMARY KEY (id);
CREATE INDEX keys_expires_at ON semel.keys (expires_at);
ALTER TABLE semel.keys RESET (autovacuum_enabled), SET (fillfactor = {fillfactor});
"""
FILLFACTOR = "SELECT substring(o from 12) FROM unnest((SELECT reloptions FROM pg_class " \
             "WHERE oid = 'semel.keys'::regclass)) AS o WHERE o LIKE 'fillfactor=%'"


def median(values):
    return statistics.median(list(values))


def compared(left, right, name):
    """The ratio of two lists of rounds: its median, lowest and highest."""
    ratios = [a[name] / b[name] for a, b in zip(left, right)]
    return {"ratio": median(ratios), "lowest": min(ratios), "highest": max(ratios)}


def in_turn(number, contenders):
    """Every other round the other way about."""
    return contenders if number % 2 == 0 else contenders[::-1]


class Bench:
    def __init__(self, work, programs, semel, say):
        self.work, self.programs, self.semel, self.say = work, programs, semel, say
        self.database = None
        self.script = work / "load.lua"
        self.script.write_text(gateway.LOAD)
        self.keys = 0

    # Servers.

    def start_servers(self, stack):
        self.ports = {name: free_port() for name in ("origin", "semel", "memory", "node")}
        (self.work / "origin.tmp").mkdir(exist_ok=True)
        conf = self.work / "origin.conf"
        body = gateway.ORIGIN_BODY.format(port=self.ports["origin"], answer=gateway.ANSWER)
        conf.write_text(gateway.NGINX_CONF.format(work=self.work, name="origin", body=body))

        def keep(command, name):
            server = gateway.Server(command, self.ports[name], self.work / f"{name}.log")
            stack.callback(server.stop)
            return server

        def keep_semel(name, store):
            conf = self.work / f"{name}.toml"
            conf.write_text(gateway.SEMEL_CONF.format(port=self.ports[name], admin=free_port(), store=store,
                                                      origin=self.ports["origin"]))
            return keep([str(self.semel), "serve", "--config", str(conf)], name)

        self.origin = keep(["nginx", "-e", str(self.work / "origin.err"), "-c", str(conf)], "origin")
        self.servers = {"semel": keep_semel("semel", self.database.url), "memory": keep_semel("memory", "memory:")}
        middleware = install(self.work.parent / "node", self.say)
        if middleware:
            self.database.run(MIDDLEWARE_TABLE)
            command = ["node", str(middleware / "middleware.mjs"), str(self.ports["node"]), str(self.ports["origin"]),
                       str(self.database.sockets)]
            self.servers["node"] = keep(command, "node")

    def load(self, name, seconds, connections):
        """Requests with new keys, and what each cost in CPU time: the server under load, the database, and the rest, which is
        the upstream and the load itself."""
        def spent():
            children = resource.getrusage(resource.RUSAGE_CHILDREN)
            return {"own_us": self.servers[name].cpu_seconds() if name in self.servers else 0,
                    "database_us": self.database.cpu_seconds(),
                    "rest_us": self.origin.cpu_seconds() + children.ru_utime + children.ru_stime}
        self.keys += 1
        before = spent()
        result = self.send(name, seconds, connections)
        after = spent()
        return result | {part: (after[part] - before[part]) * 1e6 / result["requests"] for part in after}

    def send(self, name, seconds, connections):
        return gateway.load(self.ports[name], "/v1/charges", seconds, connections, self.script, (f"k{self.keys}", "new"))

    # Comparisons.

    def middleware(self, rounds, seconds):
        if "node" not in self.servers:
            return None
        figures = {"semel": [], "node": [], "memory": []}
        for name in figures:
            self.load(name, 2, CONNECTIONS)
        for number in range(rounds):
            self.say(f"gateway and middleware: round {number + 1}/{rounds}")
            for name in in_turn(number, list(figures)):
                figures[name].append(self.load(name, seconds, CONNECTIONS))
        parts = ("rate", "p50", "p99", "own_us", "database_us", "rest_us")
        return {"rounds": rounds, **compared(figures["semel"], figures["node"], "rate"),
                "ceiling": compared(figures["memory"], figures["node"], "rate"),
                **{name: {what: median(one[what] for one in figures[name]) for what in parts} for name in figures}}

    def batched(self, callers, seconds, database="postgres"):
        out = run(self.programs / "postgres_bench", self.database.url_of(database), callers, 1, int(seconds * 1000))
        figure = json.loads(out)["rounds"][0]
        return {**figure, "pairs": figure["pairs_per_s"] * seconds}

    def with_cpu(self, work):
        """What `work` measures, and the CPU time of a pair, client and server together."""
        def spent():
            children = resource.getrusage(resource.RUSAGE_CHILDREN)
            return self.database.cpu_seconds() + children.ru_utime + children.ru_stime
        before = spent()
        figure = work()
        return {**figure, "cpu_us": (spent() - before) * 1e6 / figure["pairs"]}

    def pairs(self, rounds, seconds, callers=(1, 64, 256, 1024)):
        self.database.run(PLAIN_TABLE)
        one, many = self.database.folder / "one.sql", self.database.folder / "many.sql"
        one.write_text(ONE_AT_A_TIME)
        many.write_text(MANY_AT_A_TIME)
        figures = {name: [] for name in ("pgbench", "limit", *callers)}
        measures = {"pgbench": lambda: self.database.pgbench(one, 32, seconds),
                    "limit": lambda: self.database.pgbench(many, 4, seconds, rows=ROWS)}
        for count in callers:
            measures[count] = lambda count=count: self.batched(count, seconds)
        for number in range(rounds):
            self.say(f"pairs: round {number + 1}/{rounds}")
            for name in in_turn(number, list(measures)):
                figures[name].append(self.with_cpu(measures[name]))
        result = {"rounds": rounds, "callers": {}, **{
            name: {what: median(one[what] for one in figures[name]) for what in ("pairs_per_s", "cpu_us")}
            for name in ("pgbench", "limit")}}
        result["limit"] |= compared(figures["limit"], figures["pgbench"], "pairs_per_s")
        for count in callers:
            result["callers"][count] = {
                **{what: median(one[what] for one in figures[count]) for what in ("pairs_per_s", "cpu_us", "p50_ms")},
                **compared(figures[count], figures["pgbench"], "pairs_per_s")}
        return result

    def commit_ms(self, seconds):
        """What one client waits for the commit of one row, median."""
        script = self.database.folder / "commit.sql"
        script.write_text(ONE_COMMIT)
        logs = self.work / "commits"
        self.database.pgbench(script, 1, seconds, "-l", f"--log-prefix={logs}")
        times = []
        for file in self.work.glob("commits*"):
            times += [int(line.split()[2]) for line in file.read_text().splitlines()]
            file.unlink()
        return median(times) / 1000

    def alone(self, rounds, seconds):
        figures = []
        for number in range(rounds):
            self.say(f"one connection: round {number + 1}/{rounds}")
            direct = self.load("origin", seconds, 1)["p50"] * 1e3
            commit = self.commit_ms(seconds)
            through = self.load("semel", seconds, 1)["p50"] * 1e3
            figures.append({"direct_ms": direct, "commit_ms": commit, "through_ms": through, "added_ms": through - direct,
                            "over_ms": through - direct - 2 * commit})
        return {name: median(one[name] for one in figures) for name in figures[0]} | {
            "over_lowest_ms": min(one["over_ms"] for one in figures),
            "over_highest_ms": max(one["over_ms"] for one in figures)}

    def size(self, keys, rounds, seconds):
        for name, count in (("small", SMALL), ("large", keys)):
            self.say(f"size: filling {count:,} keys")
            self.database.prepare(name)
            fillfactor = self.database.run(FILLFACTOR, name)
            self.database.run(FILL.format(count=count, fillfactor=fillfactor), name)
            self.database.run("VACUUM ANALYZE semel.keys", name)
        self.database.run("CHECKPOINT")
        figures = {"small": [], "large": []}
        for name in figures:  # the first write to a page after a checkpoint logs all of it; see docs/postgres.md
            self.batched(CONNECTIONS, 10, name)
        for number in range(rounds):
            self.say(f"size: round {number + 1}/{rounds}")
            for name in in_turn(number, list(figures)):
                figures[name].append(self.with_cpu(lambda name=name: self.batched(CONNECTIONS, seconds, name)))
        mib = int(self.database.run("SELECT pg_total_relation_size('semel.keys')", "large")) / 2**20
        return {"keys": keys, "rounds": rounds, "mib": mib, **compared(figures["large"], figures["small"], "pairs_per_s"),
                **{name: {what: median(one[what] for one in figures[name]) for what in ("pairs_per_s", "cpu_us")}
                   for name in figures}}


def install(folder, say, source=HERE / "node"):
    """A folder with the programs of `source` and their packages, or None."""
    missing = [name for name in ("node", "npm") if not shutil.which(name)]
    if missing:
        say(f"{source.name}: not measured, {' and '.join(missing)} not found")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        shutil.copy(file, folder / file.name)
    mark = folder / "installed"
    lock = (folder / "package-lock.json").read_text(encoding="utf-8")
    if not mark.exists() or mark.read_text(encoding="utf-8") != lock:
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--fetch-retries=1"], cwd=folder, capture_output=True,
                              text=True, timeout=300, check=False)
        if done.returncode != 0:
            say(f"{source.name}: not measured, npm ci could not get the packages")
            return None
        mark.write_text(lock, encoding="utf-8")
    return folder


def measure(work, programs, semel, quick, say, only=None):
    """`only` names some of the comparisons."""
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rounds, seconds = (3, 3) if quick else (7, 5)
    bench = Bench(work, programs, semel, say)
    wanted = only or ("middleware", "alone", "pairs", "size")
    results = {}
    with Database(semel, work) as bench.database:
        bench.database.prepare()
        if "middleware" in wanted or "alone" in wanted:
            bench.database.run(PLAIN_TABLE)
            with contextlib.ExitStack() as stack:
                bench.start_servers(stack)
                if "middleware" in wanted:
                    results["middleware"] = bench.middleware(rounds, seconds)
                if "alone" in wanted:
                    results["alone"] = bench.alone(rounds, 2)
            bench.database.run("DROP TABLE plain")
        if "pairs" in wanted:
            results["pairs"] = bench.pairs(rounds, 4)
        if "size" in wanted:
            results["size"] = bench.size(10**6 if quick else 10**7, rounds, seconds)
    shutil.rmtree(work, ignore_errors=True)
    return results


def ratio_of(figure):
    return f"{figure['ratio']:.1f} ({figure['lowest']:.1f}–{figure['highest']:.1f})"


def table(results):
    if not results:
        return "Not measured: PostgreSQL, nginx or wrk is not installed."
    lines = []
    one = results.get("middleware")
    if one:
        columns = ("semel", "node", "memory")
        row = lambda what, text: f"| {what} | " + " | ".join(text(one[name]) for name in columns) + " |"
        lines += [f"| {CONNECTIONS} connections, first runs | Semel on PostgreSQL | Node middleware | Semel on the memory store |",
                  "|---|---:|---:|---:|",
                  row("requests/s", lambda figure: f"{figure['rate']:,.0f}"),
                  f"| times the middleware (lowest–highest round) | {ratio_of(one)} | | {ratio_of(one['ceiling'])} |"]
        lines += [row(f"{what}, ms", lambda figure, what=what: f"{figure[what] * 1e3:.1f}") for what in ("p50", "p99")]
        lines += [row(f"CPU µs per request, {what}", lambda figure, part=part: f"{figure[part]:.0f}")
                  for what, part in (("its own", "own_us"), ("the database's", "database_us"),
                                     ("load and upstream", "rest_us"))]
    else:
        lines.append("The middleware was not measured: node or npm is not installed.")
    alone = results["alone"]
    lines += ["", f"One connection, first runs: p50 {alone['direct_ms']:.2f} ms direct, {alone['through_ms']:.2f} ms through "
              f"Semel; the commit of one row {alone['commit_ms']:.2f} ms, so Semel adds two commits {alone['over_ms']:+.2f} ms "
              f"({alone['over_lowest_ms']:+.2f} to {alone['over_highest_ms']:+.2f})."]
    pairs = results["pairs"]
    lines += ["", "| the store alone | pairs/s | times pgbench (lowest–highest round) | CPU µs per pair, server included |",
              "|---|---:|---:|---:|",
              f"| pgbench, 32 clients, one row at a time | {pairs['pgbench']['pairs_per_s']:,.0f} | | "
              f"{pairs['pgbench']['cpu_us']:.0f} |",
              f"| the limit: pgbench, 4 clients, {ROWS} rows at a time | {pairs['limit']['pairs_per_s']:,.0f} | "
              f"{ratio_of(pairs['limit'])} | {pairs['limit']['cpu_us']:.0f} |"]
    lines += [f"| Semel, {count} callers | {one['pairs_per_s']:,.0f} | {ratio_of(one)} | {one['cpu_us']:.0f} |"
              for count, one in pairs["callers"].items()]
    size = results["size"]
    lines += ["", f"| {CONNECTIONS} callers | {SMALL:,} keys stored | {size['keys']:,} keys stored | large ÷ small |",
              "|---|---:|---:|---:|",
              f"| pairs/s | {size['small']['pairs_per_s']:,.0f} | {size['large']['pairs_per_s']:,.0f} | "
              f"{size['ratio']:.2f} ({size['lowest']:.2f}–{size['highest']:.2f}) |",
              f"| CPU µs per pair | {size['small']['cpu_us']:.0f} | {size['large']['cpu_us']:.0f} | |",
              f"| on disk | | {size['mib']:,.0f} MiB | |"]
    return "\n".join(lines)
