#!/usr/bin/env python3
"""Checks the checker: plants one known bug at a time and expects the simulation to notice.

    tests/mutation/mutation.py BUILD_FOLDER [WORD...]      only the bugs whose file name contains one of the words

A bug is a file in bugs/: what it is, the source that it goes into, and a text there to be replaced. The changed source is
compiled as BUILD_FOLDER compiles it, and linked in front of the library with the objects of the test program; nothing in
the tree or in the build folder changes. Exits 0 only if the unchanged program passes and every bug is caught.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEFAULT_TEST = "sim_test Simulation.KeepsEveryPromise"
STEPS = "4000000"  # of the simulation; a bug is caught long before
RUN_SECONDS_MAX = 150


class Broken(Exception):
    """The check itself cannot be made: not the same as a bug that survives."""


class Bug:
    def __init__(self, path):
        head, old, new = re.fullmatch(r"(.*?)^--- old\n(.*?)^--- new\n(.*)", path.read_text(), re.S | re.M).groups()
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        self.name, self.file, self.what = path.stem, fields["file"], fields["bug"]
        self.program, self.filter = fields.get("test", DEFAULT_TEST).split()
        text = (ROOT / self.file).read_text()
        if text.count(old) != 1:
            raise Broken(f"{path.name}: the text to replace is {text.count(old)} times in {self.file}; bring it up to date")
        self.source = text.replace(old, new)


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def compiles(build, folder):
    """Whether the build has any source of that folder: a store can be left out."""
    commands = json.loads((build / "compile_commands.json").read_text())
    return any(entry["file"].startswith(str(ROOT / folder)) for entry in commands)


def compile_bug(build, bug, folder):
    """The object of the changed source."""
    commands = json.loads((build / "compile_commands.json").read_text())
    wanted = [entry for entry in commands if entry["file"] == str(ROOT / bug.file)]
    if not wanted:
        raise Broken(f"{bug.file} is not compiled in {build}")
    source, target = folder / pathlib.Path(bug.file).name, folder / "changed.o"
    source.write_text(bug.source)
    words = shlex.split(wanted[0]["command"])
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(source)
    done = run(words, cwd=wanted[0]["directory"])
    if done.returncode != 0:
        raise Broken(f"{bug.name} does not compile:\n{done.stderr[-3000:]}")
    return target


def link_bug(build, program, changed, folder):
    """The program with the changed object in front of the library, which then leaves its own out."""
    line = run(["ninja", "-t", "commands", "-s", program], cwd=build).stdout.strip().splitlines()[-1]
    words = shlex.split(line.removeprefix(": && ").removesuffix(" && :"))
    at = words.index("-o")
    target = folder / pathlib.Path(program).name
    words[at + 1] = str(target)
    words.insert(at, str(changed))
    done = run(words, cwd=build)
    if done.returncode != 0:
        raise Broken(f"{program} does not link:\n{done.stderr[-3000:]}")
    return target


def run_test(program, test_filter):
    environment = dict(os.environ, SEMEL_SIM_STEPS=STEPS)
    for name in ("SEMEL_SIM_SEED", "SEMEL_SIM_SEEDS", "SEMEL_SIM_FROM"):
        environment.pop(name, None)
    try:
        return run([program, f"--gtest_filter={test_filter}"], env=environment, timeout=RUN_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise Broken(f"{program} {test_filter} did not end in {RUN_SECONDS_MAX} s") from None


def verdict(done):
    """(the promise that was broken, after how many steps), or nothing if the test passed."""
    if done.returncode == 0:
        return None
    found = re.search(r"^seed (\d+), step \d+: (.*)$", done.stdout, re.M)
    steps = re.search(r"^(\d+) steps, (\d+) seeds", done.stdout, re.M)
    if found and steps:
        return found[2], f"{int(steps[1]):,}"
    failed = re.search(r"^\[  FAILED  \] (\S+)", done.stdout, re.M)
    return (failed[1] if failed else (done.stderr.strip().splitlines() or ["it died"])[-1]), "-"


def try_bug(build, bug):
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = link_bug(build, f"tests/{bug.program}", compile_bug(build, bug, folder), folder)
        began = time.monotonic()
        caught = verdict(run_test(program, bug.filter))
        return bug, caught, time.monotonic() - began, time.monotonic() - started


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 2
    build = pathlib.Path(arguments[0]).resolve()
    words = arguments[1:]
    bugs = [Bug(path) for path in sorted((HERE / "bugs").glob("*.txt"))]
    bugs = [bug for bug in bugs if not words or any(word in bug.name for word in words)]
    if not compiles(build, "src/store/postgres/"):
        bugs = [bug for bug in bugs if "src/store/postgres/" not in bug.file]
    if not bugs:
        raise Broken("there is no such bug")
    for name in sorted({bug.program for bug in bugs}):
        if not (build / "tests" / name).exists():
            raise Broken(f"{build}/tests/{name} has not been built")

    started = time.monotonic()
    survived = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        whole = {(bug.program, bug.filter) for bug in bugs}
        unchanged = [pool.submit(run_test, build / "tests" / program, which) for program, which in sorted(whole)]
        tried = [pool.submit(try_bug, build, bug) for bug in bugs]
        for future in unchanged:
            if future.result().returncode != 0:
                raise Broken("the unchanged program fails:\n" + future.result().stdout[-3000:])
        print(f"{'bug':<76} {'steps':>10} {'run':>7} {'in all':>7}")
        for future in tried:
            bug, caught, ran, took = future.result()
            survived += caught is None
            print(f"{bug.what:<76} {caught[1] if caught else '':>10} {ran:>5.1f} s {took:>5.1f} s")
            print(f"    {'caught by ' + bug.program + ': ' + caught[0] if caught else 'NOT CAUGHT'}", flush=True)
    print(f"{len(bugs) - survived} of {len(bugs)} caught, unchanged passes, {time.monotonic() - started:.0f} s")
    return 1 if survived else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Broken as broken:
        print(f"mutation: {broken}", file=sys.stderr)
        sys.exit(2)
