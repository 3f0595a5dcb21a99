#!/usr/bin/env python3
"""It does not matter in which pieces a message comes: split.py --binary SEMEL [FILE ...]

Plays the scenarios of strict.txt and strict_answers.txt once for each byte of each message that a client or the upstream
sends: the message goes out in two pieces, cut there, with a pause between them; and once more byte by byte. Every time the
scenario must go as it is written. Of a message over 1,200 bytes only the first and last 200 places and every 97th
between them are tried. Prints `N passed, M failed` and exits 0 only if all passed.
"""
import argparse
import concurrent.futures
import dataclasses
import pathlib
import sys
import time

import gateway
import player
import programs
import scenarios
import script
import stage as staging
import wire

FILES = ("strict.txt", "strict_answers.txt")
PAUSE = 0.003  # so that the pieces are read one by one
PAUSE_OF_BYTES = 0.0006
BYTES_MAX = 1200  # of a message that is cut everywhere


class Sizes:
    """Sends whole messages, and knows how long they were."""

    def __init__(self):
        self.of = []

    def __call__(self, side, send, data):
        self.of.append((side, len(data)))
        send(data)


class Pieces:
    """Sends the message of this number in pieces that end at these places, and all others whole."""

    def __init__(self, number, places, pause):
        self.number = number
        self.places = places
        self.pause = pause
        self.sent = 0

    def __call__(self, _side, send, data):
        self.sent += 1
        if self.sent - 1 != self.number:
            send(data)
            return
        begin = 0
        for end in [*self.places, len(data)]:
            if begin > 0:
                time.sleep(self.pause)
            try:
                send(data[begin:end])
            except OSError:  # refused already, and closed: what comes back says so
                return
            begin = end


def places(size):
    if size <= BYTES_MAX:
        return list(range(1, size))
    return sorted({*range(1, 200), *range(200, size - 200, 97), *range(size - 200, size)})


def cuts(sizes):
    """(number of the message, places, pause) of every run of a scenario whose messages have these sizes."""
    for number, (_, size) in enumerate(sizes):
        yield from ((number, [place], PAUSE) for place in places(size))
        if size <= BYTES_MAX:
            yield number, list(range(1, size)), PAUSE_OF_BYTES


def play(scenario, semel, stage, deliver):
    """What went wrong, or nothing."""
    try:
        # Reset, not closed: tens of thousands of ports would wait for a minute, and there are no more of them.
        player.Player(scenario, semel.address, semel.admin, stage, deliver=deliver, leave=wire.Wire.reset).play()
        return ""
    except Exception as error:  # of whatever kind: told with its place
        return f"{scenario.title}: {type(error).__name__}: {error}"


def play_cut(job):
    scenario, semel, stage, (number, where, pause) = job
    trouble = play(scenario, semel, stage, Pieces(number, where, pause))
    at = f"cut at {where[0]}" if len(where) == 1 else "byte by byte"
    return f"message {number} {at}: {trouble}" if trouble else ""


def run(paths, semel, stage, jobs):
    """(runs, troubles)"""
    work, troubles = [], []
    for path in paths:
        for scenario in script.parse(path):
            named = dataclasses.replace(scenario, name=f"{scenario.name}.00000")  # as long as the names below
            sizes = Sizes()
            trouble = play(named, semel, stage, sizes)
            if trouble:
                troubles.append(f"whole: {trouble}")
                continue
            for number, cut in enumerate(cuts(sizes.of), 1):
                work.append((dataclasses.replace(scenario, name=f"{scenario.name}.{number:05d}"), semel, stage, cut))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        troubles += [trouble for trouble in pool.map(play_cut, work) if trouble]
    return len(work), troubles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--jobs", type=int, default=24)
    options = parser.parse_args()

    started = time.monotonic()
    stage, dead = staging.Stage(), programs.DeadPort()
    config = (scenarios.FOLDER / "standard.toml").read_text(encoding="utf-8")
    semel = gateway.Gateway(options.binary, config, scenarios=str(scenarios.FOLDER),
                            upstream="%s:%d" % stage.address, dead="%s:%d" % dead.address)
    try:
        with semel:
            runs, troubles = run(options.files or [scenarios.FOLDER / name for name in FILES], semel, stage,
                                 options.jobs)
            code = semel.stop()
            if code != 0:
                troubles.append(f"semel ended with {code}:\n{semel.stderr()}")
    finally:
        semel.close()
        stage.close()
        dead.close()
    for trouble in troubles[:20]:
        print(f"FAILED: {trouble}\n")
    print(f"{runs - len(troubles)} passed, {len(troubles)} failed in {time.monotonic() - started:.1f} s")
    return 1 if troubles or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
