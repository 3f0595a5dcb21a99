#!/usr/bin/env python3
"""The claims API from outside: the life of a claim, batches, waiting, order, tokens, bad input line by line, keys that are
shared with the gateway, and every answer against the description. --binary SEMEL --build FOLDER"""
import base64
import hashlib
import http.client
import json
import shutil
import ssl
import struct
import tempfile
import threading
import time
import unittest

import certificates
import claims_api
import harness
import postgres_server
import wire
from claims_api import CONFIG, Caller, fresh_owner

SHARED = CONFIG + """
[upstream.app]
url = "http://$upstream"
[[route]]
path = "/v1/*"
upstream = "app"
namespace = "orders"
in_flight = "wait"
"""


def gateways_fingerprint(method, target, body, form="raw"):
    """As src/core/fingerprint.cc."""
    parts = [b"semel fingerprint v1", method.encode(), target.encode(), form.encode(), body]
    return hashlib.sha256(b"".join(struct.pack(">Q", len(part)) + part for part in parts)).hexdigest()


class Life:
    """The life of a claim. Each store runs it."""

    def test_a_claim_is_granted_once_and_its_result_is_everybodys(self):
        one = self.caller.claim("k1", payload={"a": 1, "b": [2.0]})
        self.assertEqual((one.status, one.outcome, one.attempt), (201, "granted", 1))
        running = self.caller.claim("k1", payload={"b": [2], "a": 1})
        self.assertEqual((running.status, running.outcome, running.retry), (409, "running", "same-key"))
        self.assertGreaterEqual(running.retry_after_ms, 1)
        self.assertIn("Retry-After", running.fields)
        self.assertEqual(self.caller.claim("k1", payload={"a": 2}).outcome, "key-reused")
        self.assertEqual(self.caller.end("/renew", "k1", one.fence, lease_ms=5000).outcome, "renewed")
        self.assertEqual(self.caller.get("k1").outcome, "running")
        result = {"status": 202, "content_type": "application/json", "body": {"id": 7}, "headers": {"X-One": "1", "X-Two": ["a", "b"]}}
        self.assertEqual(self.caller.end("/complete", "k1", one.fence, result=result).outcome, "completed")
        for answer in (self.caller.claim("k1", payload={"a": 1, "b": [2]}), self.caller.get("k1")):
            self.assertEqual((answer.status, answer.outcome, answer.attempt), (200, "done", 1))
            self.assertEqual(answer.result["status"], 202)
            self.assertEqual(answer.result["body"], {"id": 7})
            self.assertEqual(answer.result["headers"], {"x-one": "1", "x-two": ["a", "b"]})
            self.assertEqual(base64.b64decode(answer.result["body_base64"]), b'{"id": 7}')

    def test_every_call_can_be_repeated(self):
        owner = fresh_owner()
        fences = {self.caller.claim("k2", owner).fence for _ in range(3)}
        self.assertEqual(len(fences), 1)
        fence = fences.pop()
        for text in ("first", "second"):
            self.assertEqual(self.caller.complete("k2", fence, text).outcome, "completed")
        self.assertEqual(self.caller.claim("k2", owner).result["body"], "first")
        owner = fresh_owner()
        released = self.caller.claim("k3", owner).fence
        for _ in range(2):
            self.assertEqual(self.caller.end("/release", "k3", released).outcome, "released")
        self.assertEqual(self.caller.get("k3").outcome, "free")
        late = self.caller.claim("k3", owner)
        self.assertEqual((late.status, late.outcome, late.pointer), (409, "fenced", "/owner"))
        again = self.caller.claim("k3")
        self.assertEqual((again.outcome, again.attempt), ("granted", 2))
        fenced = self.caller.complete("k3", released)
        self.assertEqual((fenced.status, fenced.outcome, fenced.retry), (409, "fenced", "never"))
        self.assertTrue(fenced.type.endswith(":claim-lost"))

    def test_an_unknown_outcome_is_held_or_retried(self):
        told = self.caller.claim("k4")
        self.assertEqual(self.caller.end("/complete", "k4", told.fence, outcome="unknown").outcome, "completed")
        held = self.caller.claim("k4")
        self.assertEqual((held.status, held.outcome, held.retry), (409, "unknown", "never"))
        self.assertEqual(self.caller.claim("k4", on_unknown="retry").attempt, 2)
        lapsed = self.caller.claim("k5", lease_ms=200)
        time.sleep(0.4)
        self.assertEqual(self.caller.get("k5").outcome, "unknown")
        self.assertEqual(self.caller.end("/renew", "k5", lapsed.fence).outcome, "fenced")
        taken = self.caller.claim("k5", on_unknown="retry")
        self.assertEqual((taken.outcome, taken.attempt), ("granted", 2))
        self.assertEqual(self.caller.complete("k5", lapsed.fence, "zombie").outcome, "fenced")
        self.assertEqual(self.caller.complete("k5", taken.fence, "second").outcome, "completed")
        self.assertEqual(self.caller.get("k5").result["body"], "second")

    def test_a_batch_is_answered_item_by_item(self):
        keys = [f"b{i}" for i in range(500)]
        defaults = {"namespace": "jobs.a", "owner": fresh_owner()}
        granted = self.caller.call("", {"defaults": defaults, "items": [{"key": key} for key in keys]})
        self.assertEqual(granted.status, 200)
        self.assertEqual({item["outcome"] for item in granted.items}, {"granted"})
        self.assertEqual(len({item["fence"] for item in granted.items}), 500)
        ends = [{"key": key, "fence": item["fence"], "result": {"body": key}} for key, item in zip(keys, granted.items)]
        done = self.caller.call("/complete", {"defaults": {"namespace": "jobs.a"}, "items": ends})
        self.assertEqual({item["outcome"] for item in done.items}, {"completed"})
        seen = self.caller.call("/get", {"items": [{"namespace": "jobs.a", "key": key} for key in reversed(keys)]})
        self.assertEqual([item["result"]["body"] for item in seen.items], keys[::-1])

    def test_one_key_twice_and_items_that_are_wrong(self):
        items = [{"key": "x1"}, {"key": "x1"}, {"key": 5}, {"key": "x2", "namespace": "others"}, {"key": "x3", "odd": 1}, {"key": "x4"}]
        answer = self.caller.call("", {"defaults": {"namespace": "orders", "owner": fresh_owner()}, "items": items})
        self.assertEqual([item.get("outcome") for item in answer.items], ["granted", None, None, None, None, "granted"])
        problems = [item["problem"] for item in answer.items if "problem" in item]
        self.assertEqual([(p["status"], p["pointer"]) for p in problems], [
            (400, "/items/1/key"), (400, "/items/2/key"), (403, "/items/3/namespace"), (400, "/items/4/odd")])
        self.assertEqual(self.caller.get("x3").outcome, "free")

    def test_who_waits_is_woken(self):
        """By the end of the attempt, not by a clock; a key that becomes free is the waiter's."""
        for end, outcome in (("/complete", "done"), ("/release", "granted")):
            key = "w" + end
            first = self.caller.claim(key)
            heard = []
            waiter = threading.Thread(target=lambda: heard.append(Caller(self.semel.api).claim(key, wait_ms=20000)))
            waiter.start()
            time.sleep(0.3)
            self.assertEqual(heard, [])
            begun = time.monotonic()
            self.caller.end(end, key, first.fence)
            waiter.join(20)
            self.assertEqual(heard[0].outcome, outcome)
            self.assertLess(time.monotonic() - begun, 3)
        self.caller.claim("w3")
        begun = time.monotonic()
        self.assertEqual(self.caller.claim("w3", wait_ms=500).outcome, "running")
        self.assertGreater(time.monotonic() - begun, 0.4)

    def test_events_of_an_object_run_in_order(self):
        def event(key, stamp, **more):
            return self.caller.claim(key, order={"object": "acct", "stamp": stamp}, **more)

        first = event("e17", 17)
        self.assertEqual(first.outcome, "granted")
        busy = event("e18", 18)
        self.assertEqual((busy.status, busy.outcome), (409, "busy"))
        self.caller.complete("e17", first.fence)
        self.assertEqual(event("e16", 16).outcome, "superseded")
        batch = self.caller.call("", {"defaults": {"namespace": "orders", "owner": fresh_owner()}, "items": [
            {"key": f"f{stamp}", "order": {"object": "acct", "stamp": stamp}} for stamp in (22, 20, 21)]})
        self.assertEqual([item["outcome"] for item in batch.items], ["busy", "granted", "busy"])
        self.assertEqual(self.caller.get("f20", order={"object": "acct", "stamp": 20}).outcome, "running")


