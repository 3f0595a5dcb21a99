#!/usr/bin/env python3
"""kill -9 once at each failpoint, on the embedded store: smoke.py BUILD_FOLDER"""
import pathlib
import sys
import tempfile

import proof

sys.path.insert(0, str(proof.HERE / "faults"))
import failpoints  # noqa: E402


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="semel-proof-") as folder:
        folder = pathlib.Path(folder)
        context = proof.Context("failpoints", build / "semel", build, folder, 1, folder / "failures")
        report = failpoints.run(context, stores=("embedded",), rounds=1)
    for violation in report.violations:
        print(violation)
    print(f"{report.counts['kills']} kills, {report.counts['checks']} checks, {len(report.violations)} violations")
    return 1 if report.violations or report.counts["kills"] < 2 * len(failpoints.POINTS) else 0


if __name__ == "__main__":
    sys.exit(main())
