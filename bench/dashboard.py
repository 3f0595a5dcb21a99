"""The dashboard with ten million keys and a million deliveries: how long the calls of each page take, what a browser loads and how
soon it can be used, and what open pages cost the requests beside them.

The store is filled directly (store_bench, inbox_fill_bench). SEMEL_BENCH_STORE names a folder where it is kept for the next time; the
parts that were measured on it are kept there, too, so that a machine which others need can be asked for a few minutes at a time
(SEMEL_BENCH_PARTS: pages, load, browser). Then one gateway serves it: 300 keys are in doubt, one runs. Times of
calls are those of a client on this machine, connection and JSON included. An open page is a program that makes the calls of
the first page as the page makes them: a browser on the same two cores would be measured, and not what it asks for.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

import gateway as bench_gateway

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "e2e"))

import desk_lists  # noqa: E402  (found by the line above)
import operators  # noqa: E402
import stage as staging  # noqa: E402
import wire  # noqa: E402

ORIGIN, SEMEL, ADMIN = 9340, 9341, 9342
TOKENS = ", ".join(f'{role} = "{token}"' for role, token in operators.TOKENS.items())
CONF = """
[server]
listen = "127.0.0.1:{port}"
threads = 1
[admin]
listen = "127.0.0.1:{admin}"
tokens = {{ {tokens} }}
[store]
url = "embedded:{data}"
[upstream.app]
url = "http://127.0.0.1:{origin}"
[upstream.lost]
url = "http://{lost}"
[destination.app]
upstream = "app"
[[webhook]]
path = "/hooks/stripe"
provider = "stripe"
secrets = ["whsec_1"]
delivery = "inbox"
deliver = [ {{ to = "app" }} ]
[[route]]
path = "/v1/payments"
upstream = "lost"
key = "required"
scope = "{{header:Authorization}}"
[[route]]
path = "/*"
upstream = "app"
key = "required"
scope = ""
"""
# What the first page asks for, and how often.
OPEN = {"/v1/now": 10, "/metrics": 10, "/v1/destinations": 10, "/v1/keys?state=unknown&limit=100": 15, "/v1/webhooks": 30,
        "/readyz": 30, "/v1/outbox": 30, "/v1/audits": 60}
PARTS = ("pages", "load", "browser")
PAGES_OPEN = 10


class Semel:
    """The gateway as the modules of tests/e2e know one."""

    address, admin = ("127.0.0.1", SEMEL), ("127.0.0.1", ADMIN)

    def ask(self, *arguments, **options):
        return wire.ask(self.address, *arguments, **options)


def calls_of(desk):
    """By page: what it asks for."""
    done = desk.find("done", "alice")["id"]
    lost = desk.find("lost-7", "alice")["id"]
    event = desk.good("GET", "/v1/inbox?state=dead&limit=1")["items"][0]["id"]
    month = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 30 * 86_400))
    get = lambda *targets: [("GET", target, None) for target in targets]
    return {
        "Now": get(*(target for target in OPEN if target != "/metrics")),
        "In doubt": get("/v1/keys?state=unknown&limit=100", "/v1/config"),
        "Keys": [*get("/v1/keys?state=running&limit=100", "/v1/keys?state=running&older=1h&limit=100", f"/v1/keys/{lost[:12]}"),
                 ("POST", "/v1/keys/find", {"route": "/v1/payments", "fields": {"Authorization": "alice"}, "key": "lost-7"}),
                 ("POST", "/v1/keys/find", {"scope": "alice", "key": "nobody"})],
        "Key": get(f"/v1/keys/{done}", f"/v1/keys/{done}/timeline", f"/v1/keys/{lost}/timeline"),
        "Inbox": get("/v1/destinations", "/v1/inbox?limit=100", "/v1/inbox?state=waiting&limit=100", "/v1/inbox?state=dead&limit=1000",
                     "/v1/inbox?dest=app&limit=100", "/v1/inbox?type=nobody&limit=100"),
        "Delivery": get(f"/v1/inbox/{event}"),
        "Outbox": get("/v1/outbox"),
        "Jobs": get("/v1/inbox/jobs"),
        "Webhooks": get("/v1/webhooks"),
        "Duplicates": get(f"/v1/tally?by=route&step=day&from={month}", f"/v1/tally?by=scope&step=day&from={month}",
                          "/v1/audits", "/v1/audits/findings"),
        "Doctor": get("/v1/doctor?days=7"),
        "Audit log": get("/v1/audit?after=0&limit=1000"),
        "Config": get("/v1/config"),
    }


def time_pages(semel, rounds, say):
    desk = operators.ByApi(desk_lists.Asserting, semel)
    figures = {}
    for name, calls in calls_of(desk).items():
        say(f"dashboard: {name}")
        worst = {"p95_ms": -1.0}
        for method, target, body in calls:
            times = []
            for _ in range(rounds):
                begun = time.perf_counter()
                reply, said = desk.call(method, target, body)
                times.append((time.perf_counter() - begun) * 1e3)
                if reply.status not in (200, 404):
                    raise RuntimeError(f"{target}: {reply.status} {said}")
            operators.ANSWERS.clear()
            one = {"target": re.sub(r"[0-9a-f]{12,}", "ID", target.split("&from")[0]), "p50_ms": statistics.median(times),
                   "p95_ms": statistics.quantiles(times, n=20)[18]}
            worst = max(worst, one, key=lambda each: each["p95_ms"])
        figures[name] = worst
    return figures


class OpenPage:
    """Asks as the first page does, until it is closed. Everything is asked at once when it opens."""

    def __init__(self):
        self.ended = threading.Event()
        self.asked = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        head = [("Authorization", f"Bearer {operators.TOKENS['viewer']}")]
        due = dict.fromkeys(OPEN, 0.0)
        begun = time.monotonic()
        while not self.ended.wait(0.1):
            for target, every in OPEN.items():
                if time.monotonic() - begun >= due[target]:
                    wire.ask(Semel.admin, "GET", target, head)
                    due[target] += every
                    self.asked += 1

    def close(self):
        self.ended.set()
        self.thread.join()


def cost_alone(server, rounds):
    """CPU seconds of the gateway for all calls of the open page, once each, while nothing else happens."""
    head = [("Authorization", f"Bearer {operators.TOKENS['viewer']}")]
    before, begun = server.cpu_seconds(), time.monotonic()
    time.sleep(2)
    resting = (server.cpu_seconds() - before) / (time.monotonic() - begun)
    before, begun = server.cpu_seconds(), time.monotonic()
    for _ in range(rounds):
        for target in OPEN:
            wire.ask(Semel.admin, "GET", target, head)
    return max(0.0, server.cpu_seconds() - before - resting * (time.monotonic() - begun)) / rounds


def under_load(bench, server, rounds, seconds, say):
    """Ten pages are open at once: what one costs is less than rounds differ by."""
    found = {"open": [], "closed": []}
    bench.one(server, "first", 1, bench_gateway.CONNECTIONS)
    for number in range(rounds):
        say(f"dashboard: first runs, round {number + 1}/{rounds}")
        for name in ("open", "closed") if number % 2 == 0 else ("closed", "open"):
            pages = [OpenPage() for _ in range(PAGES_OPEN if name == "open" else 0)]
            found[name].append(bench.one(server, "first", seconds, bench_gateway.CONNECTIONS))
            for page in pages:
                page.close()
    ratios = [a["rate"] / b["rate"] for a, b in zip(found["open"], found["closed"])]
    middle = lambda name, what: statistics.median(one[what] for one in found[name])
    return {"rate": {name: middle(name, "rate") for name in found}, "p99_ms": {name: middle(name, "p99") * 1e3 for name in found},
            "cpu_us": {name: middle(name, "cpu_us") for name in found}, "ratio": statistics.median(ratios),
            "spread": [min(ratios), max(ratios)], "rounds": rounds, "seconds": seconds}


def in_browser(binary, work):
    """What tests/browser and tests/e2e print about the first load; empty where there is no browser."""
    figures = {}
    for script, case, pattern, names in (
            ("tests/browser/dashboard.py", "Dashboard.test_speed", r"interactive after (\d+) ms at best, (\d+) ms", ("best_ms", "middle_ms")),
            ("tests/e2e/dashboard.py", "Files.test_the_page_and_its_files", r"first load: (\d+) bytes", ("bytes",))):
        build = ["--build", str(work)] if "browser" in script else []
        done = subprocess.run([sys.executable, "-B", str(ROOT / script), "--binary", str(binary), *build, case], text=True,
                              capture_output=True, check=False)
        found = re.search(pattern, done.stdout)
        if found:
            figures.update(zip(names, map(int, found.groups())))
    return figures


def filled(folder, programs, keys, events, say):
    """The store with so many keys and events, made if it is not there."""
    data, mark = folder / "data", folder / "filled.json"
    wanted = {"keys": keys, "events": events}
    if mark.exists() and json.loads(mark.read_text()) == wanted:
        return data
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for program, count in (("store_bench", keys), ("inbox_fill_bench", events)):
        say(f"dashboard: {program} fills {count:,}")
        subprocess.run([str(programs / program), "fill", str(data), str(count)], check=True, stdout=subprocess.DEVNULL)
    mark.write_text(json.dumps(wanted))
    return data


def pages_under_load(bench, server, semel, rounds, say):
    """Every call again, while the gateway has as much to do as this machine gives."""
    rates, ended = [], threading.Event()

    def drive():
        while not ended.is_set():
            rates.append(bench.one(server, "first", 5, bench_gateway.CONNECTIONS)["rate"])

    thread = threading.Thread(target=drive)
    thread.start()
    try:
        figures = time_pages(semel, rounds, say)
    finally:
        ended.set()
        thread.join()
    return {"pages": figures, "rate": statistics.median(rates)}


def serve(stack, bench, work, binary, data):
    origin = bench.nginx("origin", bench_gateway.ORIGIN_BODY.format(port=ORIGIN, answer=bench_gateway.ANSWER), ORIGIN)
    stack.callback(origin.stop)
    stage = staging.Stage()
    stack.callback(stage.close)
    conf = work / "semel.toml"
    conf.write_text(CONF.format(port=SEMEL, admin=ADMIN, tokens=TOKENS, data=data, origin=ORIGIN, lost="%s:%d" % stage.address))
    server = bench_gateway.Server([str(binary), "serve", "--config", str(conf)], SEMEL, work / "semel.log")
    stack.callback(server.stop)
    desk_lists.lose_some(Semel(), stage)
    return server


def measure(work, programs, binary, keys, events, rounds, seconds, say):
    """None if some part has still to be measured."""
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    kept = os.environ.get("SEMEL_BENCH_STORE")
    folder = pathlib.Path(kept) if kept else work / "store"
    data = filled(folder, programs, keys, events, say)
    saved = folder / "measured.json"
    results = json.loads(saved.read_text()) if saved.exists() else {"keys": keys, "events": events}
    for part in os.environ.get("SEMEL_BENCH_PARTS", ",".join(PARTS)).split(","):
        load = pathlib.Path("/proc/loadavg").read_text().split()[0]
        bench = bench_gateway.Bench(work, binary, say)
        with contextlib.ExitStack() as stack:
            if part == "pages":
                server = serve(stack, bench, work, binary, data)
                results["pages"] = time_pages(Semel(), 20 * rounds, say)
                results["cycle_cpu_ms"] = cost_alone(server, 20) * 1e3
                results["busy"] = pages_under_load(bench, server, Semel(), 5 * rounds, say)
            elif part == "load":
                server = serve(stack, bench, work, binary, data)
                results["first_runs"] = under_load(bench, server, rounds, seconds, say)
            else:
                results["browser"] = in_browser(binary, work)
        results.setdefault("load_before", {})[part] = load
        saved.write_text(json.dumps(results))
    shutil.rmtree(work, ignore_errors=True)
    missing = [name for name in ("pages", "first_runs", "browser") if name not in results]
    if missing:
        say(f"dashboard: {', '.join(missing)} to be measured")
        return None
    return results


def table(results):
    busy = results["busy"]
    rows = [f"| {results['keys']:,} keys, {results['events']:,} deliveries | slowest call | half of 100 | 95 of 100 | 95 of 100, under load |",
            "|---|---|---:|---:|---:|"]
    for name, one in results["pages"].items():
        rows.append(f"| {name} | `{one['target']}` | {one['p50_ms']:.1f} ms | {one['p95_ms']:.1f} ms | {busy['pages'][name]['p95_ms']:.1f} ms |")
    runs = results["first_runs"]
    low, high = runs["spread"]
    calls = sum(1 / every for every in OPEN.values())
    share = results["cycle_cpu_ms"] / len(OPEN) * calls / 10
    loads = ", ".join(f"{value} ({name})" for name, value in results["load_before"].items())
    rows += ["", f"Under load: while {busy['rate']:,.0f} first runs a second keep both cores busy, with their client and the service; the last column "
             "holds what a call waits for a core, too.", "",
             f"| first runs, 64 connections | {PAGES_OPEN} pages open | none | open ÷ none |", "|---|---:|---:|---:|",
             f"| throughput | {runs['rate']['open']:,.0f} /s | {runs['rate']['closed']:,.0f} /s | {runs['ratio']:.3f} ({low:.2f}–{high:.2f}) |",
             f"| 99 of 100 answered within | {runs['p99_ms']['open']:.1f} ms | {runs['p99_ms']['closed']:.1f} ms | |",
             f"| CPU per request | {runs['cpu_us']['open']:.1f} µs | {runs['cpu_us']['closed']:.1f} µs | |", "",
             f"One open page then takes {max(0.0, 1 - runs['ratio']) / PAGES_OPEN:.1%} of the throughput. "
             f"By themselves, the calls of the open page take {results['cycle_cpu_ms']:.1f} ms of CPU when each is made once; at the pace of "
             f"the page that is {share:.3f} % of one core. Medians of {runs['rounds']} rounds of {runs['seconds']} s. The load of the machine "
             f"before each part: {loads}."]
    browser = results["browser"]
    if browser:
        rows.append(f"The first load is {browser.get('bytes', 0) / 1024:.1f} KiB; Chromium can be used after {browser.get('best_ms', 0)} ms at best, "
                    f"{browser.get('middle_ms', 0)} ms in the middle of seven.")
    return "\n".join(rows)
