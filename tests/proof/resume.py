"""What a --release run has come to so far, written down after each episode, so that it can be interrupted and gone on with.

The notes are docs/proof/release.json, in the tree: a run of hours goes on in another session, on another day and machine. A
row is a fault; its pieces say on which commit, with which binary and on which machine so many of its episodes ran. What broke a
promise stays in the notes until the fault is run again, and that begins anew. Other runs leave no notes. Several processes may
run different faults at the same time: each writes the rows of its own, and leaves the others'.
"""
import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import time

import proof
import table


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def commit():
    """Of the tree; with a plus if what is built from has been changed since."""
    def git(*words):
        done = subprocess.run(["git", *words], cwd=proof.ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = git("status", "--porcelain", "--", "src", "include", "providers", "tests/proof", "tests/e2e")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if changed else "")


def episodes_of(module):
    return module.RELEASE.get("episodes", 1)


class Notes:
    def __init__(self, form, options):
        self._path = options.notes if form == "release" else None
        self._until = time.monotonic() + options.seconds if options.seconds else None
        self.seed, self.rows, self._mine = options.seed, {}, set()
        if self._path is None:
            self._where = {}
            return
        self._where = {"commit": commit(), "binary": digest_of(options.binary), "machine": table.machine()}
        if self._path.exists():
            self._load(json.loads(self._path.read_text(encoding="utf-8")), options)

    def _load(self, notes, options):
        self.seed = notes["seed"]
        for noted in notes["rows"]:
            again = options.anew and (not options.only or noted["name"] in options.only)
            if not again:
                self.rows[noted["name"]] = table.Row.of_notes(noted)
        if options.anew:
            self._write()
        print(f"going on with a run of which {sum(row.episodes for row in self.rows.values())} episodes are done")

    def know(self, name, module):
        """A fault that is to be run, now or another day."""
        if name not in self.rows:
            self.rows[name] = table.Row(name, module.FAULTS, module.__doc__.splitlines()[0], wanted=episodes_of(module))

    def lacks(self, name, module):
        """Whether there is something to be run of it."""
        row = self.rows.get(name)
        return row is None or row.report is None or row.episodes < episodes_of(module) or bool(row.report.violations)

    def row(self, name, module):
        """The row of a fault that is run now, with what is known of it."""
        if name in self.rows and self.rows[name].report is not None and self.rows[name].report.violations:
            del self.rows[name]
        self.know(name, module)
        self._mine.add(name)
        self.rows[name].where = self._where
        return self.rows[name]

    def time_is_up(self):
        return self._until is not None and time.monotonic() > self._until

    def save(self):
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._alone():
            if self._path.exists():
                for noted in json.loads(self._path.read_text(encoding="utf-8"))["rows"]:
                    if noted["name"] not in self._mine:
                        self.rows[noted["name"]] = table.Row.of_notes(noted)
            self._write()

    @contextlib.contextmanager
    def _alone(self):
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _write(self):
        notes = {"form": "release", "seed": self.seed, "rows": [row.noted() for row in self.rows.values()]}
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")
        new.rename(self._path)
