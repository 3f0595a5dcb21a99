#!/usr/bin/env python3
"""The dashboard in Debian's Chromium: every page, every act, each role, on an embedded store and on PostgreSQL; with the keyboard
alone, on a phone and on a wall, in light and dark. Any error in the console and any CSP report fails. The pictures are kept in
pictures/ of the build folder; docs/pictures has copies of some. --binary SEMEL --build FOLDER"""
import http.server
import math
import os
import random
import threading
import time

import browser_case  # first: it knows where the others are
import desk
import harness
import wire
from browser_case import CONFIG, GITHUB, HOSTILE, INBOX
from harness import ROUTE, keyed

INTERACTIVE_MS_MAX = 3000  # machines are shared; the figure itself is printed


class Evil(http.server.BaseHTTPRequestHandler):
    """A page of somebody else. What it does is in the story."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Kittens</title><link rel=icon href=data:,><body>")

    def log_message(self, *_):
        pass


class Dashboard(browser_case.Case):
    def scene(self, semel):
        """Something of everything: lost answers, done keys, duplicates, deliveries."""
        for key in ("order-1", "order-2", "order-3"):
            self.lose(semel, key)
        self.answer_all(status=201, fields=[("Content-Type", "application/json")], body=lambda arrival: b'{"id": "pay_9"}')
        for _ in range(3):
            self.assertEqual(self.pay(semel, "order-9").status, 201)
        self.assertEqual(self.deliver(semel, "whsec_1").returncode, 0)
        self.deliver(semel, "whsec_wrong")

    def night(self, name, semel):
        self.scene(semel)
        self.tell("settle", name=name, done="order-1", undone="order-2", finished="order-9")
        retry = self.pay(semel, "order-1")
        self.assertEqual((retry.status, retry.body, retry.get("Location")), (201, b'{"id": "pay_1"}', "/payments/1"))
        self.assertEqual(retry.get("Idempotent-Replayed"), "true")
        for key in ("order-2", "order-9"):
            again = self.pay(semel, key)
            self.assertEqual((again.status, again.get("Idempotent-Replayed")), (201, None), "it ran again")
        self.assertTrue(desk.is_whole(desk.ByApi(self, semel).entries()))

    def test_every_page(self):
        semel = self.start()
        self.tell("pages", name="empty")
        self.scene(semel)
        self.tell("pages")

    def test_every_page_on_postgresql(self):
        semel = self.start(store=self.postgres)
        self.scene(semel)
        self.tell("pages", name="postgres")

    def test_the_night(self):
        self.night("embedded", self.start())

    def test_the_night_on_postgresql(self):
        self.night("postgres", self.start(store=self.postgres))

    def test_an_early_typist(self):
        """What is typed before a page has settled stays, and so does the focus."""
        self.start()
        self.tell("early")
        self.tell("hasty")

    def test_the_service_is_asked(self):
        semel = self.start(CONFIG.replace(ROUTE, ROUTE + 'probe = "/v1/payments?key={key}"\n'))
        document = desk.ByApi(self, semel).good("GET", "/v1/openapi.json")
        if "from" not in document["components"]["schemas"]["Resolve"]["properties"]:
            self.skipTest("this build cannot ask a service about a key")
        self.lose(semel, "order-1")
        self.answer_all(status=200, fields=[("Content-Type", "application/json")], body=lambda arrival: b'{"id": "asked"}')
        self.tell("probe", key="order-1")
        self.assertEqual(self.pay(semel, "order-1").body, b'{"id": "asked"}')

    def test_the_keyboard_alone(self):
        semel = self.start()
        self.lose(semel, "order-7")
        self.tell("keyboard", key="order-7")
        self.assertEqual(desk.ByApi(self, semel).find("order-7", "alice")["state"], "released")

    def test_roles(self):
        semel = self.start()
        self.lose(semel, "lost")
        self.answer_all(status=201)
        self.pay(semel, "done")
        self.tell("roles", tokens=desk.TOKENS, unknown=self.id_of(semel, "lost"), done=self.id_of(semel, "done"))

    def test_somebody_was_faster(self):
        semel = self.start()
        self.lose(semel, "k")
        self.tell("overtaken", id=self.id_of(semel, "k"))
        self.assertEqual(desk.ByApi(self, semel).find("k", "alice")["state"], "released")

    def test_hostile_text_is_text(self):
        semel = self.start()
        fields = [("Content-Type", "text/html"), ("X-Evil", HOSTILE[0]), ("X-More", HOSTILE[1])]
        self.answer_all(status=200, fields=fields, body=lambda arrival: "\n".join(HOSTILE).encode())
        key = "'><img src=x onerror=alert(1)>"
        self.assertEqual(semel.ask("POST", "/v1/payments", keyed(f'"{key}"'), b"12").status, 200)
        found = desk.ByApi(self, semel).find(key, "alice")
        self.tell("hostile", id=found["id"], texts=HOSTILE, webhook="#/webhooks")

    def needs(self, semel, operation):
        """Skips where the gateway, or its store, has no such operation: the page is then not there, either."""
        document = desk.ByApi(self, semel).good("GET", "/v1/openapi.json")
        method, path = operation.split(" ")
        if method.lower() not in document["paths"].get(path, {}):
            self.skipTest(f"this build has no {operation}")

    def timeline(self, name, semel):
        self.needs(semel, "GET /v1/keys/{id}/timeline")
        agent = "shop/1 <img src=x onerror=alert(1)>"
        self.lose(semel, "order-1")
        for body in (b"12", b"12", b"12", b"13"):
            semel.ask("POST", "/v1/payments", [*keyed("order-1"), ("User-Agent", agent)], body)
        self.tell("timeline", name=name, id=self.id_of(semel, "order-1"), agent=agent)

    def test_the_timeline(self):
        self.timeline("embedded", self.start())

    def test_the_timeline_on_postgresql(self):
        self.timeline("postgres", self.start(store=self.postgres))

    def test_the_tail(self):
        semel = self.start()
        self.needs(semel, "GET /v1/tail")
        self.answer_all(status=201)
        self.tell("tail", pay="http://%s:%d/v1/payments" % semel.address, agent="shop/1 <img src=x onerror=alert(1)>")

    def test_duplicates_and_the_doctor(self):
        observed = ROUTE.replace("/v1/*", "/observed/*") + 'mode = "observe"\n'
        semel = self.start(CONFIG + observed)
        self.needs(semel, "GET /v1/tally")
        self.needs(semel, "GET /v1/doctor")
        self.answer_all(status=201)
        for number in range(5):
            self.pay(semel, f"k{number}")
        for number in range(3):
            self.assertEqual(self.pay(semel, f"k{number}").get("Idempotent-Replayed"), "true")
        self.assertEqual(semel.ask("POST", "/v1/payments", keyed("k0"), b"13").status, 422)
        for _ in range(2):
            semel.ask("POST", "/observed/x", keyed("o"), b"12")
        api = desk.ByApi(self, semel)
        self.assertTrue(wire.eventually(lambda: sum(item["keyed"] for item in api.good("GET", "/v1/tally")["totals"]) >= 9, seconds=30))
        self.tell("duplicates")

    def dead_letters(self, name, semel):
        self.bury(semel, 9)  # so many seconds are watched
        self.tell("inbox", name=name, count=9)
        self.assertTrue(wire.eventually(lambda: self.states(semel)["done"] == 9, seconds=20), self.states(semel))

    def test_dead_letters_are_sent_again(self):
        self.dead_letters("embedded", self.start(desk.WITH_TOKENS + INBOX))

    def test_dead_letters_on_postgresql(self):
        self.dead_letters("postgres", self.start(desk.WITH_TOKENS + INBOX, store=self.postgres))

    def test_dead_letters_with_the_keyboard_alone(self):
        semel = self.start(desk.WITH_TOKENS + INBOX)
        self.bury(semel, 3)
        self.tell("inboxKeyboard", count=3)

    def test_roles_at_the_inbox(self):
        semel = self.start(desk.WITH_TOKENS + INBOX)
        self.bury(semel, 2)
        self.tell("inboxRoles", tokens=desk.TOKENS)

    def test_hostile_events_are_text(self):
        semel = self.start(desk.WITH_TOKENS + INBOX)
        self.bury(semel, 1, HOSTILE[0])
        self.tell("hostileEvents", type=HOSTILE[0], why="400")

    def test_webhooks(self):
        """One event fails twice and another once; the provider has not changed over to the new secret; a stranger tries."""
        semel = self.start(CONFIG + GITHUB)
        self.serve(lambda message: 500)
        for event in ("evt_a", "evt_a", "evt_b"):
            self.assertNotEqual(self.deliver(semel, "whsec_2", {"id": event, "type": "x"}).returncode, 0)
        self.run_semel("sign", "github", "--secret", "whsec_1", "--body", "{}", "--send", "--url",
                       "http://%s:%d/hooks/github" % semel.address)
        for _ in range(2):
            self.deliver(semel, "whsec_wrong")
        self.assertEqual(wire.ask(semel.address, "POST", "/hooks/stripe", [], b"{}").status, 401)
        self.tell("webhooks")

    def test_pages_of_others(self):
        """CSRF and rebinding with a real browser; byte for byte it is in tests/e2e/dashboard.py."""
        semel = self.start()
        self.lose(semel, "k")
        page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
        self.addCleanup(page.server_close)
        self.addCleanup(page.shutdown)
        threading.Thread(target=page.serve_forever, daemon=True).start()
        where = [f"http://{host}:{page.server_port}/" for host in ("127.0.0.1", "localhost", "evil.example")]
        self.tell("strangers", elsewhere=where, id=self.id_of(semel, "k"))
        self.assertEqual(desk.ByApi(self, semel).find("k", "alice")["state"], "unknown")

    def test_a_long_list(self):
        semel = self.start()
        for number in range(130):
            self.lose(semel, f"order-{number}")
        self.tell("pieces", count=130)

    def test_troubles(self):
        semel = self.start()
        self.tell("troubles", pid=semel.process.pid)

    def test_zones(self):
        semel = self.start()
        self.lose(semel, "k")
        self.tell("zones", id=self.id_of(semel, "k"))

    def test_the_first_page_under_load(self):
        """What the README shows. SEMEL_PICTURE_SECONDS=330 fills the plots."""
        semel = self.start()
        for key in ("order-1", "order-2"):
            self.lose(semel, key)
        self.answer_all(status=201, body=lambda arrival: time.sleep(random.uniform(0.002, 0.02)) or b"{}")
        until = time.monotonic() + float(os.environ.get("SEMEL_PICTURE_SECONDS", "8"))
        number = 0
        while time.monotonic() < until:
            for _ in range(random.choice((4, 5, 6, 7, 9))):
                number += 1
                for _ in range(1 if random.random() < 0.94 else 2):
                    self.assertEqual(self.pay(semel, f"pay-{number}").status, 201)
            time.sleep(random.uniform(0.2, 0.4) + 0.2 * math.sin(number / 300))
        self.assertEqual(semel.ask("POST", "/v1/payments", keyed("pay-1"), b"13").status, 422)
        self.deliver(semel, "whsec_wrong")
        self.tell("first", least=number)

    def test_speed(self):
        self.start()
        self.tell("speed", interactiveMsMax=INTERACTIVE_MS_MAX)


if __name__ == "__main__":
    harness.run(build=browser_case.prepare)
