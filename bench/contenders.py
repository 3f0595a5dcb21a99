"""What people would use instead of Semel, side by side: same upstream, same load, one after the other in every round.

  nginx, HAProxy            plain reverse proxies: the floor, which stores nothing
  Semel                     the gateway on memory, embedded and PostgreSQL stores, one thread; the middleware in a Beast server
  Express, Fastify          the PostgreSQL middleware of the popular articles (bench/node)
  Restate                   a handler behind its ingress, with its idempotency keys

The upstream counts what it was asked: a round in which a key took effect twice, or an answer was lost or wrong, is void and
ends the run. Rounds go A B C, then C B A; ratios are taken within a round. Where they straddle 1, it is called a tie.
"""
import contextlib
import dataclasses
import pathlib
import re
import shutil
import statistics
import subprocess
import urllib.request

import gateway
import postgres
from database import Database
from rivals import BASE, Rivals

# new: each request a key of its own · same: the keys 1 to N again and again · some: N of 1,000 requests are duplicates of
# one some time ago · storm: each key N times at once · none: a GET without a key
LOAD = """
local seed, mode, number, path, body, count, fresh = "", "", 0, "", "", 0, 0
function init(arguments)
  seed, mode, number, path = arguments[1], arguments[2], tonumber(arguments[3]), arguments[4]
  body = '{"amount":4200,"currency":"eur","customer":"cus_8412","description":"order 77-1209","metadata":{"cart":"c-5521"}'
  local rest = tonumber(arguments[5]) - #body - 11
  body = body .. (rest > 0 and ',"note":"' .. string.rep("x", rest) .. '"}' or '}')
  math.randomseed(7)
end
function request()
  if mode == "none" then return wrk.format("GET", path) end
  count = count + 1
  local key = count
  if mode == "same" then key = count % number + 1 end
  if mode == "some" then
    if fresh > 2000 and math.random(1000) <= number then
      key = fresh - 1000 - math.random(1000)
    else
      fresh = fresh + 1
      key = fresh
    end
  end
  if mode == "storm" then key = math.floor(count / number) end
  return wrk.format("POST", path, {["Content-Type"] = "application/json", ["Idempotency-Key"] = seed .. "-" .. key}, body)
end
"""


@dataclasses.dataclass
class Workload:
    name: str
    mode: str = "new"
    number: int = 0
    connections: int = 64
    body: int = 110
    who: tuple = ()  # empty: all
    refusals: bool = False  # 409 is a right answer


FEW = ("nginx", BASE, "Semel, PostgreSQL", "Fastify + pg")
STORING = (BASE, "Semel, memory", "Semel, PostgreSQL", "Semel, middleware", "Express + pg", "Fastify + pg", "Restate")
WORKLOADS = [
    Workload("unguarded", "none", who=("direct", "nginx", "HAProxy", BASE)),
    Workload("first run"),
    Workload("replay, hot", "same", 64, who=("direct", *STORING)),
    Workload("replay, cold", "same", 0, who=(BASE, "Semel, PostgreSQL", "Express + pg", "Fastify + pg", "Restate")),
    Workload("2.5 % duplicates", "some", 25, who=STORING),
    Workload("30 % duplicates", "some", 300, who=STORING),
    Workload("storm: 64 at once of each key", "storm", 64, who=(BASE, "Express + pg", "Fastify + pg"), refusals=True),
    Workload("the same, all wait for the answer", "storm", 64, who=("Semel, waiting",)),
    Workload("first run, 1 connection", connections=1, who=FEW),
    Workload("first run, 16 connections", connections=16, who=FEW),
    Workload("first run, 256 connections", connections=256, who=FEW),
    Workload("first run, body of 1 KiB", body=1024, who=FEW),
    Workload("first run, body of 64 KiB", body=65536, who=FEW),
    Workload("first run, body of 1 MiB", body=2**20, connections=16, who=FEW),
]
QUICK = ("unguarded", "first run", "replay, hot", "30 % duplicates")


