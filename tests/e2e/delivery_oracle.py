#!/usr/bin/env python3
"""Deliveries of a provider while the gateway is killed: delivery_oracle.py --binary SEMEL [--deliveries N] [--seed N]

A provider sends signed events of many objects. Some come twice, at once or later, and some in the wrong order; whatever
it does not hear 2xx for it sends again, as providers do. The gateway (ordered = true) is killed with SIGKILL every few
seconds, or a number of times on the way, and started again on the same folder. The handler fails now and then. It
believes a first attempt blindly, and looks an event up in its own books only if Idempotency-Attempt says that there was
one before, which is what docs/webhooks.md tells handlers to do. When all is acknowledged, the books are held against
what the provider heard:

  D1  each event was handled at most once
  D2  none was lost: it was handled, or a newer one of its object was, and the provider heard 2xx
  D3  no event was handled after the provider had heard 2xx for a newer one of the same object that was handled
  D4  no two events of one object were handled at the same time
  D5  an attempt other than the first came only after a kill, or after the handler had failed

Exit code 0: all of it holds.
"""
import argparse
import collections
import heapq
import json
import os
import random
import sys
import threading
import time

import gateway
import harness
import oracle
import origin
import programs
import server
import signers
import wire

SECRET = "first"
INVARIANTS = ("D1", "D2", "D3", "D4", "D5")
CONFIG = harness.CONFIG + """
[log]
requests = false
[[webhook]]
path = "/hooks/stripe"
provider = "stripe"
secrets = ["first"]
upstream = "app"
lease = "1s"
ordered = true
"""


# ---- The handler, a process of its own ------------------------------------------------------------------------------


class Handler:
    """Every arrival is a line of the log when it is answered; every effect is an entry in the books."""

    def __init__(self, log, seed):
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.lock = threading.Lock()
        self.books = set()
        self.chance = random.Random(seed)

    def answer(self, request):
        if request.method != "POST":
            return server.Reply(200)
        arrived = time.monotonic()
        attempt = int(request.get("Idempotency-Attempt", "0"))
        event = json.loads(request.body)
        batch = [{"id": item["uuid"], "created": 0, "data": {"object": {"id": item["uuid"]}}}
                 for item in event["data"].get("events", ())]
        with self.lock:
            fails = self.chance.random() < 0.01
            delay = self.chance.choice([0, 0, 0, 0, 0.001, 0.005, 0.02])
        if delay:
            time.sleep(delay)
        with self.lock:
            for each in batch or [event]:
                self.act(each, attempt, arrived, fails)
        return server.Reply(500 if fails else 200, [], b"ok")

    def act(self, event, attempt, arrived, fails):
        known = attempt > 1 and event["id"] in self.books
        acts = not fails and not known
        if acts:
            self.books.add(event["id"])
        line = {"event": event["id"], "object": event["data"]["object"]["id"], "stamp": event["created"],
                "attempt": attempt, "arrived": arrived, "ended": time.monotonic(),
                "what": "failed" if fails else "effect" if acts else "known"}
        os.write(self.log, json.dumps(line).encode() + b"\n")


def start_handler(log, seed):
    """As a process of its own."""
    address = programs.free_address()
    return programs.Answering(address, sys.executable, "-B", __file__, "--handler", address[1], "--log", log, "--seed",
                              seed).start()


def handle(options):
    server.Server(server.replies(Handler(options.log, options.seed).answer), port=options.handler)
    threading.Event().wait()  # until somebody ends the process


# ---- The provider ---------------------------------------------------------------------------------------------------


