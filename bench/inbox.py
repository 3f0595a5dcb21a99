"""The inbox beside the same webhook forwarded, on the embedded store; beside job queues from npm; and with much that waits.

Deliveries of 1 KiB, signed as Stripe signs, each with an id of its own. `kept` goes to a destination that is paused: accepted and
acknowledged, and nothing more. `inbox` is delivered while it is accepted, and a round lasts until the last one is settled, so its
rate is that of the whole way. CPU is what the gateway's process used, per event. The queues get the same handler and load, the
database's CPU included (bench/queues). What waits is put into the store directly (bench/inbox_bench.cc).
"""
import contextlib
import json
import pathlib
import select
import shutil
import socket
import statistics
import subprocess
import time
import urllib.request

import database
import gateway
import postgres
import webhooks

HERE = pathlib.Path(__file__).resolve().parent
ORIGIN, SEMEL, ADMIN, IDLE = 9340, 9341, 9342, 9343
WEBHOOK = """
[[webhook]]
path = "/{name}"
provider = "stripe"
secrets = ["whsec_bench"]
tolerance = "1d"
{more}
"""
TOKEN = "bench-0123456789abcdef"
CONF = gateway.SEMEL_HEAD.replace("[store]", f'token = "{TOKEN}"\n[store]') + """
[log]
requests = false
[upstream.idle]
url = "http://127.0.0.1:{idle}"
[destination.kept]
upstream = "app"
[destination.inbox]
upstream = "app"
concurrency = 256
[destination.idle]
upstream = "idle"
[inbox]
retain = {{ done = "1m", dead = "1h" }}
""" + WEBHOOK.format(name="forward", more='upstream = "app"') + "".join(
    WEBHOOK.format(name=name, more=f'delivery = "inbox"\ndepth_max = 100_000_000\ndeliver = [ {{{{ to = "{name}" }}}} ]')
    for name in ("kept", "inbox", "idle")) + gateway.SEMEL_ROUTE
WAITING = {"few": 10_000, "many": 10_000_000}
LANES_EACH = 10  # events of one object


def ask(path, body=None, port=ADMIN):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=None if body is None else json.dumps(body).encode(),
                                     headers={"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"})
    return json.loads(urllib.request.urlopen(request, timeout=30).read() or b"{}")


class Bench(webhooks.Bench):
    def start(self, stack):
        origin = self.nginx("origin", gateway.ORIGIN_BODY.format(port=ORIGIN, answer=gateway.ANSWER), ORIGIN)
        stack.callback(origin.stop)
        self.semel = self.gateway(CONF, SEMEL, admin=ADMIN, origin=ORIGIN, idle=IDLE)
        stack.callback(self.semel.stop)
        ask("/v1/destinations/kept/pause", {"reason": "only what accepting costs"})

    def open_in(self, name):
        """Deliveries to this destination that have not ended."""
        found = next(each for each in ask("/v1/destinations")["items"] if each["name"] == name)
        return sum(found["states"].get(state, 0) for state in ("waiting", "running", "unknown"))

    def whole_way(self, path, seconds):
        """A load and what comes after it, until the last event is settled."""
        words = self.sign(seconds)
        before, began = self.semel.cpu_seconds(), time.monotonic()
        result = gateway.load(SEMEL, path, seconds, gateway.CONNECTIONS, self.script, words)
        while path == "/inbox" and self.open_in("inbox"):
            time.sleep(0.1)
        result["rate"] = result["requests"] / (time.monotonic() - began)
        result["cpu_us"] = (self.semel.cpu_seconds() - before) * 1e6 / result["requests"]
        return result

    def alone(self, seconds):
        """One connection, whose events are only kept, and the disk in the same round."""
        sync = gateway.sync_p50(self.work)
        words = self.sign(seconds)
        return {"p50": gateway.load(SEMEL, "/kept", seconds, 1, self.script, words)["p50"], "sync": sync}


