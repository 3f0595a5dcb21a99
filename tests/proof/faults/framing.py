"""Requests that two programs could read differently, and a second parser that must agree on every byte that goes out

No ambiguous message is forwarded, and no key is lost on a route that demands one. The programs are tests/e2e/differential*.py;
each takes --binary and ends with 0, or with 77 where it cannot run.
"""
import sys

import harness
import proof

FAULTS = ("F32", "F33")
QUICK = {}
RELEASE = {}


def run(context):
    report = proof.Report()
    programs = sorted(proof.E2E.glob("differential*.py"))
    for program in programs:
        context.say(program.stem)
        said, code = context.program(sys.executable, "-B", program, "--binary", context.binary)
        if code != harness.SKIPPED:
            report.must(code == 0, f"{program.name}: {said[-1500:]}")
            report.counts["faults"] += 1
    if not report.counts["faults"]:
        raise proof.Skipped("there is no such program in this tree" if not programs else "they cannot run here")
    return report
