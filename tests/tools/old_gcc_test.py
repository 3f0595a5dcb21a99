#!/usr/bin/env python3
"""A GCC that miscompiles coroutines is refused, by CMake and by the headers, and so is an older standard; each says why:
old_gcc_test.py SOURCE"""
import pathlib
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


def refused_by_headers(source, compiler, standard, words):
    """Whether the first error of a program that includes a header says so."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.cc"
        program.write_text("#include <semel/result.h>\n", encoding="utf-8")
        done = subprocess.run([compiler, f"-std={standard}", f"-I{source}/include", "-fsyntax-only", str(program)],
                              capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    if done.returncode != 0 and errors and words in errors[0]:
        return True
    print(f"expected a first error that says '{words}' from {compiler} -std={standard}, and got:\n{done.stderr[:2000]}")
    return False


def main(source):
    modern = shutil.which("clang++-19")
    if modern and not refused_by_headers(source, modern, "c++20", "compile with -std=c++23"):
        return 1
    compiler = old_gcc()
    if compiler is None:
        print("no g++ older than 13 here: nothing to refuse")
        return 0
    if not refused_by_headers(source, compiler, "c++23", "needs GCC 13 or newer"):
        return 1
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
