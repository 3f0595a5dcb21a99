#!/usr/bin/env python3
"""Parts can be left out: parts_test.py ROOT [-DCMAKE_...]

Configures the library with one store only, each in turn, and looks at what would be built. That each part links without
the others is seen by install_test.py, whose pkg-config programs name one part each.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

OFF = ["-DSEMEL_TESTS=OFF", "-DSEMEL_GATEWAY=OFF", "-DSEMEL_GUARD=OFF"]
BUILDS = {"embedded": ["-DSEMEL_POSTGRES=OFF"], "postgres": ["-DSEMEL_EMBEDDED=OFF"]}
FOREIGN = {"embedded": "libpq", "postgres": "rocksdb"}


def main(root, *definitions):
    for part, without in BUILDS.items():
        with tempfile.TemporaryDirectory(prefix="semel-parts-") as name:
            done = subprocess.run(["cmake", "-S", root, "-B", name, "-G", "Ninja", *OFF, *without, *definitions],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"with {part} alone it does not configure:\n{done.stdout}")
            steps = (pathlib.Path(name) / "build.ninja").read_text(encoding="utf-8")
            archives = set(re.findall(r"^build (\S+\.a):", steps, re.M))
            if archives != {"libsemel.a", f"libsemel-{part}.a"}:
                sys.exit(f"with {part} alone there would be {sorted(archives)}")
            if FOREIGN[part] in done.stdout.lower() + steps.lower().replace("semel_postgres", ""):
                sys.exit(f"with {part} alone {FOREIGN[part]} is still asked for")


if __name__ == "__main__":
    main(*sys.argv[1:])
