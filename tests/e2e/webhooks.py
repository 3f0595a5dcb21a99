#!/usr/bin/env python3
"""Webhooks from end to end: storms of one delivery, secrets that are changed, kill -9, what the log says. --binary SEMEL"""
import base64
import collections
import hashlib
import hmac
import json
import pathlib
import re
import signal
import threading
import time
import urllib.parse

import harness
import signers
import stage as staging
import wire

CONFIG = harness.CONFIG + """
[[webhook]]
path = "/hooks/stripe"
provider = "stripe"
secrets = ["file:$data-secret"]
upstream = "app"
lease = "1s"
"""


PLAID = harness.CONFIG.replace("threads = 2", 'threads = 1\nproviders = "providers"') + """
[[webhook]]
path = "/hooks/plaid"
provider = "plaid"
secrets = ["client|s3"]
upstream = "app"
"""
FILES = pathlib.Path(__file__).resolve().parent.parent.parent / "providers"
PLAID_BODY = (b'{"webhook_type":"TRANSACTIONS","webhook_code":"SYNC_UPDATES_AVAILABLE","item_id":"it_1",'
              b'"environment":"production"}')
PLAID_KEY = {"kid": "bfbd5111-8e33-4643-8ced-b2e642a72f3c", "kty": "EC", "crv": "P-256",
             "x": "FW0zsFEyQcp60Kfo8-q4YacgM6c-jtH2NWAJIE0K-Xw", "y": "zlZA2UZwrRgvAh3f6yQ1fxeoRYgoAUXXG2iX92JePK0"}
PLAID_TOKEN = (
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImJmYmQ1MTExLThlMzMtNDY0My04Y2VkLWIyZTY0MmE3MmYzYyIsInR5cCI6IkpXVCJ9."
    "eyJpYXQiOjE3MDAwMDAwMDAsInJlcXVlc3RfYm9keV9zaGEyNTYiOiJkMzcyM2I1Yjc4NGMwYTQyZjZhMmViNTg5YjgwYTQ2YjgzYTBjYTVjMTgw"
    "MTU3ZjM4NDkwNGU3N2ZmMDFkODRjIn0.Flhf-_q-HMngQrzfd-JdJ5jb5QQ58ZrOENkrwPcCSjTTJYn3TIl4lF1oV4_lwdO90vxhkzvPn6YWkbim"
    "ZxV54Q")


def delivery(secret, event, **more):
    body = json.dumps({"id": event, "type": "payout.paid", "data": {"object": {"id": "po_1"}}, **more}).encode()
    return signers.sign(f"stripe {secret}", body), body