class Embedded(Life, harness.Case):
    store_more = ""
    syncs_max = 60

    def setUp(self):
        super().setUp()
        self.semel = claims_api.gateway(self, store_more=self.store_more).start()
        self.caller = self.semel.caller

    def test_what_was_promised_outlives_a_kill(self):
        """Killed between the calls: a claim stands, its holder ends it at the next process, a result is there."""
        done, running = self.caller.claim("d1"), self.caller.claim("d2")
        self.caller.complete("d1", done.fence, {"n": 1})
        self.semel.kill()
        with self.assertRaises(OSError):
            self.caller.claim("d3")
        self.semel.start()
        self.assertEqual(self.caller.get("d1").result["body"], {"n": 1})
        self.assertEqual(self.caller.claim("d2").outcome, "running")
        self.assertEqual(self.caller.end("/renew", "d2", running.fence).outcome, "renewed")
        self.assertEqual(self.caller.complete("d2", running.fence).outcome, "completed")


    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_five_hundred_claims_are_a_few_syncs(self):
        """Counted at the system: a batch is synced together, not item by item."""
        semel = claims_api.gateway(self, store_more=self.store_more)
        trace = semel.folder / "trace"
        semel.prefix = ["strace", "-f", "-D", "-qq", "-o", str(trace), "-e", "trace=fsync,fdatasync"]
        semel.start()
        semel.caller.claim("first")
        before = trace.read_text(encoding="utf-8").count("sync(")
        keys = [f"s{i}" for i in range(500)]
        granted = semel.caller.call("", {"defaults": {"namespace": "orders", "owner": fresh_owner()}, "items": [{"key": key} for key in keys]})
        self.assertEqual({item["outcome"] for item in granted.items}, {"granted"})
        ends = [{"key": key, "fence": item["fence"]} for key, item in zip(keys, granted.items)]
        done = semel.caller.call("/complete", {"defaults": {"namespace": "orders"}, "items": ends})
        self.assertEqual({item["outcome"] for item in done.items}, {"completed"})
        syncs = trace.read_text(encoding="utf-8").count("sync(") - before
        print(f"{syncs} syncs for 500 claims and 500 completions")
        self.assertTrue(2 <= syncs <= self.syncs_max, f"{syncs} syncs for 500 claims and 500 completions")


