"""A PostgreSQL server for a measurement: its own folder, a socket in it, no port, and the durability it has by default."""
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile

PROGRAMS = pathlib.Path("/usr/lib/postgresql/15/bin")
# What an operator would set on a machine of this size, and nothing that touches durability. Every contender gets the same.
SETTINGS = "max_connections = 100\nshared_buffers = 1GB\nmax_wal_size = 8GB\ncheckpoint_timeout = 15min\n"


def unprivileged(*command):
    """The server refuses to run as root."""
    prefix = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.geteuid() == 0 else []
    return [*prefix, *map(str, command)]


def run(*command):
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-800:]}")
    return done.stdout


class Database:
    """The server; `under` is a folder on the file system that is to be measured."""

    def __init__(self, semel, under, settings=SETTINGS):
        self.semel = semel
        self.folder = self.own_folder(under)
        self.sockets = self.own_folder(None)  # elsewhere: the path of a socket must be short
        self.data = self.folder / "data"
        run(*unprivileged(PROGRAMS / "initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-E", "UTF8",
                          "--locale=C"))
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as config:
            config.write(f"listen_addresses = ''\nunix_socket_directories = '{self.sockets}'\n{settings}\n")
        subprocess.run(unprivileged(PROGRAMS / "pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "start"),
                       check=True, stdout=subprocess.DEVNULL)

    @staticmethod
    def own_folder(under):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-pg-", dir=under))
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
        return folder

    def url(self, database="postgres"):
        return f"postgres:///{database}?host={self.sockets}&user=postgres"

    def prepare(self, database="postgres"):
        """With the schema of Semel; created if it is not there."""
        if database != "postgres":
            self.sql(f"CREATE DATABASE {database}")
        run(self.semel, "migrate", "--url", self.url(database))

    def sql(self, text, database="postgres"):
        return run("psql", self.url(database), "-v", "ON_ERROR_STOP=1", "-qAtc", text).strip()

    def pgbench(self, script, clients, seconds, *extra, rows=1):
        """How many pairs a second a script does, of which each transaction is `rows`, and how many there were."""
        out = run("pgbench", "-h", self.sockets, "-U", "postgres", "-n", "-c", clients, "-j", min(2, clients), "-M", "prepared",
                  "-T", seconds, "-f", script, *extra, "postgres")
        return {"pairs_per_s": rows * float(re.search(r"tps = ([\d.]+)", out)[1]),
                "pairs": rows * int(re.search(r"transactions actually processed: (\d+)", out)[1])}

    def cpu_seconds(self):
        """Of all its processes, those that have ended included."""
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        ticks = 0
        for entry in pathlib.Path("/proc").iterdir():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else None
            except OSError:
                continue
            if fields and int(entry.name) == postmaster:
                ticks += sum(map(int, fields[11:15]))
            elif fields and int(fields[1]) == postmaster:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def close(self):
        subprocess.run(unprivileged(PROGRAMS / "pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop"), check=False,
                       stdout=subprocess.DEVNULL)
        for folder in (self.folder, self.sockets):
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
