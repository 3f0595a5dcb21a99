"""Verifying webhook deliveries, for the option `webhook` of the middleware.

    semel_wsgi.Guard(app, api, routes=[("/hooks", Rules(webhook=standard("whsec_…"), namespace="hooks"))])

A function of your own takes a Request (semel_expressions.py) and returns the event's id and whether the signature covers the
id, or None if the signature is not valid: for Stripe and GitHub see clients/python/README.md.
"""
from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from typing import Callable, Optional

from semel_expressions import Request


def secret_bytes(secret: str) -> bytes:
    text = secret[6:] if secret.startswith("whsec_") else secret
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("a secret of Standard Webhooks is `whsec_` and base64")
    return key


def only(request: Request, name: str) -> str:
    """The field, if it is there exactly once; programs disagree on which of two counts."""
    lines = request.lines(name)
    return lines[0].strip(" \t") if len(lines) == 1 else ""


def standard(*secrets: str, tolerance: float = 300.0,
             clock: Callable[[], float] = time.time) -> Callable[[Request], Optional[tuple[str, bool]]]:
    """Standard Webhooks, version v1 (HMAC). Any of the secrets may match any of the signatures: so secrets can be rotated."""
    if not secrets:
        raise ValueError("without a secret every delivery would be refused")
    keys = [secret_bytes(secret) for secret in secrets]

    def verify(request: Request) -> Optional[tuple[str, bool]]:
        name, stamp = only(request, "webhook-id"), only(request, "webhook-timestamp")
        if not name or not re.fullmatch(r"\d{1,12}", stamp) or abs(clock() - int(stamp)) > tolerance:
            return None
        signed = f"{name}.{stamp}.".encode("latin-1") + request.body
        wanted = [base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys]
        given = [one[3:].encode("latin-1") for one in only(request, "webhook-signature").split(" ") if one.startswith("v1,")]
        matches = [hmac.compare_digest(one, other) for one in given for other in wanted]
        return (name, True) if any(matches) else None

    return verify
