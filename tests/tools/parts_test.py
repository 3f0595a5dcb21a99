#!/usr/bin/env python3
"""Parts can be left out: parts_test.py ROOT [-DCMAKE_...]

Configures and builds the library with one store only, each in turn, and installs it.
"""
import pathlib
import subprocess
import sys
import tempfile

OFF = ["-DSEMEL_TESTS=OFF", "-DSEMEL_GATEWAY=OFF", "-DSEMEL_GUARD=OFF"]
BUILDS = {"embedded": ["-DSEMEL_POSTGRES=OFF"], "postgres": ["-DSEMEL_EMBEDDED=OFF"]}


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"failed ({done.returncode}): {' '.join(map(str, command))}\n{done.stdout}")


def main(root, *definitions):
    for part, without in BUILDS.items():
        with tempfile.TemporaryDirectory(prefix="semel-parts-") as name:
            out, prefix = pathlib.Path(name) / "build", pathlib.Path(name) / "prefix"
            run("cmake", "-S", root, "-B", out, "-G", "Ninja", *OFF, *without, *definitions)
            run("cmake", "--build", out, "-j2")
            run("cmake", "--install", out, "--prefix", prefix)
            archives = sorted(path.name for path in prefix.rglob("*.a"))
            if archives != sorted(["libsemel.a", f"libsemel-{part}.a"]):
                sys.exit(f"with {part} alone there came {archives}")


if __name__ == "__main__":
    main(*sys.argv[1:])
