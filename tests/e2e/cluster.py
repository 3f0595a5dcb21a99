"""A Patroni pair with strict synchronous replication, and the etcd it needs: own folders, free ports, all ended by pid.

Debian's patroni, etcd-server and postgresql-15. The members run as the user `postgres`, as everywhere.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import tempfile
import time
import urllib.request

import programs
from postgres_server import PROGRAMS, give, unprivileged

# A failover is over within some ten seconds: the lock of a leader that is gone lasts `ttl`.
MEMBER = """
scope: semel
name: {name}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
etcd3: {{host: "127.0.0.1:{etcd}"}}
bootstrap:
  dcs:
    ttl: 6
    loop_wait: 1
    retry_timeout: 2
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {{use_pg_rewind: true, use_slots: true, parameters: {{max_connections: 50}}}}
  initdb: [{{encoding: UTF8}}, {{auth: trust}}]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {folder}/data
  bin_dir: {programs}
  pgpass: {folder}/pgpass
  authentication:
    superuser: {{username: postgres, password: none}}
    replication: {{username: replicator, password: none}}
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  parameters: {{unix_socket_directories: "{folder}", shared_buffers: 64MB}}
"""


def missing_programs():
    return [name for name in ("patroni", "etcd") if shutil.which(name) is None]


def children_of(pid):
    return [int(entry.parent.name) for entry in pathlib.Path("/proc").glob("[0-9]*/stat")
            if parent_of(entry) == pid]


def parent_of(stat):
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def kill_now(*pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Member(programs.Program):
    """A server and the patroni that looks after it. Who starts it does not wait; that is the cluster's business."""

    def __init__(self, name, folder, etcd):
        home = folder / name
        home.mkdir()
        super().__init__(*unprivileged("patroni", home / "patroni.yml"), folder=give(home))
        self.name = name
        self.port, self.rest = programs.free_port(), programs.free_port()
        text = MEMBER.format(name=name, folder=home, rest=self.rest, etcd=etcd, port=self.port, programs=PROGRAMS)
        (home / "patroni.yml").write_text(text, encoding="utf-8")

    def kill(self):
        """As if the machine were gone: no process gets to say or to write another word."""
        pids = [self.process.pid, *children_of(self.process.pid)]
        with contextlib.suppress(OSError, ValueError, IndexError):
            postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
            pids += [postmaster, *children_of(postmaster)]
        kill_now(*pids)
        self.process.wait()


class Cluster:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-patroni-"))
        os.chmod(self.folder, 0o755)
        self.etcd_port, peer = programs.free_port(), programs.free_port()
        (self.folder / "etcd").mkdir()
        client, peers = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{peer}"
        command = ["etcd", "--name", "one", "--data-dir", self.folder / "etcd" / "data", "--listen-client-urls", client,
                   "--advertise-client-urls", client, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                   "--initial-cluster", f"one={peers}"]
        self.etcd = programs.Program(*unprivileged(*command), folder=give(self.folder / "etcd")).spawn()
        self.members = [Member(name, self.folder, self.etcd_port) for name in ("a", "b")]
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in self.members)
        self.url = f"postgres://postgres@{hosts}/postgres"

    def start(self):
        for member in self.members:
            member.spawn()

    @staticmethod
    def is_a(role, member):
        """As patroni knows it: `primary` holds the lock, `synchronous` may be promoted."""
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{member.rest}/{role}", timeout=2) as reply:
                return reply.status == 200
        return False

    def primary(self):
        return next((member for member in self.members if self.is_a("primary", member)), None)

    def wait_for(self, what, holds, seconds=300):
        deadline = time.monotonic() + seconds
        while not (found := holds()):
            if time.monotonic() > deadline:
                logs = "".join(f"\n--- {m.name}\n" + (m.stdout() + m.stderr())[-1500:] for m in self.members)
                raise RuntimeError(f"{what}: not within {seconds} s{logs}")
            time.sleep(0.1)
        return found

    def wait_for_pair(self):
        """A primary, and a standby that every commit waits for and that may take its place; the primary."""
        return self.wait_for("a synchronous pair", self.pair)

    def pair(self):
        primary = self.primary()
        others = [member for member in self.members if member is not primary]
        return primary if primary and all(self.is_a("synchronous", member) for member in others) else None

    def close(self):
        for member in self.members:
            if member.process is not None:
                member.kill()
        self.etcd.close()
        shutil.rmtree(self.folder, ignore_errors=True)
