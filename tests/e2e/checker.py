"""Compares what the origin did with what the clients saw, key by key. Pure: lists in, violations out.

I1  at most one effect per key; on a route that retries one more for each attempt that a fault cut
I2  all answers to one key are the same answer: status, body, stored fields
I3  an answer once given is given again, by whoever asks later and after any restart
I4  an answer stands for exactly one effect, the one with its nonce
I5  who is told that nothing was forwarded was not forwarded
I6  the key of one request never answers another request
I7  nobody sees what belongs to another scope
I8  in the end every key is settled, or said to be unknown, in time
I10 the numbers of a key's attempts only grow, in the order in which they arrive; one may arrive late whose process was stopped
    past its lease, between its last look at the clock and its first byte
I11 an outcome is unknown only if a fault of the run cut an attempt of that key, and a fault cuts only so many
I12 a call ends without a word only if its gateway was gone, or was leaving and had not forwarded it

effects: records of origin.py. calls: records of callers.py, in the order of their ends. faults: what was done and when, as
fault() makes it; without them I11 and I12 are not judged.
"""
import collections
import math

NOT_FORWARDED = {"key-missing", "key-invalid", "scope-missing", "in-flight", "key-reused", "body-too-large",
                 "upstream-unreachable", "store-unavailable", "rate-limited", "quota-exceeded", "no-route",
                 "misdirected"}
INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I10", "I11", "I12")

# What a fault breaks:
DEATH = "death"          # the process ends; whoever it was serving hears nothing more
AWAY = "away"            # there is no process
LEAVING = "leaving"      # the process ends in good order
STORE = "store"          # the store, or the way to it
UPSTREAM = "upstream"    # the origin, or the way to it
CLIENTS = "clients"      # the way from the clients
MACHINE = "machine"      # the process is stopped, or the machine stood still

LEASE_SECONDS = 1.0  # of all routes of the oracle
UNDECIDED = {"outcome-unknown", "store-unavailable", "upstream-unreachable"}
# So many attempts of each client may be cut by one fault: those under way when it comes and when it goes, and more with time.
CUT_MAX = 2
CUT_MAX_PER_SECOND = 10


def fault(part, what, begun, ended, node=None):
    """A fault of a run, by one monotonic clock. `node` is the address of the only gateway that it broke."""
    return {"part": part, "what": what, "from": begun, "until": ended, "node": node}


class Key:
    """Everything about one (scope, key)."""

    def __init__(self):
        self.effects = []
        self.attempts = []
        self.calls = []

    def answers(self):
        return [call for call in self.calls if call["kind"] == "ok"]


def by_key(origin_records, calls):
    keys = collections.defaultdict(Key)
    for record in origin_records:
        key = keys[record["scope"], record["key"]]
        key.attempts.append(record)
        if record["what"] == "effect":
            key.effects.append(record)
    for call in calls:
        keys[call["scope"], call["key"]].calls.append(call)
    return keys


def content(call):
    return call["status"], call["digest"], call["fields"]


def check_effects(key, faults, forwarded):
    allowed = 1
    if len(key.effects) > 1 and any(call.get("route") == "retry" for call in key.calls):
        allowed += sum(any(cuts(one, call, forwarded) for one in faults or ()) for call in key.calls)
    if len(key.effects) > allowed:
        yield "I1", f"{len(key.effects)} effects"
    stopped = {call["request"] for call in key.calls if any(stops(one, call) for one in faults or ())}
    numbers = [record["attempt"] for record in key.attempts]
    in_time = [record["attempt"] for record in key.attempts if record["request"] not in stopped]
    if len(set(numbers)) < len(numbers) or in_time != sorted(in_time):
        yield "I10", f"attempts arrived as {numbers}"