def plan(deliveries, chance):
    """Which events are sent, and in which order: 2.5 % come again, 3 % come later than they should."""
    duplicates = deliveries // 40
    events = []
    clocks = collections.Counter()
    objects = max(10, deliveries // 8)
    for number in range(deliveries - duplicates):
        about = f"po_{chance.randrange(objects)}"
        clocks[about] += chance.choice([0, 1, 1, 2])  # now and then two of one second
        events.append({"id": f"evt_{number}", "type": "payout.updated", "created": 1_700_000_000 + clocks[about],
                       "data": {"object": {"id": about}}})
    order = [(number + (chance.uniform(20, 4 * objects) if chance.random() < 0.03 else 0), number)
             for number in range(len(events))]
    order += [(number + chance.choice([0, 0, chance.uniform(1, 2000)]), number)
              for number in chance.sample(range(len(events)), duplicates)]
    return events, [number for _, number in sorted(order)]


class Provider:
    """Sends what is planned, and again what was not acknowledged: soon at first, then every second or so."""

    def __init__(self, addresses, events, order, clients, seed):
        self.events = events
        self.lock = threading.Condition()
        self.queue = [(0.0, at, number, 1) for at, number in enumerate(order)]  # heap: when, position, event, try
        self.out = 0
        self.heard = []  # (event, time asked, time heard, status)
        self.clients = [threading.Thread(target=self.run, daemon=True,
                                         args=(random.Random(f"{seed}-{i}"), addresses[i % len(addresses)]))
                        for i in range(clients)]

    def start(self):
        for client in self.clients:
            client.start()

    def done(self):
        with self.lock:
            return not self.queue and self.out == 0

    def left(self):
        with self.lock:
            return len(self.queue)

    def take(self):
        with self.lock:
            while True:
                if not self.queue and self.out == 0:
                    return None
                now = time.monotonic()
                if self.queue and self.queue[0][0] <= now:
                    self.out += 1
                    return heapq.heappop(self.queue)
                self.lock.wait(min(0.05, self.queue[0][0] - now) if self.queue else 0.05)

    def run(self, chance, address):
        connection = None
        while True:
            job = self.take()
            if job is None:
                break
            _, position, number, tries = job
            event = self.events[number]
            body = json.dumps(event).encode()
            asked = time.monotonic()
            status = 0
            try:
                connection = connection or wire.Wire(address, 15)
                reply = connection.ask("POST", "/hooks/stripe", signers.sign(f"stripe {SECRET}", body), body)
                status = reply.status
                if reply.get("Connection") == "close":
                    connection.close()
                    connection = None
            except ConnectionRefusedError:
                status = None  # nobody listens: not the delivery's fault, so it keeps its place
                time.sleep(0.05)
            except (wire.Closed, wire.Cut, wire.Silent, OSError):
                if connection is not None:
                    connection.close()
                connection = None
            with self.lock:
                self.out -= 1
                if status is None:
                    heapq.heappush(self.queue, (0.0, position, number, tries))
                    continue
                self.heard.append((event["id"], asked, time.monotonic(), status))
                if not 200 <= status < 300:
                    pause = min(0.05 * 2 ** tries, 1.5) * chance.uniform(0.5, 1.5)
                    heapq.heappush(self.queue, (time.monotonic() + pause, position, number, tries + 1))
                self.lock.notify_all()


# ---- The oracle -----------------------------------------------------------------------------------------------------


def check(events, arrivals, heard, kills):
    """Every promise that was broken: (invariant, event, what)."""
    broken = []
    effects = collections.defaultdict(list)
    by_object = collections.defaultdict(list)
    by_event = collections.defaultdict(list)
    for arrival in arrivals:
        by_object[arrival["object"]].append(arrival)
        by_event[arrival["event"]].append(arrival)
        if arrival["what"] == "effect":
            effects[arrival["event"]].append(arrival)
    acknowledged = {}  # event → when the provider first heard 2xx
    for event, _, when, status in heard:
        if 200 <= status < 300:
            acknowledged[event] = min(when, acknowledged.get(event, when))
    newest = collections.Counter()  # object → the newest that was handled
    for arrival in (one for several in effects.values() for one in several):
        newest[arrival["object"]] = max(newest[arrival["object"]], arrival["stamp"])

    for event in events:
        name = event["id"]
        about = event["data"]["object"]["id"]
        if len(effects[name]) > 1:
            broken.append(("D1", name, f"{len(effects[name])} effects"))
        if name not in acknowledged:
            broken.append(("D2", name, "was never acknowledged"))
        elif not effects[name] and newest[about] <= event["created"]:
            broken.append(("D2", name, "was acknowledged, but neither it nor a newer one was handled"))
    for about, several in by_object.items():
        several.sort(key=lambda arrival: arrival["arrived"])
        done = sorted((acknowledged[a["event"]], a["stamp"]) for a in several
                      if a["what"] == "effect" and a["event"] in acknowledged)
        reached, at = 0, 0
        for before, arrival in zip([None, *several], several):
            while at < len(done) and done[at][0] < arrival["arrived"]:
                reached = max(reached, done[at][1])
                at += 1
            if arrival["stamp"] < reached:
                broken.append(("D3", arrival["event"], f"came to the handler behind {reached}"))
            if before is not None and before["ended"] > arrival["arrived"] and before["event"] != arrival["event"]:
                broken.append(("D4", arrival["event"], f"overlaps with {before['event']}"))
    for name, several in by_event.items():
        several.sort(key=lambda arrival: arrival["arrived"])
        for before, after in zip(several, several[1:]):
            killed = any(before["arrived"] <= kill[1] and kill[0] <= after["arrived"] for kill in kills)
            if before["what"] != "failed" and not killed:
                broken.append(("D5", name, f"attempt {after['attempt']} came without need"))
    return broken


def moments(options, chance, provider):
    """When to kill next, one question after the other: is it time? A number of kills is spread over the deliveries, so that
    it does not depend on how fast they go; kills by the clock never end."""
    if options.kills:
        for number in range(options.kills):
            share = (number + chance.uniform(0.1, 0.9)) / options.kills
            yield lambda few=(1 - share) * options.deliveries: provider.left() <= few
    else:
        while True:
            moment = time.monotonic() + chance.uniform(0.6, 1.4) * options.every
            yield lambda moment=moment: time.monotonic() >= moment
    yield lambda: False  # until all is delivered


def run(options, folder):
    chance = random.Random(options.seed)
    events, order = plan(options.deliveries, chance)
    log = folder / "handler.jsonl"
    handler = start_handler(log, options.seed)
    semel = gateway.Gateway(options.binary, CONFIG, folder=folder, upstream="%s:%d" % handler.address, store=options.store)
    provider = Provider([semel.address], events, order, options.clients, options.seed)
    kills = []
    deadline = time.monotonic() + options.seconds_max
    try:
        semel.start()
        provider.start()
        for is_due in moments(options, chance, provider):
            while not is_due() and not provider.done() and time.monotonic() < deadline:
                time.sleep(0.005)
            if provider.done() or time.monotonic() >= deadline:
                break
            began = time.monotonic()
            semel.kill()
            semel.start()
            kills.append((began, time.monotonic()))
        left = provider.left()
        counts = semel.metrics()[1]
        code = semel.stop()
    finally:
        semel.close()
        handler.close()
    return events, origin.read_records(log), provider.heard, kills, left, code, counts


def main():
    if "--handler" in sys.argv:
        parser = argparse.ArgumentParser()
        parser.add_argument("--handler", type=int)
        parser.add_argument("--log")
        parser.add_argument("--seed", type=int)
        handle(parser.parse_args())
    parser = oracle.arguments(deliveries=2000, clients=12)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two kills")
    parser.add_argument("--kills", type=int, help="this many kills, spread over the deliveries, instead of --every")
    parser.add_argument("--seconds-max", type=float, default=3600, help="how long the provider goes on trying")
    parser.add_argument("--store", help="store.url; without it an embedded store in the folder")
    options = parser.parse_args()
    (events, arrivals, heard, kills, left, code, _), seconds = oracle.in_folder(options, run)
    broken = check(events, arrivals, heard, kills)
    what = collections.Counter(arrival["what"] for arrival in arrivals)
    statuses = collections.Counter(status for *_, status in heard)
    overtaken = len(events) - len({a["event"] for a in arrivals if a["what"] == "effect"})
    print(f"{options.deliveries} deliveries of {len(events)} events, {len(heard)} requests, {len(kills)} kills, "
          f"seed {options.seed}, {seconds:.1f} s")
    print(f"  handled {what['effect']}  overtaken {overtaken}  known already {what['known']}  failed {what['failed']}")
    print("  heard " + "  ".join(f"{status or 'nothing'}: {count}" for status, count in sorted(statuses.items())))
    found = collections.Counter(invariant for invariant, *_ in broken)
    print("  " + "  ".join(f"{name} {found[name]}" for name in INVARIANTS))
    for invariant, event, why in broken[:20]:
        print(f"{invariant} violated: {event}: {why}")
    if left:
        print(f"{left} deliveries were left when the provider gave up")
    if code != 0:
        print(f"semel ended with {code}")
    print(f"{len(broken)} violations")
    return 1 if broken or left or code != 0 or not kills or not overtaken else 0


if __name__ == "__main__":
    sys.exit(main())
