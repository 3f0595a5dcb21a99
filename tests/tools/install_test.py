#!/usr/bin/env python3
"""What `cmake --install` lays down is enough for another project: install_test.py BUILD [-DCMAKE_...]

Installs BUILD under a temporary prefix, then, against nothing else: builds and runs tests/tools/consumer by find_package
and by pkg-config, asks for components that are there and for one that is not, compiles every public header alone, looks
at what each drags in and what the first of them costs, looks for what belongs to the gateway, for symbols of ours in a shared library that links the
static one, and for macros of Asio's: the package defines none, and was not compiled with one that its user has not.
"""
import concurrent.futures
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import old_gcc_test

CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
SAID = {"consumer": "granted 1, then held\n", "with_embedded": "embedded is linked\n",
        "with_postgres": "postgres is linked\n", "with_guard": "guard is linked\n"}
PARTS = {"consumer": "semel", "with_embedded": "semel-embedded", "with_postgres": "semel-postgres",
         "with_guard": "semel-guard"}

COMPILE_SECONDS_MAX = 2.0
# What a header drags in only if it is the adapter for it.
HEAVY = {"rocksdb/": (), "libpq-fe.h": ("pqxx_transaction.h",), "pqxx": ("pqxx_transaction.h",),
         "boost/beast/": ("beast.h",), "httplib.h": ("httplib.h",), "boost/json": (), "fmt/": (), "openssl/": (
             "httplib.h",)}


def attempt(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)