class Idle:
    """One event at a time, on one thread that waits for the acknowledgement and for the handler's first byte."""

    def __init__(self, bench):
        self.bench = bench
        self.listener = socket.create_server(("127.0.0.1", IDLE), backlog=16)
        self.client = socket.create_connection(("127.0.0.1", SEMEL))
        self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.handlers = []

    def close(self):
        for one in (self.listener, self.client, *self.handlers):
            one.close()

    def times(self, count):
        """Seconds from the acknowledgement to the handler's first byte, for each event; none is less than 0."""
        name, now, file = self.bench.sign(1)
        signatures = pathlib.Path(file).read_text(encoding="ascii").split()
        found = []
        for number in range(1, count + 1):
            body = webhooks.body_of(f"{name}-{number}")
            head = (f"POST /idle HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                    f"Stripe-Signature: t={now},v1={signatures[number - 1]}\r\n\r\n")
            self.client.sendall(head.encode() + body)
            acknowledged, called = self.wait()
            found.append(max(0.0, called - acknowledged))
            time.sleep(0.01)
        return found

    def wait(self):
        acknowledged = called = None
        while acknowledged is None or called is None:
            ready, _, _ = select.select([self.listener, self.client, *self.handlers], [], [], 10)
            now = time.monotonic()
            if not ready:
                raise RuntimeError("an event was not delivered within ten seconds")
            for one in ready:
                if one is self.listener:
                    self.handlers.append(self.listener.accept()[0])
                elif one is self.client:
                    if not one.recv(65536).startswith(b"HTTP/1.1 200"):
                        raise RuntimeError("an event was not acknowledged")
                    acknowledged = now
                elif one.recv(65536):
                    called = called or now
                    one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                else:
                    self.handlers.remove(one)
        return acknowledged, called


# ---- queues ---------------------------------------------------------------------------------------------------------

def queue_round(server, pg, script, words, seconds):
    """What a queue does with the same load: the rate until nothing is left, and CPU with that of the database."""
    def left():
        return int(urllib.request.urlopen(f"http://127.0.0.1:{server.port}/left", timeout=60).read())

    spent = server.cpu_seconds() + pg.cpu_seconds()
    began = time.monotonic()
    result = gateway.load(server.port, "/events", seconds, gateway.CONNECTIONS, script, words)
    while left():
        time.sleep(0.05)
    return {"rate": result["requests"] / (time.monotonic() - began),
            "cpu_us": (server.cpu_seconds() + pg.cpu_seconds() - spent) * 1e6 / result["requests"]}


def start_queues(stack, bench, say):
    """Name → server, and the database; nothing where npm or PostgreSQL is missing."""
    folder = postgres.install(bench.work.parent / "queues", say, HERE / "queues")
    if not folder or not shutil.which("pg_config"):
        return {}, None
    pg = database.Database(bench.binary, bench.work.parent)
    stack.callback(pg.stop)
    servers = {}
    for name in ("pg-boss", "graphile-worker"):
        port = postgres.free_port()
        servers[name] = gateway.Server(["node", str(folder / f"{name}.mjs"), str(port), str(ORIGIN), str(pg.sockets)], port,
                                       bench.work / f"{name}.log")
        stack.callback(servers[name].stop)
    return servers, pg


# ---- what waits -----------------------------------------------------------------------------------------------------

def inbox_bench(programs, *words):
    command = [str(programs / "inbox_bench"), *map(str, words)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def fill(work, programs, name, count, say):
    """A store in which so many wait; one that was filled before is taken as it is."""
    mark = work / f"{name}.filled"
    if mark.exists() and mark.read_text() == str(count):
        return
    say(f"inbox: filling {count:,} events of {count // LANES_EACH:,} objects")
    shutil.rmtree(work / name, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    inbox_bench(programs, "fill", work / name, count, count // LANES_EACH)
    inbox_bench(programs, "settle", work / name)
    mark.write_text(str(count))


def measure_waiting(work, programs, rounds, many, say):
    """Stores in which so many wait, in turn: each round takes a part of them, and opens the store anew. They stay in `work`, because
    filling takes long."""
    work = pathlib.Path(work)
    counts = {"few": WAITING["few"], "many": many}
    part = counts["few"] * 9 // 10
    for name, count in counts.items():
        fill(work, programs, name, count, say)
    results = {name: [] for name in counts}
    for number in range(rounds):
        say(f"inbox: waiting, round {number + 1}/{rounds}")
        for name in counts if number % 2 == 0 else list(counts)[::-1]:
            results[name].append(inbox_bench(programs, "drain", work / name, part))
            if name == "few":
                inbox_bench(programs, "fill", work / name, part, part // LANES_EACH)
    shown = {name: {what: statistics.median(one[what] for one in of_one) for what in of_one[0]}
             for name, of_one in results.items()}
    shown["many"]["open_s_worst"] = max(one["open_s"] for one in results["many"])
    pairs = list(zip(results["many"], results["few"]))
    return {"counts": counts, **shown, "cpu_ratio": statistics.median(b["cpu_us"] / a["cpu_us"] for a, b in pairs),
            "rate_ratio": statistics.median(a["per_s"] / b["per_s"] for a, b in pairs),
            "memory_mib": max(a["rss_mib"] for a in results["many"]) - max(b["rss_mib"] for b in results["few"])}


# ---- all of it ------------------------------------------------------------------------------------------------------

def ratios(pairs, what):
    found = [a[what] / b[what] for a, b in pairs]
    return {"median": statistics.median(found), "spread": [min(found), max(found)]}


def measure_served(bench, rounds, seconds, say):
    results = {name: [] for name in ("forward", "kept", "inbox", "alone", "idle")}
    with contextlib.ExitStack() as stack:
        bench.start(stack)
        idle = Idle(bench)
        stack.callback(idle.close)
        servers, pg = start_queues(stack, bench, say)
        results.update({name: [] for name in servers})
        for name in ("/forward", "/kept", "/inbox"):
            bench.whole_way(name, 1)
        idle.times(20)
        for number in range(rounds):
            say(f"inbox: round {number + 1}/{rounds}")
            paths = ["forward", "kept", "inbox"]
            for name in paths if number % 2 == 0 else paths[::-1]:
                results[name].append(bench.whole_way(f"/{name}", seconds))
            results["alone"].append(bench.alone(1))
            results["idle"].append(sorted(idle.times(200)))
            for name, server in servers.items():
                results[name].append(queue_round(server, pg, bench.script, bench.sign(seconds), seconds))
    return results


def measure(work, binary, quick, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rounds, seconds = (3, 2) if quick else (9, 3)
    bench = Bench(work, binary, say)
    results = measure_served(bench, rounds, seconds, say)
    shutil.rmtree(work, ignore_errors=True)
    found = {"queues": {}}
    for name in ("kept", "inbox"):
        pairs = list(zip(results[name], results["forward"]))
        found[name] = {"rate": statistics.median(a["rate"] for a, _ in pairs), "cpu_us": statistics.median(a["cpu_us"] for a, _ in pairs),
                       "rate_ratio": ratios(pairs, "rate"), "cpu_ratio": ratios(pairs, "cpu_us")}
    found["forward"] = {what: statistics.median(one[what] for one in results["forward"]) for what in ("rate", "cpu_us")}
    found["alone"] = {"p50_ms": 1e3 * statistics.median(one["p50"] for one in results["alone"]),
                      "sync_ms": 1e3 * statistics.median(one["sync"] for one in results["alone"]),
                      "beside_ms": 1e3 * statistics.median(one["p50"] - one["sync"] for one in results["alone"])}
    found["idle"] = {"p50_ms": 1e3 * statistics.median(one[len(one) // 2] for one in results["idle"]),
                     "p99_ms": 1e3 * statistics.median(one[len(one) * 99 // 100] for one in results["idle"])}
    for name in ("pg-boss", "graphile-worker"):
        if results.get(name):
            pairs = list(zip(results["inbox"], results[name]))
            found["queues"][name] = {"rate": statistics.median(b["rate"] for _, b in pairs),
                                     "cpu_us": statistics.median(b["cpu_us"] for _, b in pairs), "rate_ratio": ratios(pairs, "rate"),
                                     "cpu_ratio": {"median": statistics.median(b["cpu_us"] / a["cpu_us"] for a, b in pairs)}}
    return found


def spread(ratio):
    low, high = ratio["spread"]
    return f"{ratio['median']:.2f} ({low:.2f}–{high:.2f})"


def table(found):
    rows = ["| 1 KiB Stripe deliveries, 64 connections | events/s | ÷ forwarded (lowest–highest round) | CPU per event | ÷ forwarded |",
            "|---|---:|---:|---:|---:|",
            f"| forwarded | {found['forward']['rate']:,.0f} | | {found['forward']['cpu_us']:.1f} µs | |"]
    names = {"kept": "accepted and acknowledged", "inbox": "accepted, handled and settled"}
    for name, text in names.items():
        one = found[name]
        rows.append(f"| {text} | {one['rate']:,.0f} | {spread(one['rate_ratio'])} | {one['cpu_us']:.1f} µs | {spread(one['cpu_ratio'])} |")
    alone, idle = found["alone"], found["idle"]
    rows += ["", "| | measured | goal |", "|---|---:|---:|",
             f"| acknowledgement on one connection, beside one fdatasync ({alone['sync_ms']:.2f} ms) | {alone['beside_ms']:+.2f} ms | +0.15 ms |",
             f"| from the acknowledgement to the handler's first byte, idle, p50 | {idle['p50_ms']:.2f} ms | 0.2 ms |",
             f"| the same, p99 | {idle['p99_ms']:.2f} ms | 2 ms |"]
    if found["queues"]:
        rows += ["", "| accepted, handled and settled | events/s | Semel ÷ it (lowest–highest round) | CPU per event, database included | it ÷ Semel |",
                 "|---|---:|---:|---:|---:|"]
        rows += [f"| {name} | {one['rate']:,.0f} | {spread(one['rate_ratio'])} | {one['cpu_us']:.0f} µs | {one['cpu_ratio']['median']:.1f} |"
                 for name, one in found["queues"].items()]
    return "\n".join(rows)


def waiting_table(found):
    few, many, counts = found["few"], found["many"], found["counts"]
    rows = [f"| events that wait, ten of an object | {counts['few']:,} | {counts['many']:,} | goal |", "|---|---:|---:|---:|",
            f"| drained, events/s | {few['per_s']:,.0f} | {many['per_s']:,.0f} ({found['rate_ratio']:.2f} ×) | 0.9 × |",
            f"| CPU per event | {few['cpu_us']:.1f} µs | {many['cpu_us']:.1f} µs | |",
            f"| opening, until the first can be taken | {few['open_s']:.2f} s | {many['open_s']:.2f} s (worst {many['open_s_worst']:.2f} s) | 1 s |",
            f"| memory (RSS) | {few['rss_mib']:.0f} MiB | {many['rss_mib']:.0f} MiB ({found['memory_mib']:+.0f} MiB) | +128 MiB |"]
    return "\n".join(rows)
