"""The network between gateways and Redis is cut, each way; then between a primary with a gateway and all the others, so that there are two primaries

Packets are dropped without a word, at the edge of a network namespace (nft). Gateways that cannot hear their server answer 503 to
new keys, whichever way is cut; what had arrived is never run again, and no gateway says that something was lost.

Then a primary and one gateway are on one side, its replica, a replica of that, a Sentinel and the other gateway on the other. The
Sentinel promotes the replica, and there are two primaries. Where every call needs a replica, the side without one answers 503 and
forwards nothing, the other goes on, also with the same keys, and I1 to I12 hold over both gateways. Where no call needs one, the
side that was cut off goes on until it is told, and what it has acknowledged is gone: its gateway must have noticed every call.
"""
import contextlib
import importlib
import itertools
import re
import subprocess
import time

import callers
import checker
import gateway
import harness
import oracle
import programs
import proof
import redis_failover
import redis_oracle
import redis_server
import redis_sets
import wire
from redis_server import until

FAULTS = ("F26",)
QUICK = {"cuts": 3, "splits": 1}
RELEASE = {"cuts": 12, "splits": 3, "episodes": 5}

CUT_S = (2.0, 3.0)  # longer than a gateway waits for a silent server with claims
APART_S = 1.0  # for which a primary goes on that nobody asks for a replica
UNDER_WAY_S = 1.0  # what was claimed before a cut may be forwarded, and answered, until then
DEAD_AFTER_MS = 1_000  # for the Sentinel, while there is something to be promoted
ROUNDS = 5

# Of those who look on. Its leases outlive a WAIT in vain, or too short a lease would be why nothing is forwarded.
ROUTE = """
[[route]]
path = "/witness/*"
upstream = "app"
lease = "5s"
"""


def partitions():
    return importlib.import_module("faults.partitions")


def alarms(stage):
    return [line for node in stage.nodes for line in node.stderr().splitlines() if "has lost" in line]


def told_by(node):
    """How many calls it says were lost; its admin address is inside."""
    return sum(int(calls) for calls in re.findall(r"has lost (\d+) acknowledged", node.stderr()))


class Witnesses:
    """One caller for each gateway, with nothing else to do: those of the load may all be waiting for the ends of what ran when a
    cut came, and then nobody asks for a new key."""

    def __init__(self, stage):
        self.stage = stage
        self.callers = [callers.Caller(node.address, stage.journal) for node in stage.nodes]
        self.numbers = itertools.count()

    def new(self):
        """An operation that nobody has asked for, and that is settled in the end."""
        number = next(self.numbers)
        operation = callers.Operation("alice", f"w{number}", b'{"w": %d}' % number, "/witness/effects")
        self.stage.load.operations.add(operation)
        return operation

    def ask(self, node, operation=None):
        return self.callers[node].call(operation or self.new())

    def is_first_run(self, node):
        said = self.ask(node)
        return said["kind"] == "ok" and not said["replayed"]

    def hang_up(self):
        for each in self.callers:
            each.hang_up()


def is_refused(said):
    return said.get("problem") == "store-unavailable"


def told(said):
    return said.get("problem") or f"{said['kind']} {said.get('status', said.get('why'))}"


def hold_cut(context, net, cuts):
    """A server that syncs every write; the way to it is cut."""
    refused = proof.Report()
    with contextlib.closing(redis_server.Server(str(context.binary), bind=f"127.0.0.1 {net.here}", protected_mode="no")) as server, \
            context.oracle(clients=8, nodes=2, store=f"redis://{net.here}:{server.port}", host=net.there, origin_host=net.here,
                           config=oracle.CONFIG + ROUTE, routes=oracle.USUAL_ROUTES) as stage:
        for node in stage.nodes:
            node.prefix = net.prefix()
        stage.start()
        witnesses = Witnesses(stage)
        for number, way in zip(range(cuts), itertools.cycle(partitions().WAYS)):
            context.say(f"cut {number + 1} of {cuts}")
            time.sleep(context.chance.uniform(0.5, 1.0))
            with stage.fault(checker.STORE, f"cut {way}"):
                net.cut(server.port, way)
                for _ in proof.until(time.monotonic() + context.chance.uniform(*CUT_S)):
                    for node in range(2):
                        said = witnesses.ask(node)
                        refused.must(is_refused(said), f"a new key was told {told(said)} while the way was cut {way}")
                net.mend()
                time.sleep(1.5)  # for what was held back
        witnesses.hang_up()
        stage.settle()
        report = context.judged(stage.end(), {"faults": cuts})
        report.must(not alarms(stage), f"nothing was lost, but a gateway says so: {alarms(stage)[:1]}")
    report.add(refused)
    return report


