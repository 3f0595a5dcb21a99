#!/usr/bin/env python3
"""What the command line says to those who mistype it. --binary SEMEL"""
import harness


class CommandLine(harness.Case):
    def said(self, *words):
        done = self.run_semel(*words, seconds=20)
        return done.returncode, done.stdout, done.stderr

    def test_the_version_is_told_either_way(self):
        """As a command, and as the option that everybody tries first."""
        code, said, _ = self.said("--version")
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^semel \d+\.\d+\.\d+ \(.+\)\n$")
        self.assertEqual(self.said("version"), (0, said, ""))

    def test_a_mistyped_command_is_named(self):
        """The nearest one is offered where there is one; nothing is run."""
        code, _, complaint = self.said("sreve", "--config", "x.toml")
        self.assertEqual(code, 2)
        self.assertIn("there is no command 'sreve'; did you mean serve?", complaint)
        code, _, complaint = self.said("frobnicate")
        self.assertEqual(code, 2)
        self.assertIn("there is no command 'frobnicate'\n", complaint)

    def test_a_mistyped_option_is_named_before_what_is_missing(self):
        """--confg is why --config is missing."""
        code, _, complaint = self.said("serve", "--confg", "x.toml")
        self.assertEqual(code, 2)
        self.assertIn("there is no option '--confg'; did you mean --config?", complaint)
        self.assertNotIn("required", complaint)

    def test_help_explains_each_command(self):
        """As --help does, also for a command within another."""
        for words in ((), ("serve",), ("providers", "check")):
            code, explained, _ = self.said("help", *words)
            self.assertEqual(code, 0)
            self.assertIn("Usage: semel " + "".join(word + " " for word in words), explained)
        self.assertEqual(self.said("help", "frobnicate")[0], 2)

    def test_what_is_missing_is_said_when_nothing_else_is_wrong(self):
        """No command at all, and a command without what it needs."""
        self.assertEqual(self.said()[0], 2)
        code, _, complaint = self.said("check")
        self.assertEqual(code, 2)
        self.assertIn("file is required", complaint)


if __name__ == "__main__":
    harness.run()
