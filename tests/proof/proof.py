"""What the faults of the proof share: the context that each runs in, what it reports, and how it uses the oracle.

A fault is a file in faults/. Its docstring says in one line what is done, then what must hold. FAULTS names the entries of
the programme that it covers, QUICK and RELEASE are the arguments of run(context, ...), which returns a Report; `episodes` says
how often it is called.
"""
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
E2E = ROOT / "tests" / "e2e"
sys.path.insert(0, str(E2E))

import checker  # noqa: E402  (found by the line above)
import oracle  # noqa: E402
import postgres_server  # noqa: E402
import quick_load  # noqa: E402

HIGH_CLIENTS = 24
NO_DELAYS_MS = (0, 0, 0, 0, 0, 0, 0, 5)


class Skipped(Exception):
    """This machine cannot do it; the text says why."""


@contextlib.contextmanager
def small_disk(folder, size):
    """A tmpfs, gone when this is left."""
    folder.mkdir(exist_ok=True)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False,
                                           capture_output=True).returncode != 0:
        raise Skipped("this user may not mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


@dataclasses.dataclass
class Report:
    """What happened, in counts that the table adds up, and what went wrong."""

    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    violations: list = dataclasses.field(default_factory=list)

    def add(self, other):
        self.counts.update(other.counts)
        self.violations += other.violations

    def must(self, holds, what):
        """Counts an expectation, and keeps it if it does not hold."""
        self.counts["checks"] += 1
        if not holds:
            self.violations.append(what)
        return holds


@dataclasses.dataclass
class Context:
    """Where a fault runs: the binary under test, the build it comes from, a folder that is its own, a seed."""

    name: str
    binary: pathlib.Path
    build: pathlib.Path
    folder: pathlib.Path
    seed: int
    failures: pathlib.Path
    say: object = print  # progress: what is being done now
    planted: dict = dataclasses.field(default_factory=dict)  # programs of the build that a bug was planted in: path → path

    def __post_init__(self):
        self.chance = random.Random(f"{self.name}-{self.seed}")
        self._rooms = 0

    def room(self):
        """A new empty folder."""
        self._rooms += 1
        room = self.folder / f"room{self._rooms}"
        room.mkdir(parents=True)
        return room

    def clear(self):
        """Makes room; what went wrong is in the report by now."""
        for room in self.folder.glob("room*"):
            shutil.rmtree(room, ignore_errors=True)

    def oracle(self, high=False, **options):
        """An oracle of its own folder, with all kinds of routes. `high`: as many requests as this machine makes."""
        programs = self.build / "tests" / "proof"
        options = {"routes": oracle.ALL_ROUTES, "quick": programs if (programs / quick_load.PROGRAM).exists() else None, **options}
        if high:
            options = {"clients": HIGH_CLIENTS, "delays_ms": NO_DELAYS_MS, **options}
        return oracle.Oracle(self.binary, self.room(), f"{self.name}-{self.seed}", **options)

    def beside(self, *names):
        """The folder of these programs of one folder of the build; a copy, if one of them has a bug planted in it."""
        if not any(name in self.planted for name in names):
            return (self.build / names[0]).parent
        room = self.room()
        for name in names:
            shutil.copy(self.planted.get(name, self.build / name), room)
        return room

    def program(self, *command, seconds=3600, environment=None):
        """Runs a test program of the tree; (what it printed, whether it was content)."""
        done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False,
                              timeout=seconds, env=environment)
        return done.stdout + done.stderr, done.returncode

    @contextlib.contextmanager
    def postgres(self, settings=""):
        if not (postgres_server.PROGRAMS / "initdb").exists():
            raise Skipped("PostgreSQL 15 is not installed")
        server = postgres_server.Server(str(self.binary), settings)
        try:
            yield server
        finally:
            server.close()

    def judged(self, verdict, counts=None):
        """The report of a verdict; a history that breaks a promise is kept as a file (histories/README.md)."""
        report = Report(collections.Counter(counts or {}))
        report.counts.update(counts_of(verdict.records, verdict.calls))
        report.counts["pauses"] += sum(one["what"] == oracle.STOOD_STILL for one in verdict.faults or ())
        report.counts["checks"] += report.counts["keys"]
        report.violations += [f"{invariant}: {scope} {key}: {what}" for invariant, scope, key, what in verdict.violations]
        for code in verdict.codes:
            report.must(code == 0, f"a gateway ended with {code}")
        if verdict.violations:
            self.keep_history(verdict)
        return report

    def keep_history(self, verdict):
        """Of a few keys only: the others have nothing to do with it."""
        keys = list(dict.fromkeys((scope, key) for _, scope, key, _ in verdict.violations))[:2]
        effects, calls = ([record for record in records if (record["scope"], record["key"]) in keys]
                          for records in (verdict.records, verdict.calls))
        faults = verdict.faults and [one for one in verdict.faults if any(checker.overlaps(call, one) for call in calls)]
        found = checker.check(effects, calls, verdict.last_fault, oracle.SETTLED_WITHIN, faults)
        history = {"found": sorted({invariant for invariant, *_ in found}), "fault": self.name, "seed": self.seed,
                   "last_fault": verdict.last_fault, "seconds": oracle.SETTLED_WITHIN, "faults": faults, "effects": effects,
                   "calls": calls}
        self.failures.mkdir(parents=True, exist_ok=True)
        path = self.failures / f"{self.name}-{self.seed}-{self._rooms}.json"
        path.write_text(history_text(history), encoding="utf-8")


def history_text(history):
    """JSON with a line for each record."""
    parts = []
    for name, value in history.items():
        records = isinstance(value, list) and value and isinstance(value[0], dict)
        text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if records else json.dumps(value)
        parts.append(f' "{name}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def counts_of(records, calls):
    """What the table adds up over all faults."""
    keys = {(call["scope"], call["key"]) for call in calls}
    return collections.Counter({
        "requests": len(calls), "retries": len(calls) - len(keys), "keys": len(keys),
        "effects": sum(record["what"] == "effect" for record in records),
        "replays": sum(bool(call.get("replayed")) for call in calls),
        "unknown": len({(c["scope"], c["key"]) for c in calls if c.get("problem") == "outcome-unknown"})})


def failpoints_of(binary):
    """The names that the binary knows, in the order in which a request passes them; none in a build without failpoints."""
    done = subprocess.run([str(binary), "version"], capture_output=True, text=True, check=False,
                          env={**os.environ, "SEMEL_FAILPOINT": "list"})
    return [] if done.stdout.startswith("semel ") else done.stdout.split()


def is_loaded(program):
    """Whether the process has the library that its environment names, if it names one."""
    library = program.environment.get("LD_PRELOAD", "")
    return library in pathlib.Path(f"/proc/{program.process.pid}/maps").read_text(encoding="utf-8", errors="replace")


def until(deadline, pause=0.05):
    """Turns of a loop until the deadline (of time.monotonic)."""
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Skipped(f"{program} is not installed")
