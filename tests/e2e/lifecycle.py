#!/usr/bin/env python3
"""From start to end: draining, dying, reloading, what operators see and what nobody may see. --binary SEMEL"""
import collections
import json
import pathlib
import signal
import socket
import stat
import subprocess
import tempfile
import time

import gateway
import harness
import wire
from harness import CONFIG, ROUTE, keyed

SHORT_LEASE = '\n[[route]]\npath = "/v1/*"\nupstream = "app"\nlease = "1s"\n'


class Upstreams(harness.Case):
    def connections_of_three(self, idle):
        config = CONFIG.replace("[upstream.app]", f'[upstream.app]\nidle_timeout = "{idle}"') + ROUTE
        serials = set()
        with self.gateway(config) as semel:
            client = semel.connect()  # one: each thread has connections of its own
            for number in range(3):
                client.request("POST", "/v1/x", keyed(f"{idle}-{number}"))
                arrival = self.stage.next()
                serials.add(arrival.serial)
                arrival.answer(200)
                self.assertEqual(client.reply().status, 200)
        return len(serials)

    def test_connections_are_kept_unless_they_are_not_to_be(self):
        """idle_timeout = "0s": each request has a connection of its own."""
        self.assertEqual(self.connections_of_three("4s"), 1)
        self.assertEqual(self.connections_of_three("0s"), 3)


class Draining(harness.Case):
    def test_a_request_under_way_is_finished_and_nobody_new_is_let_in(self):
        """SIGTERM: the running request gets its answer, new connections are refused, the exit code is 0."""
        with self.gateway() as semel:
            idle = semel.connect()
            idle.request("POST", "/v1/first", keyed("k0"))
            self.stage.next().answer(200)
            self.assertEqual(idle.reply().status, 200)
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k1"), b"{}")
            arrival = self.stage.next()

            semel.signal(signal.SIGTERM)
            self.assertEqual(idle.wait_closed(), b"")
            self.assertTrue(wire.eventually(lambda: refuses(semel)))
            self.assertIsNone(semel.wait(0.5))
            arrival.answer(201, body=b"in the end")
            reply = busy.reply()
            self.assertEqual((reply.status, reply.body), (201, b"in the end"))
            self.assertEqual(busy.wait_closed(), b"")
            self.assertEqual(semel.wait(), 0)

            semel.start()
            replay = semel.ask("POST", "/v1/slow", keyed("k1"), b"{}")
            self.assertEqual((replay.status, replay.body), (201, b"in the end"))
            self.assertEqual(replay.get("Idempotent-Replayed"), "true")
            self.assertEqual(semel.stop(), 0)
        self.assertEqual(self.stage.count(), 2)

    def test_a_request_whose_client_has_gone_is_finished_too(self):
        """Nobody waits for the answer any more, but it is stored before the process ends."""
        with self.gateway() as semel:
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k1"))
            arrival = self.stage.next()
            busy.reset()
            semel.signal(signal.SIGTERM)
            self.assertIsNone(semel.wait(0.6))
            arrival.answer(201, body=b"kept")
            self.assertEqual(semel.wait(), 0)
            semel.start()
            self.assertEqual(semel.ask("POST", "/v1/slow", keyed("k1")).body, b"kept")

    def test_a_second_signal_ends_at_once(self):
        """The store opens again, the key that was cut off becomes unknown, the others are replayed."""
        with self.gateway(CONFIG + SHORT_LEASE) as semel:
            self.answer_all("easy")
            first = semel.ask("POST", "/v1/x", keyed("k0") + [("X-Scenario", "easy")])
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k1"))
            self.stage.next()
            semel.signal(signal.SIGTERM)
            self.assertIsNone(semel.wait(0.3))
            semel.signal(signal.SIGTERM)
            self.assertEqual(semel.wait(5), 0)

            semel.start()
            again = semel.ask("POST", "/v1/x", keyed("k0"))
            self.assertEqual((again.status, again.body), (first.status, first.body))
            last = wire.eventually(lambda: unless_in_flight(semel, "/v1/slow", "k1"), 5)
            self.assert_problem(last, 409, "outcome-unknown")
        self.assertEqual(self.stage.count(), 1)

    def test_a_second_signal_ends_waiters_too(self):
        """Requests that wait for another's answer are dropped without harm to anybody."""
        route = '\n[[route]]\npath = "/v1/*"\nupstream = "app"\nin_flight = "wait"\n'
        with self.gateway(CONFIG + route) as semel:
            connections = [semel.connect() for _ in range(6)]
            for connection in connections:
                connection.request("POST", "/v1/slow", keyed("k1"))
            self.stage.next()
            time.sleep(0.2)
            semel.signal(signal.SIGTERM)
            time.sleep(0.2)
            semel.signal(signal.SIGTERM)
            self.assertEqual(semel.wait(5), 0, semel.stderr())

    def test_draining_ends_when_its_time_is_up(self):
        """A request that never ends cannot hold up the process for longer than drain_timeout."""
        config = CONFIG + '\n[limits]\ndrain_timeout = "1s"\n' + ROUTE
        with self.gateway(config) as semel:
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k1"))
            self.stage.next()
            started = time.monotonic()
            semel.signal(signal.SIGTERM)
            self.assertEqual(semel.wait(10), 0)
            self.assertGreater(time.monotonic() - started, 0.9)

    def test_an_answer_that_streams_is_finished(self):
        """A request that passes through counts as under way until its last byte."""
        with self.gateway() as semel:
            busy = semel.connect()
            busy.request("GET", "/v1/events")
            arrival = self.stage.next()
            arrival.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            head = wire.read_head(busy.reader)
            semel.signal(signal.SIGTERM)
            self.assertIsNone(semel.wait(0.6))
            arrival.send(b"3\r\ntwo\r\n0\r\n\r\n")
            arrival.end(keep=True)
            self.assertEqual(wire.read_body(busy.reader, head, until_close=True).body, b"onetwo")
            self.assertEqual(semel.wait(), 0)


