#!/usr/bin/env python3
"""semel hammer against an app: hammer.py --binary SEMEL --app CMD [--keys 40] [--runs 1]

25 requests at once for each key, to the payments API of the demo, which is not idempotent, through the app. `semel hammer` exits
0 only if no key ran twice, all answers of a key were the same and nothing failed; then the effects are counted.
"""
import json
import sys

import apps  # first: it says where the modules of tests/e2e are

import programs
import wire


def effects(api):
    return json.loads(wire.ask(api.address, "GET", "/effects").body)["effects"]


def main():
    options = apps.parsed(apps.arguments(__doc__, keys=40, runs=1))
    with programs.Demo(options.binary, "--without") as api, apps.Semel(options.binary) as semel:
        with apps.App(options.app, semel.api, api.address, 30000) as app:
            for number in range(1, options.runs + 1):
                before = effects(api)
                done = programs.run(options.binary, "hammer", "http://%s:%d/v1/payments" % app.address, "--keys", options.keys,
                                    "--duplicates", 25, seconds=3600)
                made = effects(api) - before
                if done.returncode != 0 or made != options.keys:
                    print(f"run {number}: {made} effects of {options.keys} keys\n{done.stdout}{done.stderr}")
                    return 1
    print(f"{options.runs} runs of {options.keys} keys, 25 at once: one effect each, answers identical")
    return 0


if __name__ == "__main__":
    sys.exit(main())
