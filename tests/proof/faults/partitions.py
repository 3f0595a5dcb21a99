"""The network between the gateway and its store, or its origin, is cut: both ways, and each way alone

The gateway lives in a network namespace of its own; packets are dropped there without a word (nft). Without its store it fails
closed: 503, nothing forwarded. Without its origin nothing went out, or nobody knows: what may have arrived is never sent
again. When the network is whole, every key is settled.
"""
import contextlib
import itertools
import os
import subprocess
import time

import checker
import oracle
import proof

FAULTS = ("F26",)
QUICK = {"cuts": 6}
RELEASE = {"cuts": 30, "episodes": 5}

CONFIG = oracle.CONFIG.replace('url = "http://$upstream"', 'url = "http://$upstream"\ntimeout = "2s"\nconnect_timeout = "1s"').replace(
    "[limits]", '[limits]\nstore_timeout = "700ms"')
WAYS = {"out": [("out", "daddr", "dport")], "in": [("in", "saddr", "sport")],
        "both": [("out", "daddr", "dport"), ("in", "saddr", "sport")]}


LASTS_S = {"store": (1.0, 3.0), "origin": (2.3, 3.3)}  # longer than the gateway's patience with each
FELT = {checker.STORE: {"store-unavailable"}, checker.UPSTREAM: {"outcome-unknown", "upstream-unreachable"}}


def run_command(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


class Network:
    """A namespace with one cable to ours, at whose end we have two addresses. Nothing of it is left when it is closed."""

    def __init__(self):
        self.name = f"semel-proof-{os.getpid()}"
        self.cable = f"sp{os.getpid()}"
        subnet = f"10.199.{os.getpid() % 250}"
        self.here, self.there, self.beside = f"{subnet}.1", f"{subnet}.2", f"{subnet}.3"

    def open(self):
        run_command("ip", "netns", "add", self.name)
        run_command("ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run_command("ip", "address", "add", f"{self.here}/24", "dev", self.cable)
        run_command("ip", "address", "add", f"{self.beside}/24", "dev", self.cable)
        run_command("ip", "link", "set", self.cable, "up")
        self.inside("ip", "address", "add", f"{self.there}/24", "dev", "eth0")
        self.inside("ip", "link", "set", "eth0", "up")
        self.inside("ip", "link", "set", "lo", "up")
        self.inside("nft", "add table inet cut")
        self.inside("nft", "add chain inet cut out { type filter hook output priority 0 ; }")
        self.inside("nft", "add chain inet cut in { type filter hook input priority 0 ; }")

    def inside(self, *words):
        run_command("ip", "netns", "exec", self.name, *words)

    def cut(self, port, way):
        for chain, address, kind in WAYS[way]:
            self.inside("nft", f"add rule inet cut {chain} ip {address} {self.here} tcp {kind} {port} drop")

    def cut_off(self, address, port):
        """An address from everything inside, whatever the port, and a port inside from everything outside."""
        for chain, kind, side, cable in (("out", "daddr", "sport", "oifname"), ("in", "saddr", "dport", "iifname")):
            self.inside("nft", f"add rule inet cut {chain} ip {kind} {address} drop")
            self.inside("nft", f"add rule inet cut {chain} {cable} eth0 tcp {side} {port} drop")

    def prefix(self):
        """Of a program that is to run inside."""
        return ["ip", "netns", "exec", self.name]

    def mend(self):
        self.inside("nft", "flush table inet cut")

    def close(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            run_command("ip", "netns", "delete", self.name)  # and with it the cable


@contextlib.contextmanager
def network():
    proof.need("ip", "nft")
    if os.geteuid() != 0:
        raise proof.Skipped("only root makes network namespaces")
    made = Network()
    try:
        made.open()
        yield made
    except subprocess.CalledProcessError as error:
        raise proof.Skipped(f"{error.cmd[-1]}: {error.stderr.strip()}") from error
    finally:
        made.close()


def open_to(server, network_here):
    """Lets the server be reached by way of the cable."""
    with open(server.data / "pg_hba.conf", "a", encoding="utf-8") as rules:
        rules.write(f"host all all {network_here}/24 trust\n")
    server.run("SELECT pg_reload_conf()")


def is_felt(one, calls):
    """Somebody was refused because of it, or held up for half of the time that it lasted."""
    for call in calls:
        if checker.overlaps(call, one):
            held_s = min(call["ended"], one["until"]) - max(call["invoked"], one["from"])
            if call.get("problem") in FELT[one["part"]] or held_s > (one["until"] - one["from"]) / 2:
                return True
    return False


def run(context, cuts):
    with network() as net, context.postgres(f"listen_addresses = '{net.here}'") as server:
        open_to(server, net.here)
        url = f"postgres://postgres@{net.here}:5432/postgres"
        # No routes that retry: what the network holds back of an attempt can arrive after the next one.
        with context.oracle(clients=8, nodes=2, store=url, config=CONFIG, host=net.there, origin_host=net.here,
                            routes=oracle.USUAL_ROUTES) as stage:
            for node in stage.nodes:
                node.prefix = net.prefix()
            stage.start()
            kinds = itertools.cycle(itertools.product((5432, stage.origin.address[1]), WAYS))
            for number, (port, way) in zip(range(cuts), kinds):
                context.say(f"cut {number + 1} of {cuts}")
                time.sleep(context.chance.uniform(0.3, 0.8))
                with stage.fault(checker.STORE if port == 5432 else checker.UPSTREAM, f"cut {way}"):
                    net.cut(port, way)
                    time.sleep(context.chance.uniform(*(LASTS_S["store" if port == 5432 else "origin"])))
                    net.mend()
            time.sleep(2)
            stage.settle()
            verdict = stage.end()
    report = context.judged(verdict, {"faults": cuts})
    for one in verdict.faults:
        if one["part"] in FELT:
            report.must(is_felt(one, verdict.calls), f"nobody felt that the way to the {one['part']} was {one['what']}")
    return report