class Webhook(harness.Case):
    def gateway(self, secrets="first"):
        semel = super().gateway(CONFIG)
        self.secret_path = pathlib.Path(semel.values["data"] + "-secret")
        self.secret_path.write_text(secrets + "\n", encoding="utf-8")
        return semel

    def sign(self, semel, *arguments):
        address = "http://%s:%d/hooks/stripe" % semel.address
        return self.run_semel("sign", "stripe", "--url", address, "--secret", "first", *arguments)

    def test_ten_at_once_are_one_event(self):
        """Ten signed deliveries of one payout at the same time: one arrives; each hears 2xx or 409, then 2xx."""
        semel = self.gateway().start()
        self.answer_all(body=lambda _: time.sleep(0.2) or b"fee of 50")
        body = '{"id":"evt_payout","amount":10000}'
        done = self.sign(semel, "--body", body, "--send", "--times", "10", "--parallel", "10")
        counts = {status: count for count, status in re.findall(r"^(\d+) x (\S+)$", done.stdout, re.M)}
        self.assertEqual(set(counts) - {"200", "409"}, set(), done.stdout + done.stderr)
        self.assertEqual(sum(map(int, counts.values())), 10)
        again = self.sign(semel, "--body", body, "--send", "--times", "10", "--parallel", "10")
        self.assertEqual((again.stdout, again.returncode), ("10 x 200\nfee of 50\n", 0), again.stderr)
        self.assertEqual(self.stage.count(), 1)

    def test_a_secret_is_changed_without_a_restart(self):
        """SIGHUP reads the file of the secret again: the new one is taken from then on, the old one is not."""
        semel = self.gateway().start()
        self.answer_all()
        fields, body = delivery("first", "evt_1")
        self.assertEqual(semel.ask("POST", "/hooks/stripe", fields, body).status, 200)
        self.secret_path.write_text("second", encoding="utf-8")
        semel.signal(signal.SIGHUP)
        self.assertTrue(wire.eventually(lambda: "reloaded" in semel.stderr()))
        fields, body = delivery("second", "evt_2")
        self.assertTrue(wire.eventually(lambda: semel.ask("POST", "/hooks/stripe", fields, body).status == 200))
        fields, body = delivery("first", "evt_3")
        self.assert_problem(semel.ask("POST", "/hooks/stripe", fields, body), 401, "signature-invalid")
        self.assertEqual(self.stage.count(), 2)

    def test_a_refused_delivery_leaves_nothing_behind(self):
        """No record is written, the reason is in the log, and neither body nor secret is."""
        semel = self.gateway().start()
        fields, body = delivery("guessed-secret", "evt_forged")
        reply = semel.ask("POST", "/hooks/stripe", fields, body)
        self.assert_problem(reply, 401, "signature-invalid")
        self.assertEqual(semel.stop(), 0)
        log = semel.out_path.read_text(encoding="utf-8")
        line = json.loads(log.splitlines()[-1])
        self.assertEqual((line["status"], line["problem"], line["detail"]), (401, "signature-invalid", "mismatch"))
        self.assertNotIn("key", line)
        self.assertNotIn("evt_forged", log)
        self.assertNotIn("guessed-secret", log)

    def test_the_log_names_the_event(self):
        """Type and object of an event are in its line, so that an operator can find it."""
        semel = self.gateway().start()
        self.answer_all()
        fields, body = delivery("first", "evt_1")
        self.assertEqual(semel.ask("POST", "/hooks/stripe", fields, body).status, 200)
        self.assertEqual(semel.stop(), 0)
        line = json.loads(semel.out_path.read_text(encoding="utf-8").splitlines()[-1])
        self.assertEqual((line["event_type"], line["object"], line["outcome"]), ("payout.paid", "po_1", "ran"))

    def test_keys_are_fetched_once_and_kept(self):
        """A key is fetched for the first delivery that needs it. Without it nobody can tell, so the answer is 503."""
        asked = []
        shelf = staging.Stage()
        self.addCleanup(shelf.close)
        semel = super().gateway(PLAID)
        folder = semel.folder / "providers"
        folder.mkdir()
        text = (FILES / "plaid.toml").read_text(encoding="utf-8")
        text = re.sub(r"keys = .*", 'keys = ["http://%s:%d/key"]' % shelf.address, text)
        (folder / "plaid.toml").write_text(text.replace('"300s"', '"0s"'), encoding="utf-8")
        semel.start()
        self.answer_all()
        fields = [("Plaid-Verification", PLAID_TOKEN)]

        def serve(status):
            arrival = shelf.next()
            arrival.read_body()
            asked.append(json.loads(arrival.message.body))
            arrival.answer(status, [("Content-Type", "application/json")], json.dumps({"key": PLAID_KEY}).encode())

        for status, expected in ((500, 503), (200, 200)):
            server = threading.Thread(target=serve, args=(status,))
            server.start()
            reply = semel.ask("POST", "/hooks/plaid", fields, PLAID_BODY)
            server.join()
            self.assertEqual((reply.status, reply.get("Retry-After")), (expected, "5" if expected == 503 else None), reply.body)
            time.sleep(1.1)  # an address that gave nothing is left alone for a second
        for _ in range(3):
            self.assertEqual(semel.ask("POST", "/hooks/plaid", fields, PLAID_BODY).status, 200)
        self.assertEqual(semel.ask("POST", "/hooks/plaid", fields, PLAID_BODY.replace(b"it_1", b"it_2")).status, 401)
        self.assertEqual(asked, [{"client_id": "client", "secret": "s3", "key_id": PLAID_KEY["kid"]}] * 2)
        self.assertEqual(self.stage.count(), 4)

    def test_kill_9_loses_no_event_and_repeats_none_that_was_acknowledged(self):
        """A provider that retries until it hears 2xx, a gateway that is killed again and again: each event is handled,
        and none of them again after it was acknowledged."""
        semel = self.gateway().start()
        handled, acknowledged = collections.Counter(), set()
        after_ack, lock = [], threading.Lock()

        def handle(arrival):
            event = json.loads(arrival.message.body)["id"]
            with lock:
                handled[event] += 1
                if event in acknowledged:
                    after_ack.append(event)
            return b"done"

        self.answer_all(body=handle)
        todo = [f"evt_{i}" for i in range(1500)]

        def provide(events):
            for event in events:
                for _ in range(400):
                    try:
                        fields, body = delivery("first", event)
                        status = semel.ask("POST", "/hooks/stripe", fields, body, seconds=5).status
                    except (OSError, wire.Closed, wire.Cut, wire.Silent):
                        status = 0
                    if 200 <= status < 300:
                        with lock:
                            acknowledged.add(event)
                        break
                    time.sleep(0.05)

        workers = [threading.Thread(target=provide, args=(todo[i::8] + todo[i::80],)) for i in range(8)]
        for worker in workers:
            worker.start()
        for sixth in range(1, 5):
            while len(acknowledged) < sixth * len(todo) // 6:
                self.assertTrue(any(worker.is_alive() for worker in workers), "the events have run out")
                time.sleep(0.002)
            semel.kill()
            semel.start()
        for worker in workers:
            worker.join(120)
        self.assertEqual(acknowledged, set(todo))
        self.assertEqual(set(handled), set(todo))
        self.assertEqual(after_ack, [])


