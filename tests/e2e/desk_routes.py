#!/usr/bin/env python3
"""Lists by route: the namespace of a route or webhook, on every store. --binary SEMEL --build FOLDER"""
import shutil
import threading
import unittest

import harness
import operators
import postgres_server
import redis_server
from harness import KEY_ONE, ROUTE, keyed
from operators import WITH_TOKENS, ByApi, ByCommandLine

REFUNDS = ROUTE.replace("/v1/*", "/refunds/*") + 'namespace = "refunds"\n'
HOOK = '[[webhook]]\npath = "/hooks/okta"\nprovider = "okta"\nsecrets = ["the-secret-of-okta"]\nupstream = "app"\n'
CONFIG = WITH_TOKENS + REFUNDS + HOOK


class Routes(operators.Case):
    def lose_one(self, semel, target, fields, body):
        """A request arrives, and its answer never does."""
        asking = threading.Thread(target=semel.ask, args=("POST", target, fields, body))
        asking.start()
        arrival = self.stage.next()
        arrival.read_body()
        arrival.reset()
        asking.join()

    def story(self, semel):
        self.lose_one(semel, "/v1/payments", keyed("one"), b"1")
        self.lose_one(semel, "/refunds/7", keyed("two"), b"1")
        self.lose_one(semel, "/hooks/okta", [("Authorization", "the-secret-of-okta")], b'{"data":{"events":[{"uuid":"three"}]}}')
        desk, line = ByApi(self, semel), ByCommandLine(self, semel)
        for route, space in (("/v1/payments", "default"), ("/refunds/7", "refunds"), ("/hooks/okta", "webhook:/hooks/okta")):
            by_api = desk.good("GET", f"/v1/keys?route={route}")
            self.assertEqual(([item["namespace"] for item in by_api["items"]], by_api["namespace"]), ([space], space))
            by_line = line.good("list", "--route", route)
            self.assertEqual([item["id"] for item in by_line["items"]], [by_api["items"][0]["id"]])
        self.assertEqual(len(line.good("list")["items"]), 3)
        self.assertEqual(len(line.good("list", "--route", "/refunds/7", "--scope", "alice")["items"]), 1)
        self.assertEqual(line.good("list", "--route", "/refunds/7", "--scope", "bob")["items"], [])
        self.assertEqual([item["namespace"] for item in line.good("list", "--namespace", "default")["items"]], ["default"])
        self.assertEqual(line.good("list", "--route", "/refunds/7", "--state", "running")["items"], [])

    def test_on_the_embedded_store(self):
        for config in (CONFIG, harness.encrypted(CONFIG, KEY_ONE)):
            with self.gateway(config) as semel:
                self.story(semel)
            self.stage.close()
            self.setUp()

    def test_on_postgresql(self):
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        server.prepare("routes")
        with self.gateway(CONFIG, store=server.url_of("routes")) as semel:
            self.story(semel)

    @unittest.skipUnless(shutil.which("redis-server"), "there is no redis-server")
    def test_on_redis(self):
        server = redis_server.Server(self.binary)
        self.addCleanup(server.close)
        with self.gateway(CONFIG, store=server.url) as semel:
            self.story(semel)

    def test_what_is_not_there_is_named(self):
        with self.gateway(CONFIG) as semel:
            desk, line = ByApi(self, semel), ByCommandLine(self, semel)
            for query, member in (("route=/nowhere", "route"), ("route=/v1/payments&method=GET", "route"),
                                  ("route=/v1/payments&namespace=refunds", "namespace")):
                reply, problem = desk.call("GET", "/v1/keys?" + query)
                self.assertEqual((reply.status, problem["detail"].split(":")[0]), (400, member), problem)
            self.assertEqual(line.run("list", "--route", "/nowhere").returncode, 2)
            where = ["--admin", "http://%s:%d" % semel.admin, "--token", operators.TOKENS["viewer"]]
            said = self.run_semel("keys", "list", "--route", "/refunds/7", *where)
            self.assertEqual((said.returncode, said.stdout), (0, "none\n"))
            self.assertIn("the namespace refunds", said.stderr)


if __name__ == "__main__":
    operators.run()
