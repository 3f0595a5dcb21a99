#!/usr/bin/env python3
"""The table: what every service with a middleware promises: table.py --binary SEMEL --app CMD [--only WORDS]

README.md says what an app is. Each scenario is a function, with its goal as its first line; they share one app, and those that
kill something start it again. Prints what failed and `N passed, M failed`; exits 0 only if all passed.
"""
import json
import sys
import tempfile
import time
import traceback

import apps
import programs
import wire
from expectations import all_at_once, delivery, expect, expect_problem, expect_replay, later, problem_of, same, settled

LEASE_S = 1.0
TABLE = []


def scenario(function):
    TABLE.append(function)
    return function


# ---- One after the other -------------------------------------------------------------------------------------------------


@scenario
def fresh(world):
    """The first request runs, and says until when its answer is kept."""
    reply = world.ask("/hold/x", "fresh")
    same(reply.status, 201, "status")
    expect(reply.get("Idempotency-Expires"), "it says until when")
    same(world.attempts("fresh"), [1], "attempts")


@scenario
def replay(world):
    """A repeat gets the same answer, marked, and runs nothing."""
    first = world.ask("/hold/x", "replay")
    for _ in range(3):
        expect_replay(first, world.ask("/hold/x", "replay"))
    same(len(world.effects("replay")), 1, "effects")


@scenario
def same_meaning(world):
    """White space, order and the spelling of numbers make no other request; a number beyond 2^53 is exact."""
    first = world.ask("/hold/x", "meaning", b'{"a": 1.0, "b": "\xc3\xa9"}')
    expect_replay(first, world.ask("/hold/x", "meaning", b'{"b":"\\u00e9","a":1}'))
    world.ask("/hold/x", "exact", b'{"n": 9007199254740993}')
    expect_problem(world.ask("/hold/x", "exact", b'{"n": 9007199254740992}'), 422, "key-reused", "new-key")


@scenario
def reused(world):
    """The key of one request is refused to another: other body, other path, other method."""
    world.ask("/hold/x", "reused")
    expect_problem(world.ask("/hold/x", "reused", b'{"amount": 6}'), 422, "key-reused", "new-key")
    expect_problem(world.ask("/hold/y", "reused"), 422, "key-reused", "new-key")
    expect_problem(world.ask("/hold/x?a=1", "reused"), 422, "key-reused", "new-key")
    expect_problem(world.ask("/hold/x", "reused", method="PATCH"), 422, "key-reused", "new-key")
    same(len(world.effects("reused")), 1, "effects")


@scenario
def missing_key(world):
    """Without a key nothing runs where one is required, and everything does where it is optional."""
    before = len(world.origin.records())
    reply = world.ask("/hold/x")
    expect_problem(reply, 400, "key-missing", "new-key")
    expect("describedby" in reply.get("Link", ""), "it says where keys are explained")
    same(len(world.origin.records()), before, "attempts")
    same([world.ask("/optional/x").status for _ in range(2)], [201, 201], "without a key")
    same(len(world.origin.records()), before + 2, "attempts")


@scenario
def malformed_keys(world):
    """A key that two programs could read differently is refused."""
    before = len(world.origin.records())
    for key in ("", '""', "k" * 256, "two words", "a, b", "a;b", '"open', '"a";p=1', "caf\u00e9", "tab\there"):
        expect_problem(world.ask("/hold/x", key), 400, "key-invalid", "new-key")
    expect_problem(world.ask("/hold/x", "one", extra=[("Idempotency-Key", "one")]), 400, "key-invalid", "new-key")
    same(len(world.origin.records()), before, "attempts")


@scenario
def quoted_and_bare(world):
    """The draft's quoted string and a bare token are one key."""
    first = world.ask("/hold/x", '"quoted-1"')
    expect_replay(first, world.ask("/hold/x", "quoted-1"))


@scenario
def scopes_and_namespaces(world):
    """Nobody reads another's answer; a request that says not who it is does not run."""
    first = world.ask("/hold/x", "scoped", scope="alice")
    other = world.ask("/hold/x", "scoped", scope="bob")
    own = world.ask("/own/x", "scoped", scope="alice")
    expect(len({first.body, other.body, own.body}) == 3, "three answers")
    expect_problem(world.ask("/hold/x", "scoped", scope=None), 401, "scope-missing", "never")
    same(world.ask("/v1/x", "nobody", scope=None).status, 201, "with an optional scope")


