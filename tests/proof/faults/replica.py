"""A gateway is pointed at a replica of PostgreSQL

A replica may lag behind, and it cannot judge claims: the gateway does not serve from it. Nothing is forwarded, nothing is
replayed; a request hears 503, or there is no gateway that could be asked.
"""
import os

import gateway
import oracle
import origin
import postgres_server
import programs
import proof
import wire

FAULTS = ("F16",)
QUICK = {"times": 1}
RELEASE = {"times": 20}


def ask_replica(context, server, report):
    room = context.room()
    os.chmod(context.folder, 0o755)
    port = programs.free_port()
    recorder = origin.Origin(port, room / "origin.jsonl")
    standby = context.room()
    replica = postgres_server.Replica(server, standby).spawn()
    (room / "gateway").mkdir()
    semel = gateway.Gateway(context.binary, oracle.CONFIG, folder=room / "gateway", upstream=f"127.0.0.1:{port}",
                            store=replica.url)
    try:
        report.must(wire.eventually(replica.is_ready, 20), "the replica does not come up")
        semel.spawn()
        wire.eventually(lambda: not semel.is_running() or semel.is_ready(), 10)
        if semel.is_running():
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
