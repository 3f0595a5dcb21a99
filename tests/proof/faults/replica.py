"""A gateway is pointed at a replica of PostgreSQL, and at a former primary

A replica may lag behind, and it cannot judge claims: the gateway does not start on it, and says why, also if its address asks for
any server. When a replica has been promoted, a gateway that has seen it does not go back to the former primary, which knows
nothing of what happened since: 503, and nothing is forwarded.
"""
import os
import time

import gateway
import oracle
import origin
import postgres_server
import programs
import proof
import wire

FAULTS = ("F16",)
QUICK = {"times": 1}
RELEASE = {"times": 2, "episodes": 10}

CAUGHT_UP = "SELECT pg_last_wal_replay_lsn() >= '{}'"


def make_gateway(context, room, port, store):
    (room / f"gateway{len(list(room.iterdir()))}").mkdir()
    folder = max(room.glob("gateway*"))
    return gateway.Gateway(context.binary, oracle.CONFIG, folder=folder, upstream=f"127.0.0.1:{port}", store=store)


def ask(semel, key):
    return semel.ask("POST", "/hold/effects", [("Authorization", "alice"), ("Idempotency-Key", key)], b"{}")


def start_on_replica(context, room, port, url, report):
    with make_gateway(context, room, port, url).spawn() as semel:
        wire.eventually(lambda: not semel.is_running() or semel.is_ready(), 10)
        if report.must(not semel.is_running(), "a gateway serves from a replica"):
            report.must(semel.process.returncode == 1, f"semel ended with {semel.process.returncode}")
            report.must("read-write" in semel.stderr() or "replica" in semel.stderr() or "read-only" in semel.stderr(),
                        f"it does not say why: {semel.stderr()[-300:]}")
        report.counts["faults"] += 1


def go_back(context, room, port, recorder, server, replica, report):
    """The replica takes over; then it is down, and the former primary is back."""
    hosts = f"postgres:///postgres?host={server.sockets},{replica.sockets}&user=postgres"
    with make_gateway(context, room, port, hosts) as semel:
        report.must(ask(semel, "before").status == 201, "the primary does not serve")
        position = server.run("SELECT pg_current_wal_lsn()")
        report.must(wire.eventually(lambda: replica.run(CAUGHT_UP.format(position)) == "t", 10), "the replica does not follow")
        server.crash()
        replica.run("SELECT pg_promote()")
        report.must(wire.eventually(lambda: ask(semel, "after").status == 201, 20, 0.1), "the new primary does not serve")
        server.start()
        replica.crash()
        effects = len(recorder.records())
        told = {ask(semel, "after").status for _ in proof.until(time.monotonic() + 4, 0.1)}
        report.must(told == {503}, f"with the former primary alone a gateway answered {sorted(told)}")
        report.must(len(recorder.records()) == effects, "something was forwarded on the word of a former primary")
        replica.start()
        report.must(wire.eventually(lambda: ask(semel, "after").get("Idempotent-Replayed") == "true", 20, 0.1),
                    "the answer of the new primary is gone")
        report.counts.update({"faults": 1, "database restarts": 2})


def run_once(context, report):
    room = context.room()
    os.chmod(context.folder, 0o755)
    port = programs.free_port()
    recorder = origin.Origin(port, room / "origin.jsonl")
    try:
        with context.postgres("wal_level = replica\n") as server:
            replica = postgres_server.Replica(server, postgres_server.own_folder()).spawn()
            try:
                report.must(wire.eventually(replica.is_ready, 20), "the replica does not come up")
                start_on_replica(context, room, port, replica.url, report)
                start_on_replica(context, room, port, replica.url + "&target_session_attrs=any", report)
                report.must(not recorder.records(), "something was forwarded")
                go_back(context, room, port, recorder, server, replica, report)
            finally:
                replica.close()
    finally:
        recorder.close()


def run(context, times):
    report = proof.Report()
    for _ in range(times):
        run_once(context, report)
    return report
