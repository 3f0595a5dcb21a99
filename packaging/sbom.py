#!/usr/bin/env python3
"""What is inside of a binary, as CycloneDX 1.5 in JSON: sbom.py PACKAGES_TXT SEMEL VERSION

Required are the Debian packages of the shared libraries that the binary loads, and those whose headers are compiled into it
(the section "libraries" of packages.txt). The other packages of that file build and test it, and are marked as excluded.
Versions are those installed here, by dpkg. Required are also the files of others that the dashboard is made with, as
web/vendor/vendor.json beside PACKAGES_TXT names them.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid
from datetime import datetime, timezone

FIELDS = "${binary:Package}\t${Version}\t${Architecture}\t${source:Package}\t${binary:Summary}\t${Homepage}\n"


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def listed(path):
    """The names of packages.txt, by the section that they stand in."""
    sections, current = {}, None
    for line in path.read_text(encoding="utf-8").splitlines():
        heading = re.fullmatch(r"# ([a-z ]+)", line) or re.match(r"\[([a-z]+)\]", line)
        if heading:
            current = sections.setdefault(heading[1], [])
        elif line.split("#")[0].strip() and current is not None:
            current.append(line.split("#")[0].strip())
    return sections


def owner(library):
    """The package of a file; it may be known under /lib or /usr/lib."""
    for path in (library, os.path.realpath(library), "/usr" + library):
        found = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(": ")[0].split(",")[0]
    raise SystemExit(f"no package owns {library}")


def loaded(binary):
    return sorted({owner(path) for path in re.findall(r"=> (/\S+)|^\s*(/\S+) \(", said("ldd", binary), re.M)
                   for path in path if path})


def component(row, scope):
    name, version, architecture, source, summary, homepage = row
    name = name.split(":")[0]
    made = {"type": "library" if scope == "required" else "application", "name": name, "version": version, "scope": scope,
            "description": summary, "properties": [{"name": "debian:source", "value": source}]}
    made["purl"] = "pkg:deb/debian/{}@{}?arch={}&distro=debian-12".format(
        urllib.parse.quote(name), urllib.parse.quote(version), architecture)
    made["bom-ref"] = made["purl"]
    if homepage:
        made["externalReferences"] = [{"type": "website", "url": homepage}]
    return made


def vendored(root):
    """The packages whose files are compiled in with the dashboard."""
    for package in json.loads((root / "web" / "vendor" / "vendor.json").read_text(encoding="utf-8")):
        purl = f"pkg:npm/{package['package']}@{package['version']}"
        yield {"type": "library", "name": package["package"], "version": package["version"], "scope": "required",
               "licenses": [{"license": {"id": package["licence"]}}], "purl": purl, "bom-ref": purl}


def described(names):
    """What dpkg knows of those that are installed."""
    rows = subprocess.run(["dpkg-query", "-W", "-f", FIELDS, *names], capture_output=True, text=True, check=False).stdout
    return [line.split("\t") for line in rows.splitlines()]


def main(packages, binary, version):
    sections = listed(pathlib.Path(packages))
    needed = [*loaded(binary), *sections["libraries"]]
    others = [name for section, names in sections.items() if section != "libraries" for name in names]
    required = {part["bom-ref"]: part for part in (component(row, "required") for row in described(needed))}
    required |= {part["bom-ref"]: part for part in vendored(pathlib.Path(packages).resolve().parent)}
    excluded = {part["bom-ref"]: part for part in (component(row, "excluded") for row in described(others))}
    digest = hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    program = {"type": "application", "bom-ref": f"semel@{version}", "name": "semel", "version": version,
               "licenses": [{"license": {"id": "Apache-2.0"}}], "hashes": [{"alg": "SHA-256", "content": digest}]}
    print(json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest + version)}",
        "metadata": {"timestamp": time.isoformat().replace("+00:00", "Z"), "component": program},
        "components": [*required.values(), *(part for ref, part in excluded.items() if ref not in required)],
        "dependencies": [{"ref": program["bom-ref"], "dependsOn": sorted(required)}]}, indent=2))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
