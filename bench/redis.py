"""Semel on Redis beside plain writes to the same server, in turn.

  pairs       the store alone with 256 callers against SET NX PX + SET, pipelined at the same depth, under either fsync
  replicas    the same with a replica, whose acknowledgement every batch waits for, against batches that do not wait
  alone       one caller: what a claim takes beside a plain write
  gateway     first runs of a gateway on Redis (everysec) against one on PostgreSQL, 64 connections
  failover    how soon new keys are refused after the primary has gone, and taken after a replica was promoted

Each round measures both sides, every other round the other way about; ratios are taken within a round. The CPU time of a
pair, the server's and the driver's, stays true when the machine is busy.
"""
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import sys

import gateway
from database import Database, run
from postgres import compared, in_turn, median
from programs import free_port  # of tests/e2e, which gateway.py has put on the path

import redis_server

FOLLOW = pathlib.Path(redis_server.__file__).with_name("redis_follow.py")
CALLERS = 256
CONNECTIONS = 64
FSYNC = ("everysec", "always")


class Server(redis_server.Server):
    """On the file system that is measured."""

    def __init__(self, semel, under, **settings):
        super().__init__(semel, under=under, **settings)

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, work, programs, semel, say):
        self.work, self.programs, self.semel, self.say = work, programs, semel, say

    def once(self, server, kind, callers, seconds, replicas=0):
        """One load, with the CPU time of the server for each pair. What it has written is dropped, so that every load finds
        the same; the marker of the store stays."""
        before = server.cpu_seconds()
        out = run(self.programs / "redis_bench", kind, server.url, callers, int(seconds * 1000), replicas)
        figure = json.loads(out)
        figure["server_us"] = (server.cpu_seconds() - before) * 1e6 / figure["pairs"]
        server.run("FLUSHALL")
        server.prepare()
        return figure

    def in_rounds(self, rounds, what, measures):
        figures = {name: [] for name in measures}
        for number in range(rounds):
            self.say(f"{what}: round {number + 1}/{rounds}")
            for name in in_turn(number, list(measures)):
                figures[name].append(measures[name]())
        return figures

    def medians(self, figures):
        return {name: {what: median(one[what] for one in rounds) for what in rounds[0]} for name, rounds in figures.items()}

    def pairs(self, rounds, seconds):
        results = {}
        for fsync in FSYNC:
            with contextlib.closing(Server(self.semel, self.work, appendfsync=fsync)) as server:
                figures = self.in_rounds(rounds, f"pairs, {fsync}", {
                    "plain": lambda: self.once(server, "plain", CALLERS, seconds),
                    "store": lambda: self.once(server, "store", CALLERS, seconds)})
                results[fsync] = self.medians(figures) | compared(figures["store"], figures["plain"], "pairs_per_s")
        return results

    def replicas(self, rounds, seconds):
        with contextlib.closing(Server(self.semel, self.work, appendfsync="everysec")) as primary, \
                contextlib.closing(redis_server.Redis(self.semel, under=self.work, appendfsync="everysec",
                                                      replicaof=f"127.0.0.1 {primary.port}")) as replica:
            replica.start()
            redis_server.until(lambda: "state=online" in primary.run("INFO", "replication"))
            figures = self.in_rounds(rounds, "replicas", {
                "without": lambda: self.once(primary, "store", CALLERS, seconds, 0),
                "with": lambda: self.once(primary, "store", CALLERS, seconds, 1)})
        return self.medians(figures) | compared(figures["with"], figures["without"], "pairs_per_s")

    def alone(self, rounds, seconds):
        with contextlib.closing(Server(self.semel, self.work, appendfsync="everysec")) as server:
            figures = self.in_rounds(rounds, "one caller", {
                "plain": lambda: self.once(server, "plain", 1, seconds),
                "store": lambda: self.once(server, "store", 1, seconds)})
        over = [b["claim_p50_ms"] - a["claim_p50_ms"] for a, b in zip(figures["plain"], figures["store"])]
        return self.medians(figures) | {"over_ms": median(over), "over_lowest_ms": min(over), "over_highest_ms": max(over)}

    def gateway(self, rounds, seconds):
        script = self.work / "load.lua"
        script.write_text(gateway.LOAD)
        (self.work / "origin.tmp").mkdir(exist_ok=True)
        ports = {name: free_port() for name in ("origin", "redis", "postgres")}
        with contextlib.ExitStack() as stack:
            redis = stack.enter_context(contextlib.closing(Server(self.semel, self.work, appendfsync="everysec")))
            database = stack.enter_context(Database(self.semel, self.work))
            database.prepare()
            conf = self.work / "origin.conf"
            body = gateway.ORIGIN_BODY.format(port=ports["origin"], answer=gateway.ANSWER)
            conf.write_text(gateway.NGINX_CONF.format(work=self.work, name="origin", body=body))
            origin = gateway.Server(["nginx", "-e", str(self.work / "origin.err"), "-c", str(conf)], ports["origin"],
                                    self.work / "origin.log")
            stack.callback(origin.stop)
            servers = {}
            for name, url in (("redis", f'{redis.url}"\nfsync = "everysec'), ("postgres", database.url)):
                conf = self.work / f"{name}.toml"
                conf.write_text(gateway.SEMEL_CONF.format(port=ports[name], admin=free_port(), store=url,
                                                          origin=ports["origin"]))
                servers[name] = gateway.Server([str(self.semel), "serve", "--config", str(conf)], ports[name],
                                               self.work / f"{name}.log")
                stack.callback(servers[name].stop)
            stores = {"redis": redis, "postgres": database}
            keys = iter(range(1 << 30))

            def load(name):
                before = servers[name].cpu_seconds(), stores[name].cpu_seconds()
                figure = gateway.load(ports[name], "/v1/charges", seconds, CONNECTIONS, script, (f"k{next(keys)}", "new"))
                after = servers[name].cpu_seconds(), stores[name].cpu_seconds()
                per = 1e6 / figure["requests"]
                return {what: figure[what] for what in ("rate", "p50", "p99")} | {
                    "own_us": (after[0] - before[0]) * per, "store_us": (after[1] - before[1]) * per}

            for name in servers:
                load(name)
            figures = self.in_rounds(rounds, "gateway", {name: lambda name=name: load(name) for name in servers})
        return self.medians(figures) | compared(figures["redis"], figures["postgres"], "rate")

    def failover(self, rounds):
        found = {"kill": [], "stop": [], "taken": []}
        for number in range(rounds):
            self.say(f"failover: round {number + 1}/{rounds}")
            one = json.loads(run(sys.executable, "-B", FOLLOW, "--binary", self.semel))
            for name in found:
                found[name].append(one[name])
        return {name: {"median": statistics.median(times), "highest": max(times)} for name, times in found.items()}


