#!/usr/bin/env python3
"""Who may ask the desk for what, and what is asked in a wrong way: roles by operation from the document, users of a proxy,
pages of another origin, members that are wrong. --binary SEMEL --build FOLDER"""
import hashlib
import json
import os

import operators
import wire
from harness import keyed
from operators import OPENAPI, TOKENS, WITH_TOKENS, ByApi, ByCommandLine

SECRET = "0123456789abcdef-proxy"
PROXY = ('[admin.proxy]\ntrusted = ["$trusted"]\nsecret = "env:SEMEL_E2E_PROXY"\nviewer = ["staff"]\n'
         'operator = ["oncall", "leads"]\nadmin = ["platform"]\n')
WITH_PROXY = WITH_TOKENS.replace("[store]", PROXY + "[store]")
ORDER = ["viewer", "operator", "admin"]
NOTHING = {"as": "not-done", "fence": 1, "reason": "x"}


class Roles(operators.Case):
    def test_roles_by_operation(self):
        """Every operation of the document, with every role and without one."""
        document = json.loads(OPENAPI.read_text())
        order = ["viewer", "operator", "admin"]
        with self.gateway(WITH_TOKENS) as semel:
            desk = ByApi(self, semel)
            self.assertEqual(desk.good("GET", "/v1/openapi.json"), document)
            count = 0
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    if not operation["security"]:
                        continue  # the dashboard's session: tests/e2e/dashboard.py
                    target = path.replace("{id}", "ab" * 32)
                    body = {} if method == "post" else None
                    for token in ("", "wrong"):
                        reply, _ = desk.call(method.upper(), target, body, token=token)
                        self.assertEqual(reply.status, 401, path)
                        self.assertTrue(reply.get("WWW-Authenticate").startswith("Bearer"))
                    if operation.get("x-streams"):
                        method = "head"  # what is streamed has no end
                    for role in order:
                        reply, problem = desk.call(method.upper(), target, body, token=TOKENS[role])
                        allowed = order.index(role) >= order.index(operation["x-role"])
                        self.assertEqual(reply.status != 403, allowed, (path, role, problem))
                        self.assertIn(str(reply.status), operation["responses"], path)
                        if not allowed:
                            self.assertIn(operation["x-role"], problem["detail"])
                        count += 1
            self.assertGreaterEqual(count, 21)

    def test_a_page_of_another_origin_changes_nothing(self):
        with self.gateway(WITH_TOKENS) as semel:
            desk = ByApi(self, semel)
            target = f"/v1/keys/{'ab' * 32}/resolve"
            for fields in ([("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")]):
                reply, _ = desk.call("POST", target, {}, fields=fields)
                self.assertEqual(reply.status, 403, fields)
            own = [("Host", "%s:%d" % semel.admin), ("Origin", "http://%s:%d" % semel.admin), ("Sec-Fetch-Site", "same-origin")]
            self.assertEqual(desk.call("POST", target, {}, fields=own)[0].status, 400)

    def test_bad_requests_say_what_is_wrong(self):
        with self.gateway(WITH_TOKENS) as semel:
            desk = ByApi(self, semel)
            self.lose(semel, "k")
            key = desk.find("k", "alice")
            resolve = f"/v1/keys/{key['id']}/resolve"
            cases = [
                ("POST", resolve, {"fence": 1, "as": "maybe", "reason": "x"}, 400, "as:"),
                ("POST", resolve, {"fence": 1, "as": "done", "reason": "x"}, 400, "response:"),
                ("POST", resolve, {"fence": 1, "as": "not-done"}, 400, "reason:"),
                ("POST", resolve, {"as": "not-done", "reason": "x"}, 400, "fence:"),
                ("POST", resolve, {"fence": 2, "as": "not-done", "reason": "x"}, 409, "moved on to fence 1"),
                ("POST", f"/v1/keys/{key['id']}/reopen", {"fence": 1, "reason": "x"}, 409, "only one that is done"),
                ("POST", f"/v1/keys/{'00' * 32}/resolve", {"fence": 1, "as": "not-done", "reason": "x"}, 404, "expired"),
                ("POST", "/v1/keys/find", {"key": "nobody", "scope": "s"}, 404, "looked for"),
                ("POST", "/v1/keys/find", {"route": "/elsewhere", "key": "k"}, 400, "route:"),
                ("GET", "/v1/keys?cursor=abc", None, 400, "cursor:"),
                ("GET", "/v1/keys?older=soon", None, 400, "older:"),
                ("GET", "/v1/keys?state=done", None, 400, "state:"),
                ("GET", "/v1/keys/xyz", None, 400, "id:"),
                ("GET", "/v1/keys?limit=1001", None, 400, "limit:"),
                ("GET", "/v1/audit?after=x", None, 400, "after:"),
                ("GET", "/v1/audit?limit=0", None, 400, "limit:"),
                ("POST", resolve, {"fence": 1, "as": "done", "reason": "x", "response": {"status": 99}}, 400, "response.status:"),
                ("POST", resolve, {"fence": 1, "as": "done", "reason": "x", "from": "bank"}, 400, "from:"),
                ("POST", resolve, {"fence": 1, "as": "done", "reason": "x", "from": "probe"}, 400, "route:"),
                ("POST", resolve, {"fence": 1, "as": "done", "reason": "x", "from": "probe", "response": {}}, 400, "response:"),
                ("POST", resolve, [1], 400, "JSON object"),
                ("POST", "/v1/keys/find", {}, 400, "key:"),
                ("POST", "/v1/keys/find", {"id": "xyz"}, 400, "id:"),
                ("POST", "/v1/keys/find", {"route": "/v1/payments", "fields": [], "key": "k"}, 400, "fields:"),
                ("POST", "/v1/keys/find", {"route": "/v1/payments", "key": "k"}, 400, "fields:"),
                ("POST", "/v1/keys/find", {"route": "/v1/payments", "fields": {"Authorization": "alice"}}, 400, "key:"),
                ("POST", "/v1/keys/find", {"webhook": "/nowhere", "event": "e"}, 400, "webhook:"),
            ]
            for method, target, body, status, words in cases:
                reply, problem = desk.call(method, target, body)
                self.assertEqual((reply.status, problem["status"]), (status, status), (target, body, problem))
                self.assertIn(words, problem["detail"])
                self.assertEqual(reply.get("Content-Type"), "application/problem+json")
            reply, problem = desk.call("POST", resolve, {"fence": 2, "as": "not-done", "reason": "x"})
            self.assertEqual(problem["key"]["fence"], 1, "the present state")
            self.assertEqual(desk.entries(), [], "nothing was done, so nothing is logged")
            missing = ByCommandLine(self, semel).run("find", "nobody", "--scope", "s")
            self.assertEqual(missing.returncode, 1)
            self.assertIn("expired", missing.stderr)
            self.assertEqual(ByCommandLine(self, semel).run("list", token="wrong").returncode, 3)


