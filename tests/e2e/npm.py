"""Packages from npm for a test, in the build folder. What cannot be had skips the test (exit code 77) and says why."""
import pathlib
import shutil
import subprocess

import harness

SETTINGS = "omit-lockfile-registry-resolved=true\naudit=false\nfund=false\nupdate-notifier=false\n"


def install(source, build):
    """A copy of `source`, which has a package-lock.json, under `build` with its packages in it."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            harness.skip(f"{program} is not in PATH")
    folder = pathlib.Path(build) / source.name
    folder.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.is_file():
            shutil.copy(file, folder / file.name)
    (folder / ".npmrc").write_text(SETTINGS, encoding="utf-8")
    mark = folder / "installed"
    lock = (folder / "package-lock.json").read_text(encoding="utf-8")
    if mark.exists() and mark.read_text(encoding="utf-8") == lock:
        return folder
    try:
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=20000"],
                              cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        harness.skip("npm ci did not end within two minutes")
    if done.returncode != 0:
        codes = [line for line in done.stderr.splitlines() if " code " in line]
        harness.skip(f"npm ci could not get the packages: {' '.join(codes) or 'no reason given'}")
    mark.write_text(lock, encoding="utf-8")
    return folder


def run(case, source):
    """Runs the tests of the calling program, whose `case` finds its packages in `case.folder`: --binary, --build"""
    harness.run(build=lambda build: setattr(case, "folder", install(source, build)))