def run(*command, **options):
    done = attempt(*command, **options)
    if done.returncode != 0:
        sys.exit(f"failed ({done.returncode}): {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def expect(program, said):
    if said != SAID[program]:
        sys.exit(f"{program} said: {said}")


def check_find_package(prefix, folder, definitions):
    out = folder / "found"
    configure = ["cmake", "-S", CONSUMER, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *definitions]
    run(*configure, "-B", out)
    run("cmake", "--build", out)
    for program in SAID:
        if (out / program).exists():
            expect(program, run(out / program))
    only = folder / "only"
    run(*configure, "-B", only, "-DPARTS=guard")
    targets = (only / "build.ninja").read_text(encoding="utf-8")
    if "with_guard.cc" not in targets or "with_embedded.cc" in targets:
        sys.exit("COMPONENTS guard gave other components than that one")
    none = attempt(*configure, "-B", folder / "none", "-DPARTS=redis")
    if none.returncode == 0 or "redis" not in none.stdout:
        sys.exit(f"a component that does not exist was found:\n{none.stdout}")
    old = old_gcc_test.old_gcc()
    if old:
        refused = attempt(*configure[:6], "-B", folder / "old", f"-DCMAKE_CXX_COMPILER={old}")  # our flags are clang's
        if refused.returncode == 0 or "needs GCC 13 or newer" not in " ".join(refused.stdout.split()):
            sys.exit(f"an old GCC was not refused:\n{refused.stdout}")
    return out


def check_pkg_config(prefix, folder, compiler, flags):
    found = [path.parent for path in prefix.rglob("semel.pc")]
    environment = {**os.environ, "PKG_CONFIG_PATH": str(found[0])}
    for program, package in PARTS.items():
        if not (found[0] / f"{package}.pc").exists():
            continue
        said = run("pkg-config", "--cflags", "--libs", package, env=environment).split()
        output = folder / f"pc_{program}"
        source = CONSUMER / ("main.cc" if program == "consumer" else f"{program}.cc")
        run(*compiler, *flags, source, *said, "-o", output)
        expect(program, run(output))


def check_header(header, include, folder, compiler, flags):
    """Compiles it alone, and gives what it drags in that it should not."""
    source = folder / f"alone_{header.stem}.cc"
    source.write_text(f"#include <semel/{header.name}>\n#include <semel/{header.name}>\n", encoding="utf-8")
    listed = attempt(*compiler, "-std=c++23", *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-MD", "-MF",
                     folder / f"{header.stem}.d", f"-I{include}", source)
    if listed.returncode != 0:
        return [f"semel/{header.name} does not compile alone:\n{listed.stdout}"]
    needed = (folder / f"{header.stem}.d").read_text(encoding="utf-8")
    return [f"semel/{header.name} drags in {what}" for what, spared in HEAVY.items()
            if "/" + what in needed.replace("include/semel/httplib.h", "") and header.name not in spared]


def check_headers(prefix, folder, compiler, flags):
    include = prefix / "include"
    if sorted(path.name for path in include.iterdir()) != ["semel"]:
        sys.exit(f"more than include/semel was installed: {list(include.iterdir())}")
    headers = sorted((include / "semel").glob("*.h"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        trouble = sum(pool.map(lambda header: check_header(header, include, folder, compiler, flags), headers), [])
    if trouble or len(headers) < 15:
        sys.exit("\n".join(trouble) or "where are the headers?")


def check_compile_time(prefix, folder, compiler, flags):
    """semel/once.h alone costs little beyond Asio itself, in CPU time, so that the neighbours do not matter."""
    def seconds(includes):
        source = folder / "cost.cc"
        source.write_text("".join(f"#include <{name}>\n" for name in includes), encoding="utf-8")
        times = []
        for _ in range(2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            run(compiler, "-std=c++23", *flags, f"-I{prefix / 'include'}", "-c", source, "-o", os.devnull)
            times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        return min(times)

    asio = seconds(["boost/asio/awaitable.hpp", "boost/asio/io_context.hpp"])
    once = seconds(["semel/once.h"])
    print(f"semel/once.h alone: {once:.2f} s, Asio alone: {asio:.2f} s")
    if once - asio > COMPILE_SECONDS_MAX:
        sys.exit(f"semel/once.h takes {once - asio:.2f} s beyond Asio; {COMPILE_SECONDS_MAX} s is the promise")


def check_symbols(library):
    ours = [line for line in run("nm", "-DC", "--defined-only", library).splitlines() if " semel::" in line]
    # Inline functions and templates of our headers are compiled by the plugin itself, as visible as it says.
    strong = [line for line in ours if line.split()[1] in "TBDR"]
    if strong:
        sys.exit("the plugin hands on symbols of ours:\n" + "\n".join(strong[:20]))
    if "plugin_statuses" not in run("nm", "-D", "--defined-only", library):
        sys.exit("the plugin lost its own symbol")


def check_asio_macros(prefix):
    """Asio is headers only: a macro that changes its code must be the same in the whole program, which is not ours."""
    for path in prefix.rglob("*"):
        text = path.read_text(encoding="utf-8") if path.suffix in (".h", ".cmake", ".pc") else ""
        if "BOOST_ASIO_" in text:
            sys.exit(f"{path.relative_to(prefix)} names a macro of Asio's")
    # Where Asio allocates frames as it does by default, it calls this.
    library = next(prefix.rglob("libsemel.a"))
    if "thread_info_base::awaitable_frame_tag" not in run("nm", "-C", library):
        sys.exit("libsemel.a was compiled with another allocation of coroutine frames than its user's code has")


def check_gateway(prefix):
    """Beside the binary stand its manual, its completions, and what operators need: the files of the Debian package."""
    beside = ["share/man/man1/semel.1", "share/man/man5/semel.toml.5", "share/bash-completion/completions/semel",
              "share/zsh/vendor-completions/_semel", "share/fish/vendor_completions.d/semel.fish",
              "share/semel/providers/stripe.toml", "share/semel/monitoring/semel.rules.yml",
              "share/semel/monitoring/semel.json", "share/doc/semel/operating.md", "etc/semel/semel.toml",
              "lib/systemd/system/semel.service", "lib/systemd/system/semel.socket", "lib/sysusers.d/semel.conf"]
    missing = [name for name in beside if not (prefix / name).is_file()]
    if (prefix / "bin/semel").exists() and missing:
        sys.exit(f"not installed: {missing}")


def main(build, *definitions):
    values = dict(definition[2:].split("=", 1) for definition in definitions)
    launcher = [values["CMAKE_CXX_COMPILER_LAUNCHER"]] if values.get("CMAKE_CXX_COMPILER_LAUNCHER") else []
    compiler = [*launcher, values.get("CMAKE_CXX_COMPILER", "c++")]
    flags = [*values.get("CMAKE_CXX_FLAGS", "").split(), "-Wno-unused-command-line-argument",
             *values.get("CMAKE_EXE_LINKER_FLAGS", "").split()]
    with tempfile.TemporaryDirectory(prefix="semel-install-") as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        run("cmake", "--install", build, "--prefix", prefix)
        check_gateway(prefix)
        check_asio_macros(prefix)
        check_headers(prefix, folder, compiler, flags)
        check_compile_time(prefix, folder, compiler[-1], flags)
        out = check_find_package(prefix, folder, definitions)
        check_symbols(out / "libplugin.so")
        check_pkg_config(prefix, folder, compiler, flags)
        # It must not matter where the prefix is.
        moved = folder / "moved"
        shutil.move(prefix, moved)
        check_pkg_config(moved, folder, compiler, flags)


if __name__ == "__main__":
    main(*sys.argv[1:])
