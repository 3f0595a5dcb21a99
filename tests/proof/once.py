#!/usr/bin/env python3
"""A fault of the proof once, for ctest: once.py BUILD_FOLDER FAULT [ARGUMENT=NUMBER]...

Exit code 77: this machine cannot make it.
"""
import importlib.machinery
import importlib.util
import pathlib
import random
import sys
import tempfile
import threading
import time
import traceback

import proof

sys.dont_write_bytecode = True
SKIPPED = 77
RUNS_MAX = 3
STALL_S = 0.5  # faults of some seconds, and what must follow them, cannot be told apart from a machine that stands still for as long


def load_run():
    loader = importlib.machinery.SourceFileLoader("proof_run", str(proof.HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("proof_run", loader))
    loader.exec_module(module)
    return module


class Watch:
    """Notices when this process did not run although it wanted to."""

    def __init__(self):
        self.stalls = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        last = time.monotonic()
        while True:
            time.sleep(0.05)
            now = time.monotonic()
            self.stalls += now - last > STALL_S
            last = now


def run(build, name, arguments, fault, seed):
    """The report; nothing if it cannot be done here."""
    with tempfile.TemporaryDirectory(prefix=f"semel-proof-{name}-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        context = proof.Context(name, build / "semel", build, folder, seed, build.parent / "proof" / "failures", print)
        try:
            report = fault.run(context, **{**fault.QUICK, **arguments})
        except proof.Skipped as why:
            print(f"skipped: {why}")
            return None
        except AssertionError as error:  # of a step that waits for something
            traceback.print_exc()
            return proof.Report(violations=[f"{type(error).__name__}: {error}"])
    return report


def main():
    build, name = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    arguments = {word.partition("=")[0]: int(word.partition("=")[2]) for word in sys.argv[3:]}
    fault, watch = load_run().load_faults()[name], Watch()
    for _ in range(RUNS_MAX):
        stalls, seed = watch.stalls, random.randrange(1 << 32)
        report = run(build, name, arguments, fault, seed)
        if report is None:
            return SKIPPED
        print(*report.violations, sep="\n")
        if not report.violations or watch.stalls == stalls:
            break
        print("the machine stood still meanwhile: once more")
    counts = ", ".join(f"{count:,} {what}" for what, count in report.counts.items() if count)
    print(f"{name}: {counts}; {len(report.violations)} violations, seed {seed}")
    return 1 if report.violations or not report.counts["requests"] else 0


if __name__ == "__main__":
    sys.exit(main())
