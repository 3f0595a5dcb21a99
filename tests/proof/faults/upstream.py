"""Origins that reset, close, cut their answers, answer twice, stall or are slower than the lease

A request is forwarded again only if not one byte of it was written. A whole answer is kept; one that was cut is not. Late
bytes are never an answer to another request. A claim is renewed for as long as the origin works. Everything else is told
once as 502 or 504, from then on as 409, and never sent again.
"""
import re
import sys

import proof

FAULTS = ("F04", "F05", "F06", "F07", "F09")
QUICK = {"rounds": 1}
RELEASE = {"rounds": 5, "episodes": 3}


def run(context, rounds):
    report = proof.Report()
    for _ in range(rounds):
        said, code = context.program(sys.executable, "-B", proof.E2E / "upstream_faults.py", "--binary", context.binary)
        ran = re.search(r"^Ran (\d+) tests", said, re.M)
        report.violations += [f"{test} does not hold" for test in re.findall(r"^(?:FAIL|ERROR): (\w+)", said, re.M)]
        if report.must(code == 0 and ran is not None, f"upstream_faults.py: {said[-1500:]}"):
            report.counts["faults"] += int(ran[1])
    return report
