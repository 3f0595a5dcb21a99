#!/usr/bin/env python3
"""How the dashboard is served and who may use it, byte for byte: its files and their policy, sessions, and what a page of somebody
else can make a browser send. What it looks like is tested with a browser (tests/browser). --binary SEMEL"""
import base64
import gzip
import json
import re

import desk
import harness
import wire
from harness import CONFIG, ROUTE

FIRST_LOAD_BYTES_MAX = 80 * 1024
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
          "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
OFF = desk.WITH_TOKENS.replace("[store]", "dashboard = false\n[store]")


class Browser:
    """Sends what a browser would, and keeps its cookie."""

    def __init__(self, case, semel, host=None):
        self.case, self.semel, self.cookie = case, semel, ""
        self.host = host or "127.0.0.1:%d" % semel.admin[1]
        self.own = [("Origin", f"http://{self.host}"), ("Sec-Fetch-Site", "same-origin"), ("X-Semel", "1"),
                    ("Content-Type", "application/json")]

    def call(self, method, target, body=None, fields=None, cookie=None):
        cookie = self.cookie if cookie is None else cookie
        head = [("Host", self.host), *([("Cookie", cookie)] if cookie else []), *(self.own if fields is None else fields)]
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        return wire.ask(self.semel.admin, method, target, head, data)

    def sign_in(self, role="operator", name="Robin"):
        reply = self.call("POST", "/v1/session", {"token": desk.TOKENS[role], "name": name})
        self.case.assertEqual(reply.status, 200, reply)
        self.set_cookie = reply.get("Set-Cookie")
        self.cookie = self.set_cookie.split(";")[0]
        return self

    def session(self):
        return json.loads(self.call("GET", "/v1/session", fields=[]).body)


