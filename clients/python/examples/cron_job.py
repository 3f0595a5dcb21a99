"""Runs a command once per job and scheduled time, on however many machines cron starts it.

    0 2 * * *  python3 cron_job.py nightly-report $(date -u +\%FT\%H:\%M) -- /usr/local/bin/report

Whoever comes second sees that it has run, and exits 0. A machine that dies in the middle leaves an unknown outcome: the next one
is told, and a person looks (or the job may run again: give on_unknown="retry"). A command that exits with 75 has done nothing,
and may run again.
"""
import os
import subprocess
import sys

import semel

DID_NOTHING = 75  # EX_TEMPFAIL


def run(command):
    done = subprocess.run(command, check=False)
    if done.returncode == DID_NOTHING:
        raise semel.NoEffect(f"{command[0]} did nothing")
    return {"exit": done.returncode, "host": os.uname().nodename}


def main(job, scheduled, _, *command):
    api = semel.Client(os.environ["SEMEL_URL"], os.environ["SEMEL_TOKEN"], namespace="cron", ttl=7 * 86400)
    ran = []
    try:
        result = api.once(f"{job} {scheduled}", lambda attempt: ran.append(attempt.number) or run(command), on_unknown="hold")
    except semel.InFlight:
        print(f"{job} of {scheduled} is running elsewhere")
        return 0
    except (semel.OutcomeUnknown, semel.StoreUnavailable) as error:
        print(f"{job} of {scheduled}: {error}", file=sys.stderr)
        return DID_NOTHING
    except semel.NoEffect as error:
        print(error, file=sys.stderr)
        return DID_NOTHING
    print(f"{job} of {scheduled} {'ran' if ran else 'had run'} with {result['exit']}")
    return result["exit"]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
