"""A PostgreSQL server for one test program: its own folder, a socket in it, no port; ends with the program."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")


def unprivileged(*command):
    """The server refuses to run as root; and whatever becomes of us, it shall not be left behind."""
    prefix = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        prefix += ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    return [*prefix, *map(str, command)]


class Server:
    def __init__(self, binary, settings=""):
        self.binary = binary
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-e2e-pg-"))
        self.data = self.folder / "data"
        self.process = None
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        subprocess.run(unprivileged(PROGRAMS / "initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8",
                                    "--locale=C", "--no-sync"),
                       check=True, capture_output=True)
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as config:
            config.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n"
                         f"shared_buffers = 64MB\nmax_connections = 50\n{settings}\n")
        self.url = f"postgres:///postgres?host={self.folder}&user=postgres"
        self.start()
        subprocess.run([binary, "migrate", "--url", self.url], check=True, capture_output=True)

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(unprivileged(PROGRAMS / "postgres", "-D", self.data), stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while subprocess.run([PROGRAMS / "pg_isready", "-q", "-h", self.folder], check=False).returncode != 0:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f"PostgreSQL does not start; see {self.folder / 'log'}")
            time.sleep(0.02)

    def crash(self):
        """As `pg_ctl stop -m immediate`."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def run(self, sql):
        return subprocess.run(["psql", self.url, "-qAtc", sql], check=True, capture_output=True, text=True).stdout.strip()

    def close(self):
        if self.process.poll() is None:
            self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)
