#!/usr/bin/env python3
"""The gateway's own scenarios against a service with the middleware: strict.py --binary SEMEL --app CMD [--only WORDS]
[--left-out FILE]

The app has the routes of tests/scenarios/standard.toml, as far as a middleware can have them, and its handler forwards to the
stage of the scenario. left_out_node.txt names what is not for a middleware, and why. Prints `N passed, M failed`.
"""
import argparse
import pathlib
import sys
import tempfile
import time

import apps  # first: it says where the modules of tests/e2e are

import player
import scenarios
import script
import stage as staging

# Node adds these itself, to every answer; and neither it nor the claims API keeps the order of fields or the case of names.
OF_NODE = {"date", "keep-alive", "connection"}
exactly = player.without
player.without = lambda fields, *names: sorted((name.lower(), value) for name, value in exactly(fields, OF_NODE, *names))

HERE = pathlib.Path(__file__).resolve().parent


def chosen(options):
    found = []
    for path in sorted(scenarios.FOLDER.glob("*.txt")):
        found += [one for one in script.parse(path) if options.only.lower() in one.title.lower()]
    if not options.only:
        found = scenarios.leave_out(found, options.left_out)
    return [one for one in found if one.config == "standard"]


def main():
    parser = apps.arguments(__doc__)
    parser.add_argument("--only", default="", help="scenarios with this in their title")
    parser.add_argument("--left-out", type=pathlib.Path, default=HERE / "left_out_node.txt")
    options = apps.parsed(parser)
    started = time.monotonic()
    wanted = chosen(options)
    playing = argparse.Namespace(jobs=8, frame_all=True)
    stage = staging.Stage()
    try:
        with tempfile.TemporaryDirectory(prefix="semel-strict-") as folder:
            with apps.Semel(options.binary, folder=folder) as semel:
                with apps.App(options.app, semel.api, stage.address) as app:
                    troubles = scenarios.play_all(wanted, app.address, semel.admin, stage, playing)
    finally:
        stage.close()
    for one, trouble in zip(wanted, troubles):
        if trouble:
            print(f"FAILED: {one.title}\n  {trouble}\n")
    failed = sum(1 for trouble in troubles if trouble)
    print(f"{len(wanted) - failed} passed, {failed} failed in {time.monotonic() - started:.1f} s")
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
