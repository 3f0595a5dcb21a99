"""Files of the embedded store are damaged while it is closed: a flipped bit, a cut tail, a missing log, a lost CURRENT

The gateway refuses to start and says why in plain words, or it starts and every answer that was ever given is there. It never
starts with less than that, and nothing that was answered is forwarded again.
"""
import shutil
import time

import callers
import proof
import wire

FAULTS = ("F23",)
QUICK = {"rounds": 1}
RELEASE = {"rounds": 1, "episodes": 100}

TAIL_BYTES = 2000


def newest_log(data):
    return max(data.glob("*.log"), key=lambda path: path.stat().st_mtime_ns)


def written(log):
    """Where the zeros that are laid out ahead begin."""
    return len(log.read_bytes().rstrip(b"\0"))


def flip(log, at):
    content = bytearray(log.read_bytes())
    content[at] ^= 0x10
    log.write_bytes(content)


def cut(log):
    with open(log, "r+b") as file:
        file.truncate(written(log) - TAIL_BYTES)


HARM = {
    "nothing": lambda data: None,
    "a bit in the middle of the log": lambda data: flip(newest_log(data), written(newest_log(data)) // 2),
    "a bit at the end of the log": lambda data: flip(newest_log(data), written(newest_log(data)) - TAIL_BYTES),
    "the tail of the log": lambda data: cut(newest_log(data)),
    "the log": lambda data: newest_log(data).unlink(),
    "CURRENT": lambda data: (data / "CURRENT").unlink(),
    "the manifest": lambda data: next(data.glob("MANIFEST-*")).unlink(),
}


def look(context, stage, name, answered, report):
    """Starts the gateway on damaged files; it refuses, or knows all."""
    semel = stage.nodes[0]
    semel.spawn()
    wire.eventually(lambda: not semel.is_running() or semel.is_ready(), 20)
    said = semel.said_now()
    if not semel.is_running():
        report.must(semel.process.returncode == 1 and name != "nothing" and "cannot be opened" in said, f"{name}: {said[-300:]}")
        return
    effects = len(stage.origin.records())
    caller = callers.Caller(semel.address, stage.journal)
    for operation, first in answered:
        again = caller.call(operation)
        same = again["kind"] == "ok" and again["replayed"] and again["digest"] == first["digest"]
        if not report.must(same, f"{name} is gone, the gateway serves, and {operation.key} heard {again}"):
            break
    caller.hang_up()
    report.must(len(stage.origin.records()) == effects, f"{name}: something was forwarded again")
    semel.kill()


def run(context, rounds):
    report = proof.Report()
    for _ in range(rounds):
        with context.oracle(clients=8) as stage:
            stage.start()
            time.sleep(2)
            stage.nodes[0].kill()
            stage.load.stop()
            by_key = {(call["scope"], call["key"]): call for call in stage.journal.records() if call["kind"] == "ok"}
            answered = [(operation, by_key[operation.scope, operation.key]) for operation in stage.load.operations
                        if callers.origin.digest(operation.body) == by_key.get((operation.scope, operation.key), {}).get("body")]
            report.must(len(answered) > 100, f"only {len(answered)} keys were answered")
            data, whole = stage.nodes[0].folder / "data", stage.nodes[0].folder / "whole"
            data.rename(whole)
            for name, harm in HARM.items():
                context.say(name)
                shutil.rmtree(data, ignore_errors=True)
                shutil.copytree(whole, data)
                harm(data)
                look(context, stage, name, answered, report)
                report.counts["faults"] += 1
            report.counts.update(proof.counts_of(stage.origin.records(), stage.journal.records()))
    return report