class Files(harness.Case):
    @staticmethod
    def base_of(links):
        return links[0][:len("/assets/0123456789abcdef/")]

    def file_of(self, semel, links, name):
        return gzip.decompress(wire.ask(semel.admin, "GET", self.base_of(links) + name).body).decode()

    def test_the_page_and_its_files(self):
        """The page is never kept, its files for ever; everything is packed; the policy lets nothing else in."""
        with self.gateway(desk.WITH_TOKENS) as semel:
            page = wire.ask(semel.admin, "GET", "/")
            self.assertEqual((page.status, page.get("Content-Type")), (200, "text/html; charset=utf-8"))
            self.assertEqual((page.get("Cache-Control"), page.get("Content-Encoding")), ("no-store", "gzip"))
            self.assertEqual(page.get("Content-Security-Policy"), POLICY)
            expected = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
                        "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer"}
            self.assertEqual({name: page.get(name) for name in expected}, expected)
            text = gzip.decompress(page.body).decode()
            self.assertNotRegex(text, r"<script>|<style|\son\w+=|https?://|javascript:")
            links = re.findall(r'(?:href|src)="(/assets/[0-9a-f]{16}/[^"]+)"', text)
            self.assertGreater(len(links), 15)
            total = len(page.body)
            seen = set()
            for link in links:
                file = wire.ask(semel.admin, "GET", link)
                self.assertEqual((file.status, file.get("Content-Encoding")), (200, "gzip"), link)
                self.assertEqual(file.get("Cache-Control"), "public, max-age=31536000, immutable")
                self.assertEqual(file.get("X-Content-Type-Options"), "nosniff")
                content = gzip.decompress(file.body).decode()
                self.assertNotRegex(content, r'from ?"[^./]', "a bare import")
                self.assertEqual(wire.ask(semel.admin, "HEAD", link).status, 200)
                total += 0 if link in seen else len(file.body)
                seen.add(link)
            for imported in re.findall(r'import\("\./(pages/\w+\.js)"\)', self.file_of(semel, links, "app/main.js")):
                self.assertEqual(wire.ask(semel.admin, "GET", self.base_of(links) + "app/" + imported).status, 200, imported)
            print(f"first load: {total} bytes")
            self.assertLessEqual(total, FIRST_LOAD_BYTES_MAX)

    def test_what_is_no_file_needs_a_token_or_is_not_there(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            for target in ("/assets/0000000000000000/app/main.js", "/assets/", "/assets/../docs", "/assets/%2e%2e/x"):
                self.assertEqual(wire.ask(semel.admin, "GET", target).status, 404, target)
            self.assertEqual(wire.ask(semel.admin, "GET", "/index.html").status, 401)
            self.assertEqual(wire.ask(semel.admin, "POST", "/", body=b"{}").status, 405)

    def test_answers_cannot_be_framed_or_run(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            for target in ("/healthz", "/v1/keys", "/v1/session", "/nothing"):
                reply = wire.ask(semel.admin, "GET", target)
                self.assertEqual(reply.get("Content-Security-Policy"), "default-src 'none'; frame-ancestors 'none'", target)
                self.assertEqual((reply.get("X-Content-Type-Options"), reply.get("Cross-Origin-Resource-Policy")),
                                 ("nosniff", "same-origin"))
                self.assertEqual(reply.get("Cache-Control"), "no-store")

    def test_switched_off_there_is_no_page_and_no_cookie(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            cookie = Browser(self, semel).sign_in().cookie
            self.assertTrue(cookie)
        with self.gateway(OFF) as semel:
            for target in ("/", "/v1/session"):
                self.assertEqual(wire.ask(semel.admin, "GET", target).status, 404, target)
            browser = Browser(self, semel)
            self.assertEqual(browser.call("POST", "/v1/session", {"token": desk.TOKENS["admin"]}).status, 404)
            self.assertEqual(browser.call("GET", "/v1/keys", cookie=cookie).status, 401)
            token = [("Authorization", "Bearer " + desk.TOKENS["viewer"])]
            self.assertEqual(wire.ask(semel.admin, "GET", "/v1/keys", token).status, 200)


class Sessions(harness.Case):
    def test_a_token_is_traded_for_a_cookie(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            browser = Browser(self, semel)
            self.assertEqual(browser.session(), {"signed_in": False, "tokens": True})
            wrong = browser.call("POST", "/v1/session", {"token": "wrong", "name": "x"})
            self.assertEqual(wrong.status, 401)
            self.assertIn("not known", json.loads(wrong.body)["detail"])
            for role in ("viewer", "operator", "admin"):
                browser = Browser(self, semel).sign_in(role, name="Zoë <b>")
                session = browser.session()
                self.assertEqual((session["role"], session["signed_in"]), (role, True))
                self.assertIn("GET /v1/now", session["operations"])
                self.assertNotIn("GET /v1/outbox", session["operations"], "there is none")
                self.assertNotIn("GET /v1/webhooks", session["operations"], "there is none")
                self.assertEqual(browser.call("GET", "/v1/keys", fields=[]).status, 200)
            self.assertNotIn(desk.TOKENS["admin"], base64.urlsafe_b64decode(browser.cookie.split("=")[1].split(".")[0] + "==").decode())

    def test_the_cookie_is_bound(self):
        """On this machine a plain cookie with the port in its name; under any other name one that needs TLS."""
        config = desk.WITH_TOKENS.replace("[server]", '[server]\nhosts = ["ops.example.com"]')
        with self.gateway(config) as semel:
            plain = Browser(self, semel).sign_in().set_cookie
            self.assertRegex(plain, r"^semel-%d=[\w.=-]+; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200$" % semel.admin[1])
            secure = Browser(self, semel, host="ops.example.com").sign_in().set_cookie
            self.assertRegex(secure, r"^__Host-semel=[\w.=-]+; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$")
            swapped = secure.split(";")[0].replace("__Host-semel", "semel-%d" % semel.admin[1])
            other = plain.split(";")[0].replace("semel-%d" % semel.admin[1], "__Host-semel")
            self.assertEqual(Browser(self, semel, host="ops.example.com").call("GET", "/v1/keys", cookie=swapped).status, 401)
            self.assertEqual(Browser(self, semel).call("GET", "/v1/keys", cookie=other).status, 401)

    def test_a_session_ends(self):
        """By signing out, also for who copied the cookie; by a restart; by another token in the configuration."""
        with self.gateway(desk.WITH_TOKENS) as semel:
            browser = Browser(self, semel).sign_in()
            other = Browser(self, semel).sign_in()
            out = browser.call("DELETE", "/v1/session", b"{}")
            self.assertEqual(out.status, 200)
            self.assertRegex(out.get("Set-Cookie"), r"^semel-\d+=; .*Max-Age=0$")
            self.assertEqual(browser.call("GET", "/v1/keys", fields=[]).status, 401)
            self.assertEqual(other.call("GET", "/v1/keys", fields=[]).status, 200)
            semel.write_config(desk.WITH_TOKENS.replace(desk.TOKENS["operator"], "ops-2"))
            semel.signal(1)
            self.assertTrue(wire.eventually(lambda: other.call("GET", "/v1/keys", fields=[]).status == 401, 20))
            semel.write_config(desk.WITH_TOKENS)
            semel.signal(1)
            self.assertTrue(wire.eventually(lambda: other.call("GET", "/v1/keys", fields=[]).status == 200, 20))
            semel.stop()
            semel.start()
            self.assertEqual(other.call("GET", "/v1/keys", fields=[]).status, 401)

    def test_forged_cookies_are_nobody(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            browser = Browser(self, semel).sign_in("viewer")
            name, value = browser.cookie.split("=", 1)
            payload, tag = value.split(".")
            plain = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
            raised = base64.urlsafe_b64encode(plain.replace(b"v\n", b"a\n", 1)).decode().rstrip("=")
            later = base64.urlsafe_b64encode(re.sub(rb"\n\d+\n", b"\n99999999999999\n", plain, count=1)).decode().rstrip("=")
            for forged in (f"{raised}.{tag}", f"{later}.{tag}", f"{payload}.", f"{payload}", f".{tag}", "", "..", "a.b", f"{payload}.{tag}x",
                           f"{payload}.{'A' * len(tag)}"):
                self.assertEqual(browser.call("GET", "/v1/keys", fields=[], cookie=f"{name}={forged}").status, 401, forged)
            several = f"a=b; {name}=x.y; {browser.cookie}; c=d"
            self.assertEqual(browser.call("GET", "/v1/keys", fields=[], cookie=several).status, 200)

    def test_the_name_stands_in_the_audit_log(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            self.answer_all(status=201, body=lambda arrival: b"{}")
            semel.ask("POST", "/v1/payments", harness.keyed("k"), b"12")
            browser = Browser(self, semel).sign_in(name="Robin")
            found = json.loads(browser.call("POST", "/v1/keys/find", {"scope": "alice", "key": "k"}).body)["items"][0]
            self.assertEqual(browser.call("GET", f"/v1/keys/{found['id']}/response", fields=[]).status, 200)
            entry = json.loads(json.loads(browser.call("GET", "/v1/audit", fields=[]).body)["items"][0]["entry"])
            self.assertEqual((entry["who"], entry["role"]), ("Robin", "operator"))
            bad = browser.call("POST", "/v1/session", {"token": desk.TOKENS["admin"], "name": "a\nb"})
            self.assertEqual(bad.status, 400)

    def test_without_tokens_everybody_on_this_machine_reads(self):
        with self.gateway(CONFIG + ROUTE) as semel:
            session = Browser(self, semel).session()
            self.assertEqual((session["signed_in"], session["tokens"], session["role"]), (True, False, "viewer"))


class OtherPages(harness.Case):
    """CSRF and rebinding: what a page of somebody else can make a browser send, with the cookie on it."""

    def acts(self, semel):
        target = f"/v1/keys/{'ab' * 32}/resolve"
        body = {"fence": 1, "as": "not-done", "reason": "x"}
        return [("POST", target, body), ("POST", f"/v1/keys/{'ab' * 32}/reopen", {"fence": 1, "reason": "x"}),
                ("POST", "/v1/keys/find", {"key": "k"}), ("POST", "/v1/webhooks/reopen?path=/x", {}),
                ("DELETE", "/v1/session", {}), ("POST", "/v1/session", {"token": desk.TOKENS["admin"]})]

    def test_only_our_own_page_acts_with_the_cookie(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            browser = Browser(self, semel).sign_in("admin")
            own = dict(browser.own)
            here = own["Origin"]

            def but(**changes):
                names = {"site": "Sec-Fetch-Site", "origin": "Origin", "ours": "X-Semel", "type": "Content-Type"}
                fields = {**own, **{names[name]: value for name, value in changes.items()}}
                return [(name, value) for name, value in fields.items() if value is not None]

            refused = {
                "a foreign origin": but(origin="https://evil.example", site="cross-site"),
                "a foreign origin without fetch metadata": but(origin="https://evil.example", site=None),
                "another port of this machine": but(origin="http://127.0.0.1:1", site="same-site"),
                "another port, without fetch metadata": but(origin="http://127.0.0.1:1", site=None),
                "a null origin (a sandboxed frame, a file)": but(origin="null", site="cross-site"),
                "a null origin alone": but(origin="null", site=None),
                "typed in the address bar": but(origin=None, site="none"),
                "neither origin nor site": but(origin=None, site=None),
                "a form": but(type="application/x-www-form-urlencoded"),
                "a form with files": but(type="multipart/form-data; boundary=x"),
                "a simple request": but(type="text/plain"),
                "a simple request that looks like JSON": but(type="text/plain; application/json"),
                "no type": but(type=None),
                "no field of ours": but(ours=None),
                "another value of it": but(ours="0"),
            }
            for method, target, body in self.acts(semel):
                for what, fields in refused.items():
                    reply = browser.call(method, target, body, fields=fields)
                    self.assertEqual(reply.status, 403, (what, method, target, reply))
                    self.assertTrue(json.loads(reply.body)["detail"])
            self.assertEqual(browser.session()["role"], "admin", "nobody was signed out")
            for fields in (but(), but(site=None), but(origin=None)):
                self.assertEqual(browser.call("POST", "/v1/keys/find", {"key": "k"}, fields=fields).status, 404, fields)
            self.assertTrue(here)

    def test_reading_with_the_cookie_is_for_our_page_too(self):
        """An image of another page would leave an entry in the audit log."""
        with self.gateway(desk.WITH_TOKENS) as semel:
            browser = Browser(self, semel).sign_in("admin")
            target = f"/v1/keys/{'ab' * 32}/response"
            for site in ("cross-site", "same-site"):
                for each in (target, "/v1/inbox/export", f"/v1/inbox/{'ab' * 16}/body", "/v1/outbox", "/v1/audits/findings"):
                    self.assertEqual(browser.call("GET", each, fields=[("Sec-Fetch-Site", site)]).status, 403, (site, each))
            for site in ("same-origin", "none"):
                self.assertEqual(browser.call("GET", target, fields=[("Sec-Fetch-Site", site)]).status, 404, site)

    def test_a_program_with_a_token_needs_none_of_that(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            token = [("Authorization", "Bearer " + desk.TOKENS["operator"])]
            self.assertEqual(wire.ask(semel.admin, "POST", "/v1/keys/find", token, b'{"key": "k"}').status, 404)
            browser = Browser(self, semel).sign_in("admin")
            wrong = [("Authorization", "Bearer wrong"), *browser.own]
            self.assertEqual(browser.call("POST", "/v1/keys/find", {"key": "k"}, fields=wrong).status, 401,
                             "a cookie does not make a wrong token right")

    def test_a_name_that_was_pointed_here_gets_nothing(self):
        """DNS rebinding: the browser takes our listener for evil.example, so it would let that page read the answers."""
        with self.gateway(desk.WITH_TOKENS) as semel:
            cookie = Browser(self, semel).sign_in("admin").cookie
            evil = Browser(self, semel, host="evil.example:%d" % semel.admin[1])
            for method, target, body in [("GET", "/", None), ("GET", "/v1/session", None), ("GET", "/v1/keys", None), *self.acts(semel)]:
                reply = evil.call(method, target, body, cookie=cookie)
                self.assertEqual(reply.status, 421, (method, target))
                self.assertNotIn(b"semel-", (reply.get("Set-Cookie") or "").encode())


class Operations(harness.Case):
    def test_the_last_hour(self):
        with self.gateway(desk.WITH_TOKENS) as semel:
            self.answer_all(status=201, body=lambda arrival: b"{}")
            for name in ("a", "b", "b", "b"):
                self.assertEqual(semel.ask("POST", "/v1/payments", harness.keyed(name), b"12").status, 201)
            api = desk.ByApi(self, semel)
            wire.eventually(lambda: sum(api.good("GET", "/v1/now")["series"]["requests"]) == 4)  # counted behind the answer
            now = api.good("GET", "/v1/now")
            series = now["series"]
            self.assertEqual((sum(series["requests"]), sum(series["ran"]), sum(series["replayed"])), (4, 2, 2))
            self.assertTrue(all(len(each) == len(now["times"]) - 1 for each in series.values()))
            self.assertGreater(max(value or 0 for value in series["commit_p99_ms"]), 0)
            self.assertEqual(now["store"]["kind"], "embedded")
            self.assertGreater(now["store"]["free_bytes"], 0)

    def test_the_configuration_without_its_secrets(self):
        webhook = '[[webhook]]\npath = "/hooks/stripe"\nprovider = "stripe"\nsecrets = ["whsec_first"]\nupstream = "app"\n'
        config = harness.encrypted(desk.WITH_TOKENS, harness.KEY_ONE) + webhook
        with self.gateway(config) as semel:
            reply, shown = desk.ByApi(self, semel).call("GET", "/v1/config", token=desk.TOKENS["viewer"])
            self.assertEqual(reply.status, 200)
            for secret in ("whsec_first", harness.KEY_ONE, *desk.TOKENS.values()):
                self.assertNotIn(secret.encode(), reply.body)
            settings = {(each["table"], each["option"]): each for each in shown["settings"]}
            self.assertEqual(settings["server", "threads"]["value"], "2")
            self.assertEqual(settings["admin", "dashboard"], {"table": "admin", "option": "dashboard", "value": "true",
                                                              "default": "true", "set": False})
            self.assertEqual(shown["routes"][0]["scope"], "{header:Authorization}")
            self.assertEqual(shown["webhooks"][0]["provider"], "stripe")

    def test_what_is_redacted_is_not_shown(self):
        config = desk.WITH_TOKENS.replace("[store]", 'redact = ["/card/number", "/list/1", "/none"]\n[store]')
        whole = b'{"card": {"number": "4111", "brand": "visa"}, "list": [1, 2]}'
        with self.gateway(config) as semel:
            self.answer_all(status=201, body=lambda arrival: whole)
            semel.ask("POST", "/v1/payments", harness.keyed("k"), b"12")
            api = desk.ByApi(self, semel)
            shown = api.good("GET", f"/v1/keys/{api.find('k', 'alice')['id']}/response")
            self.assertEqual(json.loads(base64.b64decode(shown["body_base64"])),
                             {"card": {"number": "[redacted]", "brand": "visa"}, "list": [1, "[redacted]"]})
            self.assertTrue(shown["redacted"])
            self.assertEqual(semel.ask("POST", "/v1/payments", harness.keyed("k"), b"12").body, whole, "a replay is whole")


if __name__ == "__main__":
    harness.run()
