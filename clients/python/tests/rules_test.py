#!/usr/bin/env python3
"""The rules of the middlewares are the gateway's: keys, expressions, fingerprints, verdicts, words: rules_test.py"""
import base64
import re
import unittest

import paths
import semel
from semel_expressions import Expression, PartError, Request, parse_key
from semel_fingerprint import canonical_json, fingerprint, tokens
from semel_problems import BODY_NOT_KEPT, DETAIL_SETTLES_LATER, PROBLEMS
from semel_routes import Routes
from semel_rules import Claim, Reply, Rules
from semel_webhook import standard


# Of tests/core/fingerprint_test.cc.
KNOWN_JSON = "d6521f5670697fabb4758a6b86f1bf3a03e72e548534c1034e7b5040bc6af0e0"
KNOWN_RAW = "0bf5fdb79aec29f3c05e4d775a2e79a2a90a66ee86d357a65be3c511c658d58d"


def request(method="POST", target="/v1/x", body=b"", **fields):
    return Request(method, target, [(name.replace("_", "-"), value) for name, value in fields.items()], "192.0.2.7", body)


class Keys(unittest.TestCase):
    def test_quoted_and_bare_texts_are_read(self):
        for line, text in (("abc", "abc"), ('"abc"', "abc"), ("  abc  ", "abc"), ('"a b,c;d=1"', "a b,c;d=1"),
                           (r'"say \"hi\" \\ bye"', r'say "hi" \ bye'), ('" "', " "), ("k" * 255, "k" * 255),
                           ('"' + "k" * 255 + '"', "k" * 255), ('"' + r"\"" * 255 + '"', '"' * 255)):
            self.assertEqual(parse_key([line]), text)

    def test_what_programs_could_read_differently_is_refused_and_never_repeated(self):
        for line in ("", " ", '""', ' "" ', '"', '"abc', 'abc"', '"abc\\', '"abc\\"', '"a\\b"', "a\\b", "a, b", ",a", '"a", "b"',
                     '"abc";a=1', "abc;a=1", '"abc"d', "a b", 'a"b"c', "a\0b", '"a\tb"', "\tabc", "a\nb", "\x7f", "\xe9", "\x80",
                     "k" * 256, '"' + "k" * 256 + '"'):
            with self.assertRaises(PartError) as caught:
                parse_key([line])
            self.assertIn('Idempotency-Key: "', str(caught.exception))
        with self.assertRaises(PartError):
            parse_key(["a", "a"])
        with self.assertRaises(PartError) as caught:
            parse_key(["s3cr3t, s3cr3t"])
        self.assertNotIn("s3cr3t", str(caught.exception))


class Expressions(unittest.TestCase):
    def value(self, text, asked):
        return Expression(text).evaluate(asked)

    def test_each_part_is_found(self):
        asked = request(target="/v1/x?id=a%2Db&x=1+2", body=b'{"order": {"id": "\\u00e9"}, "n": 1.0, "list": [true]}', Cookie="a=b; op=c",
                        X_Org=" org ")
        for text, value in (("{header:x-org}", "org"), ("{cookie:op}", "c"), ("{query:id}", "a-b"), ("{query:x}", "1 2"),
                            ("{json:/order/id}", "\u00c3\u00a9"), ("{json:/n}", "1.0"), ("{json:/list/0}", "true"), ("{path}", "/v1/x"),
                            ("{method}", "POST"), ("{ip}", "192.0.2.7"), ("lit{{eral}}", "lit{eral}"), ("", "")):
            self.assertEqual(self.value(text, asked), value, text)

    def test_missing_parts_are_errors_and_optional_ones_are_values(self):
        none, empty = request(), request(X="")
        with self.assertRaises(PartError) as caught:
            self.value("{header:X}", none)
        self.assertTrue(caught.exception.missing)
        with self.assertRaises(PartError) as caught:
            self.value("{header:X}", empty)
        self.assertFalse(caught.exception.missing)
        self.assertEqual(len({self.value("{header:X?}", asked) for asked in (none, empty, request(X="-"), request(X="0:"))}), 4)

    def test_ambiguous_parts_are_errors_even_if_optional(self):
        for text, asked in (("{header:X?}", Request("POST", "/", [("X", "1"), ("x", "1")])), ("{cookie:a?}", request(Cookie="a=1; a=1")),
                            ("{query:a?}", request(target="/?a=1&a=1")), ("{query:a?}", request(target="/?a=%zz")),
                            ("{json:/a?}", request(body=b'{"a":1,"a":1}'))):
            with self.assertRaises(PartError, msg=text):
                self.value(text, asked)

    def test_where_a_part_ends_matters(self):
        def joined(one, two):
            return self.value("{header:A}{header:B}", request(A=one, B=two))
        self.assertNotEqual(joined("ab", "c"), joined("a", "bc"))

    def test_what_is_not_json_has_no_parts(self):
        for body in (b"", b"{", b'{"a": NaN}', b"[" * 70 + b"]" * 70, b"\xff", b'\xef\xbb\xbf{"a": 1}'):
            with self.assertRaises(PartError):
                self.value("{json:/a}", request(body=body))

    def test_a_wrong_expression_is_told(self):
        for text in ("{headr:X}", "{header}", "{header:}", "{path:x}", "{", "}", "{json:a}"):
            with self.assertRaises(ValueError, msg=text):
                Expression(text)