def refuses(semel):
    try:
        semel.connect().close()
        return False
    except OSError:
        return True


def unless_in_flight(semel, target, key, body=None):
    """The reply, unless it says that the request is still running."""
    reply = semel.ask("POST", target, keyed(key), body)
    return None if b"in-flight" in reply.body else reply


class Dying(harness.Case):
    def test_kill_leaves_what_was_answered_and_tells_what_is_unknown(self):
        """After kill -9 every answer is replayed as it was; the request under way is unknown, and runs no more."""
        with self.gateway(CONFIG + SHORT_LEASE) as semel:
            self.answer_all("easy", 201, lambda arrival: arrival.message.body * 7, [("X-Kept", "yes")])
            before = {}
            for number in range(100):
                fields = keyed(f"k{number}") + [("X-Scenario", "easy")]
                before[number] = semel.ask("POST", "/v1/x", fields, b"%d" % number)
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("busy"))
            self.stage.next()
            semel.kill()

            semel.start()
            for number, first in before.items():
                again = semel.ask("POST", "/v1/x", keyed(f"k{number}"), b"%d" % number)
                self.assertEqual((again.status, again.body), (first.status, first.body))
                self.assertEqual(again.get("X-Kept"), "yes")
                self.assertEqual(again.get("Idempotency-Expires"), first.get("Idempotency-Expires"))
                self.assertEqual(again.get("Idempotent-Replayed"), "true")
            last = wire.eventually(lambda: unless_in_flight(semel, "/v1/slow", "busy"), 5)
            self.assert_problem(last, 409, "outcome-unknown")
            self.assert_problem(semel.ask("POST", "/v1/slow", keyed("busy"), b"other"), 422, "key-reused")
        self.assertEqual(self.stage.count("easy"), 100)
        self.assertEqual(self.stage.count(), 1)

    def test_what_it_keeps_is_for_its_owner_only(self):
        """The folder of the store is 0700 and every file in it 0600, whatever the shell's umask says."""
        with self.gateway() as semel:
            self.answer_all()
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            data = pathlib.Path(semel.values["data"])
            self.assertEqual(stat.S_IMODE(data.stat().st_mode), 0o700)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in data.iterdir()}
            self.assertTrue(any(name.endswith(".log") for name in modes), modes)
            self.assertEqual({name: oct(mode) for name, mode in modes.items() if mode != 0o600}, {})

    def test_a_store_has_one_owner(self):
        """A second process on the same folder refuses to start and leaves the first alone."""
        with self.gateway() as semel:
            second = self.gateway()
            second.values["data"] = semel.values["data"]
            second.write_config(CONFIG + ROUTE)
            second.spawn()
            self.assertEqual(second.wait(10), 1)
            self.assertIn("store cannot be opened", second.stderr())
            self.answer_all()
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)


