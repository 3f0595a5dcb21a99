"""Packages from npm for a test, in the build folder. What cannot be had skips the test (exit code 77) and says why."""
import fcntl
import filecmp
import pathlib
import shutil
import subprocess

import harness

SETTINGS = "omit-lockfile-registry-resolved=true\naudit=false\nfund=false\nupdate-notifier=false\n"


def install(source, build, folders=()):
    """A copy of `source`, which has a package-lock.json, under `build` with its packages in it. Of its folders these are copied.
    Programs that run at the same time may share a copy."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            harness.skip(f"{program} is not in PATH")
    folder = pathlib.Path(build) / source.name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return fill(source, folder, folders)


def copy(source, target):
    """Unless it is there already: another program may be reading it."""
    if not pathlib.Path(target).exists() or not filecmp.cmp(source, target, shallow=False):
        shutil.copy(source, target)


def fill(source, folder, folders):
    for name in folders:
        if (source / name).exists():
            shutil.copytree(source / name, folder / name, copy_function=copy, dirs_exist_ok=True)
    for file in source.iterdir():
        if file.is_file() and file.name != ".npmrc":
            copy(file, folder / file.name)
    (folder / ".npmrc").write_text(SETTINGS, encoding="utf-8")
    mark = folder / "installed"
    lock = (folder / "package-lock.json").read_text(encoding="utf-8")
    if mark.exists() and mark.read_text(encoding="utf-8") == lock:
        return folder
    try:
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=20000"],
                              cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        harness.skip("npm ci did not end within four minutes")
    if done.returncode != 0:
        codes = [line for line in done.stderr.splitlines() if " code " in line]
        harness.skip(f"npm ci could not get the packages: {' '.join(codes) or 'no reason given'}")
    mark.write_text(lock, encoding="utf-8")
    return folder


def run(case, source):
    """Runs the tests of the calling program, whose `case` finds its packages in `case.folder`: --binary, --build"""
    harness.run(build=lambda build: setattr(case, "folder", install(source, build)))
