#!/usr/bin/env python3
"""Parts can be left out: parts_test.py ROOT FOLDER [-DCMAKE_...]

Configures the library with one store only, each in turn, and looks at what would be built. Then builds all that needs no
RocksDB on a system that seems to have none: in FOLDER, which is kept so that the next build is short, each of its headers
is an #error that is found first. That each part links without the others is seen by install_test.py, whose pkg-config
programs name one part each.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

OFF = ["-DSEMEL_TESTS=OFF", "-DSEMEL_GATEWAY=OFF"]
BUILDS = {"embedded": ["-DSEMEL_GUARD=OFF", "-DSEMEL_POSTGRES=OFF"],
          "postgres": ["-DSEMEL_GUARD=OFF", "-DSEMEL_EMBEDDED=OFF"]}
FOREIGN = {"embedded": "libpq", "postgres": "rocksdb"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](rocksdb/[^>"]+)[>"]', re.M)


def run(complaint, *command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{complaint}:\n{done.stdout}")
    return done.stdout


def configure(root, folder, *definitions):
    return ["cmake", "-S", root, "-B", folder, "-G", "Ninja", *OFF, *definitions]


def check_alone(root, definitions):
    for part, without in BUILDS.items():
        with tempfile.TemporaryDirectory(prefix="semel-parts-") as name:
            said = run(f"with {part} alone it does not configure", *configure(root, name, *without, *definitions))
            steps = (pathlib.Path(name) / "build.ninja").read_text(encoding="utf-8")
            archives = set(re.findall(r"^build (\S+\.a):", steps, re.M))
            if archives != {"libsemel.a", f"libsemel-{part}.a"}:
                sys.exit(f"with {part} alone there would be {sorted(archives)}")
            if FOREIGN[part] in said.lower() + steps.lower().replace("semel_postgres", ""):
                sys.exit(f"with {part} alone {FOREIGN[part]} is still asked for")


def hide_rocksdb(root, folder):
    """Every header of RocksDB that a source of ours names, anywhere, as an #error. Whoever else needs one names it, too."""
    sources = [path for part in ("src", "include") for path in (root / part).rglob("*") if path.suffix in (".cc", ".h")]
    names = set().union(*(INCLUDE.findall(path.read_text(encoding="utf-8")) for path in sources))
    if not names:
        sys.exit("no source names a header of RocksDB: nothing would be hidden")
    wanted = {folder / name: f'#error "{name} is for src/store/embedded only"\n' for name in names}
    if {path for path in folder.rglob("*") if path.is_file()} != set(wanted):
        shutil.rmtree(folder.parent, ignore_errors=True)  # what was compiled then may have seen a header that is hidden now
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(text, encoding="utf-8")


def check_without_rocksdb(root, folder, definitions):
    hidden = folder / "hidden"
    hide_rocksdb(root, hidden)
    flags = ["-DSEMEL_EMBEDDED=OFF", *definitions, f"-DCMAKE_CXX_FLAGS=-I{hidden}", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
    run("without RocksDB it does not configure", *configure(root, folder / "build", *flags))
    said = run("without the headers of RocksDB it does not build", "cmake", "--build", folder / "build", "-j", "2",
               "--target", "semel", "semel_postgres", "semel_guard")
    archives = {path.name for path in (folder / "build").glob("*.a")}
    if archives != {"libsemel.a", "libsemel-postgres.a", "libsemel-guard.a"}:
        sys.exit(f"without RocksDB there are {sorted(archives)}:\n{said}")


def main(root, folder, *definitions):
    check_alone(root, definitions)
    check_without_rocksdb(pathlib.Path(root), pathlib.Path(folder), definitions)


if __name__ == "__main__":
    main(*sys.argv[1:])
