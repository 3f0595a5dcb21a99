#!/usr/bin/env python3
"""How a gateway stands: readiness of the store and of each upstream, notice before it leaves, reloads and what they cannot
take over, what it measures of itself, and the document for clients. --binary SEMEL"""
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import certificates
import exposition
import harness
import operators
import programs
import stage as staging
import wire
from harness import CONFIG, ROUTE, keyed

TWO = CONFIG + '[upstream.other]\nurl = "http://$other"\n' + ROUTE + '[[route]]\npath = "/other/*"\nupstream = "other"\n'


def ready(semel):
    reply = wire.ask(semel.admin, "GET", "/readyz")
    return reply.status, json.loads(reply.body)


class Readiness(harness.Case):
    def test_the_store_and_each_upstream_are_told_apart(self):
        """One upstream that is down is named, with the reason, and the others are not blamed."""
        other = staging.Stage()
        self.addCleanup(other.close)
        with self.gateway(TWO, other="%s:%d" % other.address) as semel:
            self.assertEqual(ready(semel), (200, {"ready": True, "needs": "all", "store": "writable",
                                                  "upstreams": {"app": "reachable", "other": "reachable"}}))
            other.close()
            status, body = ready(semel)
            self.assertEqual((status, body["ready"], body["store"], body["upstreams"]["app"]),
                             (503, False, "writable", "reachable"))
            self.assertRegex(body["upstreams"]["other"], "^cannot be reached")

    def test_the_store_can_be_enough(self):
        """ready_needs = "store": an upstream that does not answer neither counts nor holds up the answer."""
        config = TWO.replace("[store]", 'ready_needs = "store"\n[store]')
        with self.gateway(config, other="127.0.0.1:%d" % programs.free_port()) as semel:
            self.assertEqual(ready(semel), (200, {"ready": True, "needs": "store", "store": "writable"}))

    def test_it_says_that_it_leaves_before_it_does(self):
        """SIGTERM: /readyz is 503 for drain_notice, while new connections and requests go on; then it drains."""
        with self.gateway(CONFIG + '[limits]\ndrain_notice = "2s"\n' + ROUTE) as semel:
            self.answer_all()
            begun = time.monotonic()
            semel.signal(signal.SIGTERM)
            self.assertTrue(wire.eventually(lambda: ready(semel) == (503, {"ready": False, "draining": True})))
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("late"), b"1").status, 200, "on a new connection")
            self.assertLess(time.monotonic() - begun, 2)
            self.assertEqual(semel.wait(10), 0)
            self.assertGreaterEqual(time.monotonic() - begun, 2)
            said = semel.stderr()
            self.assertIn("/readyz says 503 for 2s", said)
            self.assertLess(said.index("/readyz says 503"), said.index("draining"))

    def test_a_second_signal_ends_the_notice(self):
        with self.gateway(CONFIG + '[limits]\ndrain_notice = "1h"\n' + ROUTE) as semel:
            semel.signal(signal.SIGTERM)
            self.assertTrue(wire.eventually(lambda: ready(semel)[0] == 503))
            semel.signal(signal.SIGTERM)
            self.assertEqual(semel.wait(10), 0)


class Reloads(harness.Case):
    def test_what_needs_a_restart_is_named(self):
        """A reload takes over what it can, and says which options it cannot."""
        with self.gateway() as semel:
            changed = (CONFIG.replace("threads = 2", "threads = 1").replace('listen = "$admin"', 'listen = "127.0.0.1:1"')
                       + '[limits]\nidle_timeout = "61s"\nbody_bytes = "2MiB"\n' + ROUTE + 'ttl = "1h"\n')
            semel.write_config(changed)
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: "need a restart" in semel.stderr()))
            line = next(line for line in semel.stderr().splitlines() if "need a restart" in line)
            self.assertEqual(line, "semel: these options have changed and need a restart: server.threads, admin.listen, "
                                   "limits.idle_timeout")
            semel.write_config(CONFIG + ROUTE)
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: semel.stderr().count("semel: reloaded") == 2))
            self.assertEqual(semel.stderr().count("need a restart"), 1)

    def test_they_are_counted(self):
        """Good ones and bad ones, and when the configuration in force was read."""
        with self.gateway() as semel:
            def counts():
                return semel.metrics()[1]

            first = counts()["semel_config_last_reload_success_timestamp_seconds"]
            self.assertAlmostEqual(first, time.time(), delta=30)
            time.sleep(1.1)
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: counts()['semel_config_reloads_total{result="ok"}'] == 1))
            self.assertGreater(counts()["semel_config_last_reload_success_timestamp_seconds"], first)
            semel.write_config("nonsense")
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: counts()['semel_config_reloads_total{result="failed"}'] == 1))
            self.assertEqual(counts()["semel_config_last_reload_successful"], 0)
            semel.write_config(CONFIG + ROUTE)
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: counts()["semel_config_last_reload_successful"] == 1))