def check_answers(key, nonces):
    answers = key.answers()
    for call in answers[1:]:
        if content(call) != content(answers[0]):
            yield "I2", f"{call['request']} got another answer than {answers[0]['request']}"
    for call in answers:
        effect = nonces.get(call["nonce"])
        if effect is None:
            yield "I4", f"{call['request']} got an answer that no effect stands for"
        elif (effect["scope"], effect["key"]) != (call["scope"], call["key"]):
            name = "I7" if effect["scope"] != call["scope"] else "I4"
            yield name, f"{call['request']} got the answer of {effect['scope']} {effect['key']}"
        elif effect["body"] != call["body"]:
            yield "I6", f"{call['request']} got the answer to another request"


def check_lasting(key):
    """After an answer was heard, only the same answer may come; to another request, only a refusal."""
    for answer in key.answers():
        for call in key.calls:
            if call["invoked"] <= answer["ended"] or call["kind"] == "lost":
                continue
            if call.get("problem") == "store-unavailable":
                continue
            if call["body"] == answer["body"]:
                if call["kind"] != "ok":
                    yield "I3", f"{call['request']} was told {call.get('problem', call['status'])} after the answer"
                elif not call["replayed"]:
                    yield "I3", f"{call['request']} was not marked as a replay"
            elif call.get("problem") != "key-reused":
                yield "I6", f"{call['request']}, another request, was told {call.get('problem', call['kind'])}"
        return  # the first answer says it all


def overlaps(call, one):
    """Whether a fault was under way during the call, where the call was."""
    return one["from"] <= call["ended"] and call["invoked"] <= one["until"] and one["node"] in (None, call.get("node"))


def stops(one, call):
    """Whether the process of this call was stopped for longer than its lease."""
    return one["part"] == MACHINE and one["until"] - one["from"] > LEASE_SECONDS and overlaps(call, one)


def cuts(one, call, forwarded):
    """Whether this fault can be why nobody knows how the attempt of this call ended."""
    if one["part"] not in (DEATH, STORE, UPSTREAM, MACHINE) or not overlaps(call, one):
        return False
    if call["kind"] == "lost":
        return call.get("why") != "ConnectionRefusedError"
    if one["part"] == DEATH:
        return False  # it was answered
    if call.get("problem") == "outcome-unknown":
        if call["status"] == 409:  # of its own claim: when the store told of it at last, it had lapsed
            return one["part"] != UPSTREAM and call["ended"] - call["invoked"] > LEASE_SECONDS
        # Of its own attempt, which had gone out, unless the origin was out of reach.
        return one["part"] == UPSTREAM or call["request"] in forwarded
    return call["kind"] == "refused" or call.get("problem") in UNDECIDED


def check_unknown(key, faults, forwarded, blamed):
    """Each time somebody is told that nobody knows, a fault must have cut an attempt that began before. `blamed` counts keys
    by the fault."""
    told = [call for call in key.calls if call.get("problem") == "outcome-unknown"]
    if not told or faults is None:
        return
    first = min(told, key=lambda call: call["ended"])
    for call in key.calls:
        if call["invoked"] < first["ended"]:
            at = next((number for number, one in enumerate(faults) if cuts(one, call, forwarded)), None)
            if at is not None:
                blamed[at] += 1
                return
    yield "I11", f"{first['request']} was told that the outcome is unknown, but no fault had cut an attempt"


def check_blame(faults, blamed, clients):
    """No fault is the reason for more unknown outcomes than there were calls to cut."""
    for number, keys in blamed.items():
        one = faults[number]
        most = clients * (1 if one["part"] == DEATH else CUT_MAX + math.ceil(CUT_MAX_PER_SECOND * (one["until"] - one["from"])))
        if keys > most:
            yield "I11", f"{keys} keys are unknown because of one fault ({one['what']}), which can have cut {most} calls"


def check_words(key, faults, forwarded):
    """Who asks is told something, unless the gateway is gone; one that leaves in good order answers what it has forwarded."""
    if faults is None:
        return
    for call in key.calls:
        if call["kind"] != "lost":
            continue
        parts = {one["part"] for one in faults if overlaps(call, one)}
        if not (parts & {DEATH, AWAY, CLIENTS, MACHINE} or (LEAVING in parts and call["request"] not in forwarded)):
            yield "I12", f"{call['request']} ended without a word ({call.get('why')}), and its gateway was not gone"


