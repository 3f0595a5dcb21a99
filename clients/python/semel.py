"""Runs something once per key, by the claims API of a Semel gateway. Standard library only, Python 3.9 or later.

    api = semel.Client("http://127.0.0.1:8090", token)
    receipt = api.once("order-17", lambda attempt: charge(order))

The function runs if the key is free; whoever comes later with the same key gets what it returned. While it runs, a thread
renews the claim each third of its lease; a claim that is lost sets `attempt.lost`. Nothing runs without a claim: if the store
or the API cannot be reached, StoreUnavailable is raised instead.

Any number of threads may use one Client, and a process that forks may go on using it on both sides.
"""
from __future__ import annotations

import base64
import http.client
import json
import logging
import ssl
import threading
import time
import uuid
from typing import Any, Callable, Iterable, Optional, Union

from semel_transport import (ClaimLost, Done, InFlight, Keeper, KeyReused, NoEffect, OutcomeUnknown, Rejected,
                             SemelError, StoreUnavailable, Superseded, Wire, error_of)

__all__ = ["Attempt", "ClaimLost", "Client", "Done", "InFlight", "KeyReused", "NoEffect", "OutcomeUnknown", "Rejected",
           "SemelError", "StoreUnavailable", "Superseded"]
__version__ = "0.1.0"
END_TRIES = 5  # a result is worth more patience than a claim
PAUSE_S = 0.05  # before the second try; doubles
log = logging.getLogger("semel")


class Attempt:
    """A claim that we hold. End it with complete(), release() or unknown(); until then it is renewed."""

    def __init__(self, api: Client, claim: dict[str, Any], granted: dict[str, Any], began: float):
        self._api, self._named = api, {name: claim[name] for name in ("namespace", "scope", "key") if name in claim}
        self.key: str = claim["key"]
        self.fence: str = granted["fence"]
        self.number: int = granted.get("attempt", 1)  # grows with each attempt of the key
        self.expires_at: Optional[str] = granted.get("expires_at")
        self.lost = threading.Event()
        self.on_lost: Optional[Callable[[], Any]] = None  # is called once, by another thread
        self._lease = claim["lease_ms"] / 1000
        self._renewed(began)

    def _renewed(self, began: float) -> None:
        self._due, self._until = began + self._lease / 3, began + self._lease

    def _lose(self) -> None:
        if not self.lost.is_set():
            self.lost.set()
            if self.on_lost is not None:
                try:
                    self.on_lost()
                except Exception:  # of the caller's own: the other claims are still to be renewed
                    log.exception("on_lost of an attempt")

    def check(self) -> None:
        """Raises ClaimLost if the claim is lost: call it before each step that must not happen twice."""
        if self.lost.is_set():
            raise ClaimLost("the claim was lost while the function ran")

    def call(self, **more: Any) -> dict[str, Any]:
        """A later call for this claim, as an item of a batch."""
        return {**self._named, "fence": self.fence, **more}

    def renew(self) -> None:
        began = time.monotonic()
        self._api.renew(self.call(lease_ms=round(self._lease * 1000)))
        self._renewed(began)

    def complete(self, result: dict[str, Any]) -> None:
        self._end("complete", self.call(result=result))

    def unknown(self) -> None:
        self._end("complete", self.call(outcome="unknown"))

    def release(self) -> None:
        self._end("release", self.call())

    def _end(self, path: str, item: dict[str, Any]) -> None:
        """It is renewed until the store has been told, since that may take as long as a lease."""
        try:
            self._api.call("/" + path, item, tries=END_TRIES)
        except StoreUnavailable:
            self._api._keeper.later(path, item, self._until)
            raise
        finally:
            self._api._keeper.drop(self)


def result_of(value: Any) -> dict[str, Any]:
    """As the API keeps it. What JSON cannot say is an error now, not when somebody asks for it again."""
    if isinstance(value, (bytes, bytearray)):
        return {"content_type": "application/octet-stream", "body_base64": base64.b64encode(value).decode()}
    return {"content_type": "application/json", "body": json.loads(json.dumps(value, allow_nan=False))}


def not_stored(error: Exception) -> OutcomeUnknown:
    return OutcomeUnknown(f"it ran, but its result could not be stored ({error})", {"retry": "same-key"})


def keep(attempt: Attempt, result: dict[str, Any]) -> Done:
    """Stores the result. One that could not be stored is not given to anybody: it could not be repeated."""
    try:
        attempt.complete(result)
    except StoreUnavailable as error:
        raise not_stored(error) from error
    except Rejected:  # too large: what ran cannot be repeated, and must not look as if it had not run
        end_failed(attempt, RuntimeError())
        raise
    return Done(result, attempt.number, attempt.expires_at, replayed=False)


def end_failed(attempt: Attempt, error: BaseException) -> None:
    """Ends an attempt whose function raised: released if it said that nothing has happened, unknown otherwise."""
    try:
        attempt.release() if isinstance(error, NoEffect) else attempt.unknown()
    except SemelError:
        pass  # the error of the function counts; the store decides by the lease


