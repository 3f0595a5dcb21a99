#!/usr/bin/env python3
"""Failovers under two gateways, and the oracle: redis_failover.py --binary SEMEL [--sentinel N] [--cluster N]
[--losses N] [--takeovers N] [--follow N] [--clocks N --build FOLDER] [--seed N]

--sentinel: N times the primary is killed, stands still for so long that it is replaced, is killed after its replica was cut off, or
is replaced by hand; a Sentinel promotes the replica, while every call waits for the replica's acknowledgement. Nothing may be lost,
no key may run twice, and no gateway may say that something was lost.
--cluster: the same in a cluster of three primaries: one of them is killed or stands still, its replica takes over when asked,
by force or without asking anybody, and slots are moved from one to another.
--losses: the replica is cut off first, and calls need no acknowledgement: what the promoted replica lacks is counted in the
records, and the gateways must have noticed all of it. --takeovers: the same in a cluster, by a replica that takes over
without asking anybody.
--clocks: as --sentinel, and the clocks of the two servers are three leases apart: the promoted one is ahead, and next time
behind. What runs then is of unknown outcome, or ends later; nothing runs twice (docs/redis.md says what a clock can do).
--follow: how soon new keys are refused after a loss, and taken after a promotion. Exit code 0: the promises held.
"""
import collections
import contextlib
import functools
import pathlib
import random
import sys
import time

import checker
import gateway
import harness
import oracle
import programs
import redis_follow
import redis_oracle
import redis_server
import redis_sets
import wire

APART_S = 3
LATE_S = 30.0  # the machine may be busy; how quick it is stands in docs/performance.md
ACKNOWLEDGED = oracle.CONFIG.replace('url = "$store"', 'url = "$store"\nreplicas = 1')


class Faults:
    """What happens to a set of servers. Each is noted on the stage for as long as it lasts."""

    KINDS = ()

    def __init__(self, servers, stage, chance):
        self.servers = servers
        self.stage = stage
        self.chance = chance
        self.count = collections.Counter()

    def next(self, number):
        name = self.KINDS[number % len(self.KINDS)]
        self.count[name.replace("_", " ")] += 1
        with self.stage.fault(checker.STORE, name.replace("_", " ")):
            getattr(self, name)()
            self.stay_whole(1.5)  # for the gateways to see that it is

    def stay_whole(self, seconds):
        """What else happens to the servers in this time belongs to the fault."""
        since = time.monotonic()
        while time.monotonic() < since + seconds:
            if not self.servers.has_settled():
                redis_server.until(self.servers.has_settled)
                since = time.monotonic()
            time.sleep(0.5)


class SentinelFaults(Faults):
    KINDS = ("kill_the_primary", "stop_the_primary", "kill_the_primary_of_a_replica_that_was_cut_off",
             "promote_by_hand")

    def kill_the_primary(self):
        self.servers.primary.kill()
        self.servers.wait_for_promotion()
        self.servers.come_back()

    def stop_the_primary(self):
        """It comes back as one that thinks that it is still the primary, until it is told. A Sentinel would do that some ten
        seconds later; until then there is no replica, and ends would wait for longer than clients do."""
        stopped = self.servers.primary
        with stopped.standing_still():
            self.servers.wait_for_promotion()
        time.sleep(0.5)
        stopped.run("REPLICAOF", "127.0.0.1", self.servers.primary.port)
        self.servers.wait_until_whole()

    def kill_the_primary_of_a_replica_that_was_cut_off(self):
        self.servers.cut_off()
        time.sleep(0.5)
        self.kill_the_primary()

    def promote_by_hand(self):
        before = self.servers.primary
        redis_server.until(lambda: self.servers.sentinel.run("SENTINEL", "FAILOVER", "main") == "OK")
        redis_server.until(lambda: self.servers.has_settled() and self.servers.primary is not before)


class ClusterFaults(Faults):
    KINDS = ("kill_a_primary", "fail_over", "reshard", "force", "take_over", "stop_a_primary")

    def primary(self):
        return self.chance.choice(self.servers.primaries())

    def kill_a_primary(self):
        self.servers.kill(self.primary())

    def stop_a_primary(self):
        self.servers.stop(self.primary())

    def fail_over(self):
        self.servers.fail_over(self.primary())

    def force(self):
        self.servers.fail_over(self.primary(), "FORCE")

    def take_over(self):
        self.servers.fail_over(self.primary(), "TAKEOVER")

    def reshard(self):
        source, target = self.chance.sample(self.servers.primaries(), 2)
        self.servers.reshard(source, target, 400)


