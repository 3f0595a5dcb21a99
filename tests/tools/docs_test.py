#!/usr/bin/env python3
"""The documents say nothing that the tree contradicts: docs_test.py ROOT

Checked in every Markdown file: quotes are verbatim (a fenced block below `<!-- verbatim: PATH -->` is that file, one below
`<!-- part: PATH -->` stands in it), links
lead somewhere, paths and tests named in backticks exist, and every `./dev` command is one.
"""
import pathlib
import re
import sys

PATH = re.compile(r"(?:\.ci|bench|cmake|conf|docs|examples|include|providers|src|tests|tools|web)/[\w./-]*")
TEST = re.compile(r"[A-Z]\w*\.[A-Z]\w+")
DEFINED = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\s*\(\s*(\w+),\s*(\w+)")


def documents(root):
    folders = [root, root / "docs", root / "docs" / "adr"]
    return sorted(path for folder in folders if folder.is_dir() for path in folder.glob("*.md"))


def tests_of(root):
    found = set()
    for path in (root / "tests").rglob("*.cc"):
        found |= {".".join(names) for names in DEFINED.findall(path.read_text(encoding="utf-8"))}
    return found


def commands_of(root):
    return {"help", *re.findall(r"^\./dev (\w+)", (root / "dev").read_text(encoding="utf-8"), re.M)}


def check_quotes(root, text):
    for match in re.finditer(r"<!-- verbatim: (\S+) -->\n(?:```\w*\n(.*?)^```$)?", text, re.M | re.S):
        source = root / match[1]
        if not source.is_file():
            yield match.start(), f"quotes {match[1]}, which does not exist"
        elif match[2] != source.read_text(encoding="utf-8"):
            yield match.start(), f"the quote differs from {match[1]}"
    for match in re.finditer(r"<!-- part: (\S+) -->\n(?:```\w*\n(.*?)^```$)?", text, re.M | re.S):
        source = root / match[1]
        if not source.is_file() or not match[2] or match[2] not in source.read_text(encoding="utf-8"):
            yield match.start(), f"the quote does not stand in {match[1]}"


def check_links(folder, text):
    for match in re.finditer(r"\[[^\]\n]*\]\(([^)\s]+)\)", text):
        target = match[1].split("#")[0]
        if target and not re.match(r"[a-z]+:", target) and not (folder / target).exists():
            yield match.start(), f"the link {match[1]} leads nowhere"


def check_names(root, text, tests, commands):
    prose = re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.M | re.S)
    for match in re.finditer(r"`([^`\n]+)`", prose):
        name = match[1]
        if PATH.fullmatch(name) and not (root / name).exists():
            yield match.start(), f"{name} does not exist"
        if TEST.fullmatch(name) and name not in tests:
            yield match.start(), f"there is no test {name}"
    for match in re.finditer(r"\./dev (\w+)", text):
        if match[1] not in commands:
            yield match.start(), f"./dev has no command {match[1]}"


def main(root):
    tests, commands, failed = tests_of(root), commands_of(root), False
    for path in documents(root):
        text = path.read_text(encoding="utf-8")
        found = [*check_quotes(root, text), *check_links(path.parent, text), *check_names(root, text, tests, commands)]
        for offset, message in sorted(found):
            print(f"{path.relative_to(root)}:{text.count(chr(10), 0, offset) + 1}: {message}")
            failed = True
    readme = (root / "README.md").read_text(encoding="utf-8")
    if "](examples/once.cc)" not in readme:
        print("README.md:1: does not link to examples/once.cc")
        failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
