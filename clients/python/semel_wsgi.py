"""WSGI middleware (Flask, Django, any other): a request with an Idempotency-Key runs once, as behind the gateway.

    app.wsgi_app = semel_wsgi.Guard(app.wsgi_app, semel.Client(url, token))                     # Flask
    application = semel_wsgi.Guard(get_wsgi_application(), semel.Client(url, token))            # Django

The answer is read whole, however the application makes it (a list, a generator, a file, write()), and is durable before the
first byte of it goes out. In the application `environ["semel.attempt"]` is the Attempt of a guarded request, and the field
Idempotency-Attempt its number.
"""
from __future__ import annotations

import io
import logging
import re
import urllib.parse
import wsgiref.util
from http.client import responses
from typing import Any, Callable, Iterable, Iterator, Optional

import semel
from semel_expressions import Request
from semel_routes import Routes
from semel_rules import Claim, Reply, Rules

Environ = dict[str, Any]
BODILESS = (204, 304)
log = logging.getLogger("semel")


def target_of(environ: Environ) -> str:
    """Path and query as received, where the server tells; otherwise as they can be made again from what is decoded."""
    raw = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if raw:
        return re.sub(r"(?i)^https?://[^/?#]*", "", raw) or "/"
    path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1")
    query = environ.get("QUERY_STRING", "")
    return urllib.parse.quote(path, safe="/~!$&'()*+,;=:@") + ("?" + query if query else "")


def request_of(environ: Environ) -> Request:
    fields = [(name[5:].replace("_", "-"), value) for name, value in environ.items() if name.startswith("HTTP_")]
    if environ.get("CONTENT_TYPE"):
        fields.append(("Content-Type", environ["CONTENT_TYPE"]))
    return Request(environ["REQUEST_METHOD"], target_of(environ), fields, environ.get("REMOTE_ADDR", ""))


def read_body(environ: Environ, most: int) -> Optional[bytes]:
    """None if it is larger. EOFError if the client left in the middle of it."""
    length = environ.get("CONTENT_LENGTH")
    if not length:
        chunked = environ.get("wsgi.input_terminated") or "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
        body = environ["wsgi.input"].read(most + 1) if chunked else b""
        return body if len(body) <= most else None
    wanted = int(length)
    if wanted > most:
        return None
    pieces = []
    while wanted > 0:
        piece = environ["wsgi.input"].read(wanted)
        if not piece:
            raise EOFError
        pieces.append(piece)
        wanted -= len(piece)
    return b"".join(pieces)


