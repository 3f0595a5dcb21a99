#!/usr/bin/env python3
"""Histories in which a promise was broken, looked at again: the checker must still find what it found then."""
import json
import unittest

import proof

import checker  # of tests/e2e, which proof.py has put on the path

HISTORIES = sorted((proof.HERE / "histories").glob("*.json"))


class Histories(unittest.TestCase):
    def test_what_was_found_is_found_again(self):
        """Each file names the invariants that its history breaks."""
        self.assertGreater(len(HISTORIES), 0)
        for path in HISTORIES:
            with self.subTest(path.stem):
                history = json.loads(path.read_text(encoding="utf-8"))
                found = checker.check(history["effects"], history["calls"], history["last_fault"], history["seconds"],
                                      history.get("faults"))
                self.assertEqual(sorted({invariant for invariant, *_ in found}), history["found"])


if __name__ == "__main__":
    unittest.main()