DROPBOX_SIGN = harness.CONFIG + """
[[webhook]]
path = "/hooks/sign"
provider = "dropbox-sign"
secrets = ["api-key"]
upstream = "app"
"""


class DropboxSign(harness.Case):
    def form(self, boundary, at, kind="signature_request_viewed", request="s-1"):
        """A delivery as Dropbox Sign writes it: what is signed is the time and the type."""
        signed = hmac.new(b"api-key", f"{at}{kind}".encode(), hashlib.sha256).hexdigest()
        event = {"event": {"event_time": str(at), "event_type": kind, "event_hash": signed},
                 "signature_request": {"signature_request_id": request}}
        part = f'--{boundary}\r\nContent-Disposition: form-data; name="json"\r\n\r\n{json.dumps(event)}\r\n'
        return [("Content-Type", f"multipart/form-data; boundary={boundary}")], f"{part}--{boundary}--\r\n".encode()

    def test_an_event_in_a_form_is_handled_once_and_hears_its_word(self):
        """Whatever the handler says, the sender hears what it wants to; a retry has another boundary and is the same."""
        semel = self.gateway(DROPBOX_SIGN)
        semel.start()
        self.answer_all()
        now = int(time.time())
        first = semel.ask("POST", "/hooks/sign", *self.form("aaa", now))
        self.assertEqual((first.status, first.body), (200, b"Hello API Event Received"))
        again = semel.ask("POST", "/hooks/sign", *self.form("bbb", now))
        self.assertEqual((again.status, again.body), (200, b"Hello API Event Received"))
        self.assertEqual(self.stage.count(), 1)
        self.assertEqual(semel.ask("POST", "/hooks/sign", *self.form("aaa", now, request="s-2")).status, 200)
        self.assertEqual(self.stage.count(), 2)  # two events of one second
        fields, body = self.form("aaa", now)
        self.assertEqual(semel.ask("POST", "/hooks/sign", *self.form("aaa", now - 5 * 86400)).status, 401)
        for odd in (body + body, body[:-4], body.replace(b"viewed", b"signed"), b"\r\n" + body):
            self.assertEqual(semel.ask("POST", "/hooks/sign", fields, odd).status, 401, odd)
        self.assertEqual(self.stage.count(), 2)


TWILIO = harness.CONFIG.replace("[server]\n", '[server]\npublic_url = "https://hooks.example.com"\n') + """
[[webhook]]
path = "/hooks/twilio"
provider = "twilio"
secrets = ["auth-token"]
upstream = "app"
"""


class Twilio(harness.Case):
    """What docs/providers.md says that its signature does not promise."""

    @staticmethod
    def signed_text(form):
        return "".join(name + value for name, value in sorted(form.items()))

    def deliver(self, semel, form, token=None):
        text = "https://hooks.example.com/hooks/twilio" + self.signed_text(form)
        tag = base64.b64encode(hmac.new(b"auth-token", text.encode(), hashlib.sha1).digest()).decode()
        fields = [("Content-Type", "application/x-www-form-urlencoded"), ("X-Twilio-Signature", tag)]
        fields += [("I-Twilio-Idempotency-Token", token)] if token else []
        return semel.ask("POST", "/hooks/twilio", fields, urllib.parse.urlencode(form).encode()).status

    def test_a_senders_text_can_be_cut_into_other_fields(self):
        """A text that was chosen for it becomes another field under the same signature: another event, if the token is
        another. Under the token that came first it is refused, and without tokens it is the same event."""
        sent = {"Body": "hi", "From": "+1555ToMallory", "To": "+1"}
        cut = {"Body": "hi", "From": "+1555", "To": "MalloryTo+1"}
        self.assertEqual(self.signed_text(sent), self.signed_text(cut))
        with self.gateway(TWILIO) as semel:
            self.answer_all()
            for form, token, status, count in ((sent, "token-1", 200, 1), (sent, "token-1", 200, 1), (cut, "token-1", 422, 1),
                                               (cut, "token-2", 200, 2), (sent, None, 200, 3), (cut, None, 422, 3)):
                self.assertEqual((self.deliver(semel, form, token), self.stage.count()), (status, count), (form, token))


if __name__ == "__main__":
    harness.run()