@scenario
def other_methods_pass(world):
    """What is not guarded goes straight to the handler."""
    same([world.ask("/hold/x", "get", None, method="GET").body for _ in range(2)], [b"alive", b"alive"], "answers")


# ---- At the same time ----------------------------------------------------------------------------------------------------


@scenario
def in_flight(world):
    """While the first is running, a second is told to wait, and another request that the key is taken."""
    first = later(lambda: world.ask("/hold/x", "flight", extra=[("X-Delay-Ms", "900")]))
    time.sleep(0.3)
    second = world.ask("/hold/x", "flight")
    expect_problem(second, 409, "in-flight", "same-key")
    expect(int(second.get("Retry-After")) >= 1, "it says when")
    expect_problem(world.ask("/hold/x", "flight", b'{"amount": 6}'), 422, "key-reused", "new-key")
    expect_replay(first.result(), world.ask("/hold/x", "flight"))
    same(world.attempts("flight"), [1], "attempts")


@scenario
def longer_than_the_lease(world):
    """A handler may take longer than the lease, which is renewed meanwhile."""
    first = later(lambda: world.ask("/hold/x", "long", extra=[("X-Delay-Ms", str(int(LEASE_S * 2500)))]))
    time.sleep(LEASE_S * 2)
    expect_problem(world.ask("/hold/x", "long"), 409, "in-flight", "same-key")
    same(first.result().status, 201, "status")
    expect_replay(first.result(), world.ask("/hold/x", "long"))
    same(world.attempts("long"), [1], "attempts")


@scenario
def waiting(world):
    """Where a route waits, the second gets the first one's answer."""
    first = later(lambda: world.ask("/wait/x", "wait", extra=[("X-Delay-Ms", "600")]))
    time.sleep(0.2)
    second = world.ask("/wait/x", "wait")
    expect_replay(first.result(), second)
    same(world.attempts("wait"), [1], "attempts")


@scenario
def many_at_once(world):
    """25 at once, ten times: one effect, one answer."""
    for number in range(10):
        key = f"crowd-{number}"
        replies = all_at_once(25, lambda key=key: world.ask("/hold/x", key, extra=[("X-Delay-Ms", "30")]))
        ran = [reply for reply in replies if reply.status == 201]
        expect(all(reply.status == 201 or problem_of(reply) == "in-flight" for reply in replies), "a 201 or in-flight")
        same(len({reply.body for reply in ran}), 1, "answers")
        same(sum(reply.get("Idempotent-Replayed") is None for reply in ran), 1, "first answers")
        same(world.attempts(key), [1], f"attempts of {key}")


@scenario
def many_wait_at_once(world):
    """25 at once where the route waits: all get the one answer."""
    for number in range(10):
        key = f"queue-{number}"
        replies = all_at_once(25, lambda key=key: world.ask("/wait/x", key, extra=[("X-Delay-Ms", "30")]))
        same({(reply.status, reply.body) for reply in replies}, {(201, replies[0].body)}, "answers")
        same(world.attempts(key), [1], f"attempts of {key}")


@scenario
def client_goes_away(world):
    """A client that hangs up does not end the work; its retry gets the answer."""
    with wire.Wire(world.app.address) as connection:
        fields = [("Authorization", "alice"), ("Idempotency-Key", "gone"), ("X-Delay-Ms", "400"),
                  ("Content-Type", "application/json")]
        connection.request("POST", "/hold/x", fields, b"{}")
        time.sleep(0.15)
    reply = wire.eventually(lambda: settled(world.ask("/hold/x", "gone", b"{}")), 5)
    same((reply.status, reply.get("Idempotent-Replayed")), (201, "true"), "the retry")
    same(world.attempts("gone"), [1], "attempts")


# ---- Answers -------------------------------------------------------------------------------------------------------------


def twice(world, way):
    key = f"way-{way}"
    first, again = (world.ask(f"/ways/{way}", key) for _ in range(2))
    return key, first, again


@scenario
def every_way_of_answering(world):
    """However a handler answers, the answer is captured and given again."""
    wanted = {"json": (201, None), "text": (200, b"plain text"), "bytes": (200, bytes(range(256))),
              "stream": (200, b"one two three"), "empty": (204, b""), "redirect": (303, None), "cookie": (200, b"cookie"),
              "not-found": (404, None)}
    for way, (status, body) in wanted.items():
        key, first, again = twice(world, way)
        same(first.status, status, f"status of {way}")
        expect(body is None or first.body == body, f"body of {way}: {first.body!r}")
        expect_replay(first, again)
        same(world.attempts(key), [1], f"attempts of {way}")
    same(json.loads(world.ask("/ways/json", "way-json").body), {"id": 7, "name": "\u00e9"}, "the JSON")
    same(world.ask("/ways/json", "way-json").get("Location"), "/things/7", "Location")
    same(world.ask("/ways/redirect", "way-redirect").get("Location"), "/things/7", "Location")


