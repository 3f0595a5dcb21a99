"""The library: what once() costs above the memory store, and the Beast middleware beside the gateway.

The middleware's server (guard_server) answers by itself; behind the gateway stands nginx with the same answer. Same load,
same store, one thread each, measured in turn: the difference is the second hop.
"""
import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import time

import gateway

GUARD = 9314


def measure_once(program):
    command = [str(program), "--benchmark_format=json", "--benchmark_repetitions=5",
               "--benchmark_report_aggregates_only=true"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    calls = {}
    for one in json.loads(output)["benchmarks"]:
        if one.get("aggregate_name") == "median":
            calls[one["run_name"].split("/")[0]] = 1e6 / one["items_per_second"]
    return calls


def measure_middleware(work, binary, server, rounds, seconds, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    bench = gateway.Bench(work, binary, say)
    results = {"guard": [], "gateway": []}
    with contextlib.ExitStack() as stack:
        bench.start(stack)
        guard = gateway.Server([str(server), str(work / "guard-data"), str(GUARD)], GUARD, work / "guard.log")
        stack.callback(guard.stop)
        time.sleep(1)
        contenders = [("guard", guard), ("gateway", bench.semel)]
        for _, one in contenders:
            bench.one(one, "first", 1, gateway.CONNECTIONS)
        for number in range(rounds):
            say(f"middleware: round {number + 1}/{rounds}")
            for name, one in contenders if number % 2 == 0 else contenders[::-1]:
                results[name].append(bench.one(one, "first", seconds, gateway.CONNECTIONS))
    shutil.rmtree(work, ignore_errors=True)
    ratios = [a["rate"] / b["rate"] for a, b in zip(results["guard"], results["gateway"])]
    middle = lambda name, what: statistics.median(one[what] for one in results[name])
    return {"rate": {name: middle(name, "rate") for name in results},
            "cpu_us": {name: middle(name, "cpu_us") for name in results},
            "ratio": statistics.median(ratios), "spread": [min(ratios), max(ratios)]}


def measure(work, binary, programs, rounds, seconds, say):
    say("once()")
    return {"once_us": measure_once(programs / "once_bench"),
            "middleware": measure_middleware(work, binary, programs / "guard_server", rounds, seconds, say)}


def table(results):
    if not results:
        return "Not measured."
    once, side = results["once_us"], results["middleware"]
    return "\n".join([
        "| `once()` on the memory store | µs per call |", "|---|---:|",
        f"| first run | {once['FirstRun']:.2f} |", f"| replay | {once['Replay']:.2f} |",
        f"| first run from a plain thread (two threads take turns) | {once['BlockingFirstRun']:.2f} |", "",
        "| first runs, embedded store, 64 connections | middleware | gateway | middleware ÷ gateway (lowest–highest round) |",
        "|---|---:|---:|---:|",
        f"| throughput | {side['rate']['guard']:,.0f} /s | {side['rate']['gateway']:,.0f} /s | {side['ratio']:.2f} "
        f"({side['spread'][0]:.2f}–{side['spread'][1]:.2f}) |",
        f"| CPU per request | {side['cpu_us']['guard']:.1f} µs | {side['cpu_us']['gateway']:.1f} µs | |"])
