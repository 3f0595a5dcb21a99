#!/usr/bin/env python3
"""An inbox while its gateway is killed: inbox_oracle.py --binary SEMEL [--kills N] [--feeders N] [--seed N] [--seconds-max N]
[--slow] [--sync-errors N] [--full-disks N --disk FOLDER]

Providers send signed events of many objects, one after the other; whatever they do not hear 2xx for they send again. Every
second object is on a webhook with `order = "fifo"`. The handler fails now and then, is slow, or asks for time. The gateway is
killed with SIGKILL at random moments, and at exact points of an event's way where its build has them: durable and not
acknowledged, sent and not answered, answered and not settled, settled. --sync-errors: in so many lives an fdatasync fails (strace
injects it), and the store stops. --full-disks: so many times FOLDER, a small file system of its own, is filled up and emptied again.
When all is acknowledged and delivered:

  N1  nothing was lost: what the provider heard 2xx for, the handler has taken
  N2  of one event one call at a time, each under a greater number, none before the Retry-After of the one before
  N3  fifo: no event of an object is called before the ones that were accepted before it have been taken, nor after a later one
  N4  the books balance: what was accepted is done, and nothing is unaccounted for

With --slow the handler takes seconds for some events, and each kill comes while it has been at work on one for a while: longer
than it takes until the gateway has written down how far its first attempts are.

Exit code 0: all of it holds.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

import gateway
import harness
import inbox_handler
import server
import signers
import wire

SECRET = "first"
RESERVE_BYTES = 4 << 20  # less than the store keeps for ending what runs
LEASE_S = 5  # longer than the handler ever works on an event, also on a busy machine
CONFIG = harness.CONFIG + f"""
[log]
requests = false
[destination.app]
upstream = "app"
concurrency = 16
schedule = ["0s", "50ms", "200ms"]
breaker = {{ in_a_row = 1000, failures = "100%" }}
""" + "".join(f"""
[[webhook]]
path = "/hooks/{name}"
provider = "stripe"
secrets = ["{SECRET}"]
delivery = "inbox"
lease = "{LEASE_S}s"
deliver = [ {{ to = "app" }} ]
order = "{order}"
""" for name, order in (("free", "none"), ("lined", "fifo")))


class Feeder(threading.Thread):
    """The provider of one object: its events in their order, each until it is acknowledged."""

    def __init__(self, semel, number, stop):
        super().__init__(daemon=True)
        self.semel, self.number, self.stop = semel, number, stop
        self.acknowledged, self.sent, self.troubles = [], 0, []

    def run(self):
        path = "/hooks/lined" if self.number % 2 else "/hooks/free"
        for i in range(1_000_000):
            if self.stop.is_set():
                return
            event = {"id": f"evt_{self.number}_{i}", "created": 1_700_000_000 + i, "type": "payout.paid",
                     "data": {"object": {"id": f"po_{self.number}"}}}
            while not self.is_acknowledged(path, json.dumps(event).encode()):
                if self.stop.is_set():
                    return
                time.sleep(0.05)
            self.acknowledged.append(event["id"])

    def is_acknowledged(self, path, body):
        self.sent += 1
        try:
            reply = self.semel.ask("POST", path, signers.sign(f"stripe {SECRET}", body), body)
        except (OSError, wire.Cut, wire.Silent, wire.Closed):
            return False
        if reply.status not in (200, 503):
            self.troubles.append(f"{path}: {reply.status} {reply.body[:200]}")
        return reply.status == 200


SLOW_S = 3.0     # of some calls, with --slow
SLOW_CUT_S = 2.0  # of which so much has passed when the gateway is killed


def speaker(seed, slow=False):
    """What the handler says: mostly yes; sometimes it is slow, fails, or asks for a second."""
    def speak(event, attempt):
        chance = random.Random(f"{seed}-{event}-{attempt}").random()
        if chance < 0.03:
            time.sleep(SLOW_S if slow and attempt == 1 else 0.6)
        elif chance < 0.10:
            time.sleep(0.02)
        elif chance < 0.16 and attempt < 5:
            return 500
        elif chance < 0.18 and attempt < 5:
            return server.Reply(503, [("Retry-After", "1")])
        return 200
    return speak


def points_of(binary):
    """The failpoints of an event's way; none in a build without them."""
    done = subprocess.run([str(binary), "version"], capture_output=True, text=True, check=False,
                          env={**os.environ, "SEMEL_FAILPOINT": "list"})
    return [] if done.stdout.startswith("semel ") else [word for word in done.stdout.split() if word.startswith("event-")]