def hold(stage, faults, number, chance):
    """The verdict after so many faults, and what gateways said of losses."""
    stage.start()
    for each in range(number):
        time.sleep(chance.uniform(0.3, 1.5))
        faults.next(each)
    stage.settle()
    return stage.end(), [line for node in stage.nodes for line in node.stderr().splitlines() if "has lost" in line]


def apart(binary, build):
    """Two servers whose clocks differ by more than any lease."""
    library = pathlib.Path(build) / "tests" / "proof" / "libwall_clock.so"
    servers = redis_sets.Pair(binary, clocks=(0, APART_S), library=library)
    times = [int(server.run("TIME").split()[0]) for server in servers.servers]
    if not APART_S - 1 <= times[1] - times[0] <= APART_S + 1:
        servers.close()
        raise RuntimeError(f"{library} has not turned a clock")
    return servers


def sets(build):
    """kind → what makes its servers, and its faults."""
    return {"sentinel": (redis_sets.Pair, SentinelFaults), "cluster": (redis_sets.Cluster, ClusterFaults),
            "clocks": (functools.partial(apart, build=build), SentinelFaults)}


def hold_on(kind, options, folder):
    make_servers, make_faults = sets(options.build)[kind]
    chance = random.Random(options.seed)
    with contextlib.closing(make_servers(options.binary)) as servers, \
            oracle.Oracle(options.binary, folder, options.seed, options.clients, nodes=2, store=servers.url,
                          config=ACKNOWLEDGED) as stage:
        faults = make_faults(servers, stage, chance)
        return *hold(stage, faults, getattr(options, kind), chance), faults.count


def lose_on(kind, options, times):
    """What was lost at least and at most, and what was noticed, each time: new servers and new gateways."""
    for _ in range(times):
        with contextlib.ExitStack() as stack:
            servers = stack.enter_context(contextlib.closing(sets(None)[kind][0](options.binary)))
            api = stack.enter_context(contextlib.closing(programs.Demo(options.binary, "--without")))
            api.start()
            nodes = [gateway.Gateway(options.binary, harness.CONFIG + harness.ROUTE, store=servers.url,
                                     upstream="%s:%d" % api.address) for _ in range(2)]
            for node in nodes:
                stack.callback(node.close)
                node.start()
            payers = redis_oracle.Payers([node.address for node in nodes])
            stack.callback(payers.end)
            payers.pay(lambda: time.sleep(0.5))
            servers.cut_off()
            refused = payers.pay(lambda: time.sleep(0.5))
            before = servers.count(redis_oracle.acknowledged)
            servers.promote_the_one_cut_off()
            lost = before - servers.count(redis_oracle.acknowledged)
            least = lost - 2 * refused  # a claim and an end of each, which nobody heard of
            payers.pay(lambda: time.sleep(2))  # over every connection
            wire.eventually(lambda: redis_oracle.noticed_by(nodes) >= least, redis_oracle.NOTICED_WITHIN_S, 0.2)
            yield least, lost, redis_oracle.noticed_by(nodes)


def tell(verdict, said, line, count):
    """Prints it; the exit code."""
    code = verdict.tell(line, *(f"  {times:8}  {what}" for what, times in count.items()))
    for each in said:
        print(f"nothing was lost, but a gateway says: {each}")
    return code or (1 if said else 0)


def main():
    parser = oracle.arguments(sentinel=4, cluster=6, losses=1, takeovers=1, follow=1, clocks=0, clients=8)
    parser.add_argument("--build", help="the folder of the build, for --clocks")
    options = parser.parse_args()
    code = 0
    for kind in sets(options.build):
        number = getattr(options, kind)
        if number:
            (verdict, said, count), seconds = oracle.in_folder(options, lambda one, folder, kind=kind: hold_on(kind, one, folder))
            code = tell(verdict, said, f"{number} faults, {kind}, {options.clients} clients, seed {options.seed}, {seconds:.1f} s",
                        count) or code
        times = {"sentinel": options.losses, "cluster": options.takeovers}.get(kind, 0)
        for least, lost, noticed in lose_on(kind, options, times):
            right = 0 < least <= noticed <= lost + redis_oracle.SLACK
            print(f"{kind}: a replica that was cut off is promoted: {lost} acknowledged calls lost, {noticed} noticed: "
                  f"{'right' if right else 'WRONG'}")
            code = code if right else 1
    for _ in range(options.follow):
        found = redis_follow.follow(options)
        print(f"new keys are refused {found['kill']:.2f} s after the primary was killed, {found['stop']:.2f} s after a server "
              f"stood still, and taken {found['taken']:.2f} s after a promotion")
        code = code if max(found.values()) < LATE_S else 1
    return code


if __name__ == "__main__":
    sys.exit(main())
