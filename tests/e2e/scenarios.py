#!/usr/bin/env python3
"""The gateway as its users see it: scenarios.py --binary SEMEL [FILE ...] [--only WORDS]

Plays every scenario of tests/scenarios (script.py says how they are written), many at a time, on one gateway per
configuration. Prints `N passed, M failed` and exits 0 only if all passed.

--left-out FILE names scenarios that are not for the program, by file name or by title, one a line; a line that names
nothing is a mistake.

A gateway that runs already is tested with --address HOST:PORT, --admin HOST:PORT and --stage PORT, the port of the
loopback at which it expects its upstream; give the files whose configuration it has.
"""
import argparse
import concurrent.futures
import itertools
import pathlib
import sys
import time

import gateway
import player
import postgres_server
import programs
import redis_server
import redis_sets
import script
import stage as staging

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "scenarios"


def play(scenario, address, admin, stage, options):
    """What went wrong, or nothing."""
    try:
        player.Player(scenario, address, admin, stage, options.frame_all).play()
        return ""
    except player.Mismatch as mismatch:
        return str(mismatch)
    except Exception as error:  # a fault of the scenario or of the player itself
        return f"{scenario.file}:{scenario.line}: {type(error).__name__}: {error}"


def play_all(scenarios, address, admin, stage, options):
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(lambda scenario: play(scenario, address, admin, stage, options), scenarios))


def play_config(config, scenarios, options):
    """Each scenario's trouble, in order, on a gateway of its own."""
    stage, dead = staging.Stage(), programs.DeadPort()
    text = (FOLDER / f"{config}.toml").read_text(encoding="utf-8")
    server = postgres_server.Server(options.binary) if options.postgres else None
    if options.redis:
        server = redis_server.Server(options.binary)
    if options.redis_cluster:
        server = redis_sets.Cluster(options.binary)
    if server is not None:
        text = text.replace("embedded:$data", server.url)
    semel = gateway.Gateway(options.binary, text, scenarios=str(FOLDER), upstream="%s:%d" % stage.address, dead="%s:%d" % dead.address)
    try:
        semel.start()
        troubles = play_all(scenarios, semel.address, semel.admin, stage, options)
        code = semel.stop()
        if code != 0:
            troubles[-1] += f"\nafter all scenarios of {config}.toml semel ended with {code}:\n{semel.stderr()}"
        return troubles
    except RuntimeError as error:
        return [f"{config}.toml: {error}"] * len(scenarios)
    finally:
        semel.close()
        stage.close()
        dead.close()
        if server is not None:
            server.close()


def leave_out(scenarios, path):
    """Without those that the file names."""
    lines = {line.strip() for line in path.read_text(encoding="utf-8").splitlines()}
    names = {line for line in lines if line and not line.startswith("#")}
    unknown = names - {scenario.title for scenario in scenarios} - {scenario.file for scenario in scenarios}
    if unknown:
        raise SystemExit(f"{path.name} names no scenario: {sorted(unknown)}")
    return [scenario for scenario in scenarios if scenario.title not in names and scenario.file not in names]


def address_of(text):
    host, _, port = text.rpartition(":")
    return (host or programs.HOST, int(port))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--binary")
    parser.add_argument("--only", default="", help="scenarios with this in their title")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--postgres", action="store_true", help="keep the keys on a PostgreSQL server of our own")
    parser.add_argument("--redis", action="store_true", help="keep the keys on a Redis server of our own")
    parser.add_argument("--redis-cluster", action="store_true", help="the same on a cluster of our own")
    parser.add_argument("--frame-all", action="store_true",
                        help="send Content-Length: 0 with every POST without a body: cpp-httplib waits for one otherwise")
    parser.add_argument("--left-out", type=pathlib.Path, help="a file that names scenarios that are not for this program")
    parser.add_argument("--address", type=address_of)
    parser.add_argument("--admin", type=address_of)
    parser.add_argument("--stage", type=int)
    options = parser.parse_args()
    if bool(options.binary) == bool(options.address):
        parser.error("give --binary, or --address of a gateway that runs")

    started = time.monotonic()
    scenarios = []
    for path in options.files or sorted(FOLDER.glob("*.txt")):
        scenarios += [scenario for scenario in script.parse(path) if options.only.lower() in scenario.title.lower()]
    if options.left_out and not options.only:
        scenarios = leave_out(scenarios, options.left_out)
    if options.postgres or options.redis or options.redis_cluster:  # that its disk is full is not ours to say, nor what is kept in memory
        scenarios = [scenario for scenario in scenarios if scenario.config == "standard"]
    scenarios.sort(key=lambda scenario: scenario.config)
    results = []
    for config, group in itertools.groupby(scenarios, key=lambda scenario: scenario.config):
        group = list(group)
        if options.address:
            stage = staging.Stage(port=options.stage or 0)
            troubles = play_all(group, options.address, options.admin, stage, options)
            stage.close()
        else:
            troubles = play_config(config, group, options)
        results += zip(group, troubles)

    for scenario, trouble in results:
        if trouble:
            print(f"FAILED: {scenario.title}\n  {trouble}\n")
    failed = sum(1 for _, trouble in results if trouble)
    print(f"{len(results) - failed} passed, {failed} failed in {time.monotonic() - started:.1f} s")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
