"""What the tests of the examples share: where the programs are, a payment, and what must hold."""
import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

import programs  # noqa: E402  (found by the line above)
import wire  # noqa: E402


def arguments(*folders, **numbers):
    """A parser of the arguments of the calling program: --binary, a folder for each name, a number for each of `numbers`."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("binary", *folders):
        parser.add_argument(f"--{name}", type=programs.path, required=True)
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    return parser


def any_seed():
    return random.randrange(1 << 30)


def run(*command):
    """What it printed."""
    done = programs.run(*command)
    expect(done.returncode == 0, f"({done.returncode}): {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(holds, what):
    if not holds:
        raise SystemExit(f"FAILED: {what}")


def pay(address, key, body, seconds=10.0):
    return wire.ask(address, "POST", "/payments", [("Idempotency-Key", key), ("Authorization", "Bearer me"),
                                                   ("Content-Type", "application/json")], body, seconds)
