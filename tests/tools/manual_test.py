#!/usr/bin/env python3
"""The manual pages and the completions say what the program says: manual_test.py SEMEL ROOT GENERATED

GENERATED is what the build made. It is compared with what is made now, and with the help of every command, read here in
another way: each option and command has its place in both. man reads the pages without a warning, and a real bash completes;
zsh and fish, where they are installed, read their files.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging/manual"))

import generate  # noqa: E402

COMPLETE = """
source "$1"; shift
compopt() { :; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_semel
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Manual(unittest.TestCase):
    binary = root = generated = None

    def text(self, name):
        return (self.generated / name).read_text(encoding="utf-8")

    def helps(self):
        """The help of every command by its words, found by walking the subcommands."""
        found, waiting = {}, [()]
        while waiting:
            words = waiting.pop()
            said = subprocess.run([self.binary, *words, "--help"], capture_output=True, text=True, check=True).stdout
            found[words] = said
            below = said.partition("\nSubcommands:\n")[2]
            waiting += [(*words, name) for name in re.findall(r"(?m)^  ([a-z][\w-]*)", below)]
        self.assertGreater(len(found), 8)
        return found

    def options(self):
        for words, said in self.helps().items():
            for names in re.findall(r"(?m)^  (-[\w,-]+)", said):
                for name in names.split(","):
                    yield words, name

    def test_what_was_built_is_what_would_be_made_now(self):
        """A build that did not make them again would ship pages of an older program."""
        for name, text in generate.texts(self.binary, self.root).items():
            self.assertEqual(self.text(name), text, f"{name} is stale: build again")

    def test_every_option_has_its_place(self):
        """Of every command, in the page and in each completion."""
        page = self.text("man/man1/semel.1").replace("\\-", "-")
        commands = dict(re.findall(r"(?ms)^\.SS semel ([a-z ]+?)(?: \[.*?)?\n(.*?)(?=^\.S[SH])", page))
        for words, name in self.options():
            if words and name not in ("-h", "--help"):
                self.assertIn(name, commands[" ".join(words)], words)
            self.assertRegex(self.text("zsh/_semel"), rf"'(?:\([^)]*\))?{name}\[")
            self.assertRegex(self.text("fish/semel.fish"), rf" -{'l' if name.startswith('--') else 's'} {name.lstrip('-')}\b")

    def test_every_setting_has_its_place(self):
        """Whatever conf/semel.toml explains, with its value."""
        manual = (self.root / "conf/semel.toml").read_text(encoding="utf-8")
        page = self.text("man/man5/semel.toml.5").replace("\\-", "-")
        settings = re.findall(r"(?m)^#?([a-z_]+ = .*?)(?:    # example)?$", manual)
        self.assertGreater(len(settings), 70)
        for setting in settings:
            self.assertIn(f"\n\\fB{setting}\\fR", page)
        self.assertEqual(re.findall(r"(?m)^\.SH (\[.*\])$", page), re.findall(r"(?m)^# ---- (\S+) -", manual))

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_man_reads_the_pages_without_a_warning(self):
        for name in ("man/man1/semel.1", "man/man5/semel.toml.5"):
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", self.generated / name],
                                  capture_output=True, text=True, check=False, env={"LC_ALL": "C.UTF-8", "MANWIDTH": "80",
                                                                                    "PATH": "/usr/bin:/bin"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def complete(self, *words):
        done = subprocess.run(["bash", "-c", COMPLETE, "bash", self.generated / "bash/semel", *words], capture_output=True,
                              text=True, check=True, cwd=self.root)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes(self):
        """Commands, options of every command, providers, files; nothing where only the caller knows."""
        self.assertEqual(self.complete("semel", "se"), ["serve"])
        for words, name in self.options():
            self.assertIn(name, self.complete("semel", *words, "-"), words)
        self.assertEqual(self.complete("semel", "sign", "strip"), ["stripe"])
        self.assertEqual(self.complete("semel", "providers", "sh"), ["show"])
        self.assertEqual(self.complete("semel", "providers", "show", "git"), ["github", "gitlab"])
        self.assertEqual(self.complete("semel", "serve", "--config", "CMakeL"), ["CMakeLists.txt"])
        self.assertEqual(self.complete("semel", "check", "CMakeL"), ["CMakeLists.txt"])
        self.assertEqual(self.complete("semel", "serve", "--upstream", ""), [])

    def test_the_other_shells_read_theirs(self):
        for shell, name in (("zsh", "zsh/_semel"), ("fish", "fish/semel.fish")):
            with self.subTest(shell):
                if shutil.which(shell) is None:
                    self.skipTest(f"no {shell}")
                done = subprocess.run([shell, "-n", self.generated / name], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    Manual.binary = sys.argv[1]
    Manual.root, Manual.generated = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
