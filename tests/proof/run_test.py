#!/usr/bin/env python3
"""The run of the proof itself: it goes on where it was interrupted, says what it repeated, and has a bug for each fault."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import threading
import types
import unittest

import plants
import proof
import resume
import table

sys.dont_write_bytecode = True


def load_run():
    loader = importlib.machinery.SourceFileLoader("proof_run", str(proof.HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("proof_run", loader))
    loader.exec_module(module)
    return module


class Interrupted(BaseException):
    """As Ctrl-C, or a machine that is switched off."""


class FakeFault(types.SimpleNamespace):
    """A fault of some episodes that is interrupted in one of them."""

    __doc__ = "Nothing is broken"
    FAULTS, QUICK = ("F99",), {}

    def run(self, context):
        if len(self.seeds) == self.interrupted_at:
            self.interrupted_at = None
            raise Interrupted
        self.seeds.append(context.seed)
        return proof.Report({"kills": 10, "requests": 100, "retries": 50, "expiries": 7}, self.violations.pop(0))


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = pathlib.Path(folder.name)
        self.binary = self.results / "semel"
        self.binary.write_bytes(b"a binary")
        self.notes = self.results / "proof" / "release.json"
        self.run_module = load_run()
        self.run_module.ENOUGH = {"release": {"kills": 50}, "quick": {}}

    def options(self, **more):
        given = {"only": [], "binary": self.binary, "build": self.results, "results": self.results, "seed": 5, "keep": False,
                 "notes": self.notes,
                 "failures": self.results / "failures", "planted": {}, "trace": False, "record": False, "seconds": None,
                 "anew": False, "jobs": 1}
        return argparse.Namespace(**{**given, **more})

    def fault(self, episodes, interrupted_at=None, violations=None):
        return FakeFault(RELEASE={"episodes": episodes}, seeds=[], interrupted_at=interrupted_at,
                         violations=violations or [[] for _ in range(episodes)])

    def go(self, form="release", faults=None, **more):
        self.run_module.load_faults = lambda: faults
        with contextlib.redirect_stdout(io.StringIO()) as said:
            code = self.run_module.run_all(form, self.options(**more))
        return code, said.getvalue()

    def test_an_interrupted_release_goes_on(self):
        """Episodes that had ended are not run again, their counts are in the table, and each episode has a seed of its own."""
        faults = {"first": self.fault(2), "second": self.fault(3, interrupted_at=1)}
        with self.assertRaises(Interrupted):
            self.go(faults=faults)
        code, said = self.go(faults=faults, seed=77)
        self.assertEqual(code, 0, said)
        self.assertEqual((faults["first"].seeds, faults["second"].seeds), ([5, 6], [5, 6, 7]))
        self.assertIn("50 kills", said)
        self.assertIn("going on with a run of which 3 episodes are done", said)
        code, said = self.go(faults=faults)  # it had come to its end, and is told again
        self.assertEqual((code, faults["first"].seeds), (0, [5, 6]), said)

    def test_what_ran_says_where(self):
        """Another binary goes on with the run, and the notes tell which episodes are whose."""
        faults = {"first": self.fault(5, interrupted_at=4)}
        with self.assertRaises(Interrupted):
            self.go(faults=faults)
        before = resume.digest_of(self.binary)
        self.binary.write_bytes(b"another")
        self.assertEqual(self.go(faults=faults)[0], 0)
        row, = json.loads(self.notes.read_text(encoding="utf-8"))["rows"]
        self.assertEqual([(piece["binary"], piece["episodes"]) for piece in row["pieces"]],
                         [(before, 4), (resume.digest_of(self.binary), 1)])
        self.assertEqual(row["pieces"][0]["counts"]["kills"], 40)

    def test_anew_forgets(self):
        """All that was done, or the faults that are named."""
        faults = {"first": self.fault(3), "second": self.fault(2)}
        for more, seeds in (({}, (3, 2)), ({"anew": True, "only": ["second"]}, (3, 4)), ({"anew": True}, (6, 6))):
            for fault in faults.values():
                fault.violations = [[], [], []]
            self.go(faults=faults, **more)
            self.assertEqual(tuple(len(fault.seeds) for fault in faults.values()), seeds)

    def test_the_page_says_what_the_files_say(self):
        """docs/reliability.md is written from docs/proof by `tests/proof/run --page`."""
        page = proof.ROOT / "docs" / "reliability.md"
        text = page.read_text(encoding="utf-8")
        run = load_run()
        self.assertEqual(text, table.page_of(text, proof.ROOT / "docs" / "proof", run.ENOUGH["release"], run.RETRIES_SHARE))

    def test_the_page_of_a_run_in_pieces(self):
        """What is not done yet is on the page, and what broke a promise."""
        faults = {"first": self.fault(3, violations=[[], ["I1: broken"], []]), "second": self.fault(4)}
        self.go(faults=faults, only=["first"])
        page = table.put("<!-- begin: the last release run -->\n<!-- end: the last release run -->\n", "release", "old")
        said = table.page_of(page, self.notes.parent, {"kills": 50}, 0.3)
        self.assertIn("2 of 7 episodes", said)
        self.assertIn("| `second` | 0 of 4 |", said)
        self.assertIn("Not finished: 20 kills, 50 are wanted.", said)
        self.assertIn("**1 violations**", said)
        self.assertNotIn("old", said)

    def test_a_release_in_pieces(self):
        """The exit code says that there is more to do, and the next run does it."""
        faults = {"first": self.fault(5)}
        code, said = self.go(faults=faults, seconds=1e-9)
        self.assertEqual((code, faults["first"].seeds), (3, []), said)
        self.assertEqual(self.go(faults=faults)[0], 0)

    def test_several_at_a_time(self):
        """Each fault that is not done yet is run by a process of its own, which leaves the rows of the others as they are."""
        faults = {name: self.fault(5) for name in ("first", "second", "third")}
        self.go(faults=faults, only=["second"])
        both, started = threading.Barrier(2, timeout=10), []

        def apart(name, options):
            started.append(name)
            notes = resume.Notes("release", self.options(only=[name]))
            both.wait()  # each has read what the other will have overtaken
            row = notes.row(name, faults[name])
            while row.episodes < 5:
                row.add(proof.Report({"kills": 10, "requests": 100, "retries": 50}), "", 1.0, 0)
                notes.save()
            return 0

        self.run_module.run_apart = apart
        code, said = self.go(faults=faults, jobs=2)
        self.assertEqual((code, sorted(started)), (0, ["first", "third"]), said)
        self.assertIn("150 kills", said)
        self.assertEqual([len(fault.seeds) for fault in faults.values()], [0, 5, 0])
        self.run_module.run_apart = lambda name, options: 1
        self.assertEqual(self.go(faults=faults, jobs=2, anew=True)[0], 1, "a promise was broken in one of them")

    def test_several_at_a_time_in_pieces(self):
        faults = {"first": self.fault(5), "second": self.fault(5)}
        self.run_module.run_apart = lambda name, options: 3
        code, said = self.go(faults=faults, jobs=2, seconds=60)
        self.assertEqual((code, faults["first"].seeds), (3, []), said)

    def test_too_little_and_violations_are_failures(self):
        """Also where the promise was broken in an episode that is not the last; the fault is then tried again by the next run."""
        self.assertEqual(self.go(faults={"first": self.fault(4)})[0], 1)
        faults = {"first": self.fault(6, violations=[[], ["I1: broken"], [], [], [], [], [], []])}
        code, said = self.go(faults=faults, anew=True)
        self.assertEqual((code, len(faults["first"].seeds)), (1, 2))
        self.assertIn("I1: broken", said)
        self.assertEqual(self.go(faults=faults)[0], 0)
        self.assertEqual(faults["first"].seeds, [5, 6, 5, 6, 7, 8, 9, 10])

    def test_the_table_is_honest(self):
        """An expiry is no fault, and what was repeated says so."""
        row = table.Row("expiry", ("F22",), "Keys expire")
        row.add(proof.Report({"expiries": 7, "pauses": 2}), "", 1.0, 1)
        self.assertEqual(row.broken, "7 expiries, the machine stood still twice, repeated once, since the run was stopped meanwhile")
        self.assertNotIn("expiries", table.BROKEN)

    def test_each_fault_has_a_planted_bug(self):
        """A fault that finds none proves nothing."""
        caught = {bug.fault for bug in plants.load([])}
        self.assertEqual(set(self.run_module.load_faults()) - caught, set())

    def test_each_planted_bug_fits_the_code(self):
        """The text that it replaces is there, once."""
        tools = plants.mutation()
        for bug in plants.load([]):
            tools.Bug(bug.path)


if __name__ == "__main__":
    unittest.main()
