#!/usr/bin/env python3
"""The container image without a daemon: image.py PACKAGES FOLDER

Reads the Containerfile of PACKAGES/container, holds it to a few rules, plays its steps in a chroot, and starts what it starts:
as its user, on a root that cannot be written, with a volume for the keys. The health check must say yes while the gateway runs and
no when it does not. FOLDER keeps the base system. Skipped (77) without root or debootstrap; needs the Debian mirror.
"""
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import chroot  # noqa: E402
import harness  # noqa: E402
import programs  # noqa: E402
import wire  # noqa: E402
from story import CONFIG, Effects, configure, expect  # noqa: E402

SIZE_MAX_MB = 200

# A mount namespace of its own: the root is read-only, the volume is not.
AS_CONTAINER = """
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
mount --bind "$2" "$1/var/lib/semel"
root=$1; user=$3; shift 3
exec chroot "$root" setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --no-new-privs --bounding-set=-all \
  --inh-caps=-all env -i --chdir=/var/lib/semel PATH=/usr/bin:/bin "$@"
"""


def steps(text):
    """Pairs of (instruction, words), with continued lines joined."""
    joined = re.sub(r"(?m)^\s*#.*\n", "", text).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]


def check_rules(made):
    last = dict(made)
    expect(re.fullmatch(r"[1-9]\d*:[1-9]\d*", last["USER"]), "the user is a number, and not root's")
    expect(" CMD " in last["HEALTHCHECK"] and "--timeout" in last["HEALTHCHECK"], "there is a health check with a time limit")
    expect(isinstance(json.loads(last["ENTRYPOINT"]), list) and isinstance(json.loads(last["CMD"]), list),
           "it is started without a shell, so that signals reach it")
    expect(not re.search(r":latest\b", last["ARG"]), "the base is a version, not the latest")
    expect(last["VOLUME"] == "/var/lib/semel", "the keys are in a volume")
    for what, words in made:
        expect(what != "ADD" and "curl" not in words and "sudo" not in words, f"{what} gets nothing from elsewhere")


def play(made, system, context):
    """What a builder does: files are copied, commands are run."""
    for what, words in made:
        if what == "COPY":
            source, target = [word for word in words.split() if not word.startswith("--")]
            shutil.copy(context / source, system.path(target))
            mode = re.search(r"--chmod=(\d+)", words)
            system.path(target).chmod(int(mode[1], 8) if mode else 0o644)
        elif what == "RUN":
            system.run("sh", "-ec", words)


class Container(programs.Program):
    def __init__(self, system, volume, made, *words):
        super().__init__("unshare", "--mount", "sh", "-ec", AS_CONTAINER, "sh", system.root, volume, dict(made)["USER"],
                         *words)


def check_start(system, made, volume):
    effects = Effects()
    address, _ = configure(system, effects)
    admin = re.search(r'(?m)^listen = "127\.0\.0\.1:(\d+)"\n(?:.*\n)*?\[store\]',
                      system.path(CONFIG).read_text(encoding="utf-8").partition("[admin]")[2])[1]
    health = ["semel-health", admin]
    words = [*json.loads(dict(made)["ENTRYPOINT"]), *json.loads(dict(made)["CMD"])]
    unwell = Container(system, volume, made, *health).spawn()
    expect(unwell.wait() == 1, "the health check says no before the start")
    for first in (True, False):
        with Container(system, volume, made, *words) as container:
            reply = wire.ask(address, "POST", "/v1/payments", harness.keyed("order-1"), b"{}")
            expect(reply.status == 201 and effects.count == 1, "a request runs" if first else "its retry in the next one does not")
            expect((reply.get("Idempotent-Replayed") == "true") != first, "and says so")
            expect(Container(system, volume, made, *health).spawn().wait() == 0, "the health check says yes")
            status = pathlib.Path(f"/proc/{container.process.pid}/status").read_text(encoding="utf-8")
            expect(re.search(r"(?m)^Uid:\s+900\s+900", status) and re.search(r"(?m)^CapBnd:\s+0+$", status),
                   "it runs as its user, without any right")
            expect(container.stop() == 0, "SIGTERM ends it in good order")
    touched = Container(system, volume, made, "touch", "/etc/semel/x").spawn()
    expect(touched.wait() != 0 and not system.path("/etc/semel/x").exists(), "its root cannot be written")


def main(packages, folder):
    context, folder = pathlib.Path(packages).resolve() / "container", pathlib.Path(folder).resolve()
    made = steps((context / "Containerfile").read_text(encoding="utf-8"))
    check_rules(made)
    with chroot.Chroot(folder, "image") as system, tempfile.TemporaryDirectory(prefix="semel-volume-") as volume:
        play(made, system, context)
        size = int(chroot.said("du", "-sxm", system.root).split()[0])
        expect(size < SIZE_MAX_MB, f"the image is small: {size} MB with its base")
        os.chown(volume, 900, 900)
        check_start(system, made, volume)
    print("the image holds")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if chroot.why_not():
        harness.skip(chroot.why_not())
    main(*sys.argv[1:])
