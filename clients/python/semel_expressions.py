"""Expressions, as in a [[route]] of the gateway: which parts of a request make up a key or a scope.

    {header:X} {cookie:x} {query:x} {json:/pointer} {path} {method} {ip}     and literal text; `{{` and `}}` are braces

A part that is missing or empty is an error. Written with a question mark, {header:X?}, it may be either: absent and empty are
then two values of their own. A part that two programs could read differently is an error too. docs/configuration.md has the
rules in full. Text of a request is one character for each byte (ISO 8859-1), as WSGI has it.
"""
from __future__ import annotations

import dataclasses
import re
from typing import Callable, Optional, Sequence

from semel_fingerprint import DEPTH_MAX, NO_CANONICAL_FORM, Members, read_json, tokens

KEY_BYTES_MAX = 255
JOINED = "\0"  # before joined values; no value of a request begins with it
GOOD_KEY = (" Send one line with 1 to 255 visible ASCII characters, such as a UUID: "
            "Idempotency-Key: \"6f3c2e1a-8d54-4b7e-9c11-0a5f2d7b3e90\".")
PARTS = ("header", "cookie", "query", "json", "path", "method", "ip")


@dataclasses.dataclass
class Request:
    """What the rules look at. `fields` are pairs in the order in which they came."""

    method: str
    target: str  # path and query as received
    fields: Sequence[tuple[str, str]]
    ip: str = ""
    body: bytes = b""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    def lines(self, name: str) -> list[str]:
        return [value for field, value in self.fields if field.lower() == name.lower()]

    def is_json(self) -> bool:
        lines = self.lines("Content-Type")
        kind = lines[0].partition(";")[0].strip(" \t").lower() if len(lines) == 1 else ""
        return kind in ("application/json", "text/json") or (kind.endswith("+json") and len(kind) > 5)


class PartError(ValueError):
    """A part cannot be used; `missing` if it is not there at all. The text never quotes a value."""

    def __init__(self, text: str, missing: bool = False):
        super().__init__(text)
        self.missing = missing


@dataclasses.dataclass(frozen=True)
class Part:
    kind: str  # of PARTS, or "literal"
    text: str
    optional: bool = False
    written: str = ""

    def only(self, found: Sequence[str]) -> Optional[str]:
        if len(found) > 1:
            raise PartError(f"{self.written} occurs more than once in the request.")
        if not found:
            if self.optional:
                return None
            raise PartError(f"{self.written} is missing from the request.", missing=True)
        if found[0] == "" and not self.optional:
            raise PartError(f"{self.written} is empty in the request.")
        return found[0]


def cookies(request: Request, name: str) -> list[str]:
    pairs = [pair.partition("=") for line in request.lines("Cookie") for pair in line.split(";")]
    return [value.strip(" \t") for found, equals, value in pairs if equals and found.strip(" \t") == name]


def form_decoded(text: str) -> Optional[str]:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return None
    return re.sub(r"%(..)", lambda found: chr(int(found[1], 16)), text.replace("+", " "))


def of_query(part: Part, request: Request) -> Optional[str]:
    pairs = [pair.partition("=") for pair in request.query.split("&") if pair]
    found = [form_decoded(value) for name, _, value in pairs if form_decoded(name) == part.text]
    if None in found:
        raise PartError(f"{part.written} has a percent sign without two hexadecimal digits after it.")
    return part.only([value for value in found if value is not None])


def depth(value: object) -> int:
    inner = [member for _, member in value] if isinstance(value, Members) else value
    return 1 + max(map(depth, inner), default=0) if isinstance(inner, list) else 0


