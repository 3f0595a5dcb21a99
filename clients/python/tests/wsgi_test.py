#!/usr/bin/env python3
"""The WSGI middleware: every way in which an application can answer, and what its key hears of it: wsgi_test.py"""
import io
import json
import sys
import unittest
import wsgiref.util
import wsgiref.validate

from middleware_case import Case, semel

import semel_wsgi


class Wsgi(Case):
    def ask(self, guard, key="k", body=b"{}", method="POST", path="/x", **more):
        environ = {"REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "a",
                   "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "CONTENT_LENGTH": str(len(body)), "wsgi.version": (1, 0),
                   "CONTENT_TYPE": "application/json", "wsgi.input": io.BytesIO(body), "wsgi.errors": io.StringIO(),
                   "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False, "wsgi.url_scheme": "http",
                   "HTTP_AUTHORIZATION": "alice", **more}
        if key is not None:
            environ["HTTP_IDEMPOTENCY_KEY"] = key
        said = {}

        def start(status, fields, exc_info=None):
            said.update(status=int(status[:3]), fields={name.lower(): value for name, value in fields})
            return lambda piece: self.fail("nothing is written past the middleware")

        pieces = wsgiref.validate.validator(guard)(environ, start)
        try:
            said["body"] = b"".join(pieces)
        finally:
            pieces.close()
        return said

    def guard(self, app, **options):
        def counted(environ, start_response):
            self.ran += 1
            return app(environ, start_response)
        return semel_wsgi.Guard(counted, self.api, **options)

    def twice(self, app, **options):
        guard = self.guard(app, **options)
        return self.ask(guard), self.ask(guard)

    def assert_replayed(self, app, body):
        first, again = self.twice(app)
        self.assertEqual((first["status"], first["body"], again["status"], again["body"]), (200, body, 200, body))
        self.assertEqual((self.ran, again["fields"].get("idempotent-replayed")), (1, "true"))
        self.assertEqual(first["fields"]["idempotency-expires"], again["fields"]["idempotency-expires"])

    def test_a_list_a_generator_write_and_a_file(self):
        def listed(environ, start):
            start("200 OK", [("Content-Type", "text/plain")])
            return [b"one ", b"two"]

        def generated(environ, start):
            start("200 OK", [("Content-Type", "text/plain")])
            return (piece for piece in (b"one ", b"", b"two"))

        def late(environ, start):
            yield b""
            start("200 OK", [("Content-Type", "text/plain")])
            yield b"one two"

        def written(environ, start):
            write = start("200 OK", [("Content-Type", "text/plain")])
            write(b"one ")
            return [b"two"]

        def filed(environ, start):
            start("200 OK", [("Content-Type", "text/plain")])
            return environ["wsgi.file_wrapper"](io.BytesIO(b"one two"))

        for app in (listed, generated, written, filed):
            with self.subTest(app.__name__):
                self.ran, self.fake.keys = 0, {}
                self.assert_replayed(app, b"one two")
        self.fake.keys = {}
        environ_free = self.guard(late)  # the validator forbids start_response() as late as the standard allows it
        self.assertEqual(b"".join(environ_free(self.plain_environ(), lambda *_: None)), b"one two")

    @staticmethod
    def plain_environ():
        environ = {"REQUEST_METHOD": "POST", "HTTP_AUTHORIZATION": "alice", "HTTP_IDEMPOTENCY_KEY": "late"}
        wsgiref.util.setup_testing_defaults(environ)
        return environ

    def test_close_is_called_once_whatever_happens(self):
        closed = []

        class Body:
            def __init__(self, bad):
                self.bad = bad

            def __iter__(self):
                yield b"half"
                if self.bad:
                    raise RuntimeError("broken off")

            def close(self):
                closed.append(self.bad)

        def app(environ, start):
            start("200 OK", [("Content-Type", "text/plain")])
            return Body(environ["HTTP_IDEMPOTENCY_KEY"] == "bad")

        guard = self.guard(app)
        self.assertEqual(self.ask(guard, "good")["body"], b"half")
        self.assertEqual(self.ask(guard, "bad")["status"], 502)
        self.assertEqual(closed, [False, True])

    def test_an_error_handler_may_replace_the_answer(self):
        def app(environ, start):
            start("200 OK", [("Content-Type", "text/plain")])
            try:
                raise RuntimeError
            except RuntimeError:
                start("500 Oh", [("Content-Type", "text/plain")], sys.exc_info())
            return [b"failed"]

        first, again = self.twice(app)
        self.assertEqual((first["status"], again["status"], self.ran, self.state()), (500, 500, 2, "free"))

    def test_an_exception_is_an_unknown_outcome(self):
        def app(environ, start):
            raise RuntimeError("somewhere in the middle")

        first, again = self.twice(app)
        self.assertEqual((first["status"], again["status"], self.ran), (502, 409, 1))
        for said in (first, again):
            self.assertEqual(json.loads(said["body"])["type"], "urn:semel:problem:outcome-unknown")

    def test_no_effect_frees_the_key(self):
        def app(environ, start):
            raise semel.NoEffect("refused")

        first, again = self.twice(app)
        self.assertEqual((first["status"], again["status"], self.ran, self.state()), (500, 500, 2, "free"))

    def test_a_process_that_is_told_to_stop_leaves_it_unknown(self):
        def app(environ, start):
            raise SystemExit(1)

        with self.assertRaises(SystemExit):
            self.ask(self.guard(app))
        self.assertEqual(self.state(), "unknown")

    def test_an_answer_that_cannot_be_kept_is_not_given(self):
        def app(environ, start):
            self.fake.down = True
            start("200 OK", [("Content-Type", "text/plain")])
            return [b"made"]

        self.assertEqual(self.ask(self.guard(app))["status"], 502)

    def test_without_a_store_nothing_runs(self):
        self.fake.down = True
        said = self.ask(self.guard(lambda environ, start: self.fail("it ran")))
        self.assertEqual((said["status"], said["fields"]["retry-after"]), (503, "1"))

    def test_a_large_answer_is_streamed_on(self):
        def app(environ, start):
            start("201 Created", [("Content-Type", "text/plain"), ("Location", "/7")])
            return (b"x" * 1000 for _ in range(10))

        first, again = self.twice(app, store_body_max=2500)
        self.assertEqual((first["status"], len(first["body"]), self.ran), (201, 10_000, 1))
        self.assertEqual((again["status"], again["fields"]["location"]), (201, "/7"))
        self.assertEqual(json.loads(again["body"])["type"], "urn:semel:problem:body-not-kept")

    def test_the_application_reads_the_body_and_the_number(self):
        def app(environ, start):
            start("200 OK", [("Content-Type", "text/plain")])
            return [environ["wsgi.input"].read(10), environ["HTTP_IDEMPOTENCY_ATTEMPT"].encode(),
                    environ["semel.attempt"].fence.encode()]

        said = self.ask(self.guard(app), body=b"[1]", HTTP_IDEMPOTENCY_ATTEMPT="99")
        self.assertTrue(said["body"].startswith(b"[1]11."), said)

    def test_bodies_over_the_limit_and_bodies_cut_off(self):
        guard = self.guard(lambda environ, start: self.fail("it ran"), body_bytes_max=10)
        self.assertEqual(self.ask(guard, body=b"x" * 11)["status"], 413)
        self.assertEqual(self.ask(guard, body=b"x", CONTENT_LENGTH="5")["status"], 400)

    def test_what_is_not_guarded_passes_without_our_marks(self):
        def app(environ, start):
            start("200 OK", [("Content-Type", "text/plain"), ("Idempotent-Replayed", "true"), ("Content-Length", "2")])
            return [b"ok"]

        said = self.ask(self.guard(app), key=None, method="PUT")
        self.assertEqual(said["fields"], {"content-type": "text/plain", "content-length": "2"})
        self.assertEqual(self.fake.calls, [])


if __name__ == "__main__":
    unittest.main()
