"""The wall clock jumps by an hour, a day and ten years, forth and back, under load and across restarts, on both stores

Leases and expiry go by a clock that does not jump: no key is free before its time, nothing is forwarded twice, and no key stays
in flight. A gateway that is started with a clock that is behind keeps to the later time that its embedded store has seen. On
PostgreSQL the server's clock counts, and two gateways whose clocks jump each in its own way agree on every key.

Keys that live for a second are as exact (expiry.py): while the clock jumps under an embedded store, and on two gateways on
PostgreSQL whose clocks are two hours apart.
"""
import importlib
import re
import time

import oracle
import proof

FAULTS = ("F25",)
QUICK = {"jumps": 8, "seconds": 3}
RELEASE = {"jumps": 40, "seconds": 10, "episodes": 2}

TEN_YEARS = 315_360_000
# A start of an embedded store with a clock that is further ahead than a key lives expires it, and rightly: so keys live for a
# year here, and every second jump, after which the gateway is started anew, is not that far ahead.
OFFSETS = (TEN_YEARS, 3600, -3600, -86400, 86400, -TEN_YEARS, TEN_YEARS, 0)
CONFIG = re.sub(r'(path = "/(?:hold|wait|retry|probe)/\*")', r'\1\nttl = "365d"', oracle.CONFIG)


def give_clocks(context, stage, *offsets):
    """Each node a wall clock of its own, so many seconds off."""
    library = context.build / "tests" / "proof" / "libwall_clock.so"
    if not library.exists():
        raise proof.Skipped(f"{library.name} has not been built")
    for node, offset in zip(stage.nodes, offsets):
        node.environment.update({"LD_PRELOAD": str(library), "SEMEL_WALL_CLOCK": str(node.folder / "offset")})
        turn(node, offset)


def turn(node, offset):
    (node.folder / "offset").write_text(str(offset), encoding="ascii")


def jump(context, stage, jumps, restarted_at):
    """Each node's clock goes through all offsets, beginning at another one; a node is started anew after every second jump."""
    counts = {"faults": 0, "kills": 0}
    give_clocks(context, stage, *(0 for _ in stage.nodes))
    stage.start()
    loaded = all(proof.is_loaded(node) for node in stage.nodes)
    for number in range(jumps):
        for at, node in enumerate(stage.nodes):
            time.sleep(context.chance.uniform(0.5, 1.5) / len(stage.nodes))
            turn(node, OFFSETS[(number + 3 * at) % len(OFFSETS)])
            context.say(f"jump {number + 1} of {jumps}")
            counts["faults"] += 1
            if number % 2 == restarted_at[at]:
                time.sleep(context.chance.uniform(0.1, 0.5))
                oracle.kill_and_restart(node)
                counts["kills"] += 1
    stage.settle()
    for node in stage.nodes:
        oracle.kill_and_restart(node)
    stage.settle()
    report = context.judged(stage.end(), counts)
    report.must(loaded, "the library that turns the clock was not loaded")
    return report


def expire_while_it_jumps(context, seconds):
    def jump_on(stage):
        turn(stage.nodes[0], context.chance.choice(OFFSETS))
        report.counts["faults"] += 1

    report = proof.Report()
    report.add(importlib.import_module("faults.expiry").run_on(
        context, None, seconds, prepare=lambda stage: give_clocks(context, stage, 0), meanwhile=jump_on))
    return report


def expire_hours_apart(context, store, seconds):
    report = importlib.import_module("faults.expiry").run_on(
        context, store, seconds, nodes=2, prepare=lambda stage: give_clocks(context, stage, 3600, -3600))
    report.counts["faults"] += 2
    return report


def run(context, jumps, seconds):
    with context.oracle(clients=8, config=CONFIG) as stage:
        report = jump(context, stage, jumps, restarted_at=(1,))
    with context.postgres() as server:
        with context.oracle(clients=8, nodes=2, store=server.url, config=CONFIG) as stage:
            report.add(jump(context, stage, jumps, restarted_at=(0, 1)))
        context.say("short lives")
        report.add(expire_hours_apart(context, server.prepare("apart"), seconds))
    report.add(expire_while_it_jumps(context, seconds))
    return report