class Words(operators.Case):
    """What operators write."""

    REASON = "f\u00fcr M\u00fcller \u6f22 \U0001f600 \u202eback"

    def test_characters_stay_characters(self):
        """In the entry, in the timeline and on the command line, whose directions nothing turns around."""
        with self.gateway(WITH_TOKENS) as semel:
            self.lose(semel, "k")
            desk = ByApi(self, semel)
            key = desk.find("k", "alice")
            body = {"fence": 1, "as": "not-done", "reason": self.REASON}
            desk.good("POST", f"/v1/keys/{key['id']}/resolve", body, fields=[("X-Semel-User", "Zo\u00eb")])
            entries = desk.entries()
            self.assertTrue(operators.is_whole(entries))
            said = json.loads(entries[0]["entry"])
            self.assertEqual((said["reason"], said["who"]), (self.REASON, "Zo\u00eb"))
            acts = [each for each in desk.good("GET", f"/v1/keys/{key['id']}/timeline")["events"] if each["event"] == "act"]
            self.assertEqual([(each["reason"], each["who"]) for each in acts], [(self.REASON, "Zo\u00eb")])
            printed = self.run_semel("keys", "audit", "--admin", "http://%s:%d" % semel.admin, "--token", TOKENS["operator"])
            self.assertEqual(printed.returncode, 0, printed)
            self.assertIn('"reason":"f\u00fcr M\u00fcller \u6f22 \U0001f600 \\xe2\\x80\\xaeback"', printed.stdout)
            verified = self.run_semel("keys", "audit", "--verify", "--admin", "http://%s:%d" % semel.admin, "--token", TOKENS["operator"])
            self.assertEqual(verified.returncode, 0, verified)

    def test_entries_of_before_are_read_and_verified(self):
        """A log in which each byte stands for itself, as it was written before: its chain is whole, and its words are read."""
        before = "00" * 32
        lines = []
        for number, entry in enumerate(('{"act":"reopen","who":"Zo\\u00c3\\u00ab","reason":"f\\u00c3\\u00bcr"}', '{"of":1,"outcome":"applied"}'), 1):
            before = hashlib.sha256("\n".join(["semel audit v1", before, str(number), entry]).encode()).hexdigest()
            lines.append(f"{number} {before} {entry}\n")
        semel = self.gateway(WITH_TOKENS)
        with semel:
            semel.stop()
            (semel.folder / "data" / "semel.audit").write_text("".join(lines))
            semel.start()
            where = ["--admin", "http://%s:%d" % semel.admin, "--token", TOKENS["operator"]]
            self.assertTrue(operators.is_whole(ByApi(self, semel).entries()))
            self.assertEqual(self.run_semel("keys", "audit", "--verify", *where).returncode, 0)
            printed = self.run_semel("keys", "audit", *where)
            self.assertIn('"who":"Zo\u00eb","reason":"f\u00fcr"', printed.stdout)

    def test_a_reason_says_something(self):
        """Nothing is done for blanks, of whatever width."""
        with self.gateway(WITH_TOKENS) as semel:
            self.lose(semel, "k")
            desk = ByApi(self, semel)
            resolve = f"/v1/keys/{desk.find('k', 'alice')['id']}/resolve"
            for blank in ("", " ", " \t\r\n ", "\u00a0", "\u3000\u2003", "\u200b\u2060\ufeff"):
                reply, problem = desk.call("POST", resolve, {"fence": 1, "as": "not-done", "reason": blank})
                self.assertEqual(reply.status, 400, ascii(blank))
                self.assertIn("reason", problem["detail"])
            self.assertEqual(desk.entries(), [])
            desk.good("POST", resolve, {"fence": 1, "as": "not-done", "reason": " \u2026 "})


