"""The gateway's rules for an HTTP service, without a server: which requests are guarded, what an answer means for its key, and
what callers are told. semel_wsgi.py and semel_asgi.py are the servers' sides.

Options have the names and the meaning of a [[route]] in conf/semel.toml. Text is one character for each byte.
"""
from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

import semel
from semel_expressions import JOINED, KEY_BYTES_MAX, Expression, PartError, Request, parse_key
from semel_fingerprint import fingerprint, sha256_parts, tokens
from semel_problems import BODY_NOT_KEPT, DETAIL_SETTLES_LATER, PROBLEMS

HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "te", "upgrade", "trailer", "proxy-authorization",
              "content-length", "transfer-encoding"}
PERSONAL = {"set-cookie", "set-cookie2", "date", "www-authenticate", "proxy-authenticate", "authentication-info",
            "proxy-authentication-info", "authentication-control"}
RELEASED = {401, 403, 408, 409, 425, 429, 500, 501, 503}
VERDICTS = ("store", "release", "unknown")
SAYS_WHEN = {"in-flight", "outcome-unknown", "rate-limited", "store-unavailable"}
SCOPE_BYTES_MAX, WAIT_MAX_S = 4096, 30  # of the API
SIGNED_ID = hashlib.sha256(b"semel event with a signed id v1").hexdigest()
EXPIRES, OUTCOME = "Idempotency-Expires", "Semel-Outcome"
DOUBTFUL = [(r"\\", "a backslash"), ("\0", "a NUL"), ("(?i)%2f", "an encoded slash"), ("(?i)%5c", "an encoded backslash"),
            ("%00", "an encoded NUL"), (r"(?i)/(\.|%2e){2}(?=/|$)", "a `..` segment")]

Fields = Sequence[tuple[str, str]]
Event = tuple[str, bool]  # the id of a delivery, and whether its signature covers the id


class Reply(NamedTuple):
    status: int
    fields: list[tuple[str, str]]
    body: bytes


class Claim(NamedTuple):
    """What a guarded request claims: terms for semel.Client.begin()."""

    key: str
    terms: dict[str, Any]


def scope_text(value: str) -> str:
    """As the API takes it. What it does not take (too long, not UTF-8) is hashed, and not shared with the gateway."""
    data = value.encode("latin-1")
    try:
        if len(data) <= SCOPE_BYTES_MAX:
            return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    return f"{JOINED}#{sha256_parts('semel long scope v1', data)}"