def check_reuse(key):
    """Only a key that somebody uses for another request is reused."""
    if len({call["body"] for call in key.calls}) == 1:
        for call in key.calls:
            if call.get("problem") == "key-reused":
                yield "I6", f"{call['request']} was told that its key is another request's, and there is none"


def check_forwarding(key, forwarded):
    for call in key.calls:
        told_no = call["kind"] == "problem" and call["problem"] in NOT_FORWARDED
        if (told_no or call.get("replayed")) and call["request"] in forwarded:
            yield "I5", f"{call['request']} was told {call.get('problem', 'a replay')}, but it was forwarded"


def settles(call):
    """Whether this is the last word: an answer, that nobody knows and nobody is to try again, or that the key is another's."""
    if call.get("problem") == "outcome-unknown":
        return call.get("retry") != "same-key"
    return call["kind"] == "ok" or call.get("problem") == "key-reused"


def is_owner(call):
    """Whether the call was told what became of its own request."""
    return call["kind"] == "ok" or call.get("problem") == "outcome-unknown"


def check_settled(key, last_fault, seconds):
    """Whoever asks after the last fault was over is told for good within `seconds`. No last fault: not checked."""
    if last_fault is None:
        return
    if not any(is_owner(call) for call in key.calls if call["invoked"] > last_fault):
        yield "I8", "nobody was told how it ended, nor that nobody knows"
    for body in {call["body"] for call in key.calls}:
        after = [call for call in key.calls if call["body"] == body and call["invoked"] > last_fault]
        ends = [call["ended"] for call in after if settles(call)]
        if not ends:
            yield "I8", "never settled"
        elif min(ends) > min(call["invoked"] for call in after) + seconds:
            yield "I8", f"settled only {min(ends) - last_fault:.1f} s after the last fault"


def check(origin_records, calls, last_fault=None, seconds=0.0, faults=None, clients=math.inf):
    """[(invariant, scope, key, what)], empty if all hold. `clients`: how many calls were under way at a time."""
    nonces = {record["nonce"]: record for record in origin_records if record["what"] == "effect"}
    forwarded = {record["request"] for record in origin_records}
    blamed = collections.Counter()
    violations = []
    for (scope, name), key in by_key(origin_records, calls).items():
        found = [*check_effects(key, faults, forwarded), *check_answers(key, nonces), *check_lasting(key), *check_reuse(key),
                 *check_forwarding(key, forwarded), *check_settled(key, last_fault, seconds),
                 *check_unknown(key, faults, forwarded, blamed), *check_words(key, faults, forwarded)]
        violations += [(invariant, scope, name, what) for invariant, what in found]
    return violations + [(invariant, "", "", what) for invariant, what in check_blame(faults, blamed, clients)]


def summary(origin_records, calls):
    """Counts for the table: what happened, so that nobody takes an idle run for a good one."""
    counts = collections.Counter()
    keys = by_key(origin_records, calls)
    counts["keys"] = len(keys)
    counts["effects"] = sum(len(key.effects) for key in keys.values())
    counts["keys with an answer"] = sum(1 for key in keys.values() if key.answers())
    counts["keys that ended unknown"] = sum(
        1 for key in keys.values() if not key.answers() and any(c.get("problem") == "outcome-unknown" for c in key.calls))
    counts["unknown, with the effect"] = sum(
        1 for key in keys.values() if not key.answers() and key.effects and
        any(c.get("problem") == "outcome-unknown" for c in key.calls))
    counts["calls"] = len(calls)
    for call in calls:
        if call["kind"] == "ok":
            counts["calls: replayed" if call["replayed"] else "calls: first answers"] += 1
        else:
            counts[f"calls: {call.get('problem') or call['kind']}"] += 1
    return counts
