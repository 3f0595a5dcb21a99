#!/usr/bin/env python3
"""Workers of a queue are killed under load, and so is the API: workers_test.py --binary SEMEL [--kills N] [--orders N] [--seed N]

A queue that delivers at least once (each order is sent three times, and shown again when its time is over) feeds worker processes
that run clients/python/examples/queue_worker.py with on_unknown="retry". They are killed, or stopped past their leases; the API is killed, too.
Then: every order is done; of each order the numbers of its attempts only grow; the result that is kept is that of one attempt and
never changes; more effects than one only where a worker was killed or stopped; a worker that slept through its lease is fenced.
"""
import collections
import http.server
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time
import urllib.request

import paths  # noqa: F401
import real_api
from real_api import semel

VISIBILITY_S = 1.0
WORKERS, THREADS = 4, 3


class Queue:
    """At-least-once delivery with a visibility timeout, over HTTP, so that workers are processes of their own."""

    def __init__(self, orders):
        self.lock = threading.Lock()
        self.visible_at = {f"{order['id']}/{copy}": 0.0 for order in orders for copy in range(3)}
        self.bodies = {order["id"]: order for order in orders}
        self.buried = []
        queue = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                words = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                data = json.dumps(getattr(queue, self.path[1:])(*words)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                try:
                    self.wfile.write(data)
                except OSError:
                    pass  # the worker was killed; the message is shown again

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def receive(self, visibility):
        with self.lock:
            now = time.monotonic()
            shown = [receipt for receipt, at in self.visible_at.items() if at <= now]
            if not shown:
                return None
            receipt = random.choice(shown)
            self.visible_at[receipt] = now + visibility
            return {"receipt": receipt, "body": self.bodies[receipt.partition("/")[0]]}

    def delete(self, receipt):
        with self.lock:
            self.visible_at.pop(receipt, None)

    def hide(self, receipt, seconds):
        with self.lock:
            if receipt in self.visible_at:
                self.visible_at[receipt] = time.monotonic() + seconds

    def bury(self, receipt):
        self.buried.append(receipt)
        self.delete(receipt)


class RemoteQueue:
    """The worker's side."""

    def __init__(self, url):
        self.url = url

    def __getattr__(self, name):
        def call(*words):
            with urllib.request.urlopen(f"{self.url}/{name}", json.dumps(words).encode(), timeout=20) as reply:
                return json.load(reply)
        return call


def worker(url, log):
    """A process that works until it is ended. Each effect, and each fencing, is a line in the log."""
    sys.path.insert(0, str(real_api.EXAMPLES))
    import queue_worker
    api = semel.Client(os.environ["SEMEL_URL"], os.environ["SEMEL_TOKEN"], namespace="orders")
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(**line):
        os.write(out, json.dumps(line).encode() + b"\n")

    def handle(order, attempt):
        write(what="began", order=order["id"], number=attempt.number, pid=os.getpid())
        time.sleep(random.choice([0.01, 0.05, 0.1]))
        write(what="effect", order=order["id"], number=attempt.number)
        time.sleep(random.choice([0.0, 0.02, 0.05]))
        return {"order": order["id"], "number": attempt.number}

    def work():
        queue = RemoteQueue(url)
        while True:
            try:
                if not queue_worker.work(queue, api, handle, VISIBILITY_S):
                    time.sleep(0.02)
            except semel.OutcomeUnknown:
                write(what="unknown")
            except semel.SemelError as error:
                write(what="error", text=repr(error))

    for _ in range(THREADS):
        threading.Thread(target=work, daemon=True).start()
    signal.pause()


class Stage:
    def __init__(self, options, folder):
        self.chance = random.Random(options.seed)
        self.api = real_api.RealApi(options.binary).start()
        self.orders = [{"id": f"order-{number}", "amount": number} for number in range(options.orders)]
        self.queue = Queue(self.orders)
        self.log = pathlib.Path(folder) / "log"
        self.count = collections.Counter()
        words = [sys.executable, "-B", __file__, "--worker", "http://127.0.0.1:%d" % self.queue.server.server_port, str(self.log)]
        self.workers = [real_api.Example(self.api, *words) for _ in range(WORKERS)]
        self.since, self.busy, self.read = {}, set(), 0
        for one in self.workers:
            self.spawn(one)

    def spawn(self, one):
        one.spawn()
        self.since[one] = one.process.pid

    def at_work(self):
        """A worker that has begun something since it was started: one that is only starting has nothing to lose."""
        while True:
            lines = real_api.programs.text_of(self.log, self.read).splitlines(True)
            whole = [line for line in lines if line.endswith("\n")]
            self.read += sum(map(len, whole))
            self.busy |= {json.loads(line).get("pid") for line in whole}
            ready = [one for one in self.workers if self.since[one] in self.busy]
            if ready:
                return self.chance.choice(ready)
            time.sleep(0.05)

    def kill_a_worker(self):
        one = self.at_work()
        one.kill()
        self.spawn(one)

    def stop_a_worker_past_its_lease(self):
        one = self.at_work()
        one.signal(signal.SIGSTOP)
        time.sleep(VISIBILITY_S * 1.4)
        one.signal(signal.SIGCONT)

    def kill_the_api(self):
        self.api.kill()
        time.sleep(self.chance.uniform(0, 0.3))
        self.api.start()

    def fault(self, number):
        kinds = [self.kill_a_worker] * 8 + [self.stop_a_worker_past_its_lease, self.kill_the_api]
        kind = kinds[number % len(kinds)]
        self.count[kind.__name__.replace("_", " ")] += 1
        time.sleep(self.chance.uniform(0.02, 0.25))
        kind()

    def settle(self, seconds=180.0):
        deadline = time.monotonic() + seconds
        while self.queue.visible_at and time.monotonic() < deadline:
            time.sleep(0.1)
        for one in self.workers:
            one.kill()

    def kept(self, client):
        return {order["id"]: client.get({"namespace": "orders", "scope": "", "key": order["id"]}) for order in self.orders}

    def close(self):
        for one in (*self.workers, self.api):
            one.close()
        self.queue.server.shutdown()
        self.queue.server.server_close()


def violations(stage, lines, before, after):
    if stage.queue.visible_at or stage.queue.buried:
        yield f"{len(stage.queue.visible_at)} messages were never done, {len(stage.queue.buried)} were buried"
    for order, kept in after.items():
        begun = [line["number"] for line in lines if line["what"] == "began" and line["order"] == order]
        effects = [line["number"] for line in lines if line["what"] == "effect" and line["order"] == order]
        if kept["outcome"] != "done":
            yield f"{order} is {kept['outcome']} in the end"
            continue
        result = kept["result"]["body"]
        if before[order]["outcome"] == "done" and before[order]["result"] != kept["result"]:
            yield f"the result of {order} was overwritten"
        if result["order"] != order or result["number"] not in effects:
            yield f"{order} has the result {result}, which no attempt made"
        if result["number"] != kept["attempt"] or kept["attempt"] < max(begun):
            yield f"{order} began as {begun}, and attempt {kept['attempt']} is kept"
        if len(set(begun)) != len(begun):
            yield f"{order} began twice with one number: {begun}"
        if len(effects) > 1 + stage.cuts:
            yield f"{order} has {len(effects)} effects, and there were {stage.cuts} cuts"
    effects = sum(line["what"] == "effect" for line in lines)
    if effects > len(after) + THREADS * WORKERS * stage.cuts:
        yield f"{effects} effects of {len(after)} orders are more than {stage.cuts} faults can have cut"
    if all(kept["outcome"] == "done" for kept in before.values()):
        yield "all was done before the faults were over, so they broke nothing: give more --orders"
    for line in lines:
        if line["what"] == "error":
            yield f"a worker saw {line['text']}"


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(*sys.argv[2:])
    parser = real_api.arguments(__doc__, kills=30, orders=1500)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="semel-workers-") as folder:
        stage = Stage(options, folder)
        try:
            client = stage.api.client()
            for number in range(options.kills):
                stage.fault(number)
            before = stage.kept(client)
            stage.settle()
            after = stage.kept(client)
            stage.cuts = options.kills
            lines = [json.loads(line) for line in stage.log.read_text(encoding="utf-8").splitlines()]
            found = list(violations(stage, lines, before, after))
            what = collections.Counter(line["what"] for line in lines)
            repeated = sum(what["effect"] > 0 and count > 1 for count in
                           collections.Counter(line["order"] for line in lines if line["what"] == "effect").values())
        finally:
            stage.close()
    print(f"seed {options.seed}: {dict(stage.count)}; {len(stage.orders)} orders, {what['began']} attempts, {what['effect']} effects, "
          f"{repeated} orders with more than one, {what['unknown']} results that could not be stored at once")
    for one in found[:20]:
        print("violated:", one)
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