class Proxy(operators.Case):
    """A proxy in front tells who its users are. It is believed from its address and with its secret, and nothing else is."""

    def start(self, trusted="127.0.0.1/32"):
        semel = self.gateway(WITH_PROXY, trusted=trusted, environment={"SEMEL_E2E_PROXY": SECRET})
        semel.start()
        return semel

    @staticmethod
    def fields(user="mona", groups="staff", secret=SECRET):
        named = {"X-Semel-Proxy-Secret": secret, "X-Forwarded-User": user, "X-Forwarded-Groups": groups}
        return [(name, value) for name, value in named.items() if value is not None]

    def status(self, semel, method, target, fields, body=None):
        return ByApi(self, semel).call(method, target, body, token="", fields=fields)[0].status

    def test_the_groups_of_a_user_are_roles(self):
        """Each role is had by its groups, the highest counts, and a user without one is told which role is missing."""
        with self.start() as semel:
            resolve = f"/v1/keys/{'ab' * 32}/resolve"
            own = [("X-Semel", "1")]
            for groups, list_status, act_status in (("staff", 200, 403), ("oncall", 200, 404), (" guests , leads", 200, 404),
                                                    ("staff,platform", 200, 404), ("guests", 403, 403), ("", 403, 403),
                                                    (None, 403, 403), ("Staff", 403, 403), ("staff oncall", 403, 403)):
                fields = self.fields(groups=groups)
                self.assertEqual(self.status(semel, "GET", "/v1/keys", fields), list_status, groups)
                self.assertEqual(self.status(semel, "POST", resolve, fields + own, NOTHING), act_status, groups)
            _, problem = ByApi(self, semel).call("GET", "/v1/keys", token="", fields=self.fields(groups="guests"))
            self.assertIn("viewer", problem["detail"])

    def test_forged_fields_are_not_believed(self):
        """Without the secret, with a wrong one, or with a line of the client's own beside the proxy's: 401."""
        with self.start() as semel:
            admin = self.fields(groups="platform")
            forged = [self.fields(secret=None), self.fields(secret=SECRET[:-1]), self.fields(secret=SECRET + "x"),
                      self.fields(secret=""), admin + [("X-Semel-Proxy-Secret", SECRET)], self.fields(user=None),
                      self.fields(user=""), self.fields(user="u" * 101), admin + [("X-Forwarded-User", "mallory")],
                      admin + [("x-forwarded-groups", "platform")], []]
            self.assertEqual(self.status(semel, "GET", "/v1/keys", admin), 200)
            for fields in forged:
                reply, _ = ByApi(self, semel).call("GET", "/v1/keys", token="", fields=fields)
                self.assertEqual(reply.status, 401, fields)
                self.assertTrue(reply.get("WWW-Authenticate").startswith("Bearer"))
            self.assertEqual(self.status(semel, "GET", "/v1/keys", [*admin, ("Authorization", "Bearer wrong")]), 401,
                             "who sends a token goes by that")
            self.assertNotIn(SECRET, semel.stdout() + semel.stderr())

    def test_another_address_is_not_the_proxy(self):
        """Whoever else knows the secret is nobody."""
        with self.start(trusted="10.0.0.0/8") as semel:
            self.assertEqual(self.status(semel, "GET", "/v1/keys", self.fields(groups="platform")), 401)
            self.assertEqual(ByApi(self, semel).call("GET", "/v1/keys")[0].status, 200, "a token still counts")

    def test_another_page_cannot_use_the_login(self):
        """A browser adds the proxy's cookie to requests of any page. They change nothing."""
        with self.start() as semel:
            resolve = f"/v1/keys/{'ab' * 32}/resolve"
            admin = self.fields(groups="platform")
            for fields, status in (([], 403), ([("Origin", "https://evil.example")], 403), ([("X-Semel", "1")], 404),
                                   ([("Sec-Fetch-Site", "cross-site"), ("X-Semel", "1")], 403),
                                   ([("Sec-Fetch-Site", "same-site")], 403),
                                   ([("Sec-Fetch-Site", "same-origin"), ("Origin", "https://ops.example")], 404),
                                   ([("Host", "localhost"), ("Origin", "http://localhost")], 404)):
                self.assertEqual(self.status(semel, "POST", resolve, admin + fields, NOTHING), status, fields)

    def test_another_page_reads_nothing_by_the_login(self):
        """A look at a body is an entry in the audit log, so no page of another origin causes one; our own page, a typed address and
        a program read."""
        with self.start() as semel:
            self.answer_all(status=201, body=lambda arrival: b"{}")
            self.assertEqual(semel.ask("POST", "/v1/payments", keyed("k"), b"12").status, 201)
            desk = ByApi(self, semel)
            response = f"/v1/keys/{desk.find('k', 'alice')['id']}/response"
            admin = self.fields(groups="platform")
            for site, status in (("cross-site", 403), ("same-site", 403), ("odd", 403)):
                for target in (response, "/v1/inbox/export", f"/v1/inbox/{'ab' * 16}/body", "/v1/keys"):
                    self.assertEqual(self.status(semel, "GET", target, [*admin, ("Sec-Fetch-Site", site)]), status, (site, target))
            self.assertEqual(desk.entries(), [])
            for fields in ([("Sec-Fetch-Site", "same-origin")], [("Sec-Fetch-Site", "none")], []):
                self.assertEqual(self.status(semel, "GET", response, admin + fields), 200, fields)
            self.assertEqual(len(desk.entries()), 3)

    def test_the_user_is_in_the_audit_log(self):
        """The name that the proxy gives, and not the one that a client gives itself."""
        with self.start() as semel:
            self.lose(semel, "k")
            desk = ByApi(self, semel)
            key = desk.find("k", "alice")
            fields = [*self.fields(user="mona@example.com", groups="oncall"), ("X-Semel", "1"), ("X-Semel-User", "root")]
            desk.good("POST", f"/v1/keys/{key['id']}/resolve", NOTHING, token="", fields=fields)
            entry = json.loads(desk.entries()[0]["entry"])
            self.assertEqual((entry["who"], entry["known_by"], entry["role"]), ("mona@example.com", "proxy", "operator"))

    def test_a_proxy_needs_a_secret_and_an_address(self):
        for broken in ('secret = "short-secret"', 'secret = ""', "trusted = []", 'trusted = ["10.0.0.1/8"]', 'trusted = ["proxy"]',
                       'viewer = ["a,b"]', 'user = "no name"'):
            name = broken.split(" ")[0]
            lines = [broken if line.startswith(name) else line for line in PROXY.splitlines()]
            if not any(line == broken for line in lines):
                lines.append(broken)
            semel = self.gateway(WITH_TOKENS.replace("[store]", "\n".join(lines) + "\n[store]"), trusted="127.0.0.1",
                                 environment={"SEMEL_E2E_PROXY": SECRET})
            checked = self.run_semel("check", str(semel.config_path), env={**os.environ, "SEMEL_E2E_PROXY": SECRET})
            self.assertNotEqual(checked.returncode, 0, broken)


if __name__ == "__main__":
    operators.run()
