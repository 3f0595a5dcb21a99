"""The fingerprint of a request, bit for bit the gateway's: so keys can be shared with it (docs/adr/0004-own-canonical-json.md).

SHA-256 over the lengths and bytes of method, target and body. A body that is JSON is hashed in a canonical form: the order of
members, white space and escapes do not matter, numbers stay exact. If parsers may disagree on a body (names that occur twice,
bytes that are not UTF-8, lone surrogates, more than 64 levels), its bytes are hashed.
"""
from __future__ import annotations

import hashlib
import json
from typing import Any, Optional, Sequence

DEPTH_MAX = 64
EXPONENT_MAX = 9999
NO_CANONICAL_FORM = (ValueError, RecursionError)  # UnicodeError is a ValueError


class Number(str):
    """As it is written in the document."""


class Members(list):
    """Of an object, in pairs: a dictionary would hide a name that occurs twice."""


def sha256_parts(tag: str, *parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in (tag.encode(), *parts):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def read_json(body: bytes) -> Any:
    """With objects as Members and numbers as they are written. ValueError or RecursionError: it is not JSON."""
    text = body.decode("utf-8")
    if text.startswith("\ufeff"):
        raise ValueError("a byte order mark")
    return json.loads(text, object_pairs_hook=Members, parse_int=Number, parse_float=Number, parse_constant=_no_constant)


def canonical_number(text: str) -> str:
    sign = "-" if text.startswith("-") else ""
    mantissa, _, power = text.lstrip("-").replace("E", "e").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits_of_power = power.lstrip("+-").lstrip("0") or "0"
    exponent = (int(digits_of_power) if len(digits_of_power) < 16 else 1 << 50) * (-1 if power.startswith("-") else 1)
    fraction = fraction.rstrip("0")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return sign + "0"
    exponent -= len(fraction)
    if not fraction:
        exponent += len(digits) - len(digits.rstrip("0"))
        digits = digits.rstrip("0")
    if abs(exponent) > EXPONENT_MAX:
        raise ValueError("an exponent out of bounds")
    return sign + digits + (f"e{exponent}" if exponent else "")


def canonical_string(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8")  # a lone surrogate is a UnicodeError


def inside(paths: Sequence[Sequence[str]], name: str) -> tuple[bool, list[Sequence[str]]]:
    """Whether this member is left out, and the paths that lead on into it."""
    rest = [path[1:] for path in paths if path[0] == name]
    return [] in [list(path) for path in rest], [path for path in rest if path]


def put(value: Any, paths: Sequence[Sequence[str]], depth: int) -> bytes:
    if isinstance(value, Number):
        return canonical_number(value).encode()
    if isinstance(value, str):
        return canonical_string(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value).encode()
    if depth == DEPTH_MAX:
        raise ValueError("too deep")
    kept = []
    if isinstance(value, Members):
        for name, member in value:
            left_out, further = inside(paths, name)
            spelling = canonical_string(name)
            kept.append((spelling, None if left_out else b":", put(member, further, depth + 1)))
        kept.sort(key=lambda one: one[0][1:-1])
        if any(one[0] == other[0] for one, other in zip(kept, kept[1:])):
            raise ValueError("a name that occurs twice")
        return b"{" + b",".join(name + b":" + text for name, shown, text in kept if shown) + b"}"
    for index, element in enumerate(value):
        left_out, further = inside(paths, str(index))
        text = put(element, further, depth + 1)
        if not left_out:
            kept.append(text)
    return b"[" + b",".join(kept) + b"]"


def canonical_json(body: bytes, ignore: Sequence[Sequence[str]] = ()) -> Optional[bytes]:
    """None if there is no such form. `ignore` are pointers, as tokens()."""
    try:
        return put(read_json(body), ignore, 0)
    except NO_CANONICAL_FORM:
        return None


def tokens(pointer: str) -> list[str]:
    """The reference tokens of a JSON Pointer (RFC 6901)."""
    if not pointer.startswith("/"):
        raise ValueError(f"the JSON pointer {pointer!r} does not begin with `/`; write /name or /outer/inner")
    found = []
    for token in pointer[1:].split("/"):
        if "~" in token.replace("~0", "").replace("~1", ""):
            raise ValueError(f"the JSON pointer {pointer!r} has a `~` that is neither `~0` nor `~1`")
        found.append(token.replace("~1", "/").replace("~0", "~"))
    return found


def fingerprint(method: str, target: str, body: bytes, as_json: bool = False, ignore: Sequence[Sequence[str]] = ()) -> str:
    """64 hexadecimal digits: the member `fingerprint` of a claim. Method and target are one character for each byte."""
    canonical = canonical_json(body, ignore) if as_json else None
    form, text = ("raw", body) if canonical is None else ("json", canonical)
    return sha256_parts("semel fingerprint v1", method.encode("latin-1"), target.encode("latin-1"), form.encode(), text)
