"""A gateway is pointed at a replica of PostgreSQL

A replica may lag behind, and it cannot judge claims: the gateway does not serve from it. Nothing is forwarded, nothing is
replayed; a request hears 503, or there is no gateway that could be asked.
"""
import os
import pwd
import shutil
import subprocess

import gateway
import oracle
import origin
import postgres
import proof

FAULTS = ("F16",)
QUICK = {"times": 1}
RELEASE = {"times": 20}


class Replica:
    """A standby that follows `server`, in a folder of its own."""

    def __init__(self, server, folder):
        self.folder = folder
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = folder / "data"
        subprocess.run(postgres.unprivileged(postgres.PROGRAMS / "pg_basebackup", "-h", server.folder, "-U", "postgres",
                                             "-D", data, "-R", "-X", "stream", "-c", "fast"), check=True, capture_output=True)
        with open(data / "postgresql.conf", "a", encoding="utf-8") as config:
            config.write(f"unix_socket_directories = '{folder}'\n")
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen(postgres.unprivileged(postgres.PROGRAMS / "postgres", "-D", data), stdout=log,
                                            stderr=log)
        self.url = f"postgres:///postgres?host={folder}&user=postgres"

    def is_ready(self):
        done = subprocess.run([postgres.PROGRAMS / "pg_isready", "-q", "-h", self.folder], check=False)
        return done.returncode == 0

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def ask_replica(context, server, report):
    room = context.room()
    os.chmod(context.folder, 0o755)
    port = gateway.free_port()
    recorder = origin.Origin(port, room / "origin.jsonl")
    standby = context.room()
    replica = Replica(server, standby)
    (room / "gateway").mkdir()
    semel = gateway.Gateway(context.binary, oracle.CONFIG, folder=room / "gateway", upstream=f"127.0.0.1:{port}",
                            store=replica.url)
    try:
        report.must(gateway.wire.eventually(replica.is_ready, 20), "the replica does not come up")
        semel.spawn()
        gateway.wire.eventually(lambda: semel.process.poll() is not None or "listening on" in semel.stderr(), 10)
        if semel.process.poll() is None:
            reply = semel.ask("POST", "/hold/effects", [("Authorization", "alice"), ("Idempotency-Key", "k1")], b"{}")
            report.must(reply.status == 503, f"a gateway on a replica answered {reply.status}")
        else:
            report.must(semel.process.returncode == 1, f"semel ended with {semel.process.returncode}")
            report.must("read-write" in semel.stderr() or "replica" in semel.stderr() or "read-only" in semel.stderr(),
                        f"it does not say why: {semel.stderr()[-300:]}")
        report.must(not recorder.records(), "something was forwarded")
        report.counts["faults"] += 1
    finally:
        semel.close()
        replica.close()
        recorder.close()


def run(context, times):
    report = proof.Report()
    with context.postgres("wal_level = replica\n") as server:
        for _ in range(times):
            ask_replica(context, server, report)
    return report
