"""The wall clock jumps by an hour and a day, forth and back, and back by ten years, under load and across restarts

Leases and expiry go by a clock that does not jump: no key is free before its time, nothing is forwarded twice, and no key stays
in flight. A gateway that is started with a clock that is behind keeps to the later time that its store has seen.
"""
import time

import oracle
import proof

FAULTS = ("F25",)
QUICK = {"jumps": 8}
RELEASE = {"jumps": 40, "episodes": 5}

# A start with a clock that is further ahead than a key lives expires it, and rightly: so keys live for a year here.
OFFSETS = (3600, -3600, 0, -86400, 86400, -315360000, 0)
CONFIG = oracle.CONFIG.replace('path = "/hold/*"', 'path = "/hold/*"\nttl = "365d"').replace(
    'path = "/wait/*"', 'path = "/wait/*"\nttl = "365d"')


def run(context, jumps):
    library = context.build / "tests" / "proof" / "libwall_clock.so"
    if not library.exists():
        raise proof.Skipped(f"{library.name} has not been built")
    counts = {"faults": jumps, "kills": 0}
    with context.oracle(clients=8, config=CONFIG) as stage:
        semel = stage.nodes[0]
        offset = semel.folder / "offset"
        offset.write_text("0", encoding="ascii")
        semel.environment.update({"LD_PRELOAD": str(library), "SEMEL_WALL_CLOCK": str(offset)})
        stage.start()
        for number in range(jumps):
            time.sleep(context.chance.uniform(0.5, 1.5))
            offset.write_text(str(OFFSETS[number % len(OFFSETS)]), encoding="ascii")
            context.say(f"jump {number + 1} of {jumps}")
            if number % 2 == 1:
                time.sleep(context.chance.uniform(0.1, 0.5))
                oracle.kill_and_restart(semel)
                counts["kills"] += 1
        stage.settle()
        oracle.kill_and_restart(semel)
        stage.settle()
        return context.judged(stage.end(), counts)
