#!/usr/bin/env python3
"""Callers that are known by a claim of their token, with an issuer of our own. --binary SEMEL"""
import base64
import hashlib
import hmac
import json
import re
import signal
import subprocess
import time

import harness
import server
import webhook_keys
import wire

SECRET = "a secret of at least thirty-two bytes"

RULES = """
[jwt]
algorithms = ["HS256"]
secret = "env:JWT_SECRET"
issuer = "https://login.example.com/"
audience = ["pay"]
"""

ROUTES = """
[[route]]
path = "/v1/*"
upstream = "app"
scope = "{jwt:sub}"
[[route]]
path = "/tenants/*"
upstream = "app"
scope = "{jwt:/org/id}{jwt:sub?}"
[[route]]
path = "/optional/*"
upstream = "app"
key = "optional"
scope = "{jwt:sub}"
[[route]]
path = "/perhaps/*"
upstream = "app"
scope = "{jwt:sub?}"
[[route]]
path = "/observe/*"
upstream = "app"
scope = "{jwt:sub}"
mode = "observe"
[[route]]
path = "/per-token/*"
upstream = "app"
scope = "{jwt:sub}"
key_from = "{header:Idempotency-Key}{jwt:jti}"
"""


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims(subject="ann", life=300, **more):
    now = int(time.time())
    return {"iss": "https://login.example.com/", "aud": "pay", "sub": subject, "iat": now, "exp": now + life, **more}


def token(said, head=None, sign=lambda text: hmac.new(SECRET.encode(), text, hashlib.sha256).digest()):
    text = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT", **(head or {})}, said))
    return f"{text}.{encoded(sign(text.encode()))}"


class Tokens(harness.Case):
    def setUp(self):
        super().setUp()
        self.semel = self.gateway(harness.CONFIG + RULES + ROUTES, environment={"JWT_SECRET": SECRET}).start()
        self.answer_all(body=lambda arrival: b"%d" % self.stage.count())

    def pay(self, shown, key="k", path="/v1/payments", body=b'{"amount":1}'):
        fields = [("Idempotency-Key", key)] if key else []
        if shown:
            fields.append(("Authorization", f"Bearer {shown}"))
        return self.semel.ask("POST", path, fields, body)

    def test_a_refreshed_token_is_the_same_caller(self):
        """The payment runs once, though the retry has another token; another subject is another caller."""
        first = self.pay(token(claims(jti="1", aud=["other", "pay"])))
        again = self.pay(token(claims(jti="2", life=900)))
        self.assertEqual((first.status, again.status), (200, 200))
        self.assertEqual((again.get("Idempotent-Replayed"), again.body), ("true", first.body))
        self.assertEqual(self.stage.count(), 1)
        other = self.pay(token(claims("bob")))
        self.assertEqual((other.get("Idempotent-Replayed"), self.stage.count()), (None, 2))
        reused = self.pay(token(claims(jti="3")), body=b'{"amount":2}')
        self.assert_problem(reused, 422, "key-reused")

    def test_a_token_that_does_not_count_is_401_and_runs_nothing(self):
        """Each with its reason, in the body and in the field that clients of OAuth read; an answer is not replayed either."""
        self.assertEqual(self.pay(token(claims())).status, 200)
        none = encoded(b'{"alg":"none"}') + "." + encoded(json.dumps(claims()).encode()) + "."
        for shown, why in ((token(claims(life=-60)), "the token has expired"),
                           (token(claims(), sign=lambda text: b"\0" * 32), "the signature of the token is wrong"),
                           (token(claims(aud="other")), "the token is for another audience"),
                           (token({**claims(), "iss": "https://evil.example/"}), "the token comes from another issuer"),
                           (token(claims(nbf=int(time.time()) + 600)), "the token is not valid yet"),
                           (none, "the token is signed with an algorithm that is not accepted here"),
                           ("nonsense", "the token cannot be read")):
            refused = self.pay(shown)
            self.assert_problem(refused, 401, "scope-missing")
            self.assertIn(why.encode(), refused.body)
            self.assertEqual(refused.get("WWW-Authenticate"), f'Bearer error="invalid_token", error_description="{why}"')
        refused = self.pay(None)
        self.assert_problem(refused, 401, "scope-missing")
        self.assertEqual(refused.get("WWW-Authenticate"), "Bearer")
        nobody = claims()
        del nobody["sub"]
        self.assert_problem(self.pay(token(nobody)), 401, "scope-missing")
        self.assertEqual(self.stage.count(), 1)
        self.assertNotIn("nonsense", self.semel.stdout())

    def test_claims_can_be_nested_and_optional(self):
        """`{jwt:/org/id}`; and `?` is for requests without a token, never for one that is wrong."""
        for number, (org, subject) in enumerate((("a", "ann"), ("b", "ann"), ("a", None))):
            said = claims(org={"id": org})
            if subject is None:
                del said["sub"]
            self.assertEqual(self.pay(token(said), path="/tenants/x").get("Idempotent-Replayed"), None)
            self.assertEqual(self.pay(token(said), path="/tenants/x").get("Idempotent-Replayed"), "true")
            self.assertEqual(self.stage.count(), number + 1)
        self.assert_problem(self.pay(token(claims()), path="/tenants/x"), 401, "scope-missing")
        self.assert_problem(self.pay(token(claims(org={"id": {}})), path="/tenants/x"), 401, "scope-missing")
        self.assertEqual(self.pay(None, path="/perhaps/x").status, 200)
        self.assert_problem(self.pay("wrong", path="/perhaps/x"), 401, "scope-missing")
        self.assert_problem(self.pay("wrong", path="/per-token/x"), 401, "scope-missing")

    def test_what_needs_no_caller_asks_for_no_token(self):
        """Requests that are not guarded pass: whether their token counts is the service's to say."""
        self.assertEqual(self.semel.ask("GET", "/v1/payments", [("Authorization", "Bearer wrong")]).status, 200)
        self.assertEqual(self.pay("wrong", key=None, path="/optional/x").status, 200)
        self.assertEqual(self.pay("wrong", path="/observe/x").status, 200)
        self.assertEqual(self.stage.count(), 3)


