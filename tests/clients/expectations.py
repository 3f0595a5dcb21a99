"""What the scenarios of scenarios.py say about replies, and how they ask at the same time."""
import base64
import concurrent.futures
import hashlib
import hmac
import json
import threading
import time

import apps


def expect(truth, what):
    if not truth:
        raise AssertionError(what)


def same(found, wanted, what):
    expect(found == wanted, f"{what}: {found!r}, not {wanted!r}")


def problem_of(reply):
    expect(reply.get("Content-Type") == "application/problem+json", f"{reply.status} {reply.fields} is no problem")
    said = json.loads(reply.body)
    same(said["status"], reply.status, "status of the problem")
    expect(reply.body.endswith(b"}\n"), "a problem ends its line")
    return said["type"].removeprefix("urn:semel:problem:")


def expect_problem(reply, status, slug, retry):
    same((reply.status, problem_of(reply)), (status, slug), "refusal")
    same(json.loads(reply.body)["retry"], retry, "advice")


def stored_fields(reply):
    left_out = {"date", "connection", "keep-alive", "transfer-encoding", "idempotent-replayed", "set-cookie", "server"}
    return sorted((name.lower(), value) for name, value in reply.fields if name.lower() not in left_out)


def expect_replay(first, again):
    same(again.get("Idempotent-Replayed"), "true", "marker of the replay")
    same(first.get("Idempotent-Replayed"), None, "marker of the first answer")
    same((again.status, again.body), (first.status, first.body), "replay")
    same(stored_fields(again), stored_fields(first), "fields of the replay")
    expect(again.get("Idempotency-Expires"), "the replay says until when")


def later(work):
    """A thread that does it; result() waits for what came of it."""
    return concurrent.futures.ThreadPoolExecutor(1).submit(work)


def all_at_once(count, work):
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        gate = threading.Barrier(count)

        def run(_):
            gate.wait()
            return work()

        return list(pool.map(run, range(count)))


def settled(reply):
    return None if reply.status == 409 and problem_of(reply) == "in-flight" else reply


def delivery(event, body=b'{"type": "paid"}', at=None, secret=apps.WEBHOOK_SECRET):
    """The fields of a signed delivery, as Standard Webhooks wants them; the key is for the origin's book."""
    at = int(time.time()) if at is None else at
    tag = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), b"%s.%d.%s" % (event.encode(), at, body), hashlib.sha256)
    return [("webhook-id", event), ("webhook-timestamp", str(at)), ("Idempotency-Key", event),
            ("webhook-signature", "v1," + base64.b64encode(tag.digest()).decode())]
