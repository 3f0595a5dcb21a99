"""A PostgreSQL server in a folder of its own: a socket in it, no port; ends with the program that started it."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import programs

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")


def unprivileged(*command):
    """The server refuses to run as root; and whatever becomes of us, it shall not be left behind."""
    prefix = ["setpriv", "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        prefix += ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    return [*prefix, *map(str, command)]


def give(folder):
    """Makes a folder the server's own."""
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


def own_folder(under=None):
    """A new one that belongs to the server."""
    return give(pathlib.Path(tempfile.mkdtemp(prefix="semel-pg-", dir=under)))


def initdb(data, *options):
    subprocess.run(unprivileged(PROGRAMS / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C",
                                *options), check=True, capture_output=True)


def copy(data, *where):
    """Makes the data folder of a standby from a server; `where` is how it is reached, now and later."""
    subprocess.run(unprivileged(PROGRAMS / "pg_basebackup", *where, "-U", "postgres", "-D", data, "-R", "-X", "stream",
                                "-c", "fast"), check=True, capture_output=True)


class Postgres(programs.Program):
    """The server of a data folder. `sockets` is where it is reached; the path of a socket must be short. `binary` is the
    semel that knows the schema."""

    def __init__(self, folder, sockets=None, binary=None):
        self.data = folder / "data"
        self.sockets = sockets or folder
        self.binary = binary
        super().__init__(*unprivileged(PROGRAMS / "postgres", "-D", self.data), folder=folder)
        self.url = self.url_of("postgres")

    def url_of(self, database):
        return f"postgres:///{database}?host={self.sockets}&user=postgres"

    def configure(self, settings):
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as config:
            config.write(f"listen_addresses = ''\nunix_socket_directories = '{self.sockets}'\n{settings}\n")

    def is_ready(self):
        return subprocess.run([PROGRAMS / "pg_isready", "-q", "-h", self.sockets], check=False).returncode == 0

    def start(self, *arguments, seconds=60.0):
        return super().start(*arguments, seconds=seconds)

    def crash(self):
        """As `pg_ctl stop -m immediate`."""
        self.signal(signal.SIGQUIT)
        self.process.wait()

    def run(self, sql, database="postgres"):
        """What psql prints."""
        done = programs.run("psql", self.url_of(database), "-v", "ON_ERROR_STOP=1", "-qAtc", sql, seconds=3600)
        if done.returncode != 0:
            raise RuntimeError(f"{sql}: {done.stderr.strip()[-800:]}")
        return done.stdout.strip()

    def prepare(self, database="postgres"):
        """Gives a database the schema of Semel; makes it if it is not there. Its address."""
        if database != "postgres":
            self.run(f"CREATE DATABASE {database}")
        subprocess.run([self.binary, "migrate", "--url", self.url_of(database)], check=True, capture_output=True)
        return self.url_of(database)

    def close(self):
        if self.is_running():
            self.crash()
        for folder in {self.folder, self.sockets}:
            shutil.rmtree(folder, ignore_errors=True)


class Server(Postgres):
    """A new one, started, with the schema of Semel."""

    def __init__(self, binary, settings=""):
        super().__init__(own_folder(), binary=binary)
        initdb(self.data, "--no-sync")
        self.configure(f"shared_buffers = 64MB\nmax_connections = 50\n{settings}")
        self.start()
        self.prepare()


class Replica(Postgres):
    """A standby that follows `server`, in a folder that is there. It is not started yet."""

    def __init__(self, server, folder):
        super().__init__(give(folder))
        copy(self.data, "-h", server.sockets)
        self.configure("")