def out_of_order(calls):
    """N3, from the calls of the handler in the order in which they began."""
    troubles, taken, newest = [], collections.defaultdict(set), {}
    moments = sorted([(call[2], 1, call) for call in calls] + [(call[3], 0, call) for call in calls], key=lambda m: m[:2])
    for _, begins, (event, attempt, _, _, status) in moments:
        _, number, place = event.split("_")
        if int(number) % 2 == 0:
            continue
        if not begins:
            if status == 200:
                taken[number].add(int(place))
            continue
        if int(place) < newest.get(number, 0):
            troubles.append(f"N3: {event} attempt {attempt} after {newest[number]} of its object had begun")
        if any(before not in taken[number] for before in range(int(place))):
            troubles.append(f"N3: {event} attempt {attempt} before an earlier one of its object was taken")
        newest[number] = max(int(place), newest.get(number, 0))
    return troubles


class World:
    """The handler, the gateway, its providers, and what is broken."""

    def __init__(self, binary, seed, feeders, folder=None, disk=None, slow=False):
        self.slow = slow
        self.chance = random.Random(f"inbox-{seed}")
        self.points = points_of(binary)
        self.handler = inbox_handler.Handler(speaker(seed, slow))
        values = {"store": f"embedded:{disk}/data"} if disk else {}
        self.semel = gateway.Gateway(binary, CONFIG, folder=folder, upstream="%s:%d" % self.handler.address, **values)
        self.disk = disk and pathlib.Path(disk)
        self.troubles = []
        self.stop = threading.Event()
        self.feeders = [Feeder(self.semel, number, self.stop) for number in range(feeders)]
        self.kills = collections.Counter()

    def life(self, point):
        """One life of the gateway, from its start to its death."""
        self.semel.environment.pop("SEMEL_FAILPOINT", None)
        if point:
            self.semel.environment["SEMEL_FAILPOINT"] = f"{point}:kill:{self.chance.randint(1, 60)}"
        try:
            self.semel.start()
        except RuntimeError:
            if not point:
                raise  # at a point it may be dead before it is ready: what a dead process left comes first
        goal = self.handler.count() + self.chance.randint(20, 150)
        if point:
            self.semel.wait(20)
        elif self.slow:
            wire.eventually(lambda: self.handler.oldest_call_s() > SLOW_CUT_S, 20, 0.05)
        else:
            wire.eventually(lambda: self.handler.count() >= goal, 20)
        self.kills[point if point and not self.semel.is_running() else "random"] += 1
        self.semel.kill()

    def is_ready(self):
        with contextlib.suppress(OSError, wire.Closed, wire.Cut, wire.Silent):
            return wire.ask(self.semel.admin, "GET", "/readyz").status == 200
        return False

    def life_with_a_sync_error(self):
        """The store stops at an fdatasync that fails, and takes nothing more until the next life."""
        when = self.chance.randint(10, 150)
        self.semel.environment.pop("SEMEL_FAILPOINT", None)
        self.semel.prefix = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                             f"inject=fdatasync:error=EIO:when={when}"]
        self.semel.start()
        if not wire.eventually(lambda: not self.is_ready(), 60, 0.1):
            self.troubles.append(f"it went on after fdatasync {when} failed")
        self.semel.kill()
        self.semel.prefix = []
        self.kills["sync error"] += 1

    def life_on_a_full_disk(self, leave):
        """Nothing is accepted while all but so many bytes are taken; with room again it goes on, if need be in another life."""
        self.semel.environment.pop("SEMEL_FAILPOINT", None)
        self.semel.start()
        goal = self.handler.count() + 20
        wire.eventually(lambda: self.handler.count() >= goal, 30)
        with contextlib.suppress(OSError), open(self.disk / "ballast", "wb", buffering=0) as ballast:
            while (room := os.statvfs(self.disk).f_bavail * os.statvfs(self.disk).f_frsize) > leave:
                ballast.write(bytes(min(1 << 20, room - leave)))
        if not wire.eventually(lambda: not self.is_ready(), 30, 0.05):
            self.troubles.append("it says that it is ready with a full disk")
        time.sleep(0.5)
        (self.disk / "ballast").unlink()
        if not wire.eventually(self.is_ready, 3, 0.1):
            self.semel.kill()
            self.semel.start()
        if not wire.eventually(self.is_ready, 20, 0.1):
            self.troubles.append("with room again it is not ready")
        self.semel.kill()
        self.kills["full disk"] += 1

    def run(self, kills, seconds_max, sync_errors=0, full_disks=0):
        deadline = time.monotonic() + seconds_max
        self.semel.start()
        for feeder in self.feeders:
            feeder.start()
        wire.eventually(lambda: self.handler.count() >= 20, 30)
        self.semel.kill()
        self.kills["random"] += 1
        for number in range(1, kills):
            if time.monotonic() > deadline - 30:
                break
            point = self.points[number // 2 % len(self.points)] if self.points and number % 2 and not self.slow else ""
            self.life(point)
        for _ in range(sync_errors):
            self.life_with_a_sync_error()
        for number in range(full_disks):
            self.life_on_a_full_disk(0 if number % 2 == 0 else RESERVE_BYTES)
        self.semel.environment.pop("SEMEL_FAILPOINT", None)
        self.semel.start()
        self.stop.set()
        for feeder in self.feeders:
            feeder.join(60)
        return self.judge(max(60.0, deadline - time.monotonic()))

    def acknowledged(self):
        return {event for feeder in self.feeders for event in feeder.acknowledged}

    def judge(self, seconds):
        acknowledged = self.acknowledged()
        wire.eventually(lambda: acknowledged <= self.handler.events(), seconds, 0.2)
        lost = acknowledged - self.handler.events()
        troubles = self.troubles + [f"N1: {event} was acknowledged and never came" for event in sorted(lost)[:5]]
        states = collections.Counter()
        counts = {}

        def settled():
            nonlocal counts
            states.clear()
            counts = self.semel.metrics()[1]
            for name, value in counts.items():
                found = re.match(r'semel_inbox_deliveries\{.*state="(\w+)"', name)
                if found and value:
                    states[found[1]] += int(value)
            return set(states) == {"done"}

        wire.eventually(settled, 60, 0.5)
        accepted = int(counts.get("semel_inbox_accepted_total", -1))
        if set(states) != {"done"} or sum(states.values()) != accepted or accepted < len(acknowledged):
            troubles.append(f"N4: {len(acknowledged)} acknowledged, {accepted} accepted, {dict(states)}")
        if counts.get("semel_inbox_unaccounted") != 0:
            troubles.append(f"N4: {counts.get('semel_inbox_unaccounted')} unaccounted for")
        with self.handler.lock:
            calls, seen = list(self.handler.calls), list(self.handler.troubles)
        troubles += [f"N2: {text}" for text in seen[:5]] + out_of_order(calls)[:5]
        troubles += [text for feeder in self.feeders for text in feeder.troubles[:2]]
        return troubles

    def close(self):
        self.stop.set()
        self.semel.close()
        self.handler.close()

    def summary(self):
        sent = sum(feeder.sent for feeder in self.feeders)
        kills = ", ".join(f"{count} {what}" for what, count in sorted(self.kills.items()))
        return (f"{len(self.acknowledged())} events, {sent} requests, {self.handler.count()} calls, "
                f"{sum(self.kills.values())} kills ({kills})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--feeders", type=int, default=6)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seconds-max", type=float, default=200)
    parser.add_argument("--sync-errors", type=int, default=0)
    parser.add_argument("--full-disks", type=int, default=0)
    parser.add_argument("--disk")
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    world = World(options.binary, seed, options.feeders, disk=options.disk, slow=options.slow)
    try:
        troubles = world.run(options.kills, options.seconds_max, options.sync_errors, options.full_disks if options.disk else 0)
    finally:
        world.close()
    print(f"seed {seed}: {world.summary()}")
    for trouble in troubles:
        print(trouble)
    return 1 if troubles or sum(world.kills.values()) < min(options.kills, 3) else 0


if __name__ == "__main__":
    sys.exit(main())