@scenario
def personal_fields(world):
    """A cookie is for its first caller only; a field that is there twice stays so."""
    first, again = (world.ask("/ways/cookie", "way-cookies") for _ in range(2))
    expect(first.get("Set-Cookie", "").startswith("a=1"), "the first has its cookie")
    same(again.get("Set-Cookie"), None, "the cookie of the replay")
    same(again.all("X-Two"), first.all("X-Two"), "the field that is there twice")
    same(", ".join(again.all("X-Two")), "1, 2", "the field that is there twice")


@scenario
def handler_throws(world):
    """A handler that fails has said so with its 500: the key is free, and the next attempt has the next number."""
    key, first, again = twice(world, "throw")
    same((first.status, again.status), (500, 500), "statuses")
    same(world.attempts(key), [1, 2], "attempts")


@scenario
def refused_by_the_business(world):
    """A 503 releases the key: the retry runs."""
    refused = world.ask("/hold/x", "refused", extra=[("X-Refuse", "yes")])
    same((refused.status, refused.get("Idempotency-Expires")), (503, None), "the refusal")
    same(world.ask("/hold/x", "refused").status, 201, "the retry")
    same(world.attempts("refused"), [1, 2], "attempts")


@scenario
def broken_off(world):
    """An answer that breaks off in the middle is an unknown outcome, told to its caller and to later ones."""
    key, first, again = twice(world, "break")
    expect_problem(first, 502, "outcome-unknown", "never")
    expect_problem(again, 409, "outcome-unknown", "never")
    same(world.attempts(key), [1], "attempts")


@scenario
def large_answers(world):
    """An answer that is too large to keep reaches its caller whole, and blocks a second run."""
    key, first, again = twice(world, "large")
    same((first.status, first.body == b"x" * (2 << 20)), (200, True), "the first")
    same((again.status, problem_of(again), again.get("Idempotent-Replayed")), (200, "body-not-kept", "true"), "the replay")
    same(world.attempts(key), [1], "attempts")


# ---- Ends ----------------------------------------------------------------------------------------------------------------


@scenario
def expiry(world):
    """When its time is over, a key is free."""
    first = world.ask("/brief/x", "brief")
    expect_replay(first, world.ask("/brief/x", "brief"))
    time.sleep(2.1)
    again = world.ask("/brief/x", "brief")
    same((again.status, again.get("Idempotent-Replayed")), (201, None), "after the ttl")
    same(len(world.effects("brief")), 2, "effects")


def crash(world, target, key):
    """Kills the app while it works on this key, and starts it again."""
    lost = later(lambda: world.ask(target, key, extra=[("X-Delay-Ms", "400")]))
    expect(wire.eventually(lambda: world.app.is_running() and True), "the app runs")
    time.sleep(0.2)
    world.app.kill()
    expect(lost.exception() is not None, "nothing was answered")
    world.app.start()


@scenario
def crash_holds(world):
    """An app that dies in the middle leaves an unknown outcome when its lease is over: told, never run again."""
    crash(world, "/hold/x", "crash")
    again = world.ask("/hold/x", "crash")
    expect(problem_of(again) in ("in-flight", "outcome-unknown"), "held")
    again = wire.eventually(lambda: settled(world.ask("/hold/x", "crash")), LEASE_S + 1, 0.1)
    expect_problem(again, 409, "outcome-unknown", "never")
    expect_problem(world.ask("/hold/x", "crash", b'{"amount": 6}'), 422, "key-reused", "new-key")
    expect(len(world.effects("crash")) <= 1, "one effect at most")


@scenario
def crash_retries(world):
    """Where the route says so, the next one runs when the lease is over, with the next number."""
    crash(world, "/retry/x", "retry")
    again = wire.eventually(lambda: settled(world.ask("/retry/x", "retry")), LEASE_S + 1, 0.1)
    same(again.status, 201, "the retry")
    expect_replay(again, world.ask("/retry/x", "retry"))
    same(world.effects("retry")[-1]["attempt"], 2, "number of the attempt")