class TokensByKeys(harness.Case):
    """An issuer with a key pair whose public half is in a set that it hands out."""

    def setUp(self):
        super().setUp()
        self.asked = 0
        self.semel = self.gateway(harness.CONFIG)
        folder = self.semel.folder
        webhook_keys.make_signer(folder, "issuer")
        self.sign = webhook_keys.quick_signer(folder)
        told = subprocess.run(["openssl", "rsa", "-in", "signer.key", "-noout", "-modulus"], cwd=folder, check=True,
                              capture_output=True, text=True, timeout=60).stdout
        self.key = {"kty": "RSA", "use": "sig", "kid": "one", "e": "AQAB", "n": encoded(bytes.fromhex(told.strip().partition("=")[2]))}
        self.answer_all()

    def hand_out(self, request):
        self.asked += 1
        return server.Reply(200, [], json.dumps({"keys": [self.key]}).encode())

    def token(self, head=None, **more):
        return token(claims(**more), {"alg": "RS256", "kid": "one", **(head or {})}, self.sign)

    def start(self, keys):
        rules = RULES.replace("HS256", "RS256").replace('secret = "env:JWT_SECRET"', f'keys = "{keys}"')
        self.semel.write_config(harness.CONFIG.replace("threads = 2", "threads = 1") + rules + ROUTES)
        self.semel.start()

    def pay(self, shown, key="k"):
        return self.semel.ask("POST", "/v1/x", [("Idempotency-Key", key), ("Authorization", f"Bearer {shown}")], b"1")

    def issuer(self):
        issuer = server.Server(server.replies(self.hand_out))
        self.addCleanup(issuer.close)
        return issuer, "http://%s:%d/keys" % issuer.address

    def test_keys_are_fetched_once_and_kept_when_the_issuer_is_gone(self):
        """Nothing more is asked for tokens of the same key, and none of them fails while nobody hands out keys."""
        issuer, place = self.issuer()
        self.start(place)
        self.assertEqual([self.pay(self.token(jti=str(i))).get("Idempotent-Replayed") for i in range(5)], [None] + ["true"] * 4)
        self.assertEqual(self.asked, 1)
        issuer.close()
        self.assertEqual(self.pay(self.token()).status, 200)
        self.assertEqual(self.stage.count(), 1)

    def test_made_up_keys_cause_no_flood_at_the_issuer(self):
        """A hundred tokens name keys that do not exist: the set was just fetched, so nobody is asked again."""
        _, place = self.issuer()
        self.start(place)
        self.assertEqual(self.pay(self.token()).status, 200)
        for number in range(100):
            self.assert_problem(self.pay(self.token({"kid": f"made-up-{number}"})), 401, "scope-missing")
        self.assertLessEqual(self.asked, 2)
        self.assertEqual(self.pay(self.token()).get("Idempotent-Replayed"), "true")

    def test_a_secret_made_of_the_public_key_verifies_nothing(self):
        """The best-known attack on tokens: HS256 with the public key as its secret, and no signature at all."""
        _, place = self.issuer()
        self.start(place)
        public = subprocess.run(["openssl", "rsa", "-in", "signer.key", "-pubout"], cwd=self.semel.folder, check=True,
                                capture_output=True, timeout=60).stdout
        for secret in (public, public.strip(), self.key["n"].encode(), json.dumps(self.key).encode()):
            forged = token(claims(), {"kid": "one"}, lambda text: hmac.new(secret, text, hashlib.sha256).digest())
            self.assert_problem(self.pay(forged), 401, "scope-missing")
        self.assertEqual((self.asked, self.stage.count()), (0, 0))

    def test_without_keys_nobody_is_refused_for_good(self):
        """The issuer cannot be reached and nothing is kept: come again, with the same key. Nothing has run."""
        issuer, place = self.issuer()
        issuer.close()
        self.start(place)
        reply = self.pay(self.token())
        self.assertEqual((reply.status, reply.get("Retry-After")), (503, "5"))
        self.assertEqual(json.loads(reply.body)["retry"], "same-key")
        self.assertEqual(self.stage.count(), 0)

    def test_keys_in_a_file_are_read_again_on_sighup(self):
        """Beside the configuration; a new key counts after the reload, the old one no more."""
        file = self.semel.folder / "keys.json"
        file.write_text(json.dumps({"keys": [self.key]}), encoding="utf-8")
        self.start("keys.json")
        self.assertEqual(self.pay(self.token()).status, 200)
        file.write_text(json.dumps({"keys": [{**self.key, "kid": "two"}]}), encoding="utf-8")
        self.semel.signal(signal.SIGHUP)
        self.assertTrue(wire.eventually(lambda: re.search("semel: reloaded", self.semel.said_now())))
        self.assertTrue(wire.eventually(lambda: self.pay(self.token()).status == 401))
        self.assertEqual(self.pay(self.token({"kid": "two"})).get("Idempotent-Replayed"), "true")
        file.write_text("{}", encoding="utf-8")
        self.semel.signal(signal.SIGHUP)
        self.assertTrue(wire.eventually(lambda: "not reloaded" in self.semel.said_now()))
        self.assertIn("is not a JSON web key set with a key for `algorithms`", self.semel.said_now())


if __name__ == "__main__":
    harness.run()
