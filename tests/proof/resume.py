"""What a run has come to so far, written down after each episode, so that a --release run can be interrupted and gone on with.

The notes are build/proof/release.json. They are about one binary: with another one a run begins anew, and so does the run after
one that came to its end. A run in which a promise was broken has come to its end for that fault. Other runs leave no notes.
"""
import hashlib
import json
import time

import proof
import table


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Notes:
    def __init__(self, form, options):
        kept = form == "release" and not options.only
        self._path = options.results / f"{form}.json" if kept else None
        self._until = time.monotonic() + options.seconds if options.seconds else None
        self.seed, self._rows = options.seed, {}
        if not kept:
            return
        self._binary = digest_of(options.binary)
        if self._path.exists() and not options.anew:
            self._load(json.loads(self._path.read_text(encoding="utf-8")))

    def _load(self, notes):
        if notes["binary"] != self._binary:
            print("the notes of the last run are about another binary: beginning anew")
            return
        self.seed = notes["seed"]
        self._rows = {name: row for name, row in notes["rows"].items() if not row["violations"]}
        print(f"going on with a run of which {sum(row['episodes'] for row in self._rows.values())} episodes are done")

    def row(self, name, module):
        """The row of a fault, with what is known of it."""
        row = table.Row(name, module.FAULTS, module.__doc__.splitlines()[0])
        known = self._rows.get(name)
        if known is not None:
            row.report = proof.Report() if known["counts"] is not None else None
            if row.report is not None:
                row.report.counts.update(known["counts"])
            row.why, row.seconds, row.episodes, row.repeated = (known[field] for field in
                                                                ("why", "seconds", "episodes", "repeated"))
        self._rows[name] = row
        return row

    def time_is_up(self):
        return self._until is not None and time.monotonic() > self._until

    def save(self):
        if self._path is None:
            return
        rows = {name: row.noted() if isinstance(row, table.Row) else row for name, row in self._rows.items()}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps({"binary": self._binary, "seed": self.seed, "rows": rows}, indent=1) + "\n", encoding="utf-8")
        new.rename(self._path)

    def close(self):
        """The run has come to its end."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
