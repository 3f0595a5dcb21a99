"""Files of the embedded store are damaged while it is closed: logs, tables, CURRENT, the manifest, Semel's marker and identity

The gateway refuses to start and says why in plain words, or it starts and every answer that was ever given is there. It never
starts with less than that, and nothing that was answered is forwarded again. Of a damaged table single answers may be refused
as damaged, when they are read; the others are there.
"""
import shutil
import time

import callers
import harness
import oracle
import proof
import wire

FAULTS = ("F23",)
QUICK = {"rounds": 1}
RELEASE = {"rounds": 1, "episodes": 100}

TAIL_BYTES = 2000
SLOT_BYTES = 512  # of the marker, which has two
SPARED_BYTES = 4096  # at the end of a table: without its last block it cannot be opened at all
CONFIG = harness.encrypted(oracle.CONFIG, harness.KEY_ONE)


def newest_log(data):
    return max(data.glob("*.log"), key=lambda path: path.stat().st_mtime_ns)


def largest_table(data):
    return max(data.glob("*.sst"), key=lambda path: path.stat().st_size)


def written(log):
    """Where the zeros that are laid out ahead begin."""
    return len(log.read_bytes().rstrip(b"\0"))


def flip(file, *places):
    content = bytearray(file.read_bytes())
    for at in places:
        content[at] ^= 0x10
    file.write_bytes(content)


def flip_blocks(table):
    """A bit in each block of records, and in many keys among them."""
    size = table.stat().st_size
    flip(table, *range(100, max(101, size - SPARED_BYTES), 97))


def cut(file, size):
    with open(file, "r+b") as opened:
        opened.truncate(size)


def newest_slot(data):
    content = (data / "semel.mark").read_bytes()
    writes = [int.from_bytes(content[at + 8:at + 16], "little") for at in (0, SLOT_BYTES)]
    return SLOT_BYTES * writes.index(max(writes))


HARM = {
    "nothing": lambda data, other: None,
    "a bit in the middle of the log": lambda data, other: flip(newest_log(data), written(newest_log(data)) // 2),
    "a bit at the end of the log": lambda data, other: flip(newest_log(data), written(newest_log(data)) - TAIL_BYTES),
    "the tail of the log": lambda data, other: cut(newest_log(data), written(newest_log(data)) - TAIL_BYTES),
    "the log": lambda data, other: newest_log(data).unlink(),
    "CURRENT": lambda data, other: (data / "CURRENT").unlink(),
    "the manifest": lambda data, other: next(data.glob("MANIFEST-*")).unlink(),
    "a bit in a table": lambda data, other: flip(largest_table(data), largest_table(data).stat().st_size // 2),
    "a bit in each block of a table": lambda data, other: flip_blocks(largest_table(data)),
    "the end of a table": lambda data, other: cut(largest_table(data), largest_table(data).stat().st_size - TAIL_BYTES),
    "a table": lambda data, other: largest_table(data).unlink(),
    "a bit in the newest mark": lambda data, other: flip(data / "semel.mark", newest_slot(data) + 40),
    "a bit in both marks": lambda data, other: flip(data / "semel.mark", 40, SLOT_BYTES + 40),
    "half of the marker": lambda data, other: cut(data / "semel.mark", SLOT_BYTES),
    "the identity": lambda data, other: (data / "semel.identity").unlink(),
    "a bit in the identity": lambda data, other: flip(data / "semel.identity", 20),
    "the identity, for another's": lambda data, other: shutil.copy(other / "semel.identity", data / "semel.identity"),
}
IN_PART = ("a bit in a table", "a bit in each block of a table")
MUST_REFUSE = ("the log", "CURRENT", "the manifest", "the tail of the log", "a table", "a bit in both marks", "the identity",
               "a bit in the identity", "the identity, for another's")


def look(stage, name, answered, report):
    """Starts the gateway on damaged files; it refuses, or knows all."""
    semel = stage.nodes[0]
    semel.spawn()
    wire.eventually(lambda: not semel.is_running() or semel.is_ready(), 20)
    said = semel.said_now()
    if not semel.is_running():
        report.must(semel.process.returncode == 1 and name != "nothing" and "cannot be opened" in said, f"{name}: {said[-300:]}")
        return
    report.must(name not in MUST_REFUSE, f"{name}: the gateway starts all the same")
    effects = len(stage.origin.records())
    caller = callers.Caller(semel.address, stage.journal)
    damaged = 0
    for operation, first in answered:
        again = caller.call(operation)
        same = again["kind"] == "ok" and again["replayed"] and again["digest"] == first["digest"]
        if name in IN_PART and again.get("problem") == "record-corrupt":
            damaged += 1
        elif not report.must(same, f"{name} is gone, the gateway serves, and {operation.key} heard {again}"):
            break
    caller.hang_up()
    report.must(name not in IN_PART or damaged > 0, f"{name}: nothing of it was found to be damaged")
    report.must(len(stage.origin.records()) == effects, f"{name}: something was forwarded again")
    semel.kill()


def identity_of_another(context):
    """The folder of a store that has nothing to do with this one."""
    with context.oracle(clients=0, config=CONFIG) as stage:
        stage.start()
        stage.nodes[0].stop()
        return stage.nodes[0].folder / "data"


def run(context, rounds):
    report = proof.Report()
    for _ in range(rounds):
        other = identity_of_another(context)
        with context.oracle(clients=8, config=CONFIG) as stage:
            stage.start()
            time.sleep(1)
            oracle.kill_and_restart(stage.nodes[0])  # what was in the log is in a table now
            time.sleep(1)
            stage.nodes[0].kill()
            stage.load.stop()
            by_key = {(call["scope"], call["key"]): call for call in stage.journal.records() if call["kind"] == "ok"}
            answered = [(operation, by_key[operation.scope, operation.key]) for operation in stage.load.known()
                        if callers.origin.digest(operation.body) == by_key.get((operation.scope, operation.key), {}).get("body")]
            report.must(len(answered) > 100, f"only {len(answered)} keys were answered")
            data, whole = stage.nodes[0].folder / "data", stage.nodes[0].folder / "whole"
            data.rename(whole)
            for name, harm in HARM.items():
                context.say(name)
                shutil.rmtree(data, ignore_errors=True)
                shutil.copytree(whole, data)
                harm(data, other)
                look(stage, name, answered, report)
                report.counts["faults"] += name != "nothing"
            report.counts.update(proof.counts_of(stage.origin.records(), stage.journal.records()))
    return report
