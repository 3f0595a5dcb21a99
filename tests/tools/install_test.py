#!/usr/bin/env python3
"""What `cmake --install` lays down is enough for another project: install_test.py BUILD [-DCMAKE_...]

Installs BUILD under a temporary prefix, then configures, builds and runs tests/tools/consumer against nothing else.
"""
import pathlib
import subprocess
import sys
import tempfile

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"failed ({done.returncode}): {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def main(build, *definitions):
    with tempfile.TemporaryDirectory() as folder:
        prefix, out = pathlib.Path(folder) / "prefix", pathlib.Path(folder) / "build"
        run("cmake", "--install", build, "--prefix", prefix)
        run("cmake", "-S", CONSUMER, "-B", out, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *definitions)
        run("cmake", "--build", out)
        said = run(out / "consumer")
        if said != "granted 1, then held\n":
            sys.exit(f"the consumer said: {said}")


if __name__ == "__main__":
    main(*sys.argv[1:])
