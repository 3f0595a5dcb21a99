#!/usr/bin/env python3
"""The life of the Debian package, in a chroot: story.py PACKAGES FOLDER

PACKAGES is what packaging/make has filled; FOLDER keeps the base system. An older version is installed, configured and used; it
is upgraded with keys in its store, and a retry is still a retry; it is removed and installed again, and the keys are
there; it is purged, and nothing of it is left. Skipped (77) without root or debootstrap; needs the Debian mirror.
"""
import pathlib
import stat
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import chroot  # noqa: E402
import harness  # noqa: E402
import programs  # noqa: E402
import server  # noqa: E402
import wire  # noqa: E402

OLDER = "0.0.9-1"
CONFIG = "/etc/semel/semel.toml"
SHIPPED = ["/usr/bin/semel", CONFIG, "/lib/systemd/system/semel.service", "/lib/systemd/system/semel.socket", "/usr/lib/sysusers.d/semel.conf",
           "/usr/share/semel/providers/stripe.toml", "/usr/share/bash-completion/completions/semel"]


def expect(held, what):
    if not held:
        raise SystemExit(f"FAILED: {what}")
    print(f"ok: {what}", flush=True)


def older(package, folder):
    """The same package under a version that came before."""
    tree = folder / "older"
    chroot.said("rm", "-rf", tree)
    chroot.said("dpkg-deb", "--raw-extract", package, tree)
    control = tree / "DEBIAN/control"
    lines = control.read_text(encoding="utf-8").splitlines()
    control.write_text("".join((f"Version: {OLDER}" if line.startswith("Version:") else line) + "\n" for line in lines),
                       encoding="utf-8")
    chroot.said("dpkg-deb", "--root-owner-group", "--build", tree, folder / "older.deb")
    chroot.said("rm", "-rf", tree)
    return folder / "older.deb"


class Effects:
    """A service that is not idempotent: every arrival counts."""

    def __init__(self):
        self.count = 0
        self.server = server.Server(server.replies(self.answer))
        self.address = self.server.address

    def answer(self, request):
        if request.method == "POST":
            self.count += 1
        return server.Reply(201, [], f"effect {self.count}".encode())


class Service(programs.Program):
    """The gateway as the unit starts it: its user, its folder, its command."""

    def __init__(self, system, address):
        unit = system.path("/lib/systemd/system/semel.service").read_text(encoding="utf-8")
        command = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).removeprefix("ExecStart=")
        expect("User=semel" in unit and "WorkingDirectory=/var/lib/semel" in unit, "the unit names user and folder")
        system.run("install", "-d", "-m", "0700", "-o", "semel", "-g", "semel", "/var/lib/semel")  # StateDirectory=
        super().__init__("chroot", system.root, "setpriv", "--reuid", "semel", "--regid", "semel", "--init-groups",
                         "--no-new-privs", "env", "--chdir=/var/lib/semel", *command.split())
        self.address = address

    def pay(self):
        return wire.ask(self.address, "POST", "/v1/payments", harness.keyed("order-1"), b'{"amount": 1}')


def configure(system, effects):
    listen, admin = programs.free_address(), programs.free_address()
    text = system.path(CONFIG).read_text(encoding="utf-8")
    for before, after in (("127.0.0.1:8080", listen), ("127.0.0.1:9080", admin), ("127.0.0.1:3000", effects.address)):
        text = text.replace(before, "%s:%d" % after)
    system.path(CONFIG).write_text(text, encoding="utf-8")
    return listen, text


def check_installed(system, version):
    expect(version in system.run("dpkg-query", "-W", "semel"), f"version {version} is installed")
    expect("semel 0." in system.run("semel", "version"), "the binary runs, and its libraries are there")
    expect(all(system.path(name).exists() for name in SHIPPED), "every file is in its place")
    expect("fine" in system.run("semel", "check", CONFIG), "the configuration as shipped is accepted")
    expect(CONFIG in system.run("dpkg-query", "-W", "-f", "${Conffiles}", "semel"), "it is a conffile")
    expect(":/var/lib/semel:" in system.run("getent", "passwd", "semel"), "the user semel is there")


def check_upgrade(system, effects, packages):
    address, text = configure(system, effects)
    with Service(system, address) as service:
        first = service.pay()
        expect((first.status, effects.count) == (201, 1), "a request runs")
        service.stop()
    system.apt("install", f"/tmp/{packages['new'].name}")
    expect(system.path(CONFIG).read_text(encoding="utf-8") == text, "the edited configuration survives the upgrade")
    check_replay(system, address, effects, first, "after the upgrade")
    system.apt("remove", "semel")
    expect(not system.path("/usr/bin/semel").exists() and system.path("/var/lib/semel").exists(),
           "a removal leaves the keys")
    system.apt("install", f"/tmp/{packages['new'].name}")
    check_replay(system, address, effects, first, "after removal and a new installation")


def check_replay(system, address, effects, first, when):
    with Service(system, address) as service:
        again = service.pay()
        expect(again.get("Idempotent-Replayed") == "true" and again.body == first.body and effects.count == 1,
               f"a retry is a replay, {when}")
        expect(stat.S_IMODE(system.path("/var/lib/semel").stat().st_mode) == 0o700, "only its user can read the keys")
        expect(service.stop() == 0, "it ends in good order")


def check_purge(system):
    before = system.path("/var/lib/dpkg/info")
    system.apt("purge", "semel")
    left = [name for name in ("/etc/semel", "/var/lib/semel", *SHIPPED) if system.path(name).exists()]
    expect(left == [], "a purge leaves no file")
    expect(not list(before.glob("semel.*")), "and dpkg knows nothing of it")


def main(packages, folder):
    packages, folder = pathlib.Path(packages).resolve(), pathlib.Path(folder).resolve()
    new = next(packages.glob("semel_*.deb"))
    with chroot.Chroot(folder, "story") as system:
        debs = {"old": older(new, folder), "new": new}
        for deb in debs.values():
            chroot.said("cp", deb, system.path("/tmp"))
        system.apt("update")
        system.apt("install", "/tmp/older.deb")
        check_installed(system, OLDER)
        check_upgrade(system, Effects(), debs)
        check_purge(system)
    print("the story of the package holds")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if chroot.why_not():
        harness.skip(chroot.why_not())
    main(*sys.argv[1:])
