#!/usr/bin/env python3
"""A key that the gateway has answered is found by the rules of the middleware, whatever it is made of.

shared_keys_test.py --binary SEMEL
"""
import http.server
import sys
import threading
import unittest

import real_api
from real_api import TOKEN, semel

import gateway
import programs
import wire
from semel_expressions import Request
from semel_rules import Claim, Rules

ROUTES = {
    "/plain/*": {},
    "/optional-scope/*": {"scope": "{header:Authorization?}"},
    "/two-parts/*": {"scope": "{header:X-Org}{cookie:user}"},
    "/composed/*": {"key_from": "{header:X-Org}/{query:id}"},
    "/by-json/*": {"key_from": "{json:/order/id}", "ignore": ["/sent_at"]},
    "/raw/*": {"fingerprint": "raw", "namespace": "own"},
}
CONFIG = """
[server]
listen = "$listen"
[admin]
listen = "$admin"
[store]
url = "$store"
[api]
listen = "$api"
[[api.token]]
name = "tests"
secret = "$token"
namespaces = ["*"]
[upstream.app]
url = "http://127.0.0.1:$upstream"
""" + "".join(f'[[route]]\npath = "{path}"\nupstream = "app"\n' + "".join(
    f"{name} = {value!r}\n" for name, value in rules.items()) for path, rules in ROUTES.items())
BODY = b'{"order": {"id": "o-1", "sum": 1.50}, "sent_at": 1, "text": "\\u00e9"}'
SAME = '{"text":"\u00e9","sent_at":1,"order":{"sum":15e-1,"id":"o-1"}}'.encode()


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        data = self.path.encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Shared(unittest.TestCase):
    binary = None

    @classmethod
    def setUpClass(cls):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        address = programs.free_address()
        cls.gateway = gateway.Gateway(cls.binary, CONFIG, api="%s:%d" % address, token=TOKEN, upstream=str(server.server_port)).start()
        cls.addClassCleanup(cls.gateway.close)
        cls.api = semel.Client("http://%s:%d" % address, TOKEN)
        cls.addClassCleanup(cls.api.close)

    def claim(self, path, rules, fields, target, body):
        request = Request("POST", target, fields, "127.0.0.1", body)
        claim = rules.look_again(request, rules.look(request))
        self.assertIsInstance(claim, Claim, path)
        return self.api.begin(claim.key, **claim.terms)

    def test_each_kind_of_key(self):
        for path, options in ROUTES.items():
            rules, target = Rules(**options), path.replace("*", "x?id=7")
            fields = [("Idempotency-Key", f'"{path}"'), ("Content-Type", "application/json"), ("X-Org", "acme"),
                      ("Cookie", "user=bob")]
            if "scope" not in options:
                fields.append(("Authorization", "Bearer \u00c3\u00a9"))
            with self.subTest(path):
                first = wire.ask(self.gateway.address, "POST", target, fields, BODY)
                self.assertEqual(first.status, 201, first.body)
                done = self.claim(path, rules, fields, target, BODY if "raw" in path else SAME)
                self.assertIsInstance(done, semel.Done)
                self.assertEqual(rules.replay(done).body, first.body)
                with self.assertRaises(semel.KeyReused):
                    self.claim(path, rules, fields, target, BODY.replace(b"1.50", b"1.51"))


if __name__ == "__main__":
    options_, rest = real_api.arguments(__doc__).parse_known_args()
    Shared.binary = options_.binary
    unittest.main(argv=[sys.argv[0], *rest])
