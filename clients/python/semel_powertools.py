"""A persistence layer for the idempotency utility of AWS Lambda Powertools for Python.

    layer = semel_powertools.SemelPersistenceLayer(semel.Client(url, token, namespace="lambda"))

    @idempotent(persistence_store=layer, config=IdempotencyConfig(event_key_jmespath="order_id"))
    def handler(event, context): …

put → claim, update → complete, delete → release, get. Unlike a table, Semel knows whose claim it is: a function that
outlived its lease changes nothing. The lease is the time that is left to the function (register_lambda_context), and is
renewed as usual.
"""
from __future__ import annotations

import datetime
import hashlib
import json
import time
from typing import Any, Optional

from aws_lambda_powertools.utilities.idempotency.exceptions import (IdempotencyItemAlreadyExistsError,
                                                                    IdempotencyItemNotFoundError, IdempotencyValidationError)
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer, DataRecord

import semel

HASH_FIELD = "x-powertools-payload-hash"
LEASE_LEAST_S = 1.0


class SemelPersistenceLayer(BasePersistenceLayer):
    """`on_unknown` is what happens to a key whose function died: "retry", as with Powertools' own layers, or "hold"."""

    def __init__(self, api: semel.Client, on_unknown: str = "retry"):
        self.api, self.on_unknown = api, on_unknown
        self.attempts: dict[str, semel.Attempt] = {}  # of the functions that are running in this process
        super().__init__()

    def _put_record(self, data_record: Any) -> None:
        key, payload_hash = data_record.idempotency_key, data_record.payload_hash or ""
        terms: dict[str, Any] = {"ttl": max(1.0, data_record.expiry_timestamp - time.time()), "on_unknown": self.on_unknown}
        ends_at = getattr(data_record, "in_progress_expiry_timestamp", None)
        if ends_at is not None:
            terms["lease"] = max(LEASE_LEAST_S, ends_at / 1000 - time.time())
        try:
            got = self.api.begin(key_text(key), fingerprint=fingerprint_of(payload_hash), **terms)
        except semel.KeyReused as error:
            raise IdempotencyValidationError("Payload does not match stored record for this event key") from error
        except semel.InFlight as error:
            running = DataRecord(idempotency_key=key, status="INPROGRESS", expiry_timestamp=data_record.expiry_timestamp,
                                 payload_hash=payload_hash)
            raise IdempotencyItemAlreadyExistsError(old_data_record=running) from error
        if isinstance(got, semel.Done):
            raise IdempotencyItemAlreadyExistsError(old_data_record=record_of(key, got))
        self.attempts[key] = got

    def _update_record(self, data_record: Any) -> None:
        result = semel.result_of(json.loads(data_record.response_data))
        if data_record.payload_hash:
            result["headers"] = {HASH_FIELD: data_record.payload_hash}
        semel.keep(self.attempts.pop(data_record.idempotency_key), result)

    def _delete_record(self, data_record: Any) -> None:
        self.attempts.pop(data_record.idempotency_key).release()

    def _get_record(self, idempotency_key: str) -> Any:
        named = self.api.terms(key_text(idempotency_key))
        found = self.api.get({name: named[name] for name in ("namespace", "scope", "key")})
        if found["outcome"] == "done":
            return record_of(idempotency_key, semel.Done(found["result"], found.get("attempt", 1), found.get("expires_at")))
        if found["outcome"] == "running":
            return DataRecord(idempotency_key=idempotency_key, status="INPROGRESS", expiry_timestamp=int(time.time()) + 3600)
        if found["outcome"] == "unknown" and self.on_unknown == "hold":
            raise semel.OutcomeUnknown("the function of this key died, and nobody knows whether it had taken effect", found)
        raise IdempotencyItemNotFoundError


def key_text(key: str) -> str:
    """A key of Semel has 255 bytes at most; that of Powertools begins with the name of the function."""
    return key if len(key.encode()) <= 255 else "sha256#" + hashlib.sha256(key.encode()).hexdigest()


def fingerprint_of(payload_hash: str) -> str:
    return hashlib.sha256(b"powertools payload " + payload_hash.encode()).hexdigest()


def record_of(key: str, done: semel.Done) -> Any:
    hashes = (done.result.get("headers") or {}).get(HASH_FIELD, "")
    return DataRecord(idempotency_key=key, status="COMPLETED", expiry_timestamp=seconds_of(done.expires_at),
                      response_data=json.dumps(done.value), payload_hash=hashes[0] if isinstance(hashes, list) else hashes)


def seconds_of(stamp: Optional[str]) -> int:
    if stamp is None:
        return int(time.time()) + 3600
    return int(datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp())
