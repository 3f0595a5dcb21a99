#!/usr/bin/env python3
"""CMake refuses a GCC that miscompiles coroutines, and says why: old_gcc_test.py SOURCE"""
import re
import shutil
import subprocess
import sys
import tempfile


def old_gcc():
    for name in ("g++-12", "g++"):
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "-dumpfullversion"], capture_output=True, text=True, check=False).stdout
        if re.match(r"\d+\.", version) and int(version.split(".")[0]) < 13:
            return path
    return None


def main(source):
    compiler = old_gcc()
    if compiler is None:
        print("no g++ older than 13 here: nothing to refuse")
        return 0
    with tempfile.TemporaryDirectory() as build:
        done = subprocess.run(["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}"],
                              capture_output=True, text=True, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    for words in ("miscompiles coroutines", "clang-19", "docs/adr/0001-compiler.md"):
        if done.returncode == 0 or words not in said:
            print(f"expected a refusal that says '{words}'; exit status {done.returncode}, and:\n{done.stderr}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