class Sides:
    """A primary inside of the namespace. Outside of it, and at an address that can be cut off by itself: its replica, the replica of
    that, and a Sentinel, which knows of the first replica only. So the promoted one is the one that had to have every call, and it
    has a replica of its own at once."""

    def __init__(self, binary, net):
        self.net, self.far = net, net.beside
        far = {"bind": f"127.0.0.1 {self.far}", "bind-source-addr": self.far, "protected-mode": "no"}
        self.primary = redis_server.Redis(binary, bind=f"127.0.0.1 {net.there}", protected_mode="no")
        self.primary.prefix = net.prefix()
        self.replica = redis_server.Redis(binary, **far, replicaof=f"{net.there} {self.primary.port}")
        self.second = redis_server.Redis(binary, **far, replicaof=f"{self.far} {self.replica.port}")
        self.sentinel = redis_sets.Sentinel(self.primary.port, net.there, **far)
        self.url = f"redis+sentinel://{self.far}:{self.sentinel.port}/main"
        try:
            for server in (self.primary, self.replica, self.second):
                server.start()
            until(lambda: self.followers(self.primary) == self.followers(self.replica) == 1)
            self.sentinel.start()
            subprocess.run([binary, "migrate", "--url", self.url], check=True, capture_output=True)
            until(lambda: "master-link-status\nok" in self.sentinel.run("SENTINEL", "REPLICAS", "main"))
            until(lambda: self.primary.run("DBSIZE") == self.replica.run("DBSIZE") == self.second.run("DBSIZE"))
            self.let_promote(False)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def is_primary(server):
        return server.run("ROLE", check=False).startswith("master")  # a Sentinel cuts off the clients of what it promotes

    @staticmethod
    def followers(server):
        return server.run("INFO", "replication", check=False).count("state=online")

    def let_promote(self, now):
        """A busy machine makes a Sentinel take a living primary for dead. It is to promote once, when there is a reason."""
        self.sentinel.run("SENTINEL", "SET", "main", "down-after-milliseconds", DEAD_AFTER_MS if now else 120_000)

    def part(self):
        self.net.cut_off(self.far, self.primary.port)
        self.let_promote(True)

    def wait_for_promotion(self):
        until(lambda: self.is_primary(self.replica))
        until(lambda: self.sentinel.primary_port() == self.replica.port)
        self.let_promote(False)

    def are_two(self):
        return all(wire.eventually(lambda: self.is_primary(server), 3) for server in (self.primary, self.replica))

    def join(self):
        """A Sentinel would tell the old primary some ten seconds later; ends would wait for longer than clients do."""
        self.net.mend()
        self.primary.run("REPLICAOF", self.far, self.replica.port)
        until(lambda: self.followers(self.replica) == 2)

    def close(self):
        for each in (self.sentinel, self.second, self.replica, self.primary):
            each.close()


BEHIND, AHEAD = 0, 1  # the gateways on the side that was cut off, and on the other


def ask_both(sides, witnesses):
    """While there are two primaries: the same keys on both sides. What should not have been said."""
    report = proof.Report()
    report.must(is_refused(witnesses.ask(BEHIND)), "a new key was not refused on the side that was cut off")
    sides.wait_for_promotion()
    until(lambda: witnesses.is_first_run(AHEAD))
    for _ in range(ROUNDS):
        operation = witnesses.new()
        for node, right in ((BEHIND, is_refused), (AHEAD, lambda said: said["kind"] == "ok" and not said["replayed"]),
                            (BEHIND, is_refused)):
            said = witnesses.ask(node, operation)
            side = "the side that was cut off" if node == BEHIND else "the side of the Sentinel"
            report.must(right(said), f"{operation.key} was told {told(said)} on {side}")
    report.must(sides.are_two(), "there were no two primaries")
    return report


