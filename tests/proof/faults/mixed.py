"""Everything at once: all kinds of routes, webhooks, batches and reopened events, on encrypted shards behind PgBouncer

Two gateways, two shards, PgBouncer in transaction mode, encryption. Gateways are killed, restarted and told to reload, PgBouncer
and PostgreSQL crash. Requests go to routes that hold, wait, retry and probe: I1 to I12, where a route that retries may have one
effect more for each attempt that was cut, and one that probes has none more and always an answer. Beside them a provider
delivers events of objects in order, and batches that share events (D1 to D5 of delivery_oracle.py). An operator reopens
events: each of them reaches the handler once more when it is sent again, and none else.
"""
import itertools
import json
import random
import signal
import subprocess
import threading
import time

import checker
import delivery_oracle
import harness
import oracle
import origin
import pgbouncer
import proof
import signers
import wire

FAULTS = ("F27", "F28", "F29")
QUICK = {"rounds": 6, "deliveries": 400, "batches": 40}
RELEASE = {"rounds": 60, "deliveries": 8000, "batches": 600, "episodes": 3}

TOKEN = "an-operator"
REOPENED = 8
CONFIG = harness.encrypted(oracle.CONFIG, harness.KEY_ONE).replace('url = "$store"', 'url = ["$store", "$second"]').replace(
    'listen = "$admin"', f'listen = "$admin"\ntoken = "{TOKEN}"') + """
[upstream.hooks]
url = "http://$hooks"
[[webhook]]
path = "/hooks/stripe"
provider = "stripe"
secrets = ["first"]
upstream = "hooks"
lease = "1s"
ordered = true
[[webhook]]
path = "/hooks/okta"
provider = "okta"
secrets = ["batch"]
upstream = "hooks"
lease = "1s"
"""


class Batches:
    """A provider of deliveries that hold several events each, and share some; each is sent until it is taken."""

    def __init__(self, addresses, count, seed):
        chance = random.Random(f"batches-{seed}")
        self.events = [f"item-{number}" for number in range(3 * count)]
        self.left = [chance.sample(self.events[max(0, 3 * at - 6):3 * at + 3], 3) for at in range(count)]
        self.sent = {event for batch in self.left for event in batch}
        self.taken = {}  # event → when it was acknowledged first
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(address,), daemon=True) for address in addresses]

    def start(self):
        for thread in self.threads:
            thread.start()

    def join(self, deadline):
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def run(self, address):
        while True:
            with self.lock:
                if not self.left:
                    return
                batch = self.left.pop()
            body = json.dumps({"data": {"events": [{"uuid": event, "eventType": "user.created"} for event in batch]}}).encode()
            while not 200 <= status_of(address, "/hooks/okta", signers.sign("okta batch", body), body) < 300:
                time.sleep(0.1)
            now = time.monotonic()
            with self.lock:
                for event in batch:
                    self.taken.setdefault(event, now)


def status_of(address, target, fields, body):
    """0 if nobody answers."""
    try:
        return wire.ask(address, "POST", target, [*fields, ("Content-Type", "application/json")], body).status
    except (wire.Closed, wire.Cut, wire.Silent, OSError):
        return 0


def deliver(stage, event):
    """One event until it is taken."""
    body = json.dumps(event).encode()
    return wire.eventually(lambda: 200 <= status_of(stage.addresses[0], "/hooks/stripe", signers.sign("stripe first", body),
                                                    body) < 300, 15, 0.1)


def reopen(stage, event):
    target = "/v1/webhooks/reopen?path=/hooks/stripe"
    return status_of(stage.nodes[1].admin, target, [("Authorization", f"Bearer {TOKEN}")], json.dumps(event).encode())


class Breaking:
    """One fault after the other; each is noted on the stage, and counted."""

    def __init__(self, stage, server, bouncer, chance):
        self.stage, self.server, self.bouncer, self.chance = stage, server, bouncer, chance
        self.counts = {"kills": 0, "database restarts": 0, "faults": 0}
        self.reloads = 0
        self.turns = itertools.cycle((self.kill, self.reload, self.crash_the_pooler, self.kill, self.crash_the_server,
                                      self.restart))

    def node(self):
        return self.chance.choice(self.stage.nodes)

    def next(self):
        next(self.turns)()

    def kill(self):
        oracle.kill_and_restart(self.node())
        self.counts["kills"] += 1

    def restart(self):
        node = self.node()
        node.stop()
        node.start()
        self.counts["faults"] += 1

    def reload(self):
        """Another configuration, with the same promises. Nobody may notice."""
        for node in self.stage.nodes:
            self.reloads += 1
            node.write_config(CONFIG.replace("requests = false", f"requests = false\nlevel = \"{LEVELS[self.reloads % 2]}\""))
            node.signal(signal.SIGHUP)
            self.counts["faults"] += 1

    def crash_the_pooler(self):
        with self.stage.fault(checker.STORE, "PgBouncer crashes"):
            self.bouncer.kill()
            time.sleep(self.chance.uniform(0, 0.3))
            self.bouncer.start()
        self.counts["faults"] += 1

    def crash_the_server(self):
        with self.stage.fault(checker.STORE, "PostgreSQL crashes"):
            self.server.crash()
            time.sleep(self.chance.uniform(0, 0.3))
            self.server.start()
        self.counts["database restarts"] += 1


