"""Semel beside nginx as a plain reverse proxy: same upstream, same load, one worker each, measured in turn.

Nothing is pinned: the system places the proxy, the load (wrk) and the upstream (nginx) as it does elsewhere. Both proxies
log every request to a file, in batches. nginx stores nothing: it is the price of proxying alone.
"""
import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e"))

import programs  # noqa: E402  (found by the line above)

CONNECTIONS = 64
ORIGIN, NGINX, SEMEL, ADMIN = 9310, 9311, 9312, 9313
ANSWER = '{"id":"ch_1","status":"succeeded","note":"' + "x" * 470 + '"}'

NGINX_CONF = """
daemon off; worker_processes 1; pid {work}/{name}.pid; error_log {work}/{name}.err warn;
events {{ worker_connections 4096; }}
http {{
  log_format line escape=json '{{"time":"$time_iso8601","method":"$request_method","status":$status,'
                              '"bytes":$body_bytes_sent,"seconds":$request_time}}';
  client_body_temp_path {work}/{name}.tmp; proxy_temp_path {work}/{name}.tmp; fastcgi_temp_path {work}/{name}.tmp;
  uwsgi_temp_path {work}/{name}.tmp; scgi_temp_path {work}/{name}.tmp;
  keepalive_requests 1000000000; keepalive_timeout 1h; tcp_nodelay on;
  {body}
}}
"""
ORIGIN_BODY = """
  access_log off; default_type application/json;
  server {{ listen 127.0.0.1:{port}; location / {{ return 200 '{answer}'; }} }}
"""
PROXY_BODY = """
  access_log {work}/nginx.log line buffer=64k flush=1s;
  upstream app {{ server 127.0.0.1:{origin}; keepalive 256; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection "";
                  proxy_set_header X-Forwarded-For $remote_addr; }}
  }}
"""
SEMEL_HEAD = """
[server]
listen = "127.0.0.1:{port}"
threads = 1
[admin]
listen = "127.0.0.1:{admin}"
[store]
url = "{store}"
[upstream.app]
url = "http://127.0.0.1:{origin}"
"""
SEMEL_ROUTE = """
[[route]]
path = "/*"
upstream = "app"
key = "required"
scope = ""
"""
SEMEL_CONF = SEMEL_HEAD + SEMEL_ROUTE
# First runs take a key of their own each; hot keys are a few that come again and again.
LOAD = """
local seed, hot, count = "", false, 0
function init(arguments) seed = arguments[1]; hot = arguments[2] == "hot" end
local body = '{"amount":4200,"currency":"eur","customer":"cus_8412","description":"order 77-1209","metadata":{"cart":"c-5521"}}'
function request()
  count = count + 1
  local key = hot and (count % 64) or count
  return wrk.format("POST", "/v1/charges", {["Content-Type"] = "application/json", ["Idempotency-Key"] = seed .. "-" .. key}, body)
end
"""


class Server(programs.Program):
    """A process, started, and the CPU time of it and its children. It is ready when it answers; None: at once, since it
    speaks another protocol."""

    def __init__(self, command, port, log, ready="/ready"):
        super().__init__(*command, folder=log.parent, cwd=pathlib.Path.cwd())
        self.out_path = self.err_path = log
        self.port, self.ready = port, ready
        log.unlink(missing_ok=True)
        self.start()

    def is_ready(self):
        return self.ready is None or programs.answers((programs.HOST, self.port), self.ready)

    def pids(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def cpu_seconds(self):
        ticks = 0
        for pid in self.pids():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


def seconds_of(text):
    number, unit = re.match(r"([\d.]+)(\w+)", text).groups()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}[unit]


def load(port, path, seconds, connections, script=None, words=()):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "30s"]
    if script:
        command += ["-s", str(script)]
    command += [f"http://127.0.0.1:{port}{path}"]
    if words:
        command += ["--", *words]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    requests = int(re.search(r"(\d+) requests in", output).group(1))
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output) or re.search(r"Socket errors: .*", output)
    if bad or not requests:
        raise RuntimeError(f"a load on port {port} went wrong:\n{output}")
    return {"requests": requests, "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1)),
            "p50": seconds_of(re.search(r"^ +50% +(\S+)", output, re.M).group(1)),
            "p99": seconds_of(re.search(r"^ +99% +(\S+)", output, re.M).group(1))}


