"""once_many() of semel.py: claims together, runs what is granted, completes together."""
from __future__ import annotations

import json
import time
from typing import Any, Callable, Iterable, Iterator, Union

import semel
from semel_transport import BATCH_BYTES, BATCH_MAX, SemelError, StoreUnavailable, error_of

TERMS = ("key", "namespace", "scope", "lease", "ttl", "on_unknown", "wait", "payload", "fingerprint", "order", "owner")
Ended = Union[semel.Done, Exception]


def run(api: semel.Client, items: list[Any], fn: Callable[[Any, semel.Attempt], Any], terms: dict[str, Any]) -> list[Ended]:
    given = [{"key": item} if isinstance(item, str) else item for item in items]
    claims = [api.terms(**{**terms, **{name: one[name] for name in TERMS if name in one}}) for one in given]
    answers: list[Any] = [None] * len(items)
    waiting = list(range(len(items)))
    while waiting:  # a key that is there twice comes in the next round: the API refuses it in one call
        names: dict[tuple[str, str, str], int] = {}
        for place in waiting:
            claim = claims[place]
            names.setdefault((claim["namespace"], claim["scope"], claim["key"]), place)
        these = sorted(names.values())
        run_round(api, these, items, claims, fn, answers)
        waiting = [place for place in waiting if place not in set(these)]
    return answers


def run_round(api: semel.Client, places: list[int], items: list[Any], claims: list[dict[str, Any]],
              fn: Callable[[Any, semel.Attempt], Any], answers: list[Any]) -> None:
    for batch in batches((place, claims[place]) for place in places):
        begin(api, batch, answers)
        ends = Ends(api, answers)
        for place, _ in batch:
            attempt = answers[place]
            if not isinstance(attempt, semel.Attempt):
                continue
            try:
                attempt.check()
                ends.add(place, attempt, semel.result_of(fn(items[place], attempt)))
            except Exception as error:
                semel.end_failed(attempt, error)
                answers[place] = error
        ends.flush()


def batches(placed: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """As many as one call takes."""
    batch: list[tuple[int, dict[str, Any]]] = []
    size = 0
    for place, item in placed:
        length = len(json.dumps(item))
        if batch and (len(batch) == BATCH_MAX or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((place, item))
        size += length
    if batch:
        yield batch


def begin(api: semel.Client, batch: list[tuple[int, dict[str, Any]]], answers: list[Any]) -> None:
    """Each place gets its Attempt, how its key ended, or its error."""
    began = time.monotonic()
    try:
        told = api.call("", {"items": [claim for _, claim in batch]})["items"]
    except SemelError as error:
        for place, claim in batch:
            answers[place] = error
            if isinstance(error, StoreUnavailable):
                api._keeper.later("", claim, began + claim["lease_ms"] / 1000)
        return
    for (place, claim), answer in zip(batch, told):
        try:
            answers[place] = api._started(claim, answer, began)
        except SemelError as error:
            answers[place] = error


class Ends:
    """Attempts whose function has returned, completed together: soon, since a crash would leave them unknown."""

    MANY, SOON_S = 100, 0.25

    def __init__(self, api: semel.Client, answers: list[Any]):
        self.api, self.answers, self.since, self.size = api, answers, 0.0, 0
        self.waiting: list[tuple[int, semel.Attempt, dict[str, Any]]] = []

    def add(self, place: int, attempt: semel.Attempt, result: dict[str, Any]) -> None:
        length = len(json.dumps(result))
        if self.size + length > BATCH_BYTES:
            self.flush()
        self.since = self.since if self.waiting else time.monotonic()
        self.size += length
        self.waiting.append((place, attempt, result))
        if len(self.waiting) >= self.MANY or time.monotonic() - self.since > self.SOON_S:
            self.flush()

    def flush(self) -> None:
        ended, self.waiting, self.size = self.waiting, [], 0
        if not ended:
            return
        items = [attempt.call(result=result) for _, attempt, result in ended]
        try:
            told = self.api.call("/complete", {"items": items}, tries=semel.END_TRIES)["items"]
        except SemelError as error:
            told = [{"problem": {"status": 503, "detail": str(error)}}] * len(ended)
        for (place, attempt, result), item, answer in zip(ended, items, told):
            self.api._keeper.drop(attempt)
            self.answers[place] = self.end_of(attempt, result, item, answer)

    def end_of(self, attempt: semel.Attempt, result: dict[str, Any], item: dict[str, Any], answer: dict[str, Any]) -> Ended:
        if answer.get("outcome") == "completed":
            return semel.Done(result, attempt.number, attempt.expires_at, replayed=False)
        error = error_of(200, answer)
        if isinstance(error, StoreUnavailable):
            self.api._keeper.later("complete", item, attempt._until)
            return semel.not_stored(error)
        if isinstance(error, semel.Rejected):
            semel.end_failed(attempt, error)
        return error
