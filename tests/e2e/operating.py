#!/usr/bin/env python3
"""What operators see and what nobody may see: health, metrics, logs, limits, the check of a configuration. --binary SEMEL"""
import collections
import json
import pathlib
import re
import socket
import tempfile
import time

import harness
import programs
import wire
from harness import CONFIG, ROUTE, keyed
from memory import open_many


class Operating(harness.Case):
    def test_health_readiness_and_metrics(self):
        """Alive as long as it answers; ready while the store takes keys and the upstream takes connections."""
        with self.gateway() as semel:
            self.answer_all()
            health = wire.ask(semel.admin, "GET", "/healthz")
            self.assertEqual((health.status, json.loads(health.body)), (200, {"status": "alive"}))
            ready = wire.ask(semel.admin, "GET", "/readyz")
            self.assertEqual((ready.status, json.loads(ready.body)["ready"]), (200, True))
            self.assertEqual(wire.ask(semel.admin, "GET", "/nothing").status, 404)

            semel.ask("POST", "/v1/x", keyed("k1"), b"1")
            semel.ask("POST", "/v1/x", keyed("k1"), b"1")
            semel.ask("POST", "/v1/x", keyed("k1"), b"2")
            semel.ask("POST", "/v1/x", [("Authorization", "a")])
            semel.ask("GET", "/v1/x")
            semel.ask("GET", "/elsewhere")
            # What was answered is counted a moment later.
            wire.eventually(lambda: semel.metrics()[1]['semel_refused_total{route="",problem="no-route"}'] == 1)
            text, counts = semel.metrics()
            for outcome, count in {"ran": 1, "replayed": 1, "refused": 2, "passed": 1}.items():
                self.assertEqual(counts[f'semel_requests_total{{route="/v1/*",outcome="{outcome}"}}'], count, text)
            for problem, count in {"key-reused": 1, "key-missing": 1}.items():
                self.assertEqual(counts[f'semel_refused_total{{route="/v1/*",problem="{problem}"}}'], count)
            self.assertEqual(counts['semel_refused_total{route="",problem="no-route"}'], 1)
            self.assertEqual(counts["semel_in_flight"], 0)
            self.assertEqual(counts["semel_claim_seconds_count"], 1)
            self.assertEqual(counts["semel_upstream_seconds_count"], 1)
            for name in {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[:1] != "#"}:
                base = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
                self.assertIn(f"# TYPE {base} ", text)

            self.stage.close()
            down = wire.ask(semel.admin, "GET", "/readyz")
            self.assertEqual((down.status, json.loads(down.body)["ready"]), (503, False))
            self.assertEqual(wire.ask(semel.admin, "GET", "/healthz").status, 200)

    def test_the_admin_listener_answers_to_its_own_names_only(self):
        """A page that made its own name mean the loopback gets nothing; a name that is listed is served. So it is counted."""
        with self.gateway(CONFIG.replace("[server]\n", '[server]\nhosts = ["ops.example.com"]\n') + ROUTE) as semel:
            def status(host, path="/metrics"):
                return wire.ask(semel.admin, "GET", path, [("Host", host)]).status

            for host in ("127.0.0.1:%d" % semel.admin[1], "localhost", "semel.localhost", "[::1]:9080", "ops.example.com", ""):
                self.assertEqual(status(host), 200, host)
            with wire.Wire(semel.admin) as old:
                old.send(b"GET /metrics HTTP/1.0\r\n\r\n")
                self.assertEqual(old.reply("GET").status, 200)
            for path in ("/metrics", "/healthz", "/readyz", "/nothing"):
                self.assertEqual(status("evil.example:%d" % semel.admin[1], path), 421)
            self.assertEqual(semel.ask("POST", "/v1/x", [*keyed("k1"), ("Host", "evil.example")], b"1").status, 421)
            refused = 'semel_refused_total{route="",problem="misdirected"}'
            self.assertTrue(wire.eventually(lambda: semel.metrics()[1][refused] == 1))
            self.assertEqual(self.stage.count(), 0)

    def test_the_log_has_a_line_per_request_and_no_secret(self):
        """Secrets planted in key, body, fields, cookies and query are in no log, no metric, no message and no refusal."""
        config = CONFIG.replace('[admin]\n', '[admin]\ntoken = "env:SEMEL_E2E_TOKEN"\n') + ROUTE
        environment = {"SEMEL_E2E_TOKEN": "canary-admin"}
        with self.gateway(config, environment=environment) as semel:
            self.answer_all(body=lambda arrival: b"canary-answer", fields=[("Set-Cookie", "canary-set-cookie")])
            secret = [("Authorization", "Bearer canary-bearer"), ("Cookie", "session=canary-cookie"),
                      ("X-Api-Key", "canary-field"), ("Content-Type", "application/json")]
            target = "/v1/x?token=canary-query"
            body = b'{"card": "canary-body"}'
            for _ in range(2):
                semel.ask("POST", target, secret + [("Idempotency-Key", "canary-key")], body)
            semel.ask("POST", target, secret + [("Idempotency-Key", "canary-key")], body + b" ")
            semel.ask("POST", target, secret + [("Idempotency-Key", "canary-lost"), ("Connection", "canary-named")], body)
            semel.ask("GET", target, secret)
            refusals = [semel.ask("POST", target, secret + [("Idempotency-Key", "canary-key")], b"canary-body-2"),
                        semel.ask("POST", target, secret + [("Idempotency-Key", "canary key")], body),
                        semel.ask("POST", "/nowhere?canary-query", secret, body),
                        wire.ask(semel.admin, "GET", "/metrics", [("Authorization", "Bearer canary-wrong")])]
            self.assertEqual([reply.status for reply in refusals], [422, 400, 404, 401])
            metrics = wire.ask(semel.admin, "GET", "/metrics", [("Authorization", "Bearer canary-admin")])
            self.assertEqual(metrics.status, 200)
            with semel.connect() as broken:
                broken.send(b"POST /v1/canary-broken HTTP/1.1\r\nHost: a\r\nBad canary-line\r\n\r\n")
                refusals.append(broken.reply())
                self.assertEqual(refusals[-1].status, 400)
            self.assertEqual(semel.stop(), 0)

            for text in (semel.stdout(), semel.stderr(), metrics.body.decode(), *map(str, refusals)):
                self.assertNotIn("canary", text)
            lines = [json.loads(line) for line in semel.stdout().splitlines()]  # in any order: threads write their own
            said = collections.Counter((line["outcome"], line.get("problem")) for line in lines)
            self.assertEqual(said, {("ran", None): 2, ("replayed", None): 2, ("passed", None): 1,
                                    ("refused", "key-reused"): 1, ("refused", "key-invalid"): 1,
                                    ("refused", "no-route"): 1, ("malformed", None): 1})
            self.assertEqual({line.get("path") for line in lines}, {"/v1/x", "/nowhere", None})
            self.assertEqual(len({line["key"] for line in lines if line["outcome"] == "replayed"}), 1)
            for line in lines:
                self.assertRegex(line.get("key", "0" * 12), r"^[0-9a-f]{12}$")
                self.assertRegex(line["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_a_trace_can_be_followed_through_the_log(self):
        """The traceparent of a request is in its line."""
        with self.gateway() as semel:
            self.answer_all()
            trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            semel.ask("POST", "/v1/x", keyed("k1", traceparent=trace))
            semel.stop()
            self.assertEqual(json.loads(semel.stdout())["trace"], trace)

    def test_no_more_connections_than_there_is_room_for(self):
        """One connection too many is told so and closed; when another leaves there is room again."""
        config = CONFIG + '\n[limits]\nconnections = 3\n' + ROUTE
        with self.gateway(config) as semel:
            self.answer_all()
            kept = self.connect_until_refused(semel, 3)
            kept.pop().close()
            self.assertTrue(wire.eventually(lambda: semel.ask("GET", "/v1/x").status == 200))

    def test_operators_have_256_connections(self):
        """The next one is told so and closed, and clients do not notice."""
        open_many(self, 300)
        with self.gateway() as semel:
            self.answer_all()
            host, port = semel.admin
            kept = [wire.Wire((host, port)) for _ in range(256)]
            for connection in kept:
                self.addCleanup(connection.close)
                self.assertEqual(connection.ask("GET", "/healthz").status, 200)
            with wire.Wire((host, port)) as refused:
                self.assertEqual(refused.reply().status, 503)
                self.assertEqual(refused.wait_closed(), b"")
            self.assertEqual(semel.ask("GET", "/v1/x").status, 200)

    def test_readiness_asks_every_upstream_without_a_token(self):
        """/readyz is for load balancers: no token, and a connection to each upstream."""
        config = CONFIG.replace("[admin]\n", '[admin]\ntoken = "let-me-in"\n')
        with self.gateway(config + ROUTE) as semel:
            self.assertEqual(wire.ask(semel.admin, "GET", "/metrics").status, 401)
            self.assertEqual(wire.ask(semel.admin, "GET", "/readyz").status, 200)
            self.stage.close()
            self.assertTrue(wire.eventually(lambda: wire.ask(semel.admin, "GET", "/readyz").status == 503))

    def test_clients_that_dawdle_are_shown_out(self):
        """A head that does not come, a connection that stays idle: closed when their time is up; half a message is 408."""
        config = CONFIG + '\n[limits]\nheader_timeout = "300ms"\nidle_timeout = "500ms"\nbody_timeout = "300ms"\n' + ROUTE
        with self.gateway(config) as semel:
            for sent in (b"", b"POST /v1/x HTTP/1.1\r\nHos",
                         b"POST /v1/x HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nIdempotency-Key: k\r\nContent-Length: 9\r\n\r\nabc"):
                with semel.connect() as slow:
                    slow.send(sent)
                    started = time.monotonic()
                    told = slow.wait_closed()
                    self.assertLess(time.monotonic() - started, 5)
                    self.assertTrue(told.startswith(b"HTTP/1.1 408 ") if sent else told == b"", told)
        self.assertEqual(self.stage.count(), 0)


class Starting(harness.Case):
    def check(self, config):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "semel.toml"
            path.write_text(config, encoding="utf-8")
            return self.run_semel("check", str(path)), self.run_semel("serve", "--config", str(path))

    def test_check_prints_every_mistake_with_its_place(self):
        """All mistakes at once, each with line and column and, where it is near, what was meant; exit code 1."""
        checked, served = self.check("""[server]
listen = "nowhere"
thread = 3
[limits]
body_bytes = "much"
[upstream.app]
url = "http://127.0.0.1:1/path"
[[route]]
path = "v1/*"
upstream = "ap"
key = "requird"
scope = "{header:Authorization"
ttl = "soon"
""")
        self.assertEqual((checked.returncode, served.returncode), (1, 1))
        for line, word in {2: "listen", 3: "thread", 5: "body_bytes", 7: "url", 9: "path", 10: "upstream", 11: "key",
                           12: "scope", 13: "ttl"}.items():
            self.assertRegex(checked.stderr, rf"(?m)^\S*semel\.toml:{line}:\d+: error: .*", f"{word}\n{checked.stderr}")
        self.assertEqual(checked.stderr.count(": error: "), 9, checked.stderr)
        self.assertIn('did you mean "required"?', checked.stderr)
        self.assertIn('did you mean "threads"?', checked.stderr)

    def test_check_says_what_it_read(self):
        """A good file: its routes are listed, warnings go to standard error, the exit code is 0."""
        checked, _ = self.check("""[server]
listen = "256.0.0.1:99999"
""")
        self.assertEqual(checked.returncode, 1)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "semel.toml"
            path.write_text('[upstream.app]\nurl = "http://127.0.0.1:1"\n[[route]]\npath = "/v1/*"\nupstream = "app"\n'
                            'ttl = "1h"\n[[route]]\npath = "/open"\nupstream = "app"\nkey = "off"\n[[route]]\n'
                            'path = "/watched"\nupstream = "app"\nmode = "observe"\n[[route]]\n'
                            'path = "/shared"\nupstream = "app"\nscope = ""\n', encoding="utf-8")
            checked = self.run_semel("check", str(path))
        self.assertEqual(checked.returncode, 0, checked.stderr)
        said = dict(re.findall(r"^  \S+ (\S+) -> app\n +(.*)$", checked.stdout, re.MULTILINE))
        self.assertEqual(said["/v1/*"], "guarded by {header:Idempotency-Key} (required), of each {header:Authorization}, for 1h, "
                                        "an unknown outcome holds")
        self.assertEqual(said["/open"], 'NOT guarded (key = "off")')
        self.assertTrue(said["/watched"].startswith('NOT guarded, only watched (mode = "observe")'), said)
        self.assertIn('(required), of everybody (scope = ""), for 1d', said["/shared"])
        self.assertRegex(checked.stderr, r"semel\.toml:6:\d+: warning: ttl is under 24h")

    def test_what_cannot_be_read_is_said(self):
        """No such file, TOML that is none, and a secret that is not there."""
        self.assertEqual(self.run_semel("check", "/nonexistent/semel.toml").returncode, 1)
        checked, served = self.check("[server\n")
        self.assertEqual((checked.returncode, served.returncode), (1, 1))
        self.assertRegex(checked.stderr, r"semel\.toml:1:\d+: error: ")
        checked, _ = self.check('[admin]\ntoken = "env:SEMEL_E2E_NOT_SET"\n[upstream.app]\nurl = "http://127.0.0.1:1"\n'
                                '[[route]]\npath = "/*"\nupstream = "app"\n')
        self.assertEqual(checked.returncode, 1)
        self.assertRegex(checked.stderr, r"semel\.toml:2:\d+: error: .*SEMEL_E2E_NOT_SET")

    def test_wrong_usage_is_told_apart(self):
        """No command, an unknown one, an option too many, an upstream that is no URL: exit code 2."""
        self.assertEqual(self.run_semel().returncode, 2)
        self.assertEqual(self.run_semel("serv").returncode, 2)
        self.assertEqual(self.run_semel("serve").returncode, 2)
        self.assertEqual(self.run_semel("serve", "--upstream", "nonsense").returncode, 2)
        self.assertEqual(self.run_semel("serve", "--config", "a", "--upstream", "http://127.0.0.1:1").returncode, 2)
        self.assertEqual(self.run_semel("--help").returncode, 0)
        self.assertRegex(self.run_semel("version").stdout, r"^semel \d+\.\d+\.\d+")

    def test_an_address_that_is_taken_is_said(self):
        """Exit code 1, and the message names the address."""
        with socket.create_server((programs.HOST, 0)) as taken:
            semel = self.gateway()
            semel.values["listen"] = "%s:%d" % taken.getsockname()
            semel.write_config(CONFIG + ROUTE)
            semel.spawn()
            self.assertEqual(semel.wait(10), 1)
            self.assertIn(f"port {taken.getsockname()[1]}", semel.stderr())


if __name__ == "__main__":
    harness.run()
