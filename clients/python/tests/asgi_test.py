#!/usr/bin/env python3
"""The ASGI middleware and the asynchronous client: answers, clients that leave, servers that cancel: asgi_test.py"""
import asyncio
import time
import unittest

from middleware_case import Case, semel

import semel_asgi
import semel_async


class Asgi(Case):
    def ask(self, guard, key="k", body=(b"{}",), method="POST", path="/x", gone=False):
        return asyncio.run(self.asked(guard, key, body, method, path, gone))

    async def asked(self, guard, key="k", body=(b"{}",), method="POST", path="/x", gone=False):
        headers = [(b"authorization", b"alice"), (b"content-type", b"application/json")]
        if key is not None:
            headers.append((b"idempotency-key", key.encode()))
        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers,
                 "client": ("192.0.2.7", 1)}
        pieces = [{"type": "http.request", "body": piece, "more_body": at + 1 < len(body)} for at, piece in enumerate(body)]
        said = {"pieces": 0, "body": b""}

        async def receive():
            return pieces.pop(0) if pieces else {"type": "http.disconnect"}

        async def send(message):
            if gone:
                raise OSError("the client has left")
            if message["type"] == "http.response.start":
                said.update(status=message["status"], fields={n.decode(): v.decode() for n, v in message["headers"]})
            else:
                said["body"] += message.get("body", b"")
                said["pieces"] += 1

        await guard(scope, receive, send)
        return said

    def guard(self, app, **options):
        async def counted(scope, receive, send):
            self.ran += 1
            await app(scope, receive, send)
        return semel_asgi.Guard(counted, self.api, **options)

    @staticmethod
    async def answer(send, *pieces, status=200, end=True, **fields):
        headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for at, piece in enumerate(pieces):
            await send({"type": "http.response.body", "body": piece, "more_body": not end or at + 1 < len(pieces)})

    def test_an_answer_in_pieces_is_replayed_whole(self):
        async def app(scope, receive, send):
            self.assertEqual((await receive())["body"], b"[1, 2]")
            await self.answer(send, b"one ", b"two", content_type="text/plain")

        guard = self.guard(app)
        first, again = self.ask(guard, body=(b"[1,", b" 2]")), self.ask(guard, body=(b"[1, 2]",))
        self.assertEqual((first["body"], again["body"], self.ran), (b"one two", b"one two", 1))
        self.assertEqual((first["fields"]["content-length"], again["fields"]["idempotent-replayed"]), ("7", "true"))

    def test_exceptions_and_answers_that_break_off_are_unknown(self):
        async def raises(scope, receive, send):
            raise RuntimeError("somewhere in the middle")

        async def breaks(scope, receive, send):
            await self.answer(send, b"half", end=False)
            raise RuntimeError("broken off")

        async def forgets(scope, receive, send):
            await self.answer(send, b"half", end=False)

        for app in (raises, breaks, forgets):
            with self.subTest(app.__name__):
                self.ran, self.fake.keys = 0, {}
                guard = self.guard(app)
                self.assertEqual([self.ask(guard)["status"] for _ in range(2)], [502, 409])
                self.assertEqual(self.ran, 1)

    def test_a_framework_that_answers_and_then_raises_has_answered(self):
        async def app(scope, receive, send):
            await self.answer(send, b"failed", status=500)
            raise RuntimeError("for the server's log")

        with self.assertRaises(RuntimeError):
            self.ask(self.guard(app))
        self.assertEqual(self.state(), "free")

    def test_a_client_that_leaves_does_not_end_the_work(self):
        async def app(scope, receive, send):
            await receive()
            await asyncio.sleep(0.1)
            await self.answer(send, b"made")

        guard = self.guard(app)
        self.ask(guard, gone=True)
        self.assertEqual((self.ask(guard)["body"], self.ran), (b"made", 1))

    def test_a_server_that_cancels_does_not_end_the_work(self):
        async def app(scope, receive, send):
            await asyncio.sleep(0.3)
            await self.answer(send, b"made")

        guard = self.guard(app)

        async def cancelled():
            task = asyncio.ensure_future(self.asked(guard))
            await asyncio.sleep(0.15)
            task.cancel()
            await asyncio.sleep(0.5)

        asyncio.run(cancelled())
        self.assertEqual((self.ask(guard)["body"], self.ran), (b"made", 1))

    def test_a_large_answer_goes_on_in_pieces(self):
        async def app(scope, receive, send):
            await self.answer(send, *[b"x" * 1000] * 10, location="/7", status=201)

        guard = self.guard(app, store_body_max=2500)
        first, again = self.ask(guard), self.ask(guard)
        self.assertEqual((len(first["body"]), first["pieces"] > 3, self.ran), (10_000, True, 1))
        self.assertEqual((again["status"], again["fields"]["location"]), (201, "/7"))
        self.assertIn(b"body-not-kept", again["body"])

    def test_refusals(self):
        guard = self.guard(lambda *_: self.fail("it ran"), body_bytes_max=4)
        self.assertEqual([self.ask(guard, key=None)["status"], self.ask(guard, key="a b")["status"],
                          self.ask(guard, body=(b"xxx", b"xxx"))["status"]], [400, 400, 413])
        self.fake.down = True
        self.assertEqual(self.ask(guard)["status"], 503)
        self.assertEqual(self.fake.calls, [])


class Async(Case):
    def test_once(self):
        api = semel_async.Client(self.api)

        async def work(attempt):
            self.ran += 1
            return {"n": attempt.number}

        async def both():
            return await asyncio.gather(*(api.once("k", work, wait=5) for _ in range(5)))

        self.assertEqual(asyncio.run(both()), [{"n": 1}] * 5)
        self.assertEqual(self.ran, 1)

    def test_a_lost_claim_cancels_the_work(self):
        api = semel_async.Client(semel.Client(self.fake.url, "secret", lease=0.5))
        ended = []

        async def work(attempt):
            with self.fake.lock:
                self.fake.keys["default", "", "k"].fence = "2.other"
            try:
                await asyncio.sleep(30)
            finally:
                ended.append(attempt.number)

        began = time.monotonic()
        with self.assertRaises(semel.ClaimLost):
            asyncio.run(api.once("k", work))
        self.assertEqual(ended, [1])
        self.assertLess(time.monotonic() - began, 10)

    def test_a_caller_that_is_cancelled_while_it_waits_holds_nothing(self):
        api = semel_async.Client(self.api)
        held = self.api.begin("k")

        async def waits():
            task = asyncio.ensure_future(api.once("k", lambda attempt: self.fail("it ran"), wait=5))
            await asyncio.sleep(0.2)
            task.cancel()
            await asyncio.get_running_loop().run_in_executor(None, held.release)
            await asyncio.sleep(0.6)

        asyncio.run(waits())
        self.assertEqual(self.fake.state("k"), "free")


if __name__ == "__main__":
    unittest.main()