def expanded(text):
    """As in tests/core/json/pairs.txt: `<09>` is a byte, `<x>*3` is xxx."""
    def unit(found):
        inner = bytes.fromhex(found[1].decode()) if re.fullmatch(rb"[0-9A-Fa-f]{2}", found[1]) else found[1]
        return inner * int(found[2] or b"1")
    return re.sub(rb"<([^>]*)>(?:\*(\d+))?", unit, text)


class Fingerprints(unittest.TestCase):
    def test_known_digests(self):
        self.assertEqual(fingerprint("POST", "/v1/orders?x=1", b'{"b":[true,"x"],"a":100}', as_json=True), KNOWN_JSON)
        self.assertEqual(fingerprint("POST", "/v1/orders?x=1", b'{"a":100,"a":1}', as_json=True), KNOWN_RAW)

    def test_the_gateways_table_of_pairs(self):
        pairs = 0
        for line in (paths.ROOT / "tests/core/json/pairs.txt").read_bytes().split(b"\n"):
            if not line or line.startswith(b"#"):
                continue
            same = b" = " in line
            left, right = (expanded(part) for part in line.split(b" = " if same else " \u2260 ".encode()))
            equal = fingerprint("POST", "/", left, True) == fingerprint("POST", "/", right, True)
            self.assertEqual(equal, same, line)
            pairs += 1
        self.assertGreater(pairs, 200)

    def test_canonical_texts(self):
        for body, text in (('{"12345678b":1,"12345678":2,"1234567":4}', '{"1234567":4,"12345678":2,"12345678b":1}'),
                           ("[100, 0.25, -12.50, 120e3, 1.5e-7]", "[1e2,25e-2,-125e-1,12e4,15e-8]"),
                           (r'"\u0022\u005C\u0008\u0009\u000A\u000C\u000D\u0000\u001F\u007f"',
                            '"\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f\x7f"'), ("-0.0", "-0"), ("10e9998", "1e9999"), ("1e10000", None)):
            self.assertEqual(canonical_json(body.encode()), text and text.encode(), body)

    def test_what_is_ignored_is_left_out_but_must_be_valid(self):
        ignore = [tokens("/sent_at"), tokens("/meta/try"), tokens("/list/1")]
        self.assertEqual(canonical_json(b'{"sent_at":1,"meta":{"try":2,"a":1},"list":[1,2,3]}', ignore), b'{"list":[1,3],"meta":{"a":1}}')
        self.assertIsNone(canonical_json(b'{"sent_at":{"a":1,"a":2}}', ignore))