def sync_p50(folder, seconds=1.0):
    """What one fdatasync of a small append takes, on the file system of the store."""
    times = []
    file = os.open(folder / "sync", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            os.write(file, b"x" * 4096)
            start = time.monotonic()
            os.fdatasync(file)
            times.append(time.monotonic() - start)
    finally:
        os.close(file)
        os.unlink(folder / "sync")
    return statistics.median(times)


class Bench:
    def __init__(self, work, binary, say):
        self.work, self.binary, self.say = work, binary, say
        self.script = work / "load.lua"
        self.script.write_text(LOAD)
        self.keys = 0

    def nginx(self, name, body, port):
        folder = self.work / f"{name}.tmp"
        folder.mkdir(exist_ok=True)
        conf = self.work / f"{name}.conf"
        conf.write_text(NGINX_CONF.format(work=self.work, name=name, body=body))
        return Server(["nginx", "-e", str(self.work / f"{name}.err"), "-c", str(conf)], port, self.work / f"{name}.out")

    def gateway(self, config, port, **values):
        conf = self.work / "semel.toml"
        conf.write_text(config.format(store=f"embedded:{self.work}/semel-data", port=port, **values))
        return Server([str(self.binary), "serve", "--config", str(conf)], port, self.work / "semel.log")

    def start(self, stack):
        def keep(server):
            stack.callback(server.stop)
            return server

        self.origin = keep(self.nginx("origin", ORIGIN_BODY.format(port=ORIGIN, answer=ANSWER), ORIGIN))
        self.rival = keep(self.nginx("nginx", PROXY_BODY.format(work=self.work, port=NGINX, origin=ORIGIN), NGINX))
        self.semel = keep(self.gateway(SEMEL_CONF, SEMEL, admin=ADMIN, origin=ORIGIN))

    def words(self, path):
        self.keys += 1
        return {"unguarded": (), "first": (f"k{self.keys}", "new"), "hot": ("hot", "hot")}[path]

    def one(self, server, path, seconds, connections):
        words = self.words(path)
        before = server.cpu_seconds()
        result = load(server.port, "/v1/charges", seconds, connections, self.script if words else None, words)
        result["cpu_us"] = (server.cpu_seconds() - before) * 1e6 / result["requests"]
        return result

    def compare(self, path, rounds, seconds):
        results = {"semel": [], "nginx": []}
        contenders = [("semel", self.semel), ("nginx", self.rival)]
        for number in range(rounds):
            self.say(f"{path}: round {number + 1}/{rounds}")
            for name, server in contenders if number % 2 == 0 else contenders[::-1]:
                results[name].append(self.one(server, path, seconds, CONNECTIONS))
        middle = lambda name, what: statistics.median(one[what] for one in results[name])
        ratio = lambda what: statistics.median(a[what] / b[what] for a, b in zip(results["semel"], results["nginx"]))
        spread = lambda what: [min(a[what] / b[what] for a, b in zip(results["semel"], results["nginx"])),
                               max(a[what] / b[what] for a, b in zip(results["semel"], results["nginx"]))]
        return {"rate": {name: middle(name, "rate") for name in results},
                "cpu_us": {name: middle(name, "cpu_us") for name in results},
                "p50": {name: middle(name, "p50") for name in results},
                "p99": {name: middle(name, "p99") for name in results},
                "rate_ratio": ratio("rate"), "rate_spread": spread("rate"),
                "cpu_ratio": ratio("cpu_us"), "cpu_spread": spread("cpu_us")}

    def alone(self, rounds, seconds):
        direct, through, syncs = [], [], []
        for number in range(rounds):
            self.say(f"one connection: round {number + 1}/{rounds}")
            syncs.append(sync_p50(self.work))
            direct.append(load(ORIGIN, "/v1/charges", seconds, 1, self.script, self.words("first"))["p50"])
            through.append(load(SEMEL, "/v1/charges", seconds, 1, self.script, self.words("first"))["p50"])
        added = statistics.median(b - a for a, b in zip(direct, through))
        sync = statistics.median(syncs)
        return {"direct_ms": statistics.median(direct) * 1e3, "through_ms": statistics.median(through) * 1e3,
                "added_ms": added * 1e3, "sync_ms": sync * 1e3, "over_two_syncs_ms": (added - 2 * sync) * 1e3}


def measure(work, binary, rounds, seconds, say, only=None):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    bench = Bench(work, binary, say)
    with contextlib.ExitStack() as stack:
        bench.start(stack)
        time.sleep(1)
        results = {"idle_mib": bench.semel.resident_mib(), "connections": CONNECTIONS}
        for path in ("unguarded", "first", "hot"):
            if only and path not in only:
                continue
            for server in (bench.semel, bench.rival):
                bench.one(server, path, 1, 1)  # one at a time: 64 first runs of a hot key would be told to wait
                bench.one(server, path, 1, CONNECTIONS)
            results[path] = bench.compare(path, rounds, seconds)
        if not only or "alone" in only:
            results["alone"] = bench.alone(rounds, seconds)
        results["loaded_mib"] = bench.semel.resident_mib()
    shutil.rmtree(work / "semel-data", ignore_errors=True)
    return results


def table(results):
    if not results:
        return "Not measured: nginx or wrk is not installed."
    rows = ["| path | Semel | nginx | Semel ÷ nginx (lowest–highest round) |", "|---|---:|---:|---:|"]

    def row(name, path, what, unit, form):
        one = results[path]
        low, high = one[f"{'rate' if what == 'rate' else 'cpu'}_spread"]
        ratio = one["rate_ratio" if what == "rate" else "cpu_ratio"]
        rows.append(f"| {name} | {one[what]['semel']:{form}} {unit} | {one[what]['nginx']:{form}} {unit} | "
                    f"{ratio:.2f} ({low:.2f}–{high:.2f}) |")

    row("unguarded, CPU per request", "unguarded", "cpu_us", "µs", ".1f")
    row("unguarded, throughput", "unguarded", "rate", "/s", ",.0f")
    row("first run, durable, throughput", "first", "rate", "/s", ",.0f")
    row("first run, CPU per request", "first", "cpu_us", "µs", ".1f")
    row("replay of hot keys, throughput", "hot", "rate", "/s", ",.0f")
    row("replay of hot keys, CPU per request", "hot", "cpu_us", "µs", ".1f")
    alone = results["alone"]
    rows += ["", f"One connection, first runs: p50 {alone['direct_ms']:.2f} ms direct, {alone['through_ms']:.2f} ms through Semel; "
             f"fdatasync p50 {alone['sync_ms']:.2f} ms, so Semel adds two syncs {alone['over_two_syncs_ms']:+.2f} ms.",
             "", f"Resident memory: {results['idle_mib']:.0f} MiB idle, {results['loaded_mib']:.0f} MiB after the load."]
    return "\n".join(rows)

