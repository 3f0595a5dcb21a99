"""What the desk costs a request: sightings, tallies and the doctor on, against the same program without them.

Two gateways, each with a store and a log of its own, take the same load of first runs in turn. The second is built from the
same libraries with nothing in place of what a request leaves for the desk (bench/without_desk.cc). What the calls themselves
cost is measured by sightings_bench and notes_bench in the same run.
"""
import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import time

import gateway

ORIGIN, WITH, WITHOUT, ADMIN_WITH, ADMIN_WITHOUT = 9330, 9331, 9332, 9333, 9334
# What the thread of a request does for the desk: nearly every one is counted, and the doctor is not told of it.
CALLS = {"sightings_bench": ("BM_Sighting", "BM_Shape", "BM_Unwatched"), "notes_bench": ("counted/1000",)}


class Bench(gateway.Bench):
    def start(self, stack):
        origin = self.nginx("origin", gateway.ORIGIN_BODY.format(port=ORIGIN, answer=gateway.ANSWER), ORIGIN)
        stack.callback(origin.stop)

    def gateway_of(self, stack, binary, port, admin):
        name = binary.name
        conf = self.work / f"{name}.toml"
        conf.write_text(gateway.SEMEL_CONF.format(store=f"embedded:{self.work}/{name}-data", port=port, admin=admin, origin=ORIGIN))
        server = gateway.Server([str(binary), "serve", "--config", str(conf)], port, self.work / f"{name}.log")
        stack.callback(server.stop)
        return server


def time_of_calls(programs):
    """CPU nanoseconds of each call, by name."""
    found = {}
    for program, names in CALLS.items():
        command = [str(programs / program), "--benchmark_format=json", "--benchmark_repetitions=9",
                   "--benchmark_report_aggregates_only=true", "--benchmark_min_time=0.05"]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        for one in json.loads(output)["benchmarks"]:
            if one.get("aggregate_name") == "median" and one["run_name"] in names:
                found[one["run_name"]] = one["cpu_time"]
    return found


def measure(work, programs, binary, rounds, seconds, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    bench = Bench(work, binary, say)
    rounds_of = {"with": [], "without": []}
    with contextlib.ExitStack() as stack:
        bench.start(stack)
        servers = [("with", bench.gateway_of(stack, binary, WITH, ADMIN_WITH)),
                   ("without", bench.gateway_of(stack, programs / "semel_without_desk", WITHOUT, ADMIN_WITHOUT))]
        time.sleep(1)
        for _, server in servers:
            bench.one(server, "first", 1, gateway.CONNECTIONS)
        for number in range(rounds):
            say(f"desk: round {number + 1}/{rounds}")
            for name, server in servers if number % 2 == 0 else servers[::-1]:
                rounds_of[name].append(bench.one(server, "first", seconds, gateway.CONNECTIONS))
    shutil.rmtree(work, ignore_errors=True)
    pairs = list(zip(rounds_of["with"], rounds_of["without"]))
    middle = lambda name, what: statistics.median(one[what] for one in rounds_of[name])
    return {"rounds": rounds, "rate": {name: middle(name, "rate") for name in rounds_of},
            "cpu_us": {name: middle(name, "cpu_us") for name in rounds_of},
            "rate_ratio": statistics.median(a["rate"] / b["rate"] for a, b in pairs),
            "rate_spread": [min(a["rate"] / b["rate"] for a, b in pairs), max(a["rate"] / b["rate"] for a, b in pairs)],
            "cpu_us_more": statistics.median(a["cpu_us"] - b["cpu_us"] for a, b in pairs),
            "calls_ns": time_of_calls(programs)}


def table(results):
    if not results:
        return "Not measured: nginx or wrk is not installed."
    low, high = results["rate_spread"]
    calls = results["calls_ns"]
    rows = ["| first runs, 64 connections | with the desk | without | |", "|---|---:|---:|---:|",
            f"| throughput | {results['rate']['with']:,.0f} /s | {results['rate']['without']:,.0f} /s | "
            f"{results['rate_ratio']:.3f} ({low:.2f}–{high:.2f}) |",
            f"| CPU per request, all threads | {results['cpu_us']['with']:.1f} µs | {results['cpu_us']['without']:.1f} µs | "
            f"{results['cpu_us_more']:+.1f} µs |", "",
            f"By themselves the calls that a request makes for the desk take {sum(calls.values()) / 1000:.2f} µs: " +
            ", ".join(f"{name.removeprefix('BM_').split('/')[0].lower()} {time:.0f} ns" for name, time in calls.items()) + "."]
    return "\n".join(rows)
