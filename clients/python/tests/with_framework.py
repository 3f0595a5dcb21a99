#!/usr/bin/env python3
"""Runs a program of the tests of clients against one of our apps: with_framework.py APP PROGRAM ARGUMENT...

APP is flask, django or fastapi. Without the packages that it needs the test is skipped (exit code 77), and says what is missing.
"""
import importlib.util
import os
import pathlib
import sys

NEEDS = {"flask": ["flask"], "django": ["django"], "fastapi": ["fastapi", "uvicorn"]}
SKIPPED = 77


def main():
    app, program, *words = sys.argv[1:]
    missing = [name for name in NEEDS[app] if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {sys.executable} has no {' and no '.join(missing)}; Debian has it as python3-{missing[0]}")
        return SKIPPED
    path = pathlib.Path(__file__).resolve().parent / "apps" / f"{app}_app.py"
    os.execv(sys.executable, [sys.executable, "-B", program, "--app", f"{sys.executable} -B {path}", *words])


if __name__ == "__main__":
    sys.exit(main())
