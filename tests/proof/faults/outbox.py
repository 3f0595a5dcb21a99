"""Effects in an outbox while writers, gateways and the programs' database are killed, at random and at exact points of a batch

No effect without a commit, no commit without an effect, each once, and those of an object in the order of their commits (O1 to
O4 of outbox_oracle.py). Commits come out of the order of their numbers, and somebody holds a snapshot all the while.
"""
import re
import sys

import proof

FAULTS = ("F02", "F36")
QUICK = {"kills": 12}
RELEASE = {"kills": 100, "episodes": 10}


def run(context, kills, nodes=1, pooled=False):
    report = proof.Report()
    words = ["--nodes", nodes, *(["--pooled"] if pooled else [])]
    said, code = context.program(sys.executable, "-B", proof.E2E / "outbox_oracle.py", "--binary", context.binary, "--faults", kills,
                                 "--seed", context.seed, "--seconds-max", 120 + 8 * kills, *words)
    found = re.search(r"(\d+) committed of (\d+) transactions \(.*?\), (\d+) calls, (.*)", said)
    if not report.must(code == 0 and found is not None, f"outbox_oracle.py: {said[-1500:]}"):
        return report
    done = sum(int(count) for count, what in re.findall(r"(\d+) ([\w-]+)", found[4]) if not what.startswith("outbox-"))
    report.counts.update({"kills": done, "requests": int(found[3]), "retries": int(found[3]) - int(found[1]),
                          "keys": int(found[1])})
    for point in (name for name in proof.failpoints_of(context.binary) if name.startswith("outbox-")):
        report.must(point in found[4], f"no gateway died at {point}: {found[4]}")
    return report
