#!/usr/bin/env python3
"""Writes the manual pages and the completions: generate.py SEMEL ROOT OUT

They are made at build time from the binary itself and from conf/semel.toml, so there is nothing that can go stale.
Under OUT: man/man1/semel.1, man/man5/semel.toml.5, bash/semel, zsh/_semel, fish/semel.fish.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True

import commands
import completions
import pages


def texts(binary, root):
    """What each file holds, by its path."""
    program, providers = commands.read(binary), commands.providers(binary)
    header = (root / "include/semel/version.h").read_text(encoding="utf-8")
    version = ".".join(re.findall(r"#define SEMEL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    released = re.search(rf"(?m)^## {re.escape(version)} .*?(\d{{4}}-\d\d-\d\d)",
                         (root / "CHANGELOG.md").read_text(encoding="utf-8"))
    date = released[1] if released else ""
    manual = (root / "conf/semel.toml").read_text(encoding="utf-8")
    return {"man/man1/semel.1": pages.command_page(program, version, date),
            "man/man5/semel.toml.5": pages.configuration_page(manual, version, date),
            "bash/semel": completions.bash(program, providers),
            "zsh/_semel": completions.zsh(program, providers),
            "fish/semel.fish": completions.fish(program, providers)}


def main(binary, root, out):
    for name, text in texts(binary, pathlib.Path(root)).items():
        path = pathlib.Path(out) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
