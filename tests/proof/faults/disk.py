"""The embedded store alone: fdatasync fails, the disk is full, the process is killed; the store is never thrown away

Nothing is acknowledged that the disk refused; after an error of the disk the store stops and says so, and what it had
acknowledged is there when it is opened again, with what a crash may have added and nothing else. A full disk refuses new
claims before it breaks anything, and when there is room again all goes on.
"""
import re

import proof

FAULTS = ("F20", "F21")
QUICK = {"kill": 20, "sync": 50, "full": 10}
RELEASE = {"kill": 100, "sync": 50, "full": 10, "episodes": 10}

COUNTED = {"kill": "kills", "sync": "sync errors", "full": "full disks"}


def run(context, **times):
    report = proof.Report()
    folder = context.beside("tests/faults/fault_driver", "tests/faults/fault_hammer")
    for what, count in times.items():
        if count == 0:
            continue
        context.say(what)
        room = context.room()
        said, code = context.program(folder / "fault_driver", what, count, room / "store")
        if code == 4:
            raise proof.Skipped("this user may not mount a tmpfs")
        found = re.search(rf"^{what} +(\d+) faults +(\d+) answers +(\d+) records checked", said, re.M)
        if report.must(found is not None and code == 0, f"{what}: {said[-400:]}"):
            report.counts.update({COUNTED[what]: int(found[1]), "checks": int(found[3])})
    return report
