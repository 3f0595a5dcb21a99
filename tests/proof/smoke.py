#!/usr/bin/env python3
"""kill -9 once at each failpoint, on the embedded store: smoke.py BUILD_FOLDER

And a failpoint or an action that does not exist is refused: the gateway ends before it reads its configuration.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import proof

sys.path.insert(0, str(proof.HERE / "faults"))
import failpoints  # noqa: E402


MISTAKES = {"claim-writen:kill": "there is no point 'claim-writen'", "claim-written:kil": "there is no action 'kil'",
            "claim-written": "there is no action ''", "claim-written:kill:often": "there is no number 'often'"}


def refuse_mistakes(binary, report):
    for mistake, complaint in MISTAKES.items():
        done = subprocess.run([str(binary), "version"], env={**os.environ, "SEMEL_FAILPOINT": mistake}, capture_output=True,
                              text=True, check=False)
        report.must(done.returncode == 2 and complaint in done.stderr and "\nclaim-written\n" in done.stderr,
                    f"{mistake} was not refused: {done}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="semel-proof-") as folder:
        folder = pathlib.Path(folder)
        context = proof.Context("failpoints", build / "semel", build, folder, 1, folder / "failures")
        report = failpoints.run(context, stores=("embedded",), rounds=1)
    refuse_mistakes(build / "semel", report)
    for violation in report.violations:
        print(violation)
    print(f"{report.counts['kills']} kills, {report.counts['checks']} checks, {len(report.violations)} violations")
    return 1 if report.violations or report.counts["kills"] < 2 * len(failpoints.CASES) else 0


if __name__ == "__main__":
    sys.exit(main())
