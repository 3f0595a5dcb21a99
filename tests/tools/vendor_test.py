#!/usr/bin/env python3
"""The dashboard's few files of others are the published ones: vendor_test.py ROOT

web/vendor/vendor.json says for each file which package, version and path it is, and its SHA-256. The hashes are always compared.
If npm can fetch the packages, so are the bytes, with those of the tarballs. If it cannot, the program says so and that part is left
out (exit code 77); a difference is a failure either way.
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

SKIPPED = 77
SECONDS_MAX = 120


def tarball(package, version, folder):
    """The file of the package, or why it cannot be had."""
    if shutil.which("npm") is None:
        return None, "npm is not in PATH"
    command = ["npm", "pack", f"{package}@{version}", "--ignore-scripts", "--json", "--fetch-retries=1", "--fetch-timeout=20000"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return None, f"npm pack did not end within {SECONDS_MAX} s"
    if done.returncode != 0:
        return None, "npm pack could not get the package"
    return next(pathlib.Path(folder).glob(f"{package}-{version}.tgz")), ""


def main(root):
    vendor = pathlib.Path(root) / "web" / "vendor"
    packages = json.loads((vendor / "vendor.json").read_text(encoding="utf-8"))
    wrong, missing, compared = [], "", 0
    listed = {each["file"] for package in packages for each in package["files"]} | {"vendor.json", "README.md"}
    there = {file.relative_to(vendor).as_posix() for file in vendor.rglob("*") if file.is_file()}
    wrong += [f"{file} is not listed in vendor.json" for file in sorted(there - listed)]
    wrong += [f"{file} is listed and not there" for file in sorted(listed - there)]
    for package in packages:
        if not any(each["from"] == "LICENSE" for each in package["files"]):
            wrong.append(f"{package['package']} has no licence beside it")
        for each in package["files"]:
            if hashlib.sha256((vendor / each["file"]).read_bytes()).hexdigest() != each["sha256"]:
                wrong.append(f"{each['file']} has another SHA-256 than vendor.json says")
        with tempfile.TemporaryDirectory() as folder:
            file, why = tarball(package["package"], package["version"], folder)
            missing = missing or why
            if file is None:
                continue
            with tarfile.open(file) as archive:
                for each in package["files"]:
                    published = archive.extractfile(f"package/{each['from']}").read()
                    compared += 1
                    if published != (vendor / each["file"]).read_bytes():
                        wrong.append(f"{each['file']} differs from {package['package']} {package['version']}")
    print(f"{compared} of {sum(len(package['files']) for package in packages)} files compared with the published ones")
    for line in wrong:
        print(line)
    if wrong:
        return 1
    if missing:
        print(f"skipped in part: {missing}")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
