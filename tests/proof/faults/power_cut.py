"""kill -9 on a disk that keeps of the log only what was synced, as after a power cut

A library that is loaded before the others (tests/proof/power_cut.cc) holds back what is written to the log until it is synced. A
kill then loses all that was acknowledged too early: whoever was answered finds his answer, and no claim comes to nothing.
"""
import importlib

import proof

FAULTS = ("F24",)
QUICK = {"kills": 15, "pause": (0.1, 0.6)}
RELEASE = {"kills": 50, "pause": (0.1, 0.6), "episodes": 10}


def run(context, kills, pause):
    library = context.build / "tests" / "proof" / "libpower_cut.so"
    if not library.exists():
        raise proof.Skipped(f"{library.name} has not been built")
    killing = importlib.import_module("faults.kills")
    return killing.run(context, kills, pause, environment={"LD_PRELOAD": str(library)})
