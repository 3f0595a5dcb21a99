#!/usr/bin/env python3
"""The documents say nothing that the tree contradicts: docs_test.py ROOT

Checked in every Markdown file: quotes are verbatim (a fenced block below `<!-- verbatim: PATH -->` is that file, one below
`<!-- part: PATH -->` stands in it), links lead somewhere, tests named in backticks exist, and every `./dev` command is one.
Tests are named as `Suite.Case` (C++), `Class.test_case` (Python) and `file.txt: title` (a scenario). Pages that claim what
holds (SHOWN) end with a table that names, for each of their sections, the tests that would fail. Paths and symbols, in documents and in comments, are checked by the lint's own module (tools/lint/names.py).
tests/tools/tidy_test.py plants what this must find.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from lint import names  # noqa: E402
from lint.source import Tree  # noqa: E402

SHOWN = ("docs/limits.md", "docs/providers.md", "docs/security.md")
TABLE = "\n## Shown by\n"
TEST = re.compile(r"[A-Z]\w*\.(?:[A-Z]|test_)\w+|\w+\.txt: .+")
DEFINED = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\s*\(\s*(\w+),\s*(\w+)")


def tests_of(tree):
    found = set()
    for path, source in tree.sources.items():
        if path.startswith("tests/"):
            found |= {".".join(parts) for parts in DEFINED.findall(source.text)}
    for path, text in tree.texts.items():
        if path.startswith("tests/scenarios/"):
            found |= {f"{path.rpartition('/')[2]}: {title}" for title in re.findall(r"^== (.+)", text, re.M)}
        elif path.startswith("tests/") and path.endswith(".py"):
            for name, body in re.findall(r"^class (\w+)(.*?)(?=^\S|\Z)", text, re.M | re.S):
                found |= {f"{name}.{test}" for test in re.findall(r"^    def (test_\w+)", body, re.M)}
    return found


def commands_of(tree):
    return {"help", *re.findall(r"^\./dev (\w+)", tree.texts["dev"], re.M)}


def check_quotes(tree, text):
    for match in re.finditer(r"<!-- verbatim: (\S+) -->\n(?:```\w*\n(.*?)^```$)?", text, re.M | re.S):
        if match[1] not in tree.texts:
            yield match.start(), f"quotes {match[1]}, which does not exist"
        elif match[2] != tree.texts[match[1]]:
            yield match.start(), f"the quote differs from {match[1]}"
    for match in re.finditer(r"<!-- part: (\S+) -->\n(?:```\w*\n(.*?)^```$)?", text, re.M | re.S):
        if not match[2] or match[2] not in tree.texts.get(match[1], ""):
            yield match.start(), f"the quote does not stand in {match[1]}"


def check_links(folder, text):
    for match in re.finditer(r"\[[^\]\n]*\]\(([^)\s]+)\)", text):
        target = match[1].split("#")[0]
        if target and not re.match(r"[a-z]+:", target) and not (folder / target).exists():
            yield match.start(), f"the link {match[1]} leads nowhere"


def check_names(text, tests, commands):
    for match in re.finditer(r"`([^`\n]+)`", names.prose_of(text)):
        if TEST.fullmatch(match[1]) and match[1] not in tests:
            yield match.start(), f"there is no test {match[1]}"
    for match in re.finditer(r"\./dev (\w+)", text):
        if match[1] not in commands:
            yield match.start(), f"./dev has no command {match[1]}"


def anchor_of(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def check_shown(tree, text, tests):
    """The table of a page that claims what holds. A row links to its section and names a test, or a file of tests."""
    page, _, table = text.partition(TABLE)
    rows = [(len(page) + len(TABLE) + match.start(), match[1], match[2])
            for match in re.finditer(r"^\| \[[^\]]+\]\(#([\w-]+)\)(.*) \|$", table, re.M)]
    for heading in re.finditer(r"^##+ (.+)$", page, re.M):
        if anchor_of(heading[1]) not in {anchor for _, anchor, _ in rows}:
            yield heading.start(), f'no row of "Shown by" is about "{heading[1]}"'
    anchors = {anchor_of(heading) for heading in re.findall(r"^#+ (.+)$", page, re.M)}
    for at, anchor, rest in rows:
        named = re.findall(r"`([^`]+)`", rest)
        if not any(name in tests or name.startswith("tests/") and name in tree.texts for name in named):
            yield at, "the row names no test"
        if anchor not in anchors:
            yield at, f"there is no section #{anchor}"


def findings(root):
    tree = Tree(root)
    tests, commands = tests_of(tree), commands_of(tree)
    found = list(names.check(tree))
    for path, text in tree.texts.items():
        if path.endswith(".md"):
            checks = (check_quotes(tree, text), check_links((root / path).parent, text), check_names(text, tests, commands),
                      check_shown(tree, text, tests) if path in SHOWN else ())
            found += [(path, text.count("\n", 0, at) + 1, message) for check in checks for at, message in check]
    if not re.search(r"\]\(examples/once\.cc\)|<!-- (?:verbatim|part): examples/once\.cc -->", tree.texts["README.md"]):
        found.append(("README.md", 1, "neither links to examples/once.cc nor quotes it"))
    return [f"{path}:{line}: {message}" for path, line, message in sorted(found)]


def main(root):
    found = findings(root)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