@scenario
def nothing_runs_without_semel(world):
    """While Semel is away nothing runs; when it is back, everything is as it was."""
    kept = world.ask("/hold/x", "kept")
    world.semel.kill()
    before = len(world.origin.records())
    for key in ("kept", "away"):
        reply = world.ask("/hold/x", key, seconds=60)
        expect_problem(reply, 503, "store-unavailable", "same-key")
        expect(int(reply.get("Retry-After")) >= 1, "it says when")
    same(len(world.origin.records()), before, "attempts")
    world.semel.start()
    expect_replay(kept, world.ask("/hold/x", "kept"))
    same(world.ask("/hold/x", "away").status, 201, "the retry")


@scenario
def semel_dies_under_a_running_handler(world):
    """If the answer cannot be kept at once it is not given; what was meanwhile is told later, and no key is stuck."""
    asked = later(lambda: world.ask("/hold/x", "orphan", extra=[("X-Delay-Ms", "300")], seconds=60))
    time.sleep(0.15)
    world.semel.kill()
    time.sleep(0.3)
    world.semel.start()
    first = asked.result()
    expect(first.status == 201 or problem_of(first) == "outcome-unknown", f"{first.status} {first.body}")
    again = wire.eventually(lambda: settled(world.ask("/hold/x", "orphan")), LEASE_S + 2, 0.1)
    expect(again.body == first.body or problem_of(again) == "outcome-unknown", "the same, or unknown")
    same(world.attempts("orphan"), [1], "attempts")


# ---- Deliveries ----------------------------------------------------------------------------------------------------------


def deliver(world, fields, body=b'{"type": "paid"}', extra=()):
    return world.ask("/hooks", None, body, scope=None, extra=[*fields, *extra])


@scenario
def duplicate_deliveries(world):
    """An event that is delivered several times, one after the other and at once, runs once."""
    first = deliver(world, delivery("evt_1"))
    same(first.status, 201, "the first delivery")
    expect_replay(first, deliver(world, delivery("evt_1", at=int(time.time()) - 5)))
    replies = all_at_once(10, lambda: deliver(world, delivery("evt_2"), extra=[("X-Delay-Ms", "50")]))
    expect(all(reply.status == 201 or problem_of(reply) == "in-flight" for reply in replies), "a 201, or never a 200 too early")
    same([len(world.effects(event)) for event in ("evt_1", "evt_2")], [1, 1], "effects")


@scenario
def false_deliveries(world):
    """What is not signed, too old, or altered is refused before anything is claimed."""
    good = delivery("evt_3")
    expect_problem(deliver(world, good, b'{"type": "paid!"}'), 401, "signature-invalid", "never")
    expect_problem(deliver(world, delivery("evt_3", at=int(time.time()) - 400)), 401, "signature-invalid", "never")
    expect_problem(deliver(world, good[:2]), 401, "signature-invalid", "never")
    same(len(world.effects("evt_3")), 0, "effects")
    same(deliver(world, good).status, 201, "the genuine one")


@scenario
def failed_deliveries(world):
    """A handler that fails gets the event again with the next delivery."""
    same(deliver(world, delivery("evt_4"), extra=[("X-Refuse", "yes")]).status, 503, "the first delivery")
    same(deliver(world, delivery("evt_4")).status, 201, "the second")
    same(len(world.effects("evt_4")), 1, "effects")


def main():
    parser = apps.arguments(__doc__)
    parser.add_argument("--only", default="", help="scenarios with this in their name")
    options = apps.parsed(parser)
    failed, started = 0, time.monotonic()
    chosen = [one for one in TABLE if options.only in one.__name__]
    with tempfile.TemporaryDirectory(prefix="semel-clients-") as folder:
        with apps.World(options.binary, options.app, folder) as world:
            for one in chosen:
                try:
                    one(world)
                except Exception as error:  # whatever it is, the others are still told
                    failed += 1
                    trouble = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
                    print(f"FAILED: {one.__name__}: {one.__doc__.splitlines()[0]}\n  {trouble}\n")
                    for process in (world.semel, world.app):
                        if not process.is_running():
                            process.start()
            code = world.app.stop()
            if code != 0:
                failed += 1
                print(f"FAILED: the app ended with {code}:\n{programs.text_of(world.app.err_path)[-2000:]}")
    print(f"{len(chosen) - failed} passed, {failed} failed in {time.monotonic() - started:.1f} s")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
