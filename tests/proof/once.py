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

import proof

sys.dont_write_bytecode = True
SKIPPED = 77


def load_run():
    loader = importlib.machinery.SourceFileLoader("proof_run", str(proof.HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("proof_run", loader))
    loader.exec_module(module)
    return module


def main():
    build, name = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    arguments = {word.partition("=")[0]: int(word.partition("=")[2]) for word in sys.argv[3:]}
    fault, seed = load_run().load_faults()[name], random.randrange(1 << 32)
    with tempfile.TemporaryDirectory(prefix=f"semel-proof-{name}-") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        context = proof.Context(name, build / "semel", build, folder, seed, build.parent / "proof" / "failures", print)
        try:
            report = fault.run(context, **{**fault.QUICK, **arguments})
        except proof.Skipped as why:
            print(f"skipped: {why}")
            return SKIPPED
    print(*report.violations, sep="\n")
    counts = ", ".join(f"{count:,} {what}" for what, count in report.counts.items() if count)
    print(f"{name}: {counts}; {len(report.violations)} violations, seed {seed}")
    return 1 if report.violations or not report.counts["requests"] else 0


if __name__ == "__main__":
    sys.exit(main())
