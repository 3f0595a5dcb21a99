"""A stand-in for what semel_powertools.py uses of AWS Lambda Powertools, which Debian does not have.

It has the documented interface and order of calls, written for these tests: save in progress, run, save success; an exception
deletes the record; a record that exists is answered by its status.
"""
import abc
import dataclasses
import hashlib
import json
import sys
import time
import types
from typing import Optional


class IdempotencyItemAlreadyExistsError(Exception):
    def __init__(self, *words, old_data_record=None):
        super().__init__(*words)
        self.old_data_record = old_data_record


class IdempotencyItemNotFoundError(Exception):
    pass


class IdempotencyValidationError(Exception):
    pass


class IdempotencyAlreadyInProgressError(Exception):
    pass


class IdempotencyPersistenceLayerError(Exception):
    pass


@dataclasses.dataclass
class DataRecord:
    idempotency_key: str
    status: str = ""
    expiry_timestamp: Optional[int] = None
    in_progress_expiry_timestamp: Optional[int] = None
    response_data: str = ""
    payload_hash: Optional[str] = None


class BasePersistenceLayer(abc.ABC):
    def __init__(self):
        self.expires_after_seconds = 3600
        self.validate = None  # what of the event is compared

    def record(self, event, **more):
        key = "shop.handler#" + hashlib.md5(json.dumps(event["id"]).encode()).hexdigest()
        compared = hashlib.md5(json.dumps(event[self.validate]).encode()).hexdigest() if self.validate else ""
        return DataRecord(idempotency_key=key, payload_hash=compared,
                          expiry_timestamp=int(time.time() + self.expires_after_seconds), **more)

    def save_inprogress(self, event, remaining_ms):
        until = None if remaining_ms is None else int(time.time() * 1000 + remaining_ms)
        self._put_record(self.record(event, status="INPROGRESS", in_progress_expiry_timestamp=until))

    def save_success(self, event, result):
        self._update_record(self.record(event, status="COMPLETED", response_data=json.dumps(result)))

    def delete_record(self, event):
        self._delete_record(DataRecord(idempotency_key=self.record(event).idempotency_key))

    def get_record(self, event):
        found = self._get_record(self.record(event).idempotency_key)
        if self.validate and found.payload_hash != self.record(event).payload_hash:
            raise IdempotencyValidationError
        return found

    @abc.abstractmethod
    def _get_record(self, idempotency_key):
        ...

    @abc.abstractmethod
    def _put_record(self, data_record):
        ...

    @abc.abstractmethod
    def _update_record(self, data_record):
        ...

    @abc.abstractmethod
    def _delete_record(self, data_record):
        ...


def handle(layer, function, event, remaining_ms=None):
    """As the decorator @idempotent does it."""
    try:
        layer.save_inprogress(event, remaining_ms)
    except IdempotencyItemAlreadyExistsError as error:
        record = error.old_data_record or layer.get_record(event)
        if layer.validate and record.payload_hash != layer.record(event).payload_hash:
            raise IdempotencyValidationError from error
        if record.status == "INPROGRESS":
            raise IdempotencyAlreadyInProgressError from error
        return json.loads(record.response_data)
    except IdempotencyValidationError:
        raise
    except Exception as error:
        raise IdempotencyPersistenceLayerError("Failed to save in progress record to idempotency store") from error
    try:
        result = function(event)
    except Exception:
        layer.delete_record(event)
        raise
    try:
        layer.save_success(event, result)
    except Exception as error:
        raise IdempotencyPersistenceLayerError("Failed to update record state to success in idempotency store") from error
    return result


def install():
    """Under the names by which the real one is imported."""
    base = "aws_lambda_powertools.utilities.idempotency"
    for name in ("aws_lambda_powertools", "aws_lambda_powertools.utilities", base, base + ".persistence",
                 base + ".persistence.base", base + ".exceptions"):
        module = sys.modules.setdefault(name, types.ModuleType(name))
        vars(module).update({key: value for key, value in globals().items() if not key.startswith("_")})