class Encrypted(Embedded):
    store_more = f'encryption_keys = ["{harness.KEY_ONE}"]'
    syncs_max = 250  # sealing takes a while, so each sync finds fewer items waiting


class OnPostgres(Life, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres_server.Server(cls.binary)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.server.run("TRUNCATE semel.keys, semel.objects")
        self.semel = claims_api.gateway(self, store=self.server.url).start()
        self.caller = self.semel.caller

    def test_any_gateway_answers(self):
        """Claimed at one, renewed and completed at another, waited for at the first."""
        other = claims_api.gateway(self, store=self.server.url).start().caller
        claim = self.caller.claim("n1")
        self.assertEqual(other.end("/renew", "n1", claim.fence).outcome, "renewed")
        heard = []
        waiter = threading.Thread(target=lambda: heard.append(Caller(self.semel.api).claim("n1", wait_ms=20000)))
        waiter.start()
        time.sleep(0.3)
        self.assertEqual(other.complete("n1", claim.fence, "there").outcome, "completed")
        waiter.join(20)
        self.assertEqual(heard[0].result["body"], "there")

    def test_five_hundred_claims_are_a_few_statements(self):
        """Counted at the server, which is told to log each statement."""
        self.server.run("ALTER SYSTEM SET log_statement = 'all'")
        self.server.run("SELECT pg_reload_conf()")
        self.addCleanup(self.server.run, "SELECT pg_reload_conf()")
        self.addCleanup(self.server.run, "ALTER SYSTEM RESET log_statement")
        time.sleep(0.5)
        begun = len(self.server.stderr())
        items = [{"key": f"p{i}"} for i in range(500)]
        granted = self.caller.call("", {"defaults": {"namespace": "orders", "owner": fresh_owner()}, "items": items})
        self.assertEqual({item["outcome"] for item in granted.items}, {"granted"})
        claims = sum("claim" in line for line in self.server.stderr()[begun:].splitlines() if "LOG:" in line)
        self.assertTrue(1 <= claims <= 20, f"{claims} statements for 500 claims")

    def test_without_the_store_nothing_is_granted(self):
        """503, fails closed; the same call succeeds when the store is back."""
        owner = fresh_owner()
        self.server.crash()
        for answer in (self.caller.claim("s1", owner), self.caller.get("s1")):
            self.assertEqual((answer.status, answer.retry), (503, "same-key"))
            self.assertTrue(answer.type.endswith(":store-unavailable"))
            self.assertIn("Retry-After", answer.fields)
        batch = self.caller.call("", {"items": [{"namespace": "orders", "key": "s1", "owner": owner}]})
        self.assertEqual((batch.status, batch.items[0]["problem"]["status"]), (200, 503))
        self.server.start()
        granted = wire.eventually(lambda: (lambda answer: answer if answer.status == 201 else None)(self.caller.claim("s1", owner)), 20)
        self.assertEqual((granted.outcome, granted.attempt), ("granted", 1))


class BadInput(harness.Case):
    def setUp(self):
        super().setUp()
        self.semel = claims_api.gateway(self).start()
        self.caller = self.semel.caller

    def refused(self, request, status, pointer, path=""):
        answer = self.caller.call(path, request)
        self.assertEqual((answer.status, answer.pointer), (status, pointer), answer)
        self.assertIsNone(answer.outcome)

    def test_every_mistake_is_named_and_nothing_is_claimed(self):
        good = {"namespace": "orders", "key": "k", "owner": "o" * 16}
        for change, status, pointer in (
                ({"owner": None}, 400, "/owner"), ({"owner": "short"}, 400, "/owner"), ({"owner": "o" * 65}, 400, "/owner"),
                ({"owner": 5}, 400, "/owner"), ({"key": ""}, 400, "/key"), ({"key": "k" * 256}, 400, "/key"), ({"key": "a\u0002"}, 400, "/key"),
                ({"key": "\u0002a"}, 400, "/key"), ({"namespace": "others"}, 403, "/namespace"), ({"namespace": "jobs"}, 403, "/namespace"),
                ({"namespace": ["orders"]}, 400, "/namespace"), ({"scope": 1}, 400, "/scope"), ({"unknown": 1}, 400, "/unknown"),
                ({"a/b~c": 1}, 400, "/a~1b~0c"), ({"fence": "1.0"}, 400, "/fence"), ({"lease_ms": "1"}, 400, "/lease_ms"),
                ({"lease_ms": 0}, 400, "/lease_ms"), ({"lease_ms": 1.5}, 400, "/lease_ms"), ({"lease_ms": 3600001}, 403, "/lease_ms"),
                ({"ttl_ms": -1}, 400, "/ttl_ms"), ({"ttl_ms": 10**12}, 403, "/ttl_ms"), ({"ttl_ms": 10**30}, 400, "/ttl_ms"),
                ({"wait_ms": 30001}, 400, "/wait_ms"), ({"wait_ms": True}, 400, "/wait_ms"), ({"on_unknown": "probe"}, 400, "/on_unknown"),
                ({"fingerprint": "ab"}, 400, "/fingerprint"), ({"fingerprint": "0" * 64, "payload": 1}, 400, "/fingerprint"),
                ({"order": 5}, 400, "/order"), ({"order": {"object": "a"}}, 400, "/order"), ({"order": {"object": "a", "stamp": None}}, 400, "/order"),
                ({"order": {"object": "a", "stamp": 1, "more": 1}}, 400, "/order")):
            with self.subTest(change=change):
                self.refused({name: value for name, value in {**good, **change}.items() if value is not None}, status, pointer)
        self.assertEqual(self.caller.get("k").outcome, "free")
        self.refused('{"namespace":"orders","key":"k","owner":"oooooooooooooooo","key":"l"}', 400, "/key")

    def test_the_whole_request(self):
        item = {"namespace": "orders", "key": "k", "owner": "o" * 16}
        for request, status, pointer in (
                (b"", 400, None), (b"{", 400, None), (b'{"a":"\xff"}', 400, None), (b"[]", 400, None), ({"items": []}, 400, "/items"),
                ({"items": {}}, 400, "/items"), ({"items": [{**item, "key": str(i)} for i in range(501)]}, 400, "/items"),
                ({"items": [item], "more": 1}, 400, "/more"), ({"items": [item], "defaults": {"odd": 1}}, 400, "/defaults/odd"),
                ({"defaults": item}, 400, "/items"), (b"[" * 100, 400, None), (b'"' + b"x" * (1 << 20) + b'"', 413, None)):
            with self.subTest(request=str(request)[:60]):
                self.caller.close()
                self.refused(request, status, pointer)
        self.assertEqual(self.caller.call("", b"", method="PUT").status, 405)
        self.assertEqual(self.caller.call("/other", {}).status, 404)
        self.assertEqual(self.caller.get("k").outcome, "free")

    def test_ends_and_results(self):
        fence = self.caller.claim("r").fence
        end = {"namespace": "orders", "key": "r", "fence": fence}
        for change, status, pointer in (
                ({"fence": "1"}, 400, "/fence"), ({"fence": "x.0123456789abcdef"}, 400, "/fence"), ({"result": 1}, 400, "/result"),
                ({"outcome": "done"}, 400, "/outcome"), ({"outcome": "unknown", "result": {}}, 400, "/result"),
                ({"result": {"odd": 1}}, 400, "/result/odd"), ({"result": {"status": 100}}, 400, "/result/status"),
                ({"result": {"headers": []}}, 400, "/result/headers"), ({"result": {"headers": {"A": "x\r\nB: y"}}}, 400, "/result/headers/A"),
                ({"result": {"headers": {"A b": "x"}}}, 400, "/result/headers/A b"),
                ({"result": {"headers": {"Content-Type": "x"}}}, 400, "/result/headers/Content-Type"),
                ({"result": {"body": 1, "body_base64": "YQ=="}}, 400, "/result/body_base64"),
                ({"result": {"body_base64": "a b"}}, 400, "/result/body_base64"),
                ({"result": {"headers": {"X": ["v" * 1000] * 70}}}, 413, "/result/headers")):
            with self.subTest(change=change):
                self.refused({**end, **change}, status, pointer, "/complete")
        self.assertEqual(self.caller.get("r").outcome, "running", "the claim stands")
        self.assertEqual(self.caller.end("/complete", "r", fence).outcome, "completed")
        self.assertEqual(self.caller.get("r").result, {"status": 204})


class Tokens(harness.Case):
    def test_a_token_never_reaches_anothers_namespace(self):
        """Nor does a stranger: whatever is called, nothing of the key is told or changed."""
        semel = claims_api.gateway(self).start()
        fence = semel.caller.claim("k", payload={"n": 1}).fence
        other = Caller(semel.api, claims_api.OTHER_SECRET)
        name = {"namespace": "orders", "key": "k"}
        calls = (("", {**name, "owner": fresh_owner()}), ("/renew", {**name, "fence": fence}), ("/complete", {**name, "fence": fence}),
                 ("/release", {**name, "fence": fence}), ("/get", name))
        for path, request in calls:
            answer = other.call(path, request)
            self.assertEqual((answer.status, answer.pointer), (403, "/namespace"), path)
            batch = other.call(path, {"items": [request]})
            self.assertEqual(batch.items[0]["problem"]["status"], 403)
            for secret in ("-", claims_api.SECRET + "x", claims_api.SECRET[:-1]):
                self.assertEqual(semel.caller.call(path, request, secret=secret).status, 401)
        for lines, status in ((["bearer {}"], 409), (["Bearer {}", "Bearer x"], 401), (["Bearer x", "Bearer {}"], 401)):
            fields = [("aUTHORIZATION", line.format(claims_api.SECRET)) for line in lines]
            self.assertEqual(wire.ask(semel.api, "POST", "/v1/claims/get", fields, json.dumps(name).encode()).status, status, lines)
        with wire.Wire(semel.api) as stranger:  # is refused before the body is there
            stranger.send(b"POST /v1/claims HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 1000000\r\n\r\n")
            self.assertEqual(stranger.reply().status, 401)
        self.assertEqual(semel.caller.complete("k", fence).outcome, "completed")
        counted, counts = semel.metrics()
        self.assertEqual(counts["semel_api_unauthorized_total"], len(calls) * 3 + 3)
        self.assertIn('semel_api_items_total{token="other",call="get",outcome="refused"}', counted)
        semel.stop()
        said = semel.stdout() + semel.stderr() + counted
        self.assertIn('"token":"other"', semel.stdout())
        self.assertNotIn(claims_api.OTHER_SECRET, said)
        self.assertNotIn(claims_api.SECRET, said)

    def test_rights_scope_ceilings_and_rate(self):
        """What a token may is all that it may; a reload brings new terms."""
        terms = """
[[api.token]]
name = "looker"
secret = "looker-0123456789"
namespaces = ["orders"]
may = ["get"]
[[api.token]]
name = "tenant"
secret = "tenant-0123456789"
namespaces = ["orders"]
scope = "t7"
lease_max = "5s"
ttl_max = "1m"
[[api.token]]
name = "slow"
secret = "slow-0123456789-0"
namespaces = ["orders"]
rate = "3/m"
"""
        semel = claims_api.gateway(self, CONFIG + terms).start()
        looker, tenant, slow = (Caller(semel.api, secret) for secret in ("looker-0123456789", "tenant-0123456789", "slow-0123456789-0"))
        self.assertEqual(looker.claim("k").status, 403)
        self.assertEqual(looker.get("k").outcome, "free")
        claim = tenant.claim("k")
        self.assertEqual((claim.outcome, claim.lease_ms), ("granted", 5000))
        self.assertEqual(tenant.claim("k", scope="t7").outcome, "running")
        self.assertEqual(tenant.claim("k", scope="t8").pointer, "/scope")
        self.assertEqual(semel.caller.get("k", scope="t7").outcome, "running")
        self.assertEqual(semel.caller.get("k").outcome, "free")
        self.assertEqual((tenant.claim("k", lease_ms=5001).status, tenant.claim("k", ttl_ms=60001).pointer), (403, "/ttl_ms"))
        items = {"items": [{"namespace": "orders", "key": str(i)} for i in range(3)]}
        self.assertEqual(slow.call("/get", items).status, 200)
        over = slow.get("k")
        self.assertEqual((over.status, over.retry), (429, "same-key"))
        self.assertIn("Retry-After", over.fields)
        semel.write_config(CONFIG)
        semel.signal(1)
        self.assertTrue(wire.eventually(lambda: looker.get("k").status == 401))
        self.assertEqual(semel.caller.get("k").status, 200)

    def test_the_description_is_served(self):
        """As it stands in docs/, without a token."""
        semel = claims_api.gateway(self).start()
        reply = wire.ask(semel.api, "GET", "/v1/openapi.json")
        self.assertEqual((reply.status, json.loads(reply.body)), (200, json.loads(claims_api.DOCUMENT.read_text(encoding="utf-8"))))


class Encryption(harness.Case):
    def test_the_listener_speaks_tls(self):
        """With api.tls, and nothing else: a plain request gets no answer of the API."""
        with tempfile.TemporaryDirectory(prefix="semel-tls-") as folder:
            authority = certificates.Authority(folder)
            cert, key = authority.sign("api", "/CN=api")
            config = CONFIG.replace('listen = "$api"', f'listen = "$api"\ntls = {{ cert = "{cert}", key = "{key}" }}')
            semel = claims_api.gateway(self, config).start()
            trusting = ssl.create_default_context(cafile=str(authority.path))
            connection = http.client.HTTPSConnection("localhost", semel.api[1], timeout=10, context=trusting)
            connection.request("POST", "/v1/claims/get", json.dumps({"namespace": "orders", "key": "k"}),
                               {"Authorization": f"Bearer {claims_api.SECRET}"})
            self.assertEqual(json.loads(connection.getresponse().read()), {"outcome": "free"})
            connection.close()
            with self.assertRaises((OSError, http.client.HTTPException)):
                semel.caller.get("k")


class Room(harness.Case):
    def test_connections_count_with_those_of_the_gateway(self):
        """There is one limit for both, and whoever comes too late is told so."""
        semel = claims_api.gateway(self, SHARED + "[limits]\nconnections = 2\n").start()
        with wire.Wire(semel.api) as one, semel.connect() as two:
            self.assertEqual(one.ask("GET", "/v1/openapi.json").status, 200)
            self.assertEqual(two.ask("GET", "/nobody").status, 404)
            for address in (semel.api, semel.address):
                with wire.Wire(address) as late:
                    self.assertEqual(late.reply().status, 503)


class Shared(harness.Case):
    """One key, two doors: the gateway's and the API's."""

    def setUp(self):
        super().setUp()
        self.semel = claims_api.gateway(self, SHARED).start()

    def claim(self, key, body, **more):
        return self.semel.caller.claim(key, scope="alice", fingerprint=gateways_fingerprint("POST", "/v1/pay", body), **more)

    def pay(self, key, body):
        return self.semel.ask("POST", "/v1/pay", harness.keyed(key, **{"Content-Type": "text/plain"}), body, seconds=30)

    def test_the_gateway_replays_what_was_completed_here(self):
        granted = self.claim("g1", b"5")
        heard = []
        waiter = threading.Thread(target=lambda: heard.append(self.pay("g1", b"5")))
        waiter.start()
        time.sleep(0.3)
        self.semel.caller.end("/complete", "g1", granted.fence, scope="alice", result={
            "status": 201, "content_type": "text/plain", "body_base64": base64.b64encode(b"\x00paid\xff").decode(),
            "headers": {"Location": "/p/1", "X-Latin": "caf\u00e9", "Set-Cookie": "a=b", "Connection": "close"}})
        waiter.join(20)
        for reply in (heard[0], self.pay("g1", b"5")):
            self.assertEqual((reply.status, reply.body, reply.get("Location")), (201, b"\x00paid\xff", "/p/1"))
            self.assertEqual((reply.get("Idempotent-Replayed"), reply.get("Content-Type")), ("true", "text/plain"))
            self.assertIsNone(reply.get("Set-Cookie"))
        self.assertEqual(self.semel.caller.get("g1", scope="alice").result["headers"]["x-latin"], "caf\u00e9")
        self.assert_problem(self.pay("g1", b"6"), 422, "key-reused")
        self.assertEqual(self.stage.count(), 0, "nothing went upstream")

    def test_a_claim_here_finds_what_the_gateway_did(self):
        self.answer_all(status=201, body=lambda _: b'{"paid": 1.0}', fields=[("Content-Type", "application/json"), ("X-A", "1"), ("X-A", "2")])
        self.assertEqual(self.pay("g2", b"5").status, 201)
        done = self.claim("g2", b"5")
        self.assertEqual((done.outcome, done.result["status"], done.result["body"]), ("done", 201, {"paid": 1.0}))
        self.assertEqual(base64.b64decode(done.result["body_base64"]), b'{"paid": 1.0}')
        self.assertEqual(done.result["headers"]["x-a"], ["1", "2"])
        self.assertEqual(self.claim("g2", b"6").outcome, "key-reused")


class ZDescription(unittest.TestCase):
    """Last: every answer that any test has heard."""

    def test_every_answer_fits_the_description(self):
        wrong, count = claims_api.validate()
        self.assertEqual(wrong, "")
        self.assertGreater(count, 200)


if __name__ == "__main__":
    harness.run(build=claims_api.prepare)