class Verdicts(unittest.TestCase):
    def test_by_status(self):
        rules = Rules()
        for statuses, verdict in (((200, 201, 303, 404, 422, 400), "store"),
                                  ((401, 403, 408, 409, 425, 429, 500, 501, 503), "release"), ((502, 504, 505, 199, 600), "unknown")):
            for status in statuses:
                self.assertEqual(rules.judge(status, []), verdict, status)

    def test_the_handler_and_the_rules_decide_first(self):
        rules = Rules(keep={"4xx": "release", "404": "store", "503": "unknown"})
        self.assertEqual([rules.judge(status, []) for status in (404, 422, 503)], ["store", "release", "unknown"])
        self.assertEqual(rules.judge(500, [("semel-outcome", " store ")]), "store")
        self.assertEqual(rules.judge(200, [("Semel-Outcome", "keep")]), "store")
        self.assertEqual(rules.judge(200, [("Semel-Outcome", "release"), ("Semel-Outcome", "release")]), "store")

    def test_what_is_kept_and_what_the_first_caller_gets(self):
        fields = [("Content-Type", "text/plain"), ("X-Two", "1"), ("X-Two", "2"), ("Set-Cookie", "a=1"), ("Date", "now"),
                  ("Connection", "X-Private"), ("X-Private", "1"), ("Semel-Outcome", "store"), ("Idempotent-Replayed", "true"),
                  ("Content-Length", "5"), ("X-Odd", "a\nb")]
        kept = Rules().result(200, fields, b"hello")
        self.assertEqual(kept, {"status": 200, "content_type": "text/plain", "headers": {"x-two": ["1", "2"]},
                                "body_base64": base64.b64encode(b"hello").decode()})
        self.assertEqual([name for name, _ in Rules().to_client(fields)], ["Content-Type", "X-Two", "X-Two", "Set-Cookie", "Date", "X-Odd"])

    def test_a_large_answer_leaves_its_status_and_location(self):
        kept = Rules().result(201, [("Location", "/7"), ("X-Other", "1"), ("Content-Type", "text/plain")], None)
        self.assertEqual((kept["status"], kept["content_type"], kept["headers"]), (201, "application/problem+json", {"location": ["/7"]}))
        self.assertIn(b"body-not-kept", base64.b64decode(kept["body_base64"]))

    def test_a_stored_answer_that_cannot_be_written_is_not(self):
        reply = Rules().replay(semel.Done({"status": 200, "headers": {"X": "a\r\nSet-Cookie: b"}}, 1))
        self.assertEqual(reply.status, 500)


class Looks(unittest.TestCase):
    def test_what_is_not_guarded_passes(self):
        self.assertIsNone(Rules().look(request("GET")))
        self.assertIsNone(Rules(key="off").look(request()))
        self.assertIsNone(Rules(key="optional").look(request()))

    def test_refusals_before_the_body_is_read(self):
        for rules, asked, status in ((Rules(), request(), 400), (Rules(), request(Idempotency_Key="k"), 401),
                                     (Rules(key="optional"), request(Idempotency_Key="a b"), 400),
                                     (Rules(), request("post", Idempotency_Key="k", Authorization="a"), 400),
                                     (Rules(), request(target="/v1/%2e./x", Idempotency_Key="k", Authorization="a"), 400),
                                     (Rules(), request(target="/v1/a%2Fb", Idempotency_Key="k", Authorization="a"), 400),
                                     (Rules(), request(target="/v1/a\\b", Idempotency_Key="k", Authorization="a"), 400)):
            self.assertEqual(rules.look(asked).status, status, asked)

    def test_scopes_that_the_api_would_not_take_are_hashed_and_stay_apart(self):
        def scope(value):
            return Rules().find_key(request(Idempotency_Key="k", Authorization=value)).terms["scope"]
        self.assertEqual((scope("Bearer a"), scope("\u00c3\u00a9")), ("Bearer a", "\u00e9"))
        odd = [scope(value) for value in ("\u00e9", "x" * 5000, "x" * 5001)]
        self.assertEqual(len(set(odd)), 3)
        self.assertTrue(all(re.fullmatch(r"\0#[0-9a-f]{64}", one) for one in odd))

    def test_wrong_options_are_told(self):
        for options in ({"key": "maybe"}, {"in_flight": "queue"}, {"on_unknown": "probe"}, {"keep": {"5XX": "store"}},
                        {"key_from": "{path}"}, {"key_from": "{header:X?}"}, {"wait_max": 31}, {"keep": {"500": "keep"}}, {"ignore": ["a"]}, {"scope": "{header}"}, {"fingerprint": "sha"}):
            with self.assertRaises(ValueError, msg=options):
                Rules(**options)

    def test_paths(self):
        routes = Routes(None, [(path, path) for path in ("/v1/payments", "/users/*/refunds", "/v1/*")], {})
        for path, found in (("/v1/payments", "/v1/payments"), ("/v1/payments/", "/v1/*"), ("/v1/Payments", "/v1/*"), ("/v1", None),
                            ("/users/7/refunds", "/users/*/refunds"), ("/users//refunds", None), ("/users/7/8/refunds", None), ("/v11/a", None)):
            self.assertEqual(routes.find(request(target=path)), found, path)


