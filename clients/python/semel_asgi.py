"""ASGI middleware (FastAPI, Starlette, any other): a request with an Idempotency-Key runs once, as behind the gateway.

    app = semel_asgi.Guard(app, semel.Client(url, token))

Put it around the whole application, so that the framework's own answers to errors pass through it. The answer is read whole,
however the application makes it, and is durable before the first byte of it goes out. In the application
`scope["semel.attempt"]` is the Attempt of a guarded request, and the field Idempotency-Attempt its number. A request that has
been claimed goes on to its end although its client has left: the client's retry gets the answer.
"""
from __future__ import annotations

import asyncio
import logging
from typing import Any, Awaitable, Callable, Iterable, Optional

import semel
import semel_async
from semel_expressions import Request
from semel_routes import Routes
from semel_rules import Claim, Reply, Rules

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
BODILESS = (204, 304)
ATTEMPT = b"idempotency-attempt"
log = logging.getLogger("semel")


def request_of(scope: Scope) -> Request:
    path = (scope.get("raw_path") or scope["path"].encode("utf-8")).decode("latin-1").partition("?")[0]
    query = scope.get("query_string", b"").decode("latin-1")
    fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    return Request(scope["method"], path + ("?" + query if query else ""), fields, (scope.get("client") or [""])[0])


class Gone(Exception):
    """The client left before its request was whole."""


def said_to_be_over(request: Request, most: int) -> bool:
    """By its Content-Length: then it is refused before it has come."""
    return any(line.isdigit() and int(line) > most for line in request.lines("Content-Length"))


async def read_body(receive: Receive, most: int) -> Optional[bytes]:
    """None if it is larger."""
    pieces, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            return None
        if not message.get("more_body", False):
            return b"".join(pieces)


def read_already(body: bytes) -> Receive:
    """Gives the body, and then nothing more: that the client has left is no reason to break off."""
    given = False

    async def receive() -> Message:
        nonlocal given
        if given:
            await asyncio.Event().wait()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def raw(fields: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]


class Answer:
    """What an application sends. It is held back until the key has been told of it; what is too large to keep goes on."""

    def __init__(self, guard: Guard, rules: Rules, attempt: semel.Attempt, send: Send):
        self.guard, self.rules, self.attempt, self.send = guard, rules, attempt, send
        self.status, self.fields = 0, []
        self.pieces: list[bytes] = []
        self.size = 0
        self.settled = False  # the key has been told
        self.replaced = False  # the caller was told something else
        self.whole = False

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", [])]
        elif message["type"] == "http.response.body" and not self.whole:
            await self.add(message.get("body", b""), message.get("more_body", False))

    async def add(self, piece: bytes, more: bool) -> None:
        self.whole = not more
        if self.settled:
            if not self.replaced:
                await self.pass_on(piece, more)
            return
        self.pieces.append(piece)
        self.size += len(piece)
        if more and self.size <= self.rules.store_body_max:
            return
        await self.settle(None if self.size > self.rules.store_body_max else b"".join(self.pieces), more)

    async def settle(self, body: Optional[bytes], more: bool) -> None:
        self.settled = True
        routes, told = self.guard.routes, (self.rules, self.attempt, self.status, self.fields)
        instead = await self.guard.api.call(routes.keep, *told, body)
        if instead is not None:
            self.replaced = True
            await self.guard.reply(instead, self.send)
            return
        fields = routes.first_fields(*told)
        if body is not None and self.status not in BODILESS:
            fields.append(("Content-Length", str(len(body))))
        elif body is None:
            fields += [pair for pair in self.fields if pair[0].lower() == "content-length"]
        await self.quietly({"type": "http.response.start", "status": self.status, "headers": raw(fields)})
        await self.pass_on(b"" if self.status in BODILESS else b"".join(self.pieces), more)

    async def pass_on(self, piece: bytes, more: bool) -> None:
        await self.quietly({"type": "http.response.body", "body": piece, "more_body": more})

    async def quietly(self, message: Message) -> None:
        try:
            await self.send(message)
        except OSError:
            self.replaced = True  # the client has left; its retry gets the answer


class Guard:
    """Options are those of semel_rules.Rules, for all paths; or `routes`, pairs of a path and its Rules."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], api: semel.Client,
                 routes: Optional[Iterable[tuple[str, Rules]]] = None, threads: int = 64, **options: Any):
        self.app, self.api, self.routes = app, semel_async.Client(api, threads), Routes(api, routes, options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0].lower() != ATTEMPT]}  # ours to say
        request = request_of(scope)
        rules = self.routes.find(request)
        found = rules.look(request) if rules is not None else None
        if rules is None or found is None:
            await self.app(scope, receive, self.unmarked(rules, send) if rules else send)
            return
        if isinstance(found, Reply):
            await self.reply(found, send)
            return
        try:
            body = None if said_to_be_over(request, rules.body_bytes_max) else await read_body(receive, rules.body_bytes_max)
        except Gone:
            return
        if body is None:
            await self.reply(rules.refuse("body-too-large"), send)
            return
        request.body = body
        claim = await self.api.call(rules.look_again, request, found) if rules.webhook else rules.look_again(request, found)
        if isinstance(claim, Claim):
            await self.guarded(rules, claim, scope, body, send)
        elif claim is None:
            await self.app(scope, read_already(body), self.unmarked(rules, send))
        else:
            await self.reply(claim, send)

    async def guarded(self, rules: Rules, claim: Claim, scope: Scope, body: bytes, send: Send) -> None:
        try:
            got = await self.api.begin(claim.key, **claim.terms)
        except semel.SemelError as error:
            if isinstance(error, semel.Rejected):
                log.error("the claims API refuses this service: %s", error)
            await self.reply(rules.told(error), send)
            return
        if isinstance(got, semel.Done):
            await self.reply(rules.replay(got), send)
        else:
            await self.api.to_its_end(self.run(rules, got, scope, body, send))

    async def run(self, rules: Rules, attempt: semel.Attempt, scope: Scope, body: bytes, send: Send) -> None:
        answer = Answer(self, rules, attempt, send)
        number = (ATTEMPT, str(attempt.number).encode())
        inner = {**scope, "semel.attempt": attempt, "headers": [*scope["headers"], number], "extensions": {}}
        failure: BaseException = RuntimeError("the application returned before its answer was whole")
        try:
            await self.app(inner, read_already(body), answer.take)
        except BaseException as error:
            failure = error
            if answer.whole:
                raise  # the framework has answered, and tells the server what was wrong
        if answer.whole:
            return
        if answer.settled:
            raise failure  # too late to say anything else: the server breaks the connection off
        await self.api.call(semel.end_failed, attempt, failure)
        if not isinstance(failure, Exception):
            raise failure
        log.error("a guarded request failed; its outcome is unknown", exc_info=failure)
        await self.reply(rules.failed(failure), send)

    @staticmethod
    def unmarked(rules: Rules, send: Send) -> Send:
        """Also where nothing is guarded, the marks are only ours to set."""
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", [])]
                message = {**message, "headers": raw(rules.unmarked(fields))}
            await send(message)
        return sent

    @staticmethod
    async def reply(reply: Reply, send: Send) -> None:
        length = [] if reply.status in BODILESS else [("Content-Length", str(len(reply.body)))]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw([*reply.fields, *length])})
        await send({"type": "http.response.body", "body": reply.body})