class Client:
    """`namespace`, `scope`, `lease` (seconds), `ttl` (seconds) and `on_unknown` are the defaults of every claim."""

    def __init__(self, url: str, token: str, *, namespace: str = "default", scope: str = "", lease: float = 30.0,
                 ttl: Optional[float] = None, on_unknown: Optional[str] = None, timeout: float = 5.0, tries: int = 3,
                 context: Optional[ssl.SSLContext] = None):
        self._wire = Wire(url, token, timeout, context)
        self._keeper = Keeper(self._wire)
        self._tries = tries
        self._defaults = {"namespace": namespace, "scope": scope, "lease": lease, "ttl": ttl, "on_unknown": on_unknown}

    def close(self) -> None:
        """Closes the connections that are open. The client can be used again."""
        self._wire.close()

    # ---- the five calls; an item is what the document of the API says, and so is the answer

    def claim(self, item: dict[str, Any]) -> dict[str, Any]:
        return self.call("", item)

    def renew(self, item: dict[str, Any]) -> dict[str, Any]:
        return self.call("/renew", item)

    def complete(self, item: dict[str, Any]) -> dict[str, Any]:
        return self.call("/complete", item, tries=END_TRIES)

    def release(self, item: dict[str, Any]) -> dict[str, Any]:
        return self.call("/release", item, tries=END_TRIES)

    def get(self, item: dict[str, Any]) -> dict[str, Any]:
        return self.call("/get", item)

    def call(self, path: str, body: dict[str, Any], tries: Optional[int] = None) -> dict[str, Any]:
        """One call, tried again while nobody answers: every call of the API may be repeated. Raises what the answer means
        unless it is a success; `{"items": […]}` gets its answers as they are."""
        wait = max((item.get("wait_ms", 0) for item in body.get("items", [body])), default=0) / 1000
        looks = path == "/get" or "items" in body
        for left in range((tries or self._tries) - 1, -1, -1):
            try:
                status, answer = self._wire.post("/v1/claims" + path, body, wait)
                if status < 300 or (looks and "outcome" in answer):
                    return answer
                error = error_of(status, answer)
            except (OSError, http.client.HTTPException, ValueError) as reason:
                error = StoreUnavailable(f"the claims API does not answer ({type(reason).__name__}: {reason})")
            if left == 0 or not isinstance(error, StoreUnavailable):
                raise error
            time.sleep(PAUSE_S * 2 ** ((tries or self._tries) - 1 - left))
        raise AssertionError("there is at least one try")

    # ---- once

    def terms(self, key: str, *, namespace: Optional[str] = None, scope: Optional[str] = None, lease: Optional[float] = None,
              ttl: Optional[float] = None, on_unknown: Optional[str] = None, wait: float = 0, **more: Any) -> dict[str, Any]:
        """A claim by the defaults of this client. `more`: payload or fingerprint, order, owner."""
        given = {"namespace": namespace, "scope": scope, "lease": lease, "ttl": ttl, "on_unknown": on_unknown}
        chosen = {name: self._defaults[name] if value is None else value for name, value in given.items()}
        item = {"namespace": chosen["namespace"], "scope": chosen["scope"], "key": key, "owner": uuid.uuid4().hex,
                "lease_ms": round(chosen["lease"] * 1000), **more}
        if chosen["ttl"] is not None:
            item["ttl_ms"] = round(chosen["ttl"] * 1000)
        if chosen["on_unknown"] is not None:
            item["on_unknown"] = chosen["on_unknown"]
        if wait:
            item["wait_ms"] = round(wait * 1000)
        return item

    def begin(self, key: str, **terms: Any) -> Union[Attempt, Done]:
        """Claims the key: an Attempt that is ours to end, or how the key ended before. Raises in all other cases."""
        item, began = self.terms(key, **terms), time.monotonic()
        try:
            answer = self.claim(item)
        except (StoreUnavailable, KeyboardInterrupt, SystemExit):  # it may have been granted
            self._keeper.later("", item, began + item["lease_ms"] / 1000)
            raise
        began_or_done = self._started(item, answer, began)
        if isinstance(began_or_done, Attempt) and time.monotonic() - began > item["lease_ms"] / 3000:
            self._freshen(began_or_done)  # it was long on its way: the lease may be over
        return began_or_done

    def _started(self, item: dict[str, Any], answer: dict[str, Any], began: float) -> Union[Attempt, Done]:
        if answer.get("outcome") == "done":
            return Done(answer.get("result") or {}, answer.get("attempt", 1), answer.get("expires_at"))
        if answer.get("outcome") != "granted":
            raise error_of(200, answer)
        attempt = Attempt(self, item, answer, began)
        self._keeper.hold(attempt)
        return attempt

    def _freshen(self, attempt: Attempt) -> None:
        try:
            attempt.renew()
        except SemelError as error:
            self._keeper.drop(attempt)
            self._keeper.later("release", attempt.call(), attempt._until)
            raise StoreUnavailable("the claim came too late to be used; nothing ran") from error

    def once(self, key: str, fn: Callable[[Attempt], Any], **terms: Any) -> Any:
        """What `fn` returned for this key, now or earlier: bytes, or what JSON can say. `terms` are those of terms()."""
        got = self.begin(key, **terms)
        return got.value if isinstance(got, Done) else self.run(got, fn).value

    def run(self, attempt: Attempt, fn: Callable[[Attempt], Any]) -> Done:
        """Runs the function of an attempt that has begun, and ends the attempt as it ended."""
        try:
            result = result_of(fn(attempt))
        except BaseException as error:
            end_failed(attempt, error)
            raise
        return keep(attempt, result)

    def once_many(self, items: Iterable[Union[str, dict[str, Any]]], fn: Callable[[Any, Attempt], Any],
                  **terms: Any) -> list[Union[Done, Exception]]:
        """Claims all, runs `fn(item, attempt)` for each that is granted, one after the other, and completes them together.
        An item is a key, or a dictionary with `key`, terms of its own and what else `fn` needs. The answers are in the order of
        the items: a Done, or the error of that item. No error of one item stops the others."""
        import semel_batch  # below this module, and needs it
        return semel_batch.run(self, list(items), fn, terms)