def judge_behind(verdict, address, begin, end):
    """Nothing was forwarded by the gateway that was cut off, and nothing of it was told as if it were kept."""
    report = proof.Report()
    own = [call for call in verdict.calls if call["node"] == "%s:%d" % address]
    requests = {call["request"] for call in own}
    ran = [record["key"] for record in verdict.records if record["request"] in requests and begin < record["at"] < end]
    report.must(not ran, f"forwarded on the side that was cut off: {len(ran)} keys, {ran[:3]}")
    kept = [call["key"] for call in own if call["kind"] == "ok" and not call["replayed"] and begin < call["ended"] < end]
    report.must(not kept, f"answered on the side that was cut off: {len(kept)} keys, {kept[:3]}")
    return report


def hold_split(context, net):
    """Every call needs a replica: nothing is lost, nothing runs twice, and the side without a replica takes nothing."""
    with contextlib.closing(Sides(str(context.binary), net)) as sides, \
            context.oracle(clients=8, nodes=2, store=sides.url, host=(net.there, net.here), origin_host=net.here,
                           config=redis_failover.ACKNOWLEDGED + ROUTE, routes=oracle.USUAL_ROUTES) as stage:
        stage.nodes[BEHIND].prefix = net.prefix()
        stage.start()
        witnesses = Witnesses(stage)
        until(lambda: witnesses.is_first_run(BEHIND) and witnesses.is_first_run(AHEAD))
        time.sleep(1.0)
        with stage.fault(checker.STORE, "the primary is cut off with a gateway"):
            sides.part()
            begin = time.monotonic() + UNDER_WAY_S
            found = ask_both(sides, witnesses)
            end = time.monotonic()
            sides.join()
            time.sleep(1.5)  # for the gateways to see that it is whole
        witnesses.hang_up()
        stage.settle()
        verdict = stage.end()
        report = context.judged(verdict, {"faults": 1})
        report.must(not alarms(stage), f"nothing was lost, but a gateway says so: {alarms(stage)[:1]}")
        report.add(found)
        report.add(judge_behind(verdict, stage.nodes[BEHIND].address, begin, end))
    return report


def lose_split(context, net):
    """No call needs a replica. What was lost at least and at most, and what was noticed."""
    binary = str(context.binary)
    with contextlib.ExitStack() as stack:
        sides = stack.enter_context(contextlib.closing(Sides(binary, net)))
        api = stack.enter_context(contextlib.closing(programs.Demo(binary, "--without")))
        api.prefix = net.prefix()
        api.start()
        node = gateway.Gateway(binary, harness.CONFIG + harness.ROUTE, store=sides.url, upstream="%s:%d" % api.address,
                               host=net.there)
        node.prefix = net.prefix()
        stack.callback(node.close)
        node.start()
        payers = redis_oracle.Payers([node.address])
        stack.callback(payers.end)
        payers.pay(lambda: time.sleep(0.5))
        sides.part()
        refused = payers.pay(lambda: (sides.wait_for_promotion(), time.sleep(APART_S)))
        before = redis_oracle.acknowledged(sides.primary)
        sides.join()
        lost = before - redis_oracle.acknowledged(sides.replica)
        least = lost - 2 * refused  # a claim and an end of each, which nobody heard of
        payers.pay(lambda: time.sleep(2))  # over every connection
        wire.eventually(lambda: told_by(node) >= least, redis_oracle.NOTICED_WITHIN_S, 0.2)
        return least, lost, told_by(node)


def run(context, cuts, splits):
    proof.need("redis-server", "redis-sentinel")
    report = proof.Report()
    with partitions().network() as net:
        if cuts:
            report.add(hold_cut(context, net, cuts))
        for number in range(splits):
            context.say(f"split {number + 1} of {splits}")
            report.add(hold_split(context, net))
            least, lost, noticed = lose_split(context, net)
            context.say(f"{lost} lost, {noticed} noticed")
            report.counts["faults"] += 1
            report.must(least > 0, "nothing was lost")
            report.must(least <= noticed <= lost + redis_oracle.SLACK, f"{lost} calls lost, {noticed} noticed")
    return report
