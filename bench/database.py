"""A PostgreSQL server for a measurement: its own folder, a socket in it, no port, and the durability it has by default."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e"))

import postgres_server  # noqa: E402  (found by the line above)

# What an operator would set on a machine of this size, and nothing that touches durability. Every contender gets the same.
SETTINGS = "max_connections = 100\nshared_buffers = 1GB\nmax_wal_size = 8GB\ncheckpoint_timeout = 15min\n"


def run(*command):
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-800:]}")
    return done.stdout


class Database(postgres_server.Postgres):
    """The server, started; `under` is a folder on the file system that is to be measured."""

    def __init__(self, semel, under, settings=SETTINGS):
        super().__init__(postgres_server.own_folder(under), postgres_server.own_folder(), semel)
        postgres_server.initdb(self.data)
        self.configure(settings)
        self.start()

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