def of_json(part: Part, request: Request) -> Optional[str]:
    """Text is decoded; numbers, true and false are as they are written; null, objects and arrays count as missing."""
    try:
        value = read_json(request.body)
        if depth(value) > DEPTH_MAX:
            raise ValueError("too deep")
    except NO_CANONICAL_FORM:
        if part.optional:
            return None
        raise PartError(f"{part.written} cannot be read: the body is not JSON.", missing=True) from None
    for token in tokens(part.text):
        if isinstance(value, Members):
            found = [member for name, member in value if name == token]
            if len(found) > 1:
                raise PartError(f"{part.written} is ambiguous: a name on its path occurs twice in one object.")
        else:
            is_index = isinstance(value, list) and re.fullmatch(r"0|[1-9]\d{0,8}", token)
            found = value[int(token):int(token) + 1] if is_index else []
        if not found:
            return part.only([])
        value = found[0]
    if value is None or isinstance(value, list):
        return part.only([])
    if isinstance(value, bool):
        value = "true" if value else "false"
    return part.only([str(value).encode("utf-8", "surrogatepass").decode("latin-1")])


VALUES: dict[str, Callable[[Part, Request], Optional[str]]] = {
    "literal": lambda part, request: part.text,
    "header": lambda part, request: part.only([line.strip(" \t") for line in request.lines(part.text)]),
    "cookie": lambda part, request: part.only(cookies(request, part.text)),
    "query": of_query,
    "json": of_json,
    "path": lambda part, request: part.only([request.path]),
    "method": lambda part, request: part.only([request.method]),
    "ip": lambda part, request: part.only([request.ip]),
}


class Expression:
    def __init__(self, text: str):
        self.text = text
        self.parts: list[Part] = []
        literal = ""
        for braces, inner, plain in re.findall(r"(\{\{|\}\})|\{([^{}]*)\}|([^{}]+|[{}])", text):
            if braces or (plain and plain not in "{}"):
                literal += braces[:1] or plain
                continue
            if literal:
                self.parts.append(Part("literal", literal))
                literal = ""
            self.parts.append(self.part_of(inner, plain))
        if literal:
            self.parts.append(Part("literal", literal))

    def part_of(self, inner: str, stray: str) -> Part:
        name, colon, rest = inner.rstrip("?").partition(":")
        if stray or name not in PARTS or bool(colon) != (name in PARTS[:4]) or (colon and not rest):
            raise ValueError(f"{self.text!r}: there is no part {{{inner}}}; there are {{header:X}}, {{cookie:x}}, {{query:x}}, "
                             "{json:/pointer}, {path}, {method} and {ip}; a brace is written twice")
        if name == "json":
            tokens(rest)
        return Part(name, rest, inner.endswith("?"), "{" + inner + "}")

    def is_single(self, kind: str) -> bool:
        return len(self.parts) == 1 and self.parts[0].kind == kind

    def needs_body(self) -> bool:
        return any(part.kind == "json" for part in self.parts)

    def evaluate(self, request: Request) -> str:
        """The values, joined so that two different lists of values never give the same text."""
        values = [VALUES[part.kind](part, request) for part in self.parts]
        if not values:
            return ""
        if len(values) == 1 and values[0] and not values[0].startswith(JOINED):
            return values[0]
        return JOINED + "".join("-" if value is None else f"{len(value)}:{value}" for value in values)


def parse_key(lines: Sequence[str]) -> str:
    """The text of an Idempotency-Key field: a quoted string (RFC 8941) or a bare token. PartError says what is wrong."""
    def refuse(what: str) -> PartError:
        return PartError(what + GOOD_KEY)

    if len(lines) > 1:
        raise refuse("There are several Idempotency-Key lines, and they may differ.")
    value = lines[0].strip(" ")
    if not value:
        raise refuse("The key is empty.")
    if not re.fullmatch(r"[ -~]+", value):
        raise refuse("The key holds a control character, a tab or a byte outside ASCII.")
    if value[0] == '"':
        quoted = re.fullmatch(r'"((?:[^"\\]|\\["\\])*)"', value)
        if quoted is None:
            raise refuse("The quoted key is not closed, has a wrong escape, or is followed by something else.")
        text = re.sub(r"\\(.)", r"\1", quoted[1])
    elif re.search(r'[ ",;\\]', value):
        raise refuse("The key holds a space, a comma, a semicolon, a quote or a backslash; quote it if that is part of it.")
    else:
        text = value
    if not text:
        raise refuse("The key is empty between its quotes.")
    if len(text) > KEY_BYTES_MAX:
        raise refuse("The key is longer than 255 bytes.")
    return text
