"""Below semel.py: its errors and values, the connections to the claims API, and the thread that keeps claims alive.

Every call of the API may be repeated, so a call whose answer is lost is simply made again. What could not be told to the store
is told later, until the lease is over: a claim that nobody used is given back, a result that is known is stored.
"""
from __future__ import annotations

import base64
import dataclasses
import http.client
import json
import os
import ssl
import threading
import time
import urllib.parse
import weakref
from typing import Any, Optional

BATCH_MAX, BATCH_BYTES = 500, 512 << 10  # the API takes 500 items and 1 MiB
LATER_S = 0.5  # between two tries to tell the store what it could not be told


class SemelError(Exception):
    """What every error here is. `problem` is what the API said, if it said anything."""

    def __init__(self, text: str, problem: Optional[dict[str, Any]] = None):
        super().__init__(text)
        self.problem = problem or {}

    @property
    def retry_after(self) -> Optional[float]:
        """Seconds after which the same call may be repeated; None if that does not help."""
        if self.problem.get("retry", "same-key") != "same-key":
            return None
        return max(self.problem.get("retry_after_ms", 1000), 1) / 1000


class StoreUnavailable(SemelError):
    """The API or its store did not answer. Before a claim: nothing ran."""


class InFlight(SemelError):
    """Another attempt with this key is running, or another event of the same object."""


class OutcomeUnknown(SemelError):
    """An attempt with this key was cut off, or its result could not be stored: nobody knows whether it took effect."""


class KeyReused(SemelError):
    """The key belongs to another payload."""


class Superseded(SemelError):
    """A newer event of the object is done already. Acknowledge this one; it is not to run."""


class ClaimLost(SemelError):
    """The lease ran out, and the key is no longer ours. Drop the result."""


class Rejected(SemelError):
    """The call itself is wrong: a member, the token, a limit. The text says what to change."""


class NoEffect(Exception):
    """Raise this (or a class of yours that derives from it) in the function to say that nothing has happened: the key is
    released, and the next caller runs. Any other exception leaves the outcome unknown."""


@dataclasses.dataclass(frozen=True)
class Done:
    """How a key ended. `result` is the API's: status, headers, content_type, body or body_base64."""

    result: dict[str, Any]
    attempt: int
    expires_at: Optional[str] = None
    replayed: bool = True

    @property
    def value(self) -> Any:
        """What the function returned: JSON, or bytes."""
        if "body" in self.result:
            return self.result["body"]
        return base64.b64decode(self.result.get("body_base64", ""))


OF_OUTCOME = {"running": InFlight, "busy": InFlight, "unknown": OutcomeUnknown, "key-reused": KeyReused,
              "superseded": Superseded, "fenced": ClaimLost}
OF_TYPE = {"in-flight": InFlight, "outcome-unknown": OutcomeUnknown, "key-reused": KeyReused, "claim-lost": ClaimLost,
           "superseded": Superseded}


def error_of(status: int, answer: dict[str, Any]) -> SemelError:
    """The error that an answer which is not a success stands for."""
    problem = answer.get("problem") or answer
    slug = str(problem.get("type", "")).rpartition(":")[2]
    text = problem.get("detail") or problem.get("title") or f"the claims API answered {status} {answer.get('outcome', '')}"
    kind = OF_OUTCOME.get(answer.get("outcome") or problem.get("outcome") or "") or OF_TYPE.get(slug)
    if kind is None:
        status = problem.get("status", status)
        kind = StoreUnavailable if status >= 500 or status == 429 else Rejected
    return kind(text, problem)