class Measures(operators.Case):
    def families(self, semel):
        return exposition.parse(wire.ask(semel.admin, "GET", "/metrics", [("Authorization", "Bearer view-1")]).body.decode())

    @staticmethod
    def value(families, name, **labels):
        family = families[name.removesuffix("_count")]
        return next(value for sample, found, value in family.samples if (sample, found) == (name, labels))

    def test_promtool_has_nothing_to_say(self):
        """Names, types and units are as Prometheus wants them, on a gateway that has seen a little of everything."""
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not in PATH")
        with tempfile.TemporaryDirectory(prefix="semel-tls-") as folder:
            cert, key = certificates.Authority(folder).sign("server", "/CN=localhost")
            config = operators.WITH_TOKENS.replace("threads = 2", f'threads = 2\ntls = {{ cert = "{cert}", key = "{key}" }}')
            with self.gateway(config) as semel:
                self.assertTrue(wire.eventually(lambda: "semel_unknown_keys" in self.families(semel)))
                text = wire.ask(semel.admin, "GET", "/metrics", [("Authorization", "Bearer view-1")]).body
                checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
                self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, b"", b""))

    def test_the_process_is_measured(self):
        """CPU, memory, files and start, under the names that everybody's dashboards know."""
        with self.gateway(operators.WITH_TOKENS) as semel:
            families = self.families(semel)
            status = pathlib.Path(f"/proc/{semel.process.pid}/status").read_text(encoding="ascii")
            resident = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024
            self.assertAlmostEqual(self.value(families, "process_resident_memory_bytes") / resident, 1, delta=0.3)
            self.assertAlmostEqual(self.value(families, "process_start_time_seconds"), time.time(), delta=60)
            self.assertGreater(self.value(families, "process_virtual_memory_bytes"), resident)
            self.assertGreaterEqual(self.value(families, "process_cpu_seconds_total"), 0)
            open_files = len(list(pathlib.Path(f"/proc/{semel.process.pid}/fd").iterdir()))
            self.assertAlmostEqual(self.value(families, "process_open_fds"), open_files, delta=8)
            self.assertGreater(self.value(families, "process_max_fds"), open_files)

    def test_certificates_say_when_they_expire(self):
        """Of the one that is in use: a new file counts when it is read."""
        with tempfile.TemporaryDirectory(prefix="semel-tls-") as folder:
            authority = certificates.Authority(folder)
            cert, key = authority.sign("server", "/CN=localhost", days=2)
            config = operators.WITH_TOKENS.replace("threads = 2", f'threads = 2\ntls = {{ cert = "{cert}", key = "{key}" }}')
            with self.gateway(config) as semel:
                def left():
                    at = self.value(self.families(semel), "semel_certificate_expiry_timestamp_seconds", use="server",
                                    file=str(cert))
                    return (at - time.time()) / 86400

                self.assertAlmostEqual(left(), 2, delta=0.01)
                authority.sign("server", "/CN=localhost", days=9)
                self.assertAlmostEqual(left(), 2, delta=0.01)
                semel.signal(signal.SIGHUP)
                self.assertTrue(wire.eventually(lambda: abs(left() - 9) < 0.01))

    def test_upstreams_are_measured_by_route(self):
        """Only attempts count: not replays, and not what passes through."""
        config = operators.WITH_TOKENS + '[[route]]\npath = "/other/*"\nupstream = "app"\n'
        with self.gateway(config) as semel:
            self.answer_all()
            for _ in range(3):
                semel.ask("POST", "/v1/x", keyed("k1"), b"1")
            semel.ask("POST", "/v1/x", keyed("k2"), b"1")
            semel.ask("GET", "/v1/x")

            def count(route):
                return self.value(self.families(semel), "semel_route_upstream_seconds_count", route=route)

            self.assertTrue(wire.eventually(lambda: count("/v1/*") == 2))
            self.assertEqual(count("/other/*"), 0)

    def test_unknown_keys_are_there_for_alerts(self):
        """How many there are now, and how old the oldest is; none are left when they are settled."""
        with self.gateway(operators.WITH_TOKENS) as semel:
            for name in ("a", "b", "c"):
                self.lose(semel, name)
            self.assertTrue(wire.eventually(lambda: "semel_unknown_keys" in self.families(semel)))
            families = self.families(semel)
            self.assertEqual(self.value(families, "semel_unknown_keys"), 3)
            self.assertEqual(self.value(families, "semel_unknown_keys_partial"), 0)
            self.assertLess(self.value(families, "semel_oldest_unknown_seconds"), 60)
            self.assertGreater(self.value(families, "semel_oldest_unknown_seconds"), 0)
            desk = operators.ByApi(self, semel)
            for name in ("a", "b", "c"):
                desk.not_done(desk.find(name, "alice"))
            self.assertTrue(wire.eventually(lambda: self.value(self.families(semel), "semel_unknown_keys") == 0, seconds=25))
            self.assertEqual(self.value(self.families(semel), "semel_oldest_unknown_seconds"), 0)


