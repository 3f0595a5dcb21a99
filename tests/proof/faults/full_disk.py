"""The disk under the gateway's store fills up under load, and then there is room again

Nobody is forwarded without a claim: 503. Who had been forwarded when the disk was full gets his answer if it could be stored, and
else hears that nobody knows. With room, all goes on: by itself if the store had kept its reserve, or after a restart if somebody
else took the last byte. I1 to I8 and I10.
"""
import contextlib
import os
import time

import checker
import oracle
import proof
import wire

FAULTS = ("F21",)
QUICK = {"times": 3}
RELEASE = {"times": 10, "episodes": 10}

RESERVE_BYTES = 4 << 20  # less than the store keeps for ending what runs


def room_of(disk):
    return os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize


def fill(path, leave):
    """Takes all room but so many bytes."""
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as ballast:
        while (room := room_of(path.parent)) > leave:
            ballast.write(bytes(min(1 << 20, room - leave)))


def ready(semel):
    with contextlib.suppress(OSError, wire.Closed, wire.Cut, wire.Silent):
        return wire.ask(semel.admin, "GET", "/readyz").status == 200
    return False


def run(context, times):
    report = proof.Report()
    with proof.small_disk(context.folder / "disk", "512m") as disk, \
            context.oracle(clients=16, store=f"embedded:{disk / 'data'}") as stage:
        semel = stage.nodes[0]
        stage.start()
        for number in range(times):
            context.say(f"full {number + 1} of {times}")
            time.sleep(1)
            with stage.fault(checker.STORE, "the disk is full"):
                leave = 0 if number % 2 == 0 else RESERVE_BYTES
                fill(disk / "ballast", leave)
                report.must(wire.eventually(lambda: not ready(semel), 10, 0.02), "the gateway says that it is ready with a full disk")
                report.must(2 * room_of(disk) >= leave, f"of the last {leave} bytes {room_of(disk)} were left when it said so")
                time.sleep(1)
                (disk / "ballast").unlink()
                if not wire.eventually(lambda: ready(semel), 3, 0.1):
                    oracle.kill_and_restart(semel)
                    report.counts["kills"] += 1
            report.must(wire.eventually(lambda: ready(semel), 5, 0.1), "with room again the gateway is not ready")
        stage.settle()
        report.add(context.judged(stage.end(), {"full disks": times}))
    return report