LEVELS = ("info", "warning")


def newest_of(events, arrivals):
    """Events that were handled, and are the newest of their objects."""
    handled = {arrival["event"] for arrival in arrivals if arrival["what"] == "effect"}
    newest = {}
    for event in events:
        about = event["data"]["object"]["id"]
        if about not in newest or event["created"] >= newest[about]["created"]:
            newest[about] = event
    return [event for event in newest.values() if event["id"] in handled]


def run_again(stage, events, log, report):
    """The operator reopens some events, and the provider sends them, and others, once more."""
    found = newest_of(events, origin.read_records(log))
    chosen, others = found[:REOPENED], found[REOPENED:2 * REOPENED]
    for event in chosen:
        report.must(wire.eventually(lambda event=event: reopen(stage, event) == 200, 10, 0.1), f"{event['id']} was not reopened")
    time.sleep(5)  # within which each gateway forgets what it remembers
    before = [arrival["event"] for arrival in origin.read_records(log)]
    for event in (*chosen, *others):
        report.must(deliver(stage, event), f"{event['id']} was not taken when it was sent again")
    after = [arrival["event"] for arrival in origin.read_records(log)]
    for event in (*chosen, *others):
        more, wanted = after.count(event["id"]) - before.count(event["id"]), int(event in chosen)
        report.must(more >= wanted and (wanted or more == 0), f"{event['id']} came {more} times more, reopened: {bool(wanted)}")
    return {event["id"] for event in chosen}


def judge_deliveries(stage, provider, batches, log, reopened, report):
    """D1 to D5, of single events and of batches."""
    arrivals = origin.read_records(log)
    windows = [(one["from"], one["until"]) for one in stage.all_faults()]
    items = [{"id": name, "created": 0, "data": {"object": {"id": name}}} for name in sorted(batches.sent)]
    heard = provider.heard + [(name, at, at, 200) for name, at in batches.taken.items()]
    broken = delivery_oracle.check([*provider.events, *items], arrivals, heard, windows)
    for invariant, event, what in broken:
        if invariant != "D5" or event not in reopened:
            report.violations.append(f"{invariant}: {event}: {what}")
    report.counts.update({"checks": len(provider.events) + len(items), "requests": len(heard),
                          "retries": len(heard) - len(provider.events) - len(items),
                          "keys": len(provider.events) + len(items)})


def run_stage(context, stage, server, bouncer, log, sizes):
    report = proof.Report()
    events, order = delivery_oracle.plan(sizes["deliveries"], context.chance)
    provider = delivery_oracle.Provider(stage.addresses, events, order, 4, context.seed)
    batches = Batches(stage.addresses, sizes["batches"], context.seed)
    breaking = Breaking(stage, server, bouncer, context.chance)
    stage.start()
    provider.start()
    batches.start()
    for number in range(sizes["rounds"]):
        context.say(f"fault {number + 1} of {sizes['rounds']}")
        time.sleep(context.chance.uniform(0.3, 0.9))
        breaking.next()
    deadline = time.monotonic() + 60
    report.must(wire.eventually(provider.done, 60), f"{provider.left()} deliveries were left")
    batches.join(deadline)
    report.must(set(batches.taken) == batches.sent, f"{len(batches.sent - set(batches.taken))} events of batches were left")
    reopened = run_again(stage, events, log, report)
    stage.settle()
    report.must(not any("not reloaded" in node.stderr() for node in stage.nodes), "a configuration was not reloaded")
    judge_deliveries(stage, provider, batches, log, reopened, report)
    report.add(context.judged(stage.end(), breaking.counts))
    return report


def run(context, **sizes):
    proof.need(pgbouncer.PROGRAM)
    with context.postgres() as server:
        bouncer = pgbouncer.PgBouncer(server)
        log = context.room() / "handler.jsonl"
        handler = delivery_oracle.start_handler(log, context.seed)
        try:
            bouncer.start()
            server.run("CREATE DATABASE one")
            server.run("CREATE DATABASE two")
            urls = [bouncer.url_of(name) for name in ("one", "two")]
            subprocess.run([context.binary, "migrate", "--url", urls[0], "--url", urls[1]], check=True, capture_output=True)
            with context.oracle(clients=10, nodes=2, store=urls[0], second=urls[1], hooks="%s:%d" % handler.address,
                                config=CONFIG) as stage:
                return run_stage(context, stage, server, bouncer, log, sizes)
        finally:
            handler.close()
            bouncer.close()