class Answer:
    """What an application says, gathered: start_response(), write(), and the pieces of its iterable."""

    def __init__(self) -> None:
        self.status, self.fields, self.size = "", [], 0
        self.pieces: list[bytes] = []

    def start(self, status: str, fields: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        if self.status and exc_info is None:
            raise AssertionError("start_response() was called twice")
        self.status, self.fields = status, list(fields)
        return self.add

    def add(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self.size += len(piece)

    @property
    def code(self) -> int:
        return int(self.status[:3])


class Guard:
    """Options are those of semel_rules.Rules, for all paths; or `routes`, pairs of a path and its Rules."""

    def __init__(self, app: Callable[..., Iterable[bytes]], api: semel.Client,
                 routes: Optional[Iterable[tuple[str, Rules]]] = None, **options: Any):
        self.app, self.routes = app, Routes(api, routes, options)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ.pop("HTTP_IDEMPOTENCY_ATTEMPT", None)  # ours to say
        request = request_of(environ)
        rules = self.routes.find(request)
        if rules is None:
            return self.app(environ, start_response)
        found = rules.look(request)
        claim = self.with_body(rules, request, environ, found) if isinstance(found, Claim) else found
        if claim is None:
            return self.app(environ, self.unmarked(rules, start_response))
        if isinstance(claim, Reply):
            return self.send(claim, start_response)
        try:
            got = self.routes.api.begin(claim.key, **claim.terms)
        except semel.SemelError as error:
            if isinstance(error, semel.Rejected):
                log.error("the claims API refuses this service: %s", error)
            return self.send(rules.told(error), start_response)
        if isinstance(got, semel.Done):
            return self.send(rules.replay(got), start_response)
        return self.run(rules, got, environ, start_response)

    @staticmethod
    def with_body(rules: Rules, request: Request, environ: Environ, found: Claim) -> Any:
        try:
            body = read_body(environ, rules.body_bytes_max)
        except (EOFError, OSError, ValueError):
            return rules.plain(400, "The body of the request is not whole; it did not run.")
        if body is None:
            return rules.refuse("body-too-large")
        request.body = body
        environ["wsgi.input"], environ["CONTENT_LENGTH"] = io.BytesIO(body), str(len(body))
        return rules.look_again(request, found)

    @staticmethod
    def unmarked(rules: Rules, start_response: Callable[..., Any]) -> Callable[..., Any]:
        """Also where nothing is guarded, the marks are only ours to set."""
        def start(status: str, fields: list[tuple[str, str]], exc_info: Any = None) -> Any:
            kept = rules.unmarked(fields)
            return start_response(status, kept, exc_info) if exc_info else start_response(status, kept)
        return start

    @staticmethod
    def send(reply: Reply, start_response: Callable[..., Any]) -> list[bytes]:
        length = [] if reply.status in BODILESS else [("Content-Length", str(len(reply.body)))]
        start_response(f"{reply.status} {responses.get(reply.status, 'Other')}", [*reply.fields, *length])
        return [reply.body] if reply.body else []

    def run(self, rules: Rules, attempt: semel.Attempt, environ: Environ,
            start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ["semel.attempt"], environ["HTTP_IDEMPOTENCY_ATTEMPT"] = attempt, str(attempt.number)
        environ["wsgi.file_wrapper"] = wsgiref.util.FileWrapper  # a server's own may send the file without us
        answer, rest, close = Answer(), iter(()), None
        try:
            iterable = self.app(environ, answer.start)
            close = getattr(iterable, "close", None)
            rest = iter(iterable)
            for piece in rest:
                answer.add(piece)
                if answer.size > rules.store_body_max:
                    break
            else:
                if close is not None:
                    close()
                    close = None
            answer.code  # noqa: B018, an application that never said a status has not answered
        except BaseException as error:
            return self.failed(rules, attempt, error, close, start_response)
        large = answer.size > rules.store_body_max
        body = None if large else b"".join(answer.pieces)
        instead = self.routes.keep(rules, attempt, answer.code, answer.fields, body)
        if instead is not None:
            if close is not None:
                close()
            return self.send(instead, start_response)
        fields = self.routes.first_fields(rules, attempt, answer.code, answer.fields)
        if body is None:
            start_response(answer.status, fields + [pair for pair in answer.fields if pair[0].lower() == "content-length"])
            return self.on(answer.pieces, rest, close)
        start_response(answer.status, fields + ([] if answer.code in BODILESS else [("Content-Length", str(len(body)))]))
        return [body] if body and answer.code not in BODILESS else []

    def failed(self, rules: Rules, attempt: semel.Attempt, error: BaseException, close: Optional[Callable[[], Any]],
               start_response: Callable[..., Any]) -> list[bytes]:
        """The application raised: nobody knows what it had done by then."""
        semel.end_failed(attempt, error)
        if close is not None:
            try:
                close()
            except Exception:
                log.exception("closing the answer of a request that failed")
        if not isinstance(error, Exception):
            raise error
        log.error("a guarded request failed; its outcome is unknown", exc_info=error)
        return self.send(rules.failed(error), start_response)

    @staticmethod
    def on(pieces: list[bytes], rest: Iterator[bytes], close: Optional[Callable[[], Any]]) -> Iterator[bytes]:
        """The answer that is too large to keep goes to its first caller all the same."""
        try:
            yield from pieces
            yield from rest
        finally:
            if close is not None:
                close()
