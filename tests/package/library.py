#!/usr/bin/env python3
"""The package for developers is enough to build with: library.py PACKAGES FOLDER

Unpacks libsemel-dev, compiles the consumers of tests/tools by its pkg-config files, links them with the usual linker (not with
lld: the archives hold machine code, no bitcode), and runs them. FOLDER is not needed; it is there for the likes of story.py.
"""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import install_test  # noqa: E402

COMPILER = ["clang++-19"]


def main(packages, _):
    package = next(pathlib.Path(packages).resolve().glob("libsemel-dev_*.deb"))
    with tempfile.TemporaryDirectory(prefix="semel-library-") as name:
        folder = pathlib.Path(name)
        install_test.run("dpkg-deb", "--extract", package, folder)
        install_test.check_pkg_config(folder / "usr", folder, COMPILER, [])
    print("the library's package holds")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