class Rounds:
    def __init__(self, rivals, script, say):
        self.rivals, self.script, self.say = rivals, script, say
        self.script.write_text(LOAD)
        self.number = 0

    def one(self, contender, workload, seconds, seed=None):
        self.number += 1
        words = (seed or f"r{self.number}", workload.mode, str(workload.number), contender.path, str(workload.body))
        before, effects = self.rivals.spent(contender), self.rivals.effects()
        command = ["wrk", "-t1", f"-c{workload.connections}", f"-d{seconds}s", "--latency", "--timeout", "30s",
                   "-s", str(self.script), f"http://127.0.0.1:{contender.port}{contender.path}", "--", *words]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        requests = int(re.search(r"(\d+) requests in", output).group(1))
        result = {"requests": requests, "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1)),
                  "cpu_us": (self.rivals.spent(contender) - before) * 1e6 / max(requests, 1)}
        for name, share in (("p50", "50"), ("p99", "99")):
            result[name] = gateway.seconds_of(re.search(rf"^ +{share}% +(\S+)", output, re.M).group(1))
        self.check(contender, workload, output, requests, self.rivals.effects() - effects - 1)
        return result

    def check(self, contender, workload, output, requests, effects):
        """A round in which something was lost, wrong or done twice is void."""
        refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        # A first run may take so long that its duplicate finds it under way: 409 is right then.
        late = requests // 500 if workload.mode == "some" else 0
        trouble = []
        if "Socket errors" in output or not requests or (refused and not workload.refusals and int(refused[1]) > late):
            trouble.append("answers were lost or refused")
        slack = 2 * workload.connections + 5
        if contender.counted and contender.servers and workload.mode != "none":
            least, most = requests, requests
            if contender.stores and workload.mode == "same":
                least, most = 0, workload.number
            if contender.stores and workload.mode == "some":
                fresh = requests * (1 - workload.number / 1000)
                least, most = fresh * 0.97, fresh * 1.03 + 2000
            if contender.stores and workload.mode == "storm":
                least, most = 0, requests / workload.number
            if not least - slack <= effects <= most + slack:
                trouble.append(f"{effects} effects for {requests} requests")
        if workload.mode != "none":
            trouble += self.sample(contender)
        if trouble:
            raise RuntimeError(f"{contender.name}, {workload.name}: void, {'; '.join(trouble)}\n{output}")

    def sample(self, contender):
        self.number += 1
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"sample-{self.number}"}
        request = urllib.request.Request(f"http://127.0.0.1:{contender.port}{contender.path}", data=b'{"amount":1}',
                                         method="POST", headers=headers)
        answers = [urllib.request.urlopen(request, timeout=10).read().decode() for _ in range(2)]
        right = answers[0] == answers[1] and (answers[0] == gateway.ANSWER or not contender.counted)
        return [] if right else ["a wrong answer"]

    def compare(self, workload, rounds, seconds):
        names = [name for name in (workload.who or STORING + ("nginx", "HAProxy")) if name in self.rivals.contenders]
        plans = {name: self.prepared(name, workload) for name in names}
        results = {name: [] for name in names}
        for number in range(rounds):
            self.say(f"{workload.name}: round {number + 1}/{rounds}")
            for name in postgres.in_turn(number, names):
                load, seed = plans[name]
                results[name].append(self.one(self.rivals.contenders[name], load, seconds, seed))
        return results

    def prepared(self, name, workload):
        """Warm, and with the keys that are to be replayed: what to send, and the seed of its keys if they are known."""
        contender = self.rivals.contenders[name]
        if workload.name == "replay, cold":  # more keys than a cache holds, each of them run before
            self.say(f"{workload.name}: filling {name}")
            seed = f"cold{self.number}"
            filled = self.one(contender, Workload("fill"), 8, seed)["requests"]
            return dataclasses.replace(workload, number=filled - 200), seed
        if workload.name == "replay, hot":
            self.one(contender, dataclasses.replace(workload, connections=1), 1, "hot")
            return workload, "hot"
        self.one(contender, workload, 1)
        return workload, None


def summary(results):
    figures = {name: {what: statistics.median(one[what] for one in rounds) for what in ("rate", "cpu_us", "p50", "p99")}
               for name, rounds in results.items()}
    for name, figure in figures.items():
        figure["rates"] = [min(one["rate"] for one in results[name]), max(one["rate"] for one in results[name])]
        if BASE in results and name != BASE:
            figure["base"] = postgres.compared(results[BASE], results[name], "rate")
    return figures


def measure(work, programs, semel, quick, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rounds, seconds = (3, 1) if quick else (5, 2)
    results, claims = {}, {}
    with Database(semel, work) as database, contextlib.ExitStack() as stack:
        database.prepare()
        rivals = Rivals(work, programs, semel, database, say)
        rivals.start(stack)
        bench = Rounds(rivals, work / "load.lua", say)
        for workload in WORKLOADS:
            if quick and workload.name not in QUICK:
                continue
            found = bench.compare(workload, rounds, seconds)
            results[workload.name] = summary(found)
            ours = found.get("Semel, PostgreSQL")
            if workload.name == "first run" and ours:
                claims |= {name: postgres.compared(ours, found[name], "rate")
                           for name in ("Fastify + pg", "Express + pg", "Restate") if name in found}
            if workload.name == "replay, hot":
                claims["p99_ms"] = 1e3 * statistics.median(a["p99"] - b["p99"] for a, b in zip(found[BASE], found["direct"]))
    shutil.rmtree(work, ignore_errors=True)
    return {"workloads": results, "claims": claims, "rounds": rounds, "seconds": seconds}


