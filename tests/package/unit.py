#!/usr/bin/env python3
"""The unit under a real systemd: unit.py PACKAGES FOLDER

Boots a small Debian with the package in it (systemd-nspawn, on the network of this machine), with the service enabled and configured.
It starts, serves, reloads, restarts with its keys, and stops; nothing that its sandbox takes away is missed. systemd-analyze has
nothing against the unit. FOLDER keeps the base system. Skipped (77) without root, debootstrap or systemd-nspawn (Debian:
systemd-container); needs the Debian mirror.
"""
import pathlib
import re
import shutil
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import chroot  # noqa: E402
import harness  # noqa: E402
import programs  # noqa: E402
import wire  # noqa: E402
from story import CONFIG, Effects, configure, expect  # noqa: E402

UNIT = "/lib/systemd/system/semel.service"
EXPOSURE_MAX = 1.5  # docs/security.md

# Does what is asked for in files: there is no other way in. The last wish is to be switched off.
SERVANT = """#!/bin/bash
for wish in reload restart show stop; do
  until [ -e /wish-$wish ]; do sleep 0.1; done
  systemctl $wish semel >/said-$wish 2>&1
  echo $? >/did-$wish
done
journalctl -u semel -o cat >/said-journal 2>&1
systemctl poweroff
"""
SERVANT_UNIT = """[Service]
ExecStart=/usr/bin/servant
[Install]
WantedBy=multi-user.target
"""


class Machine(programs.Program):
    """Ready when the gateway in it is."""

    def __init__(self, system, address):
        super().__init__("systemd-nspawn", "--quiet", "--directory", system.root, "--boot", "--register=no", "--keep-unit",
                         "--console=pipe")
        self.system = system
        self.address = address

    def is_ready(self):
        return programs.answers(self.address, "/v1/ping")

    def wish(self, what, seconds=60):
        """What systemctl said, and how it ended."""
        self.system.path(f"/wish-{what}").touch()
        deadline = time.monotonic() + seconds
        while not self.system.path(f"/did-{what}").exists() or not self.system.path(f"/did-{what}").read_text():
            if time.monotonic() > deadline:
                raise SystemExit(f"systemctl {what} does not end")
            time.sleep(0.1)
        return int(self.system.path(f"/did-{what}").read_text()), self.system.path(f"/said-{what}").read_text()


def prepare(system, package, effects):
    chroot.said("cp", package, system.path("/tmp/semel.deb"))
    system.apt("update")
    system.apt("install", "systemd", "systemd-sysv", "dbus", "/tmp/semel.deb")
    expect(system.run("systemd-analyze", "verify", UNIT, UNIT.replace(".service", ".socket")) == "",
           "systemd-analyze verify has nothing to say")
    rated = system.run("sh", "-c", f"systemd-analyze security --offline=true {UNIT} || true")
    exposure = float(re.search(r"exposure level for semel.service: ([0-9.]+)", rated)[1])
    expect(exposure <= EXPOSURE_MAX, f"its exposure is {exposure}")
    system.path("/usr/bin/servant").write_text(SERVANT, encoding="utf-8")
    system.path("/usr/bin/servant").chmod(0o755)
    system.path("/etc/systemd/system/servant.service").write_text(SERVANT_UNIT, encoding="utf-8")
    expect("semel.service" not in system.run("sh", "-c", "ls /etc/systemd/system/multi-user.target.wants"),
           "the package enables nothing")
    system.run("systemctl", "enable", "semel", "servant")
    return configure(system, effects)[0]


def check_life(machine, effects):
    def pay():
        return wire.ask(machine.address, "POST", "/v1/payments", harness.keyed("order-1"), b"{}")

    first = pay()
    expect((first.status, effects.count) == (201, 1), "the service runs, and guards")
    expect(machine.wish("reload")[0] == 0, "it reloads")
    expect(pay().get("Idempotent-Replayed") == "true", "a retry is a replay")
    expect(machine.wish("restart")[0] == 0, "it restarts")
    deadline = time.monotonic() + 30
    while not machine.is_ready() and time.monotonic() < deadline:
        time.sleep(0.1)
    again = pay()
    expect(again.get("Idempotent-Replayed") == "true" and again.body == first.body and effects.count == 1,
           "its keys outlive the restart")
    _, shown = machine.wish("show")
    expect("ActiveState=active" in shown and "NRestarts=0" in shown and "\nUser=semel\n" in shown, "as systemd sees it, too")
    expect(machine.wish("stop")[0] == 0, "it stops")
    machine.wait(60)
    journal = machine.system.path("/said-journal").read_text(encoding="utf-8")
    expect("reloaded" in journal, "the journal tells of the reload")
    expect(not re.search(r"Operation not permitted|Permission denied|SIGSYS", journal), "and of nothing that it was denied")


def main(packages, folder):
    package = next(pathlib.Path(packages).resolve().glob("semel_*.deb"))
    effects = Effects()
    with chroot.Chroot(pathlib.Path(folder).resolve(), "unit") as system:
        address = prepare(system, package, effects)
        chroot.said("umount", system.root / "proc", system.root / "dev")  # the machine has its own
        machine = Machine(system, address)
        try:
            machine.start(seconds=120)
            check_life(machine, effects)
        finally:
            machine.stop()
    print(f"the unit holds; {CONFIG} was its configuration")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if chroot.why_not() or shutil.which("systemd-nspawn") is None:
        harness.skip(chroot.why_not() or "needs systemd-nspawn")
    main(*sys.argv[1:])
