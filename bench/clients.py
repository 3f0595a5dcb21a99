"""An Express app with the middleware of clients/node against the same app with the articles' own on PostgreSQL.

Same upstream, same load, in turn; the rounds and their checks are those of contenders.py. CPU per request is with that of the
database, or of Semel; ratios are taken within a round. The app without any middleware is measured too: for a first run, nothing
that is put into it can be faster.
"""
import contextlib
import os
import pathlib
import shutil
import statistics

import contenders
import gateway
import postgres
from database import Database
from rivals import ORIGIN, Contender, Rivals

CLIENT = pathlib.Path(__file__).resolve().parent.parent / "clients" / "node"
TOKEN = "a-token-for-the-benchmark"
ARTICLES, OURS, OURS_ON_POSTGRES = "Express + pg", "Express + semel, embedded", "Express + semel, PostgreSQL"
ALONE = "Express alone"
WHO = (ARTICLES, OURS, OURS_ON_POSTGRES, ALONE)
CONFIG = """
[admin]
listen = ""
[store]
url = "{store}"
[log]
requests = false
[api]
listen = "127.0.0.1:{port}"
[[api.token]]
name = "bench"
secret = "{token}"
namespaces = ["*"]
"""
WORKLOADS = (contenders.Workload("first run"), contenders.Workload("replay, hot", "same", 16))


class Apps(Rivals):
    def start(self, stack):
        self.stack = stack
        self.origin = postgres.free_port()
        self.nginx("origin", ORIGIN.format(port=self.origin, answer=gateway.ANSWER), self.origin)
        folder = postgres.install(self.work.parent / "node", self.say)
        if not folder:
            raise SystemExit("the packages of bench/node are needed")
        self.database.run(postgres.MIDDLEWARE_TABLE.replace("idempotency_keys", "express_keys"))
        port = postgres.free_port()
        server = self.keep(["node", folder / "express.mjs", port, self.origin, self.database.sockets], port, "express")
        self.add(Contender(ARTICLES, port, [server], database=True))
        port = postgres.free_port()
        server = self.keep(["node", folder / "semel.mjs", port, self.origin], port, "alone")
        self.add(Contender(ALONE, port, [server], stores=False))
        self.start_ours(folder, OURS, f"embedded:{self.work}/semel-data")
        self.start_ours(folder, OURS_ON_POSTGRES, self.database.url)

    def start_ours(self, folder, name, store):
        api, port = postgres.free_port(), postgres.free_port()
        conf = self.work / f"api-{api}.toml"
        conf.write_text(CONFIG.format(store=store, port=api, token=TOKEN))
        os.environ.update(SEMEL_URL=f"http://127.0.0.1:{api}", SEMEL_TOKEN=TOKEN)
        semel = self.keep([self.semel, "serve", "--config", conf], api, f"api-{api}", ready=None)
        app = self.keep(["node", folder / "semel.mjs", port, self.origin, CLIENT], port, f"app-{port}")
        self.add(Contender(name, port, [semel, app], database=name == OURS_ON_POSTGRES))


def measure(work, binary, rounds, seconds, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    found = {}
    with Database(binary, work) as database, contextlib.ExitStack() as stack:
        database.prepare()
        apps = Apps(work, None, binary, database, say)
        apps.start(stack)
        bench = contenders.Rounds(apps, work / "load.lua", say)
        for workload in WORKLOADS:
            found[workload.name] = bench.compare(contenders.dataclasses.replace(workload, who=WHO), rounds, seconds)
    shutil.rmtree(work, ignore_errors=True)
    return {"rounds": rounds, "workloads": found}


def row(workload, name, rounds, articles):
    rate, cpu, p50, p99 = (statistics.median(one[what] for one in rounds) for what in ("rate", "cpu_us", "p50", "p99"))
    ratios = sorted(a["rate"] / b["rate"] for a, b in zip(rounds, articles))
    cpus = sorted(b["cpu_us"] / a["cpu_us"] for a, b in zip(rounds, articles))
    told = ("" if rounds is articles else
            f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f}) | 1 ÷ {statistics.median(cpus):.2f}")
    return f"| {workload} | {name} | {rate:,.0f} | {p50 * 1e3:.1f} | {p99 * 1e3:.1f} | {cpu:.0f} | {told or '|'} |"


def table(results):
    if not results:
        return "Not measured: npm, nginx or wrk is not there."
    lines = [f"{results['rounds']} rounds.", "", "| | app | requests/s | p50 ms | p99 ms | CPU µs | requests, against the articles' | CPU |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    for workload, of_apps in results["workloads"].items():
        lines += [row(workload, name, rounds, of_apps[ARTICLES]) for name, rounds in of_apps.items()]
    return "\n".join(lines)