class Words(unittest.TestCase):
    def test_problems_are_the_gateways(self):
        source = (paths.ROOT / "src/core/problem.cc").read_text(encoding="utf-8")
        joined = re.sub(r'"\s*\n\s*"', "", source).replace('\\"', '"')
        for slug, (status, retry, title, detail) in PROBLEMS.items():
            row = f'{slug.replace("-", "_")}, {status}, Problem::Retry::{retry.replace("-", "_")},'
            self.assertRegex(joined, re.escape(row) + r'\s*' + re.escape(f'"{slug}", "{title}",') + r'\s*' + re.escape(f'"{detail}"'))
        self.assertIn(f'"{DETAIL_SETTLES_LATER}"', joined)
        reply = re.sub(r'"\s*\n\s*"', "", (paths.ROOT / "src/policy/reply.cc").read_text(encoding="utf-8"))
        self.assertIn(f'"{BODY_NOT_KEPT}"', reply)


class Deliveries(unittest.TestCase):
    SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    # The example of the Standard Webhooks specification's own libraries.
    FIELDS = {"webhook_id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook_timestamp": "1614265330",
              "webhook_signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
    BODY = b'{"test": 2432232314}'

    def verify(self, now=1614265330, body=BODY, secrets=(SECRET,), **changed):
        return standard(*secrets, clock=lambda: now)(request(body=body, **{**self.FIELDS, **changed}))

    def test_a_genuine_delivery_and_its_id(self):
        self.assertEqual(self.verify(), (self.FIELDS["webhook_id"], True))
        self.assertEqual(self.verify(secrets=("whsec_AAAA", self.SECRET))[0], self.FIELDS["webhook_id"])
        two = "v1,AAAA " + self.FIELDS["webhook_signature"]
        self.assertEqual(self.verify(webhook_signature=two)[0], self.FIELDS["webhook_id"])

    def test_what_is_false_old_or_altered(self):
        for changed in ({"body": self.BODY + b" "}, {"now": 1614265330 + 301}, {"now": 1614265330 - 301}, {"webhook_id": "msg_other"},
                        {"webhook_signature": ""}, {"webhook_signature": "v2," + self.FIELDS["webhook_signature"][3:]},
                        {"webhook_timestamp": "1614265330x"}, {"secrets": ("whsec_AAAA",)}):
            self.assertIsNone(self.verify(**changed), changed)
        twice = Request("POST", "/", [(name.replace("_", "-"), value) for name, value in self.FIELDS.items()] * 2, "", self.BODY)
        self.assertIsNone(standard(self.SECRET, clock=lambda: 1614265330)(twice))

    def test_the_id_names_the_event(self):
        rules = Rules(webhook=lambda asked: ("evt_1", True))
        claims = [rules.look_again(request(body=body), Claim("", {})) for body in (b"1", b"2")]
        self.assertEqual(claims[0], claims[1])
        unsigned = Rules(webhook=lambda asked: ("evt_1", False))
        other = [unsigned.look_again(request(body=body), Claim("", {})) for body in (b"1", b"2")]
        self.assertNotEqual(other[0], other[1])
        self.assertIsInstance(Rules(webhook=lambda asked: None).look_again(request(), Claim("", {})), Reply)


if __name__ == "__main__":
    unittest.main()
