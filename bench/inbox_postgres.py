#!/usr/bin/env python3
"""The inbox on PostgreSQL: beside first runs there, beside job queues from npm, and while a session holds a snapshot:
bench/inbox_postgres.py --binary SEMEL [--rounds N] [--seconds N] [--held SECONDS]

Deliveries, handler and load are those of inbox.py; the gateway, both queues and the forwarded webhook share one server. A held
snapshot keeps the server from cleaning up: every row version since then stays, and what scans them becomes slower and slower.
Before and after events have flowed at a fixed pace for `held_s` seconds under such a snapshot, everything is measured that is
measured without it.
"""
import argparse
import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import database
import gateway
import inbox
import webhooks

PACE = 2_000  # events a second, of a load that does not go as fast as it can
CONNECTIONS = 64
PIECE_S = 15  # of a paced load


class Snapshot:
    """A session that has looked once, and stays in its transaction."""

    def __init__(self, url):
        self.session = subprocess.Popen(["psql", "-qAt", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.session.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM semel.keys;\n")
        self.session.stdin.flush()
        self.session.stdout.readline()

    def close(self):
        self.session.stdin.close()
        self.session.wait()
        self.session.stdout.close()


class Bench(inbox.Bench):
    def __init__(self, work, binary, say, url):
        super().__init__(work, binary, say)
        self.url = url
        self.paced = work / "paced.lua"
        self.paced.write_text(webhooks.LOAD + f"function delay() return {1000 * CONNECTIONS // PACE - 2} end\n")

    def gateway(self, config, port, **values):
        conf = self.work / "semel.toml"
        conf.write_text(config.format(store=self.url, port=port, **values))
        return gateway.Server([str(self.binary), "serve", "--config", str(conf)], port, self.work / "semel.log")

    def piece(self, seconds):
        """A paced load on the inbox: how many a second were acknowledged, and how late the slowest hundredth."""
        return gateway.load(inbox.SEMEL, "/inbox", seconds, CONNECTIONS, self.paced, self.sign(seconds))

    def settle(self):
        while self.open_in("inbox"):
            time.sleep(0.05)


def middle(results, what):
    return statistics.median(one[what] for one in results)


def measure_held(bench, rounds, seconds, held_s, say):
    """The same before a snapshot was taken and after it has been held for so long; between, what becomes of the rate."""
    def all_of_it():
        fast = [bench.whole_way("/inbox", seconds) for _ in range(rounds)]
        calm = [bench.piece(PIECE_S) for _ in range(2)]
        bench.settle()
        return {"rate": middle(fast, "rate"), "pace": middle(calm, "rate"), "p99": middle(calm, "p99")}

    clean = all_of_it()
    snapshot = Snapshot(bench.url)
    try:
        began, count, curve = time.monotonic(), 0, []
        while time.monotonic() - began < held_s:
            count += bench.piece(PIECE_S)["requests"]
            bench.settle()
            if time.monotonic() - began >= held_s * (len(curve) + 1) / 4:
                curve.append({"s": time.monotonic() - began, "rate": bench.whole_way("/inbox", seconds)["rate"]})
            say(f"inbox on PostgreSQL: {time.monotonic() - began:.0f} s under a snapshot, {count:,} events, {curve[-1:]}")
        held = {"seconds": time.monotonic() - began, "events": count, "curve": curve, **all_of_it()}
    finally:
        snapshot.close()
    return {"clean": clean, "held": held}


def measure(work, binary, rounds, seconds, held_s, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    names = ["forward", "kept", "inbox"]
    results = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        pg = database.Database(binary, work)
        stack.callback(pg.close)
        bench = Bench(work, binary, say, pg.prepare())
        bench.start(stack)
        servers, queues = inbox.start_queues(stack, bench, say)
        results.update({name: [] for name in servers})
        for name in names:
            bench.whole_way(f"/{name}", 1)
        for number in range(rounds):
            say(f"inbox on PostgreSQL: round {number + 1}/{rounds}")
            for name in names if number % 2 == 0 else names[::-1]:
                spent = pg.cpu_seconds()
                one = bench.whole_way(f"/{name}", seconds)
                one["cpu_us"] += (pg.cpu_seconds() - spent) * 1e6 / one["requests"]
                results[name].append(one)
            for name, server in servers.items():
                results[name].append(inbox.queue_round(server, queues, bench.script, bench.sign(seconds), seconds))
        held = measure_held(bench, rounds, seconds, held_s, say) if held_s else None
    shutil.rmtree(work, ignore_errors=True)
    found = {"rounds": rounds, "seconds": seconds, "held": held, "beside": {}}
    for name, of_one in results.items():
        beside = "inbox" if name in servers else "forward"
        pairs = list(zip(results["inbox"], of_one) if name in servers else zip(of_one, results["forward"]))
        found["beside"][name] = {"rate": middle(of_one, "rate"), "cpu_us": middle(of_one, "cpu_us"), "to": beside,
                                 "ratio": inbox.ratios(pairs, "rate")}
    return found


GOALS = {"kept": "1.5", "inbox": "0.85", "pg-boss": "6", "graphile-worker": "3"}
TEXTS = {"forward": "forwarded: a first run", "kept": "accepted and acknowledged", "inbox": "accepted, handled and settled",
         "pg-boss": "pg-boss, handled and completed", "graphile-worker": "graphile-worker, handled and completed"}


def table(found):
    rows = ["| 1 KiB Stripe deliveries, 64 connections, PostgreSQL | events/s | CPU per event, database included | ratio (lowest–highest "
            "round) | goal |", "|---|---:|---:|---:|---:|"]
    for name, one in found["beside"].items():
        what = "" if name == "forward" else ("÷ forwarded " if one["to"] == "forward" else "Semel ÷ it ") + inbox.spread(one["ratio"])
        rows.append(f"| {TEXTS[name]} | {one['rate']:,.0f} | {one['cpu_us']:.0f} µs | {what} | {GOALS.get(name, '')} |")
    if found["held"]:
        clean, held = found["held"]["clean"], found["held"]["held"]
        rows += ["", f"| a snapshot held for {held['seconds']:.0f} s, {held['events']:,} events | clean | held | ratio | goal |",
                 "|---|---:|---:|---:|---:|",
                 f"| accepted, handled and settled, as fast as it goes | {clean['rate']:,.0f} /s | {held['rate']:,.0f} /s | "
                 f"{held['rate'] / clean['rate']:.2f} | 0.95 |",
                 "| the same, while it was held | | " + ", ".join(f"{one['rate']:,.0f}" for one in held["curve"]) + " /s after "
                 + ", ".join(f"{one['s']:.0f}" for one in held["curve"]) + " s | | |",
                 f"| acknowledged at {PACE:,} /s | {clean['pace']:,.0f} /s | {held['pace']:,.0f} /s | {held['pace'] / clean['pace']:.2f} | 0.95 |",
                 f"| p99 of the acknowledgement at that pace | {1e3 * clean['p99']:.1f} ms | {1e3 * held['p99']:.1f} ms | "
                 f"{held['p99'] / clean['p99']:.2f} | 2 |"]
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--held", type=float, default=1800, help="seconds under a snapshot; 0: none")
    options = parser.parse_args()
    work = pathlib.Path(__file__).resolve().parent.parent / "build" / "bench" / "inbox-postgres"
    found = measure(work, options.binary, options.rounds, options.seconds, options.held,
                    lambda text: print(text, file=sys.stderr, flush=True))
    print(json.dumps(found, indent=2))
    print(table(found))


if __name__ == "__main__":
    main()