def measure(work, programs, semel, quick, say, only=None):
    """`only` names some of the comparisons."""
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rounds, seconds = (5, 2) if quick else (9, 4)
    bench = Bench(work, programs, semel, say)
    wanted = only or ("pairs", "replicas", "alone", "gateway", "failover")
    results = {}
    if "pairs" in wanted:
        results["pairs"] = bench.pairs(rounds, seconds)
    if "replicas" in wanted:
        results["replicas"] = bench.replicas(rounds, seconds)
    if "alone" in wanted:
        results["alone"] = bench.alone(rounds, seconds)
    if "gateway" in wanted:
        results["gateway"] = bench.gateway(rounds, seconds)
    if "failover" in wanted:
        results["failover"] = bench.failover(3 if quick else 7)
    shutil.rmtree(work, ignore_errors=True)
    return results


def ratio_of(figure):
    return f"{figure['ratio']:.2f} ({figure['lowest']:.2f}–{figure['highest']:.2f})"


def table(results):
    if not results:
        return "Not measured: Redis, nginx or wrk is not installed."
    lines = [f"| {CALLERS} callers | plain, pairs/s | store, pairs/s | store ÷ plain (lowest–highest round) | "
             "CPU µs per pair: server, plain | server, store | driver |", "|---|---:|---:|---:|---:|---:|---:|"]
    for fsync, one in results["pairs"].items():
        lines.append(f"| `appendfsync {fsync}` | {one['plain']['pairs_per_s']:,.0f} | {one['store']['pairs_per_s']:,.0f} | "
                     f"{ratio_of(one)} | {one['plain']['server_us']:.1f} | {one['store']['server_us']:.1f} | "
                     f"{one['store']['driver_us']:.1f} |")
    one = results["replicas"]
    lines += ["", f"With a replica on the same machine, everysec: {one['without']['pairs_per_s']:,.0f} pairs/s without waiting "
              f"for it, {one['with']['pairs_per_s']:,.0f} with `replicas = 1`: {ratio_of(one)}."]
    one = results["alone"]
    lines += ["", f"One caller, everysec: a claim takes {one['store']['claim_p50_ms']:.3f} ms (p50), a plain `SET NX` "
              f"{one['plain']['claim_p50_ms']:.3f}; the difference is {one['over_ms']:+.3f} ms "
              f"({one['over_lowest_ms']:+.3f} to {one['over_highest_ms']:+.3f})."]
    one = results["gateway"]
    lines += ["", f"| gateway, {CONNECTIONS} connections, first runs | on Redis (everysec) | on PostgreSQL |", "|---|---:|---:|",
              f"| requests/s | {one['redis']['rate']:,.0f} | {one['postgres']['rate']:,.0f} |",
              f"| Redis ÷ PostgreSQL (lowest–highest round) | {ratio_of(one)} | |"]
    lines += [f"| {what}, ms | {one['redis'][what] * 1e3:.1f} | {one['postgres'][what] * 1e3:.1f} |" for what in ("p50", "p99")]
    lines += [f"| CPU µs per request, {what} | {one['redis'][part]:.0f} | {one['postgres'][part]:.0f} |"
              for what, part in (("the gateway's", "own_us"), ("the store's", "store_us"))]
    one = results["failover"]
    lines += ["", f"A new key is refused {one['kill']['median']:.2f} s after its primary was killed (at most "
              f"{one['kill']['highest']:.2f}), and {one['stop']['median']:.2f} s after it stood still (at most "
              f"{one['stop']['highest']:.2f}). {one['taken']['median']:.2f} s after a Sentinel names the promoted replica (at most "
              f"{one['taken']['highest']:.2f}) keys are taken again."]
    return "\n".join(lines)
