#!/usr/bin/env python3
"""The gateway's own scenarios against a middleware: strict_test.py asgi|wsgi --binary SEMEL [--only WORDS]

Those that are about more than guarding are left out (left_out_asgi.txt, left_out_wsgi.txt). The case and the order of fields are not compared: servers
of ASGI write small letters, and the claims API sorts.
"""
import importlib.util
import os
import sys

import paths

import harness
import player
import scenarios

HERE = paths.HERE
FILES = ("keys", "scope", "reuse", "replay", "in_flight", "outcome", "tombstone", "unknown", "pass", "routes", "limits")


def alike(fields, *sets):
    dropped = set().union(*sets)
    return sorted((name.lower(), value) for name, value in fields if name.lower() not in dropped)


def main():
    if importlib.util.find_spec("uvicorn") is None:
        harness.skip(f"{sys.executable} has no uvicorn; Debian has it as uvicorn")
    if importlib.util.find_spec("tomllib") is None:
        harness.skip("the configuration of the scenarios is read with tomllib, of Python 3.11")
    compared = player.Player.check_replay

    def check_replay(self, reply):
        player.without, exact = alike, player.without
        try:
            compared(self, reply)
        finally:
            player.without = exact

    player.Player.check_replay = check_replay
    os.environ["STRICT"] = which = sys.argv.pop(1)
    at = sys.argv.index("--binary")
    os.environ["SEMEL_BINARY"] = os.path.abspath(sys.argv[at + 1])
    sys.argv[at + 1] = str(HERE / "strict_server.py")
    sys.argv += ["--frame-all", "--left-out", str(HERE / f"left_out_{which}.txt"), *(str(scenarios.FOLDER / f"{name}.txt") for name in FILES)]
    return scenarios.main()


if __name__ == "__main__":
    sys.exit(main())
