#!/usr/bin/env python3
"""An Express app with the middleware of clients/node against the same app with the articles' own on PostgreSQL:
clients.py --binary SEMEL [--rounds 3] [--seconds 2] [--work FOLDER]

Same upstream, same load, in turn; the rounds and their checks are those of contenders.py. Prints rates, CPU per request (with
that of the database, or of Semel), and the ratios of each round by rate and by CPU. The app without any middleware is measured
too: nothing that is put into it can be faster.
"""
import argparse
import contextlib
import os
import pathlib
import shutil
import statistics
import sys

import contenders
import gateway
import postgres
from database import Database
from rivals import ORIGIN, Contender, Rivals

CLIENT = pathlib.Path(__file__).resolve().parent.parent / "clients" / "node"
TOKEN = "a-token-for-the-benchmark"
ARTICLES, OURS, OURS_ON_POSTGRES = "Express + pg", "Express + semel, embedded", "Express + semel, PostgreSQL"
ALONE = "Express alone"
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


def say(text):
    print(text, file=sys.stderr, flush=True)


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


def tell(workload, results):
    for name, rounds in results.items():
        rate, cpu, p50, p99 = (statistics.median(one[what] for one in rounds) for what in ("rate", "cpu_us", "p50", "p99"))
        print(f"{workload.name:12} {name:28} {rate:8.0f}/s  {cpu:6.0f} us CPU  p50 {p50 * 1e3:6.1f} ms  p99 {p99 * 1e3:6.1f} ms")
    for name in (OURS, OURS_ON_POSTGRES, ALONE):
        told = []
        for what, better in (("rate", results[name]), ("cpu_us", results[ARTICLES])):
            other = results[ARTICLES] if better is results[name] else results[name]
            ratios = sorted(a[what] / b[what] for a, b in zip(better, other))
            told.append(f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
        print(f"{workload.name:12} {name} against {ARTICLES}: {told[0]} times the requests, 1/{told[1]} of the CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/bench-clients"))
    options = parser.parse_args()
    work = options.work.resolve() / "run"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with Database(options.binary.resolve(), work) as database, contextlib.ExitStack() as stack:
        database.prepare()
        apps = Apps(work, None, options.binary.resolve(), database, say)
        apps.start(stack)
        bench = contenders.Rounds(apps, work / "load.lua", say)
        for workload in WORKLOADS:
            who = (ARTICLES, OURS, OURS_ON_POSTGRES, ALONE)
            tell(workload, bench.compare(contenders.dataclasses.replace(workload, who=who), options.rounds, options.seconds))
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