class Reloading(harness.Case):
    OTHER = '\n[[route]]\npath = "/v2/*"\nupstream = "app"\n'

    def reload(self, semel, config, expected):
        before = semel.stderr().count(expected)
        semel.write_config(config)
        semel.signal(signal.SIGHUP)
        self.assertTrue(wire.eventually(lambda: semel.stderr().count(expected) > before), semel.stderr())

    def test_new_routes_count_and_connections_stay(self):
        """SIGHUP: a keep-alive connection goes on, under the new routes; a request under way keeps the old ones."""
        with self.gateway() as semel:
            self.answer_all("easy")
            easy = [("X-Scenario", "easy")]
            kept = semel.connect()
            self.assertEqual(kept.ask("POST", "/v1/x", keyed("k1") + easy).status, 200)
            self.assertEqual(kept.ask("POST", "/v2/x", keyed("k2") + easy).status, 404)
            busy = semel.connect()
            busy.request("POST", "/v1/slow", keyed("k3"))
            arrival = self.stage.next()

            self.reload(semel, CONFIG + self.OTHER, "semel: reloaded")
            self.assertTrue(wire.eventually(lambda: kept.ask("POST", "/v2/x", keyed("k2") + easy).status == 200))
            self.assertTrue(wire.eventually(lambda: kept.ask("POST", "/v1/x", keyed("k1") + easy).status == 404))
            arrival.answer(201, body=b"as it began")
            self.assertEqual(busy.reply().body, b"as it began")

            self.reload(semel, CONFIG + ROUTE + self.OTHER, "semel: reloaded")
            self.assertTrue(wire.eventually(lambda: kept.ask("POST", "/v1/x", keyed("k1") + easy).status == 200))
            self.assertEqual(kept.ask("POST", "/v1/x", keyed("k1") + easy).get("Idempotent-Replayed"), "true")
            self.assertEqual(semel.ask("POST", "/v1/slow", keyed("k3")).body, b"as it began")

    def test_a_broken_file_is_refused_and_the_old_one_stays(self):
        """Every mistake is printed, nothing changes, and a later good file is taken."""
        with self.gateway() as semel:
            self.answer_all()
            self.reload(semel, CONFIG + '\n[[route]]\npath = "v2"\nupstrem = "app"\n', "not reloaded")
            self.assertRegex(semel.stderr(), r"semel\.toml:\d+:\d+: error: .*upstrem")
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            semel.config_path.unlink()
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: semel.stderr().count("not reloaded") == 2))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            self.reload(semel, CONFIG + self.OTHER, "semel: reloaded")
            self.assertTrue(wire.eventually(lambda: semel.ask("POST", "/v2/x", keyed("k2")).status == 200))

    def test_a_new_secret_counts(self):
        """The admin token comes from a file; SIGHUP reads it again, and the old one is worth nothing."""
        with tempfile.TemporaryDirectory() as folder:
            token = pathlib.Path(folder) / "token"
            token.write_text("old-token", encoding="utf-8")
            config = CONFIG.replace('[admin]\n', '[admin]\ntoken = "file:$token"\n') + ROUTE
            with self.gateway(config, token=str(token)) as semel:
                def status(given):
                    return wire.ask(semel.admin, "GET", "/metrics", [("Authorization", f"Bearer {given}")]).status

                self.assertEqual((status("old-token"), status("new-token")), (200, 401))
                token.write_text("new-token", encoding="utf-8")
                self.reload(semel, config, "semel: reloaded")
                self.assertTrue(wire.eventually(lambda: status("new-token") == 200))
                self.assertEqual(status("old-token"), 401)


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

            for host in ("127.0.0.1:%d" % semel.admin[1], "localhost", "[::1]:9080", "ops.example.com", ""):
                self.assertEqual(status(host), 200, host)
            for path in ("/metrics", "/healthz", "/readyz", "/nothing"):
                self.assertEqual(status("evil.example:%d" % semel.admin[1], path), 421)
            self.assertEqual(semel.ask("POST", "/v1/x", [*keyed("k1"), ("Host", "evil.example")], b"1").status, 421)
            refused = 'semel_refused_total{route="",problem="misdirected"}'
            self.assertTrue(wire.eventually(lambda: semel.metrics()[1][refused] == 1))
            self.assertEqual(self.stage.count(), 0)

    def test_the_log_has_a_line_per_request_and_no_secret(self):
        """Secrets planted in key, body, fields, cookies and query are in no log, no metric and no message."""
        config = CONFIG.replace('[admin]\n', '[admin]\ntoken = "env:SEMEL_E2E_TOKEN"\n') + ROUTE
        environment = {"SEMEL_E2E_TOKEN": "canary-admin"}
        with self.gateway(config, environment=environment) as semel:
            self.answer_all(body=lambda arrival: b"canary-answer", fields=[("Set-Cookie", "canary-set-cookie")])
            secret = [("Authorization", "Bearer canary-bearer"), ("Cookie", "session=canary-cookie"),
                      ("X-Api-Key", "canary-field")]
            target = "/v1/x?token=canary-query"
            body = b'{"card": "canary-body"}'
            for _ in range(2):
                semel.ask("POST", target, secret + [("Idempotency-Key", "canary-key")], body)
            semel.ask("POST", target, secret + [("Idempotency-Key", "canary-key")], body + b" ")
            semel.ask("POST", target, secret + [("Idempotency-Key", "canary-key")], b"canary-body-2")
            semel.ask("POST", target, secret + [("Idempotency-Key", "canary key")], body)
            semel.ask("POST", target, secret + [("Idempotency-Key", "canary-lost"), ("Connection", "canary-named")], body)
            semel.ask("GET", target, secret)
            semel.ask("POST", "/nowhere?canary-query", secret, body)
            wire.ask(semel.admin, "GET", "/metrics", [("Authorization", "Bearer canary-wrong")])
            metrics = wire.ask(semel.admin, "GET", "/metrics", [("Authorization", "Bearer canary-admin")])
            self.assertEqual(metrics.status, 200)
            with semel.connect() as broken:
                broken.send(b"POST /v1/canary-broken HTTP/1.1\r\nHost: a\r\nBad canary-line\r\n\r\n")
                self.assertEqual(broken.reply().status, 400)
            self.assertEqual(semel.stop(), 0)

            for text in (semel.stdout(), semel.stderr(), metrics.body.decode()):
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
            kept = [semel.connect() for _ in range(3)]
            for connection in kept:
                self.assertEqual(connection.ask("GET", "/v1/x").status, 200)
            with semel.connect() as refused:
                reply = refused.reply()
                self.assertEqual((reply.status, reply.get("Retry-After")), (503, "1"))
                self.assertEqual(refused.wait_closed(), b"")
            kept.pop().close()
            self.assertTrue(wire.eventually(lambda: semel.ask("GET", "/v1/x").status == 200))

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
    def run_semel(self, *arguments):
        return subprocess.run([str(pathlib.Path(self.binary).resolve()), *arguments], capture_output=True, text=True,
                              timeout=30, check=False)

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
                            'ttl = "1h"\n', encoding="utf-8")
            checked = self.run_semel("check", str(path))
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("/v1/*", checked.stdout)
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
        with socket.create_server((gateway.HOST, 0)) as taken:
            semel = self.gateway()
            semel.values["listen"] = "%s:%d" % taken.getsockname()
            semel.write_config(CONFIG + ROUTE)
            semel.spawn()
            self.assertEqual(semel.wait(10), 1)
            self.assertIn(f"port {taken.getsockname()[1]}", semel.stderr())


if __name__ == "__main__":
    harness.run()
