"""A small Debian in a folder, to install packages into. Needs root, debootstrap, and the machine's own Debian mirror."""
import contextlib
import os
import pathlib
import shutil
import subprocess

BASE_SUITE = "bookworm"


def said(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"failed ({done.returncode}): {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def why_not():
    """What is missing here; nothing if a system can be made."""
    if os.geteuid() != 0:
        return "needs root, for a chroot"
    if shutil.which("debootstrap") is None:
        return "needs debootstrap"
    return ""


def mirror():
    """Where this machine gets its packages."""
    sites = said("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").split()
    return next(site for site in sites if "security" not in site)


class Chroot:
    """A copy of the base system, which is made once and kept. Gone when it is closed."""

    def __init__(self, folder, name):
        base = pathlib.Path(folder) / "base"
        if not (base / "etc/debian_version").exists() or (base / "debootstrap").exists():
            shutil.rmtree(base, ignore_errors=True)
            base.parent.mkdir(parents=True, exist_ok=True)
            said("debootstrap", "--variant=minbase", BASE_SUITE, base, mirror())
        self.root = pathlib.Path(folder) / name
        self._remove()
        said("cp", "-a", "--reflink=auto", base, self.root)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        # No service is started in a chroot: what a package starts would run outside of it.
        hook = self.root / "usr/sbin/policy-rc.d"
        hook.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
        hook.chmod(0o755)
        for kind in ("proc", "dev"):
            (self.root / kind).mkdir(exist_ok=True)
        said("mount", "-t", "proc", "proc", self.root / "proc")
        said("mount", "--bind", "/dev", self.root / "dev")

    def run(self, *command, **options):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        return said("chroot", self.root, *command, env=environment, **options)

    def apt(self, *words):
        return self.run("apt-get", "-y", "-q", "--no-install-recommends", *words)

    def path(self, name):
        return self.root / name.lstrip("/")

    def _remove(self):
        for kind in ("proc", "dev"):
            if (self.root / kind).is_mount():
                said("umount", self.root / kind)
        if self.root.exists():
            with contextlib.suppress(FileNotFoundError):
                # Never across a mount: /dev of the machine was in there.
                said("rm", "-rf", "--one-file-system", self.root)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._remove()
