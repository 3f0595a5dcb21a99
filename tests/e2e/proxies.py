#!/usr/bin/env python3
"""The recipes of docs/proxies.md, as they stand in examples/proxies, with real proxies: --binary SEMEL

Each proxy runs with its file, in which only the ports are others. Proxies that are not installed are skipped.
"""
import pathlib
import re
import shutil
import unittest

import harness
import programs
import wire
from harness import CONFIG, ROUTE, keyed

RECIPES = pathlib.Path(__file__).resolve().parents[2] / "examples/proxies"
JSON = [*keyed("order-1"), ("Content-Type", "application/json")]
COMMANDS = {
    "nginx.conf": ("nginx", "-g", "daemon off; master_process off; pid nginx.pid; error_log stderr;", "-p", ".", "-c"),
    "haproxy.cfg": ("haproxy", "-db", "-f"),
    "Caddyfile": ("caddy", "run", "--adapter", "caddyfile", "--config"),
}


class Proxies(harness.Case):
    def in_front(self, name, semel):
        """The proxy with this recipe, when it has found the gateway."""
        if shutil.which(COMMANDS[name][0]) is None:
            self.skipTest(f"no {COMMANDS[name][0]}")
        address = programs.free_address()
        text = (RECIPES / name).read_text(encoding="utf-8")
        for before, after in (("8443", address), ("8080", semel.address), ("9080", semel.admin)):
            text = re.sub(rf"\b{before}\b", str(after[1]), text)
        file = semel.folder / name
        file.write_text(text, encoding="utf-8")
        proxy = programs.Answering(address, *COMMANDS[name], file, target="/v1/ping",
                                   environment={"HOME": str(semel.folder)})
        self.addCleanup(proxy.close)
        return proxy.start()

    def check(self, name):
        """A retry through the proxy is a replay; the key and the client's address arrive; refusals pass unchanged."""
        seen = []

        def answer(arrival):
            seen.append(arrival.message)
            return b"paid %d" % sum(message.method == "POST" for message in seen)

        self.answer_all(body=answer)
        with self.gateway(CONFIG + ROUTE) as semel, self.in_front(name, semel) as proxy:
            first = wire.ask(proxy.address, "POST", "/v1/payments", JSON, b'{"amount": 1}')
            self.assertEqual((first.status, first.body, first.get("Idempotent-Replayed")), (200, b"paid 1", None))
            again = wire.ask(proxy.address, "POST", "/v1/payments", JSON, b'{ "amount": 1.0 }')
            self.assertEqual((again.status, again.body, again.get("Idempotent-Replayed")), (200, b"paid 1", "true"))
            arrived = next(message for message in seen if message.method == "POST")
            self.assertEqual(arrived.get("Idempotency-Key"), "order-1")
            self.assertEqual(arrived.get("X-Forwarded-For").split(", ")[0], "127.0.0.1")
            self.assertEqual(arrived.get("Host"), "localhost")
            other = wire.ask(proxy.address, "POST", "/v1/payments", JSON, b'{"amount": 2}')
            self.assert_problem(other, 422, "key-reused")
            missing = wire.ask(proxy.address, "POST", "/v1/payments", [("Authorization", "alice")], b"{}")
            self.assert_problem(missing, 400, "key-missing")
            self.assertEqual(sum(message.method == "POST" for message in seen), 1)

    def test_nginx(self):
        self.check("nginx.conf")

    def test_haproxy(self):
        self.check("haproxy.cfg")

    def test_caddy(self):
        self.check("Caddyfile")


class Recipes(unittest.TestCase):
    def test_each_file_has_its_test(self):
        """A recipe that nobody runs is a guess."""
        self.assertEqual({path.name for path in RECIPES.iterdir()}, set(COMMANDS))


if __name__ == "__main__":
    harness.run()