class Wire:
    """Connections that are kept open, for as many threads as there are."""

    def __init__(self, url: str, token: str, timeout: float, context: Optional[ssl.SSLContext]):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a claims API; write http://HOST:PORT or https://HOST:PORT")
        if not token:
            raise ValueError("the token of the claims API is empty; it is the secret of an [[api.token]]")
        self.secure, self.host, self.port = parts.scheme == "https", parts.hostname, parts.port
        self.prefix = parts.path.rstrip("/")
        self.context = context or (ssl.create_default_context() if self.secure else None)
        self.timeout = timeout
        self.fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.idle: list[http.client.HTTPConnection] = []
        self.pid = os.getpid()

    def connection(self) -> tuple[http.client.HTTPConnection, bool]:
        """One that is open already, or a new one; and whether it is new."""
        if self.pid != os.getpid():  # after a fork the parent's connections are not ours
            for connection in self.idle:
                connection.close()
            self.idle, self.pid = [], os.getpid()
        try:
            return self.idle.pop(), False
        except IndexError:
            pass
        if self.secure:
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.context), True
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout), True

    def close(self) -> None:
        """Connections that are not in use. The next call opens a new one."""
        while self.idle:
            self.idle.pop().close()

    def post(self, path: str, body: dict[str, Any], wait: float = 0,
             timeout: Optional[float] = None) -> tuple[int, dict[str, Any]]:
        """Status and answer. A connection that the API has closed meanwhile is replaced by a new one."""
        data = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        while True:
            connection, is_new = self.connection()
            try:
                connection.timeout = (timeout or self.timeout) + wait
                if connection.sock is not None:
                    connection.sock.settimeout(connection.timeout)
                connection.request("POST", self.prefix + path, data, self.fields)
                reply = connection.getresponse()
                answer = json.loads(reply.read())
            except (ConnectionError, http.client.HTTPException):
                connection.close()
                if is_new:
                    raise
                continue
            except BaseException:
                connection.close()
                raise
            if reply.will_close:
                connection.close()
            else:
                self.idle.append(connection)
            if not isinstance(answer, dict):
                raise ValueError("the claims API did not answer with a JSON object")
            answer.setdefault("retry_after_ms", 1000 * int(reply.headers.get("Retry-After", "1")))
            return reply.status, answer


class Keeper:
    """One thread for all claims of a client: renews each at a third of its lease, all that are due in one call. It is started
    when the first claim is held, and again after a fork."""

    def __init__(self, wire: Wire):
        self.wire = wire
        self.forget()
        if hasattr(os, "register_at_fork"):
            self_or_none = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: self_or_none() and self_or_none().forget())

    def forget(self) -> None:
        """Threads do not survive a fork, and what is held is the parent's."""
        self.changed = threading.Condition()
        self.held: set[Any] = set()
        self.untold: list[dict[str, Any]] = []
        self.thread: Optional[threading.Thread] = None

    def hold(self, attempt: Any) -> None:
        with self.changed:
            self.held.add(attempt)
            self.wake()

    def drop(self, attempt: Any) -> None:
        with self.changed:
            self.held.discard(attempt)

    def later(self, path: str, item: dict[str, Any], until: float) -> None:
        """`path` is that of the call; a claim is made again, by its owner, and then released."""
        with self.changed:
            self.untold.append({"path": path, "item": item, "until": until, "due": time.monotonic() + LATER_S})
            self.wake()

    def wake(self) -> None:
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, name="semel-keeper", daemon=True)
            self.thread.start()
        self.changed.notify()

    def run(self) -> None:
        while True:
            with self.changed:
                due = min([a._due for a in self.held] + [one["due"] for one in self.untold], default=None)
                pause = None if due is None else due - time.monotonic()
                if pause is None or pause > 0:
                    self.changed.wait(pause)
                    continue
                now = time.monotonic()
                soon = [a for a in self.held if a._due <= now + a._lease / 6]  # those that are nearly due go with them
                batch = sorted(soon, key=lambda a: a._due)[:BATCH_MAX]
                tell = [one for one in self.untold if one["due"] <= now]
            if batch:
                self.renew(batch)
            for one in tell:
                self.tell(one)

    def renew(self, batch: list[Any]) -> None:
        began = time.monotonic()
        shortest = min(a._lease for a in batch)
        try:
            items = [a.call(lease_ms=round(a._lease * 1000)) for a in batch]
            answers = self.wire.post("/v1/claims/renew", {"items": items}, timeout=shortest / 3)[1]["items"]
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            answers = []
        for attempt, answer in zip(batch, answers + [{}] * len(batch)):
            if answer.get("outcome") == "renewed":
                attempt._renewed(began)
            elif isinstance(error_of(503, answer), ClaimLost) or time.monotonic() >= attempt._until:
                self.drop(attempt)
                attempt._lose()
            else:
                attempt._due = time.monotonic() + attempt._lease / 10

    def tell(self, one: dict[str, Any]) -> None:
        """Once more. Done if anybody answered, or if the lease is over: then the store has decided without us."""
        answered = False
        try:
            item = {name: value for name, value in one["item"].items() if name != "wait_ms"}
            status, answer = self.wire.post("/v1/claims" + (one["path"] and "/" + one["path"]), item)
            answered = not (status >= 500 or status == 429)
            if one["path"] == "" and answer.get("outcome") == "granted":
                named = {name: item[name] for name in ("namespace", "scope", "key") if name in item}
                self.later("release", {**named, "fence": answer["fence"]}, one["until"])
        except (OSError, http.client.HTTPException, ValueError):
            pass
        with self.changed:
            one["due"] = time.monotonic() + LATER_S
            if answered or one["due"] > one["until"]:
                self.untold.remove(one)
