#!/usr/bin/env python3
"""The run of the proof itself: it goes on where it was interrupted, says what it repeated, and has a bug for each fault."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import types
import unittest

import plants
import proof
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
        self.run_module = load_run()
        self.run_module.ENOUGH = {"release": {"kills": 50}, "quick": {}}

    def options(self, **more):
        given = {"only": [], "binary": self.binary, "build": self.results, "results": self.results, "seed": 5, "keep": False,
                 "failures": self.results / "failures", "planted": {}, "trace": False, "record": False, "seconds": None,
                 "anew": False}
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
        faults = {"first": self.fault(5)}
        self.assertEqual(self.go(faults=faults)[0], 0)  # the last one had come to its end
        self.assertEqual(len(faults["first"].seeds), 5)

    def test_another_binary_begins_anew(self):
        """What another binary came to says nothing about this one; --anew says so of the same."""
        for change in (lambda: self.binary.write_bytes(b"another"), lambda: {"anew": True}):
            faults = {"first": self.fault(5, interrupted_at=4)}
            with self.assertRaises(Interrupted):
                self.go(faults=faults)
            faults = {"first": self.fault(5)}
            more = change()
            self.assertEqual(self.go(faults=faults, **(more if isinstance(more, dict) else {}))[0], 0)
            self.assertEqual(len(faults["first"].seeds), 5)

    def test_a_release_in_pieces(self):
        """The exit code says that there is more to do, and the next run does it."""
        faults = {"first": self.fault(5)}
        code, said = self.go(faults=faults, seconds=1e-9)
        self.assertEqual((code, faults["first"].seeds), (3, []), said)
        self.assertEqual(self.go(faults=faults)[0], 0)

    def test_too_little_and_violations_are_failures(self):
        """Also where the promise was broken in an episode that is not the last; the fault is then tried again by the next run."""
        self.assertEqual(self.go(faults={"first": self.fault(4)})[0], 1)
        faults = {"first": self.fault(6, violations=[[], ["I1: broken"], [], [], [], []])}
        code, said = self.go(faults=faults)
        self.assertEqual((code, len(faults["first"].seeds)), (1, 2))
        self.assertIn("I1: broken", said)

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


if __name__ == "__main__":
    unittest.main()
