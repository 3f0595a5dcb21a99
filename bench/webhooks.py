"""What a webhook adds to a guarded request: the same deliveries to a route and to a webhook of one gateway, in turn.

Each delivery is an event of 1 KiB with an id of its own, signed beforehand as Stripe signs; both see the same bytes. The
route takes its key from a header and fingerprints the body as JSON; the webhook verifies the signature, finds id, type
and object in the body, and claims. CPU is what the gateway's process used, per request.
"""
import contextlib
import hashlib
import hmac
import pathlib
import shutil
import statistics
import time

import gateway

ORIGIN, SEMEL, ADMIN = 9320, 9321, 9322
RATE_MAX = 40_000  # deliveries that are signed for each second of load
SECRET = b"whsec_bench"
FILLER = "x" * 900
CONF = gateway.SEMEL_HEAD + """
[[webhook]]
path = "/webhook"
provider = "stripe"
secrets = ["whsec_bench"]
upstream = "app"
tolerance = "1d"
[[webhook]]
path = "/ordered"
provider = "stripe"
secrets = ["whsec_bench"]
upstream = "app"
tolerance = "1d"
ordered = true
""" + gateway.SEMEL_ROUTE
LOAD = """
local signatures, count, name, time = {}, 0, "", ""
function init(arguments)
  name, time = arguments[1], arguments[2]
  for line in io.lines(arguments[3]) do signatures[#signatures + 1] = line end
end
function request()
  count = count + 1
  local id = name .. "-" .. count
  local body = '{"id":"' .. id .. '","type":"invoice.paid","created":1700000000,"data":{"object":{"id":"in_' .. id ..
    '","note":"FILLER"}}}'
  return wrk.format("POST", nil, {["Content-Type"] = "application/json", ["Idempotency-Key"] = id,
    ["Stripe-Signature"] = "t=" .. time .. ",v1=" .. signatures[count]}, body)
end
""".replace("FILLER", FILLER)


def body_of(event):
    return (f'{{"id":"{event}","type":"invoice.paid","created":1700000000,"data":{{"object":{{"id":"in_{event}",'
            f'"note":"{FILLER}"}}}}}}').encode()


class Bench(gateway.Bench):
    def __init__(self, work, binary, say):
        super().__init__(work, binary, say)
        self.script.write_text(LOAD)
        self.signatures = work / "signatures"

    def start(self, stack):
        origin = self.nginx("origin", gateway.ORIGIN_BODY.format(port=ORIGIN, answer=gateway.ANSWER), ORIGIN)
        stack.callback(origin.stop)
        self.semel = self.gateway(CONF, SEMEL, admin=ADMIN, origin=ORIGIN)
        stack.callback(self.semel.stop)

    def sign(self, seconds, rate_max=RATE_MAX):
        """Signs what a load of so many seconds can use up at most; the words for it."""
        self.keys += 1
        name, now = f"e{self.keys}", str(int(time.time()))
        with open(self.signatures, "w", encoding="ascii") as out:
            for number in range(1, rate_max * seconds + 1):
                text = now.encode() + b"." + body_of(f"{name}-{number}")
                out.write(hmac.new(SECRET, text, hashlib.sha256).hexdigest() + "\n")
        return name, now, str(self.signatures)

    def one_of(self, path, seconds):
        words = self.sign(seconds)
        before = self.semel.cpu_seconds()
        result = gateway.load(SEMEL, path, seconds, gateway.CONNECTIONS, self.script, words)
        result["cpu_us"] = (self.semel.cpu_seconds() - before) * 1e6 / result["requests"]
        return result


def measure(work, binary, rounds, seconds, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    bench = Bench(work, binary, say)
    paths = ["/route", "/webhook", "/ordered"]
    results = {path: [] for path in paths}
    with contextlib.ExitStack() as stack:
        bench.start(stack)
        for path in paths:
            bench.one_of(path, 1)
        for number in range(rounds):
            say(f"webhooks: round {number + 1}/{rounds}")
            for path in paths if number % 2 == 0 else paths[::-1]:
                results[path].append(bench.one_of(path, seconds))
    shutil.rmtree(work, ignore_errors=True)

    def against(path):
        pairs = list(zip(results[path], results["/route"]))
        added = [a["cpu_us"] - b["cpu_us"] for a, b in pairs]
        return {"cpu_us": statistics.median(a["cpu_us"] for a, _ in pairs),
                "rate": statistics.median(a["rate"] for a, _ in pairs),
                "added_us": statistics.median(added), "added_spread": [min(added), max(added)],
                "cpu_ratio": statistics.median(a["cpu_us"] / b["cpu_us"] for a, b in pairs)}

    return {path[1:]: against(path) for path in paths}


def table(results):
    if not results:
        return "Not measured: nginx or wrk is not installed."
    rows = ["| the same deliveries to | CPU per request | beside the route (lowest–highest round) | ÷ the route | throughput |",
            "|---|---:|---:|---:|---:|"]
    names = {"route": "a route", "webhook": "a webhook (Stripe)", "ordered": "the same, `ordered`"}
    for path, name in names.items():
        one = results[path]
        low, high = one["added_spread"]
        added = "" if path == "route" else f"{one['added_us']:+.1f} µs ({low:+.1f}–{high:+.1f})"
        rows.append(f"| {name} | {one['cpu_us']:.1f} µs | {added} | {one['cpu_ratio']:.2f} | {one['rate']:,.0f} /s |")
    return "\n".join(rows)