class PolicyDocument(harness.Case):
    PATH = "/.well-known/idempotency"

    def test_it_is_off_by_default(self):
        """Then the path is like any other: nobody named it here."""
        with self.gateway() as semel:
            self.assertEqual(semel.ask("GET", self.PATH).status, 404)

    def test_it_says_what_holds(self):
        """Route by route, and each of these promises is then tried."""
        routes = ('[[route]]\npath = "/v1/*"\nupstream = "app"\nttl = "2h"\n'
                  '[[route]]\npath = "/wait/*"\nupstream = "app"\nkey = "optional"\nin_flight = "wait"\nwait_max = "7s"\n'
                  'fingerprint = "raw"\non_unknown = "retry"\nscope = ""\nkeep = { "404" = "release" }\n'
                  '[[route]]\npath = "/off/*"\nupstream = "app"\nkey = "off"\n'
                  '[[webhook]]\npath = "/hooks/stripe"\nprovider = "stripe"\nsecrets = ["whsec_secret"]\nupstream = "app"\n')
        config = CONFIG.replace("threads = 2", "threads = 2\npolicy_document = true") + routes
        with self.gateway(config) as semel:
            reply = semel.ask("GET", self.PATH)
            self.assertEqual((reply.status, reply.get("Content-Type")), (200, "application/json"))
            document = json.loads(reply.body)
            payments, waiting = document["routes"]
            self.assertEqual((payments["path"], payments["methods"], payments["ttl_seconds"], payments["enforced"]),
                             ("/v1/*", ["POST", "PATCH"], 7200, True))
            self.assertEqual((payments["key"]["required"], payments["key"]["header"], payments["key"]["bytes_max"]),
                             (True, "Idempotency-Key", 255))
            self.assertEqual((payments["while_running"], payments["outcome_unknown"]), ({"answer": "conflict"}, {"retry": "never"}))
            self.assertEqual(payments["keys_per_caller"], True)
            self.assertEqual((waiting["key"]["required"], waiting["while_running"], waiting["outcome_unknown"]),
                             (False, {"answer": "wait", "wait_max_seconds": 7}, {"retry": "same-key"}))
            self.assertEqual(waiting["keys_per_caller"], False)
            self.assertIn("403-404", waiting["kept"]["released_statuses"])
            self.assertNotIn("app", reply.body.decode().replace("application", ""), "nothing of how it is done")
            for hidden in ("hooks", "stripe", "whsec", "127.0.0.1", "Authorization", "/off/"):
                self.assertNotIn(hidden, reply.body.decode())
            problems = {each["type"].removeprefix("urn:semel:problem:"): each for each in document["problems"]}
            self.assertEqual((problems["key-reused"]["status"], problems["key-reused"]["retry"]), (422, "new-key"))

            self.answer_all(status=422)
            self.assertIn("410-424", payments["kept"]["statuses"])
            first = semel.ask("POST", "/v1/x", keyed("k" * 255), b"1")
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k" * 255), b"1").get("Idempotent-Replayed"), "true", first)
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k" * 256), b"1"), 400, "key-invalid")
            self.assertEqual(semel.ask("HEAD", self.PATH).body, b"")
            self.assertEqual(semel.ask("POST", self.PATH, keyed("p"), b"1").status, 404, "only GET and HEAD are ours")


if __name__ == "__main__":
    operators.run()