def field_text(value: str) -> str:
    """A field of an answer, as text where its bytes are UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return value


def is_field(name: str, value: str) -> bool:
    """Whether it can be written as a field of HTTP without becoming something else."""
    return (re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None and value.strip(" \t") == value
            and re.search(r"[\0-\x08\x0a-\x1f\x7f]", value) is None)


class Rules:
    def __init__(self, *, methods: Iterable[str] = ("POST", "PATCH"), key: str = "required",
                 key_from: str = "{header:Idempotency-Key}", scope: str = "{header:Authorization}",
                 namespace: Optional[str] = None,
                 fingerprint: str = "json", ignore: Iterable[str] = (), ttl: Optional[float] = None, lease: float = 30.0,
                 in_flight: str = "conflict", wait_max: float = 10.0, on_unknown: Optional[str] = None,
                 keep: Optional[Mapping[str, str]] = None, body_bytes_max: int = 1 << 20,
                 store_body_max: int = 700 << 10, webhook: Optional[Callable[[Request], Optional[Event]]] = None,
                 problem_base: str = "urn:semel:problem:", replayed_header: str = "Idempotent-Replayed",
                 docs_url: str = "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header"):
        """Durations are seconds, sizes are bytes. `store_body_max` is what fits into a call of the API, as base64.

        `webhook` verifies a delivery: it returns its Event, or None if the signature is not valid (semel_webhook.py). Then
        methods, key, key_from, scope and fingerprint are not used, only a success is kept unless `keep` says otherwise, and the
        namespace is "webhooks" unless it is given. That of others is "default"."""
        namespace = namespace or ("webhooks" if webhook else "default")
        self.methods, self.key, self.namespace, self.webhook = tuple(methods), key, namespace, webhook
        self.key_from, self.scope = Expression(key_from), Expression(scope)
        self.as_json, self.ignore = fingerprint == "json", [tokens(pointer) for pointer in ignore]
        self.keep = {**({"3xx": "release", "4xx": "release"} if webhook else {}), **(keep or {})}
        self.body_bytes_max, self.store_body_max = body_bytes_max, store_body_max
        self.problem_base, self.replayed_header, self.docs_url = problem_base, replayed_header, docs_url
        self.on_unknown = on_unknown or ("retry" if webhook else "hold")
        self.terms = {"namespace": namespace, "lease": lease, "ttl": ttl or (7 * 86400 if webhook else 86400),
                      "on_unknown": self.on_unknown, "wait": wait_max if in_flight == "wait" else 0}
        for name, value, choices in (("key", key, ("required", "optional", "off")),
                                     ("fingerprint", fingerprint, ("json", "raw")),
                                     ("in_flight", in_flight, ("conflict", "wait")),
                                     ("on_unknown", self.on_unknown, ("hold", "retry"))):
            if value not in choices:
                raise ValueError(f"{name} is {value!r}; there are {', '.join(choices)}")
        if not any(part.kind in ("header", "cookie", "query", "json") and not part.optional for part in self.key_from.parts):
            raise ValueError(f"key_from is {key_from!r}: requests that lack all of it would have one key; give it a header, "
                             "cookie, query or JSON part without a question mark")
        if wait_max > WAIT_MAX_S:
            raise ValueError(f"wait_max is {wait_max}; the claims API lets nobody wait longer than {WAIT_MAX_S} s")
        for statuses, verdict in self.keep.items():
            if not re.fullmatch(r"[2-5](xx|\d\d)", statuses) or verdict not in VERDICTS:
                raise ValueError(f"keep: {statuses!r} = {verdict!r}; write a status or a class such as \"5xx\", and one of "
                                 f"{', '.join(VERDICTS)}")

    # ---- what a request asks for

    def look(self, request: Request) -> Union[Claim, Reply, None]:
        """Before the body is read. None: not guarded. A Claim without a fingerprint: read the body, then call look_again()."""
        if self.webhook:
            return Claim("", {})
        if self.key == "off":
            return None
        if request.method not in self.methods:
            if request.method.upper() in self.methods:
                return self.plain(400, "The method is written in another case than the one that is guarded.")
            return None
        for pattern, what in DOUBTFUL:
            if re.search(pattern, request.path):
                return self.plain(400, f"The path holds {what}, which programs read in different ways.")
        if self.key_from.needs_body() or self.scope.needs_body():
            return Claim("", {})
        return self.find_key(request)

    def look_again(self, request: Request, found: Claim) -> Union[Claim, Reply, None]:
        """With the body. None: not guarded."""
        if self.webhook:
            return self.find_event(request)
        claim = found if found.key else self.find_key(request)
        if not isinstance(claim, Claim):
            return claim
        as_json = self.as_json and request.is_json()
        claim.terms["fingerprint"] = fingerprint(request.method, request.target, request.body, as_json, self.ignore)
        return claim

    def find_key(self, request: Request) -> Union[Claim, Reply, None]:
        try:
            text = self.key_text(request)
        except PartError as error:
            if error.missing and self.key == "optional":
                return None
            return self.refuse("key-missing" if error.missing else "key-invalid", str(error))
        try:
            scope = self.scope.evaluate(request)
        except PartError as error:
            return self.refuse("scope-missing", str(error))
        return Claim(text, {**self.terms, "scope": scope_text(scope)})

    def key_text(self, request: Request) -> str:
        if self.key_from.is_single("header"):
            lines = request.lines(self.key_from.parts[0].text)
            if not lines:
                raise PartError("", missing=True)
            return parse_key(lines)
        joined = self.key_from.evaluate(request)
        if len(self.key_from.parts) > 1:
            return "\1" + sha256_parts("semel composed key v1", joined.encode("latin-1"))
        if not re.fullmatch(r"[ -~]{1,%d}" % KEY_BYTES_MAX, joined):
            raise PartError(f"{self.key_from.text} is not 1 to 255 printable ASCII characters.")
        return joined

    def find_event(self, request: Request) -> Union[Claim, Reply]:
        assert self.webhook is not None
        event = self.webhook(request)
        if event is None:
            return self.refuse("signature-invalid")
        text, is_signed = event
        if not re.fullmatch(r"[ -~]{1,%d}" % KEY_BYTES_MAX, text):
            return self.refuse("key-invalid", "The event has no id of 1 to 255 printable ASCII characters.")
        terms = {**self.terms, "scope": scope_text(request.path)}
        if is_signed:  # it names the event alone: another body under it is the same event
            terms["fingerprint"] = SIGNED_ID
        else:
            terms["fingerprint"] = fingerprint("", "", request.body)
        return Claim(text, terms)

    # ---- what an answer means

    def judge(self, status: int, fields: Fields) -> str:
        said = [value.strip(" \t") for name, value in fields if name.lower() == OUTCOME.lower()]
        if not 200 <= status <= 599:
            return "unknown"
        if len(said) == 1 and said[0] in VERDICTS:
            return said[0]
        ruled = self.keep.get(str(status)) or self.keep.get(f"{status // 100}xx")
        if ruled:
            return ruled
        return "release" if status in RELEASED else "store" if status < 500 else "unknown"

    def to_client(self, fields: Fields) -> list[tuple[str, str]]:
        """The fields of the first answer: without those that end at a connection and those that only we set."""
        named = {part.strip().lower() for name, value in fields if name.lower() == "connection" for part in value.split(",")}
        return [(name, value) for name, value in self.unmarked(fields) if name.lower() not in HOP_BY_HOP | named]

    def unmarked(self, fields: Fields) -> list[tuple[str, str]]:
        ours = {EXPIRES.lower(), OUTCOME.lower(), self.replayed_header.lower()}
        return [(name, value) for name, value in fields if name.lower() not in ours]

    def result(self, status: int, fields: Fields, body: Optional[bytes]) -> dict[str, Any]:
        """The answer as it is kept. A body of None was too large: status and Location are kept, and a body that says so."""
        kept = [(name.lower(), value) for name, value in self.to_client(fields) if name.lower() not in PERSONAL]
        if body is None:
            kept = [(name, value) for name, value in kept if name == "location"]
            kept.append(("content-type", "application/problem+json"))
            body = self.body_not_kept(status)
        headers: dict[str, list[str]] = {}
        for name, value in kept:
            if is_field(name, value):
                headers.setdefault(name, []).append(field_text(value))
        result: dict[str, Any] = {"status": status}
        if "content-type" in headers:
            result["content_type"] = headers.pop("content-type")[0]
        if headers:
            result["headers"] = headers
        if body:
            result["body_base64"] = base64.b64encode(body).decode()
        return result

    # ---- what callers are told

    def replay(self, done: semel.Done) -> Reply:
        result, status = done.result, done.result.get("status") or 200
        body, kind = base64.b64decode(result.get("body_base64", "")), result.get("content_type")
        if result.get("body_kept") is False:  # by a gateway that shares this key
            body, kind = self.body_not_kept(status), "application/problem+json"
        fields = [("Content-Type", kind)] if kind else []
        for name, values in (result.get("headers") or {}).items():
            for value in values if isinstance(values, list) else [values]:
                fields.append((name, value.encode("utf-8").decode("latin-1")))
        if not 200 <= status <= 599 or not all(is_field(*field) for field in fields):
            return self.refuse("record-corrupt")
        return Reply(status, [*fields, (self.replayed_header, "true"), *self.expires(done.expires_at)], body)

    def body_not_kept(self, status: int) -> bytes:
        return self.problem_body("body-not-kept", "Answer too large to keep", status, BODY_NOT_KEPT, "never")

    @staticmethod
    def expires(expires_at: Optional[str]) -> list[tuple[str, str]]:
        """In whole seconds, as the gateway says it."""
        return [(EXPIRES, re.sub(r"\.\d+(?=Z$)", "", expires_at))] if expires_at else []

    def told(self, error: semel.SemelError) -> Reply:
        """A problem for the caller whose request did not run."""
        if isinstance(error, semel.Superseded):
            return Reply(200, [], b"")
        slug = {semel.InFlight: "in-flight", semel.OutcomeUnknown: "outcome-unknown",
                semel.KeyReused: "key-reused"}.get(type(error), "store-unavailable")
        if error.problem.get("type", "").endswith(":record-corrupt"):
            slug = "record-corrupt"
        return self.refuse(slug, after=error.retry_after or 0)

    def failed(self, error: Exception) -> Reply:
        """The handler raised."""
        if isinstance(error, semel.NoEffect):
            return self.plain(500, "The handler of this request failed, and nothing has happened.", "Internal Server Error")
        return self.lost()

    def lost(self) -> Reply:
        """The outcome of the caller's own attempt is unknown."""
        return self.refuse("outcome-unknown", status=502)

    def refuse(self, slug: str, why: str = "", status: int = 0, after: float = 0) -> Reply:
        usual, retry, title, detail = PROBLEMS[slug]
        if slug == "outcome-unknown" and self.on_unknown == "retry":
            retry, detail = "same-key", DETAIL_SETTLES_LATER
        if slug == "outcome-unknown" and status:  # the caller's own attempt was cut off
            detail = re.sub("^An (earlier )?attempt with this key", "This attempt", detail)
        fields = [("Content-Type", "application/problem+json")]
        if retry == "same-key" and slug in SAYS_WHEN:
            fields.append(("Retry-After", str(max(1, math.ceil(after)))))
        if slug == "key-missing" and self.docs_url:
            fields.append(("Link", f"<{self.docs_url}>; rel=\"describedby\"; type=\"text/html\""))
        body = self.problem_body(slug, title, status or usual, f"{detail} {why}" if why else detail, retry)
        return Reply(status or usual, fields, body)

    def problem_body(self, slug: str, title: str, status: int, detail: str, retry: str) -> bytes:
        problem = {"type": self.problem_base + slug, "title": title, "status": status, "detail": detail, "retry": retry}
        return json.dumps(problem, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    @staticmethod
    def plain(status: int, detail: str, title: str = "Bad Request") -> Reply:
        problem = {"type": "about:blank", "title": title, "status": status, "detail": detail, "retry": "never"}
        return Reply(status, [("Content-Type", "application/problem+json")], json.dumps(problem).encode() + b"\n")
