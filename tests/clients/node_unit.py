#!/usr/bin/env python3
"""The tests of clients/node by itself: node_unit.py [--build FOLDER]

They need no semel: keys, canonical JSON, signatures, types, and the client's logic on an API in memory.
"""
import argparse
import pathlib
import subprocess
import sys

import apps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    folder = apps.node_client(parser.parse_args().build)
    files = sorted(str(path) for path in (folder / "test" / "unit").glob("*.test.mjs"))
    return subprocess.run(["node", "--test", *files], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
