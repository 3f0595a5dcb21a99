#!/usr/bin/env python3
"""Keys of providers by TLS: who is believed and who is not, with a server and an authority of our own. --binary SEMEL"""
import base64
import concurrent.futures
import hashlib
import json
import re
import ssl
import subprocess
import threading
import time
import zlib

import harness
import server
import webhooks


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


def make_signer(folder, name):
    """signer.key and signer.pem, a certificate of that name."""
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "signer.key", "-out", "signer.pem",
            "-subj", f"/CN={name}")


def quick_signer(folder):
    """Signs with signer.key as `openssl dgst -sha256 -sign` does, without a process for each signature."""
    told = subprocess.run(["openssl", "rsa", "-in", "signer.key", "-noout", "-text"], cwd=folder, check=True,
                          capture_output=True, text=True, timeout=60).stdout
    one, other, of_one, of_other, inverse = (int(re.sub(r"[\s:]", "", re.search(rf"{name}:\n((?: .*\n)+)", told)[1]), 16)
                                             for name in ("prime1", "prime2", "exponent1", "exponent2", "coefficient"))
    size = ((one * other).bit_length() + 7) // 8

    def sign(text):
        digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text).digest()  # PKCS #1
        number = int.from_bytes(b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest, "big")
        rest = pow(number, of_other, other)  # each prime by itself, then both together: four times as fast
        return (rest + (pow(number, of_one, one) - rest) * inverse % one * other).to_bytes(size, "big")

    return sign


def make_authority(folder, name):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}")


def make_certificate(folder, authority, name, host):
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", "-subj", f"/CN={host}")
    (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{host}\n", encoding="utf-8")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
            "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")


class KeysByTls(harness.Case):
    def serve(self, folder, certificate):
        """A server with this certificate that hands out Plaid's key; its port, and what it is asked."""
        asked = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / f"{certificate}.pem", folder / f"{certificate}.key")

        def hand_out(request):
            asked.append(json.loads(request.body))
            return server.Reply(200, [], json.dumps({"key": webhooks.PLAID_KEY}).encode())

        shelf = server.Server(server.replies(hand_out), wrap=lambda sock: context.wrap_socket(sock, server_side=True))
        self.addCleanup(shelf.close)
        return shelf.address[1], asked

    def deliver(self, certificate, trusted):
        """What a delivery hears if the server has this certificate and this authority is trusted, and who was asked."""
        semel = self.gateway(webhooks.PLAID)
        make_authority(semel.folder, "good")
        make_authority(semel.folder, "other")
        make_certificate(semel.folder, "good", "right", "localhost")
        make_certificate(semel.folder, "good", "elsewhere", "plaid.example.com")
        port, asked = self.serve(semel.folder, certificate)
        (semel.folder / "providers").mkdir()
        text = (webhooks.FILES / "plaid.toml").read_text(encoding="utf-8")
        text = re.sub(r"keys = .*", f'keys = ["https://localhost:{port}/key"]', text)
        (semel.folder / "providers" / "plaid.toml").write_text(text.replace('"300s"', '"0s"'), encoding="utf-8")
        semel.environment["SSL_CERT_FILE"] = str(semel.folder / f"{trusted}.pem")
        semel.environment["SSL_CERT_DIR"] = str(semel.folder / "none")
        semel.start()
        self.answer_all()
        fields = [("Plaid-Verification", webhooks.PLAID_TOKEN)]
        statuses = [semel.ask("POST", "/hooks/plaid", fields, webhooks.PLAID_BODY).status for _ in range(2)]
        return statuses, asked

    def test_a_server_that_proves_its_name_is_believed(self):
        """The authority is trusted and the certificate names the host: the key is fetched, once."""
        statuses, asked = self.deliver("right", "good")
        self.assertEqual(statuses, [200, 200])
        self.assertEqual(asked, [{"client_id": "client", "secret": "s3", "key_id": webhooks.PLAID_KEY["kid"]}])

    def test_an_unknown_authority_is_not_believed(self):
        """Nothing is asked of a server whose authority nobody trusts, so no credential leaves the house."""
        self.assertEqual(self.deliver("right", "other"), ([503, 503], []))
        self.assertEqual(self.stage.count(), 0)

    def test_another_name_is_not_believed(self):
        """A certificate that is good, but for another host, is no certificate."""
        self.assertEqual(self.deliver("elsewhere", "good"), ([503, 503], []))
        self.assertEqual(self.stage.count(), 0)


SNS = harness.CONFIG.replace("threads = 2", 'threads = 1\nproviders = "providers"') + """
[[webhook]]
path = "/hooks/sns"
provider = "aws-sns"
secrets = ["arn:aws:sns:eu-west-1:1:orders"]
upstream = "app"
confirm_subscriptions = true
"""


class SnsSubscription(harness.Case):
    def setUp(self):
        super().setUp()
        self.semel = self.gateway(SNS)
        folder = self.semel.folder
        make_signer(folder, "sns.amazonaws.com")
        self.visited = []
        amazon = server.Server(server.replies(self.visit))
        self.addCleanup(amazon.close)
        self.place = "http://%s:%d" % amazon.address
        (folder / "providers").mkdir()
        text = (webhooks.FILES / "aws-sns.toml").read_text(encoding="utf-8")
        text = text.replace('algorithm = "aws-sns"', f'algorithm = "aws-sns"\nkeys = ["{self.place}/"]')
        (folder / "providers" / "aws-sns.toml").write_text(text, encoding="utf-8")
        self.semel.start()
        self.answer_all()

    def visit(self, request):
        """As Amazon, which has the certificate; what else is visited is remembered."""
        if request.target != "/signer.pem":
            self.visited.append(request.target)
        return server.Reply(500 if "fails" in request.target else 200, [], (self.semel.folder / "signer.pem").read_bytes())

    def confirmation(self, number, address):
        """What a SubscriptionConfirmation with this address, signed as SNS does, hears."""
        message = {"Message": "You have chosen to subscribe", "MessageId": f"m-{number}", "SubscribeURL": address,
                   "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), "Token": "2336", "TopicArn": "arn:aws:sns:eu-west-1:1:orders",
                   "Type": "SubscriptionConfirmation"}
        text = "".join(f"{name}\n{message[name]}\n" for name in sorted(message))
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", "signer.key"], cwd=self.semel.folder,
                                input=text.encode(), check=True, capture_output=True, timeout=60).stdout
        message.update({"SignatureVersion": "2", "SigningCertURL": self.place + "/signer.pem",
                        "Signature": base64.b64encode(signed).decode()})
        return self.semel.ask("POST", "/hooks/sns", (), json.dumps(message).encode()).status

    def test_only_addresses_of_the_sender_are_visited(self):
        """An address of the sender is visited and acknowledged; any other is not, though the request is authentic."""
        self.assertEqual(self.confirmation(1, self.place + "/?Action=ConfirmSubscription&Token=1"), 200)
        self.assertEqual(self.visited, ["/?Action=ConfirmSubscription&Token=1"])
        other = "http://localhost:" + self.place.rpartition(":")[2]
        for number, address in enumerate([other + "/?Action=ConfirmSubscription&Token=2", "file:///etc/passwd",
                                          "https://sns.eu-west-1.amazonaws.com.example.com/?Action=ConfirmSubscription&"]):
            self.assertEqual(self.confirmation(10 + number, address), 502, address)
        self.assertEqual(self.confirmation(20, self.place + "/fails?Action=ConfirmSubscription&Token=3"), 502)
        self.assertEqual(len(self.visited), 2)
        self.assertEqual(self.stage.count(), 0)


PAYPAL = harness.CONFIG.replace("threads = 2", 'threads = 1\nproviders = "providers"') + """
[[webhook]]
path = "/hooks/paypal"
provider = "paypal"
secrets = ["webhook-1"]
api_credentials = "client|s3"
upstream = "app"
"""


class PayPalsApi(harness.Case):
    """PayPal as we know it: it has a certificate, hands out tokens, and says what it sent."""

    def setUp(self):
        super().setUp()
        self.semel = self.gateway(PAYPAL)
        folder = self.semel.folder
        make_signer(folder, "messageverificationcerts.paypal.com")
        self.sign = quick_signer(folder)
        self.tokens, self.questions = [], []
        self.life = 32400
        self.say = lambda question: server.Reply(200, [], b'{"verification_status":"SUCCESS"}')
        paypal = server.Server(server.replies(self.answer))
        self.addCleanup(paypal.close)
        self.place = "http://%s:%d" % paypal.address
        (folder / "providers").mkdir()
        text = (webhooks.FILES / "paypal.toml").read_text(encoding="utf-8")
        text = re.sub(r"keys = .*", f'keys = ["{self.place}/certs/"]', text)
        text = re.sub(r"api = .*", f'api = ["{self.place}/"]', text)
        (folder / "providers" / "paypal.toml").write_text(text, encoding="utf-8")
        self.semel.start()
        self.answer_all()

    def answer(self, request):
        if request.target == "/certs/CERT-1":
            return server.Reply(200, [], (self.semel.folder / "signer.pem").read_bytes())
        if request.target == "/v1/oauth2/token":
            self.tokens.append((request.get("Authorization"), request.get("Content-Type"), request.body))
            if self.life is None:
                return server.Reply(500)
            token = {"access_token": f"token-{len(self.tokens)}", "expires_in": self.life}
            return server.Reply(200, [], json.dumps(token).encode())
        self.assertEqual(request.target, "/v1/notifications/verify-webhook-signature")
        question = json.loads(request.body)
        self.questions.append((request.get("Authorization"), question))
        return self.say(question)

    def signed(self, number, body=None, crc_of=None, when=None):
        """Fields and body of a delivery that PayPal has signed, for the checksum of this body or of another one."""
        body = body or json.dumps({"id": f"WH-{number}", "event_type": "PAYMENT.SALE.COMPLETED"}).encode()
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
        signature = self.sign(f"t-{number}|{at}|webhook-1|{zlib.crc32(crc_of or body)}".encode())
        return [("PAYPAL-TRANSMISSION-ID", f"t-{number}"), ("PAYPAL-TRANSMISSION-TIME", at),
                ("PAYPAL-CERT-URL", self.place + "/certs/CERT-1"), ("PAYPAL-AUTH-ALGO", "SHA256withRSA"),
                ("PAYPAL-TRANSMISSION-SIG", base64.b64encode(signature).decode())], body

    def deliver(self, *delivery, **more):
        """What it hears."""
        self.fields, body = self.signed(*delivery, **more)
        return self.semel.ask("POST", "/hooks/paypal", self.fields, body, seconds=30).status

    def test_paypal_is_asked_with_one_token(self):
        """Two deliveries are two questions with one token; each question has what PayPal wants to know."""
        self.assertEqual([self.deliver(1), self.deliver(2)], [200, 200])
        basic = "Basic " + base64.b64encode(b"client:s3").decode()
        self.assertEqual(self.tokens, [(basic, "application/x-www-form-urlencoded", b"grant_type=client_credentials")])
        self.assertEqual([token for token, _ in self.questions], ["Bearer token-1"] * 2)
        question = self.questions[1][1]
        sent = {name.lower(): value for name, value in self.fields}
        self.assertEqual(question["webhook_id"], "webhook-1")
        self.assertEqual(question["webhook_event"], {"id": "WH-2", "event_type": "PAYMENT.SALE.COMPLETED"})
        for name in ("transmission-id", "transmission-time", "transmission-sig", "cert-url", "auth-algo"):
            self.assertEqual(question[name.replace("-", "_")], sent["paypal-" + name])
        self.assertEqual(self.stage.count(), 2)

    def test_what_paypal_denies_is_refused(self):
        """FAILURE is 401, though the signature is right here; the very same delivery is not asked about again."""
        self.say = lambda question: server.Reply(200, [], b'{"verification_status":"FAILURE"}')
        now = time.time()
        self.assertEqual([self.deliver(1, when=now), self.deliver(1, when=now)], [401, 401])
        self.assertEqual(len(self.questions), 1)
        self.assertEqual(self.stage.count(), 0)

    def test_nothing_is_taken_while_paypal_does_not_answer(self):
        """No token, an error, something else than a verdict, a cut: 503, and never the handler. Then it is back."""
        self.life = None
        self.assertEqual(self.deliver(1), 503)
        self.assertEqual(self.questions, [])
        self.life = 32400
        time.sleep(1.1)  # an address that gave nothing is left alone for a second
        for number, reply in enumerate([server.Reply(500), server.Reply(200, [], b"{}"), server.Reply(200, [], b"yes"),
                                        server.Reply(200, [], b'{"verification_status":"success"}'), None]):
            self.say = lambda question, reply=reply: reply
            self.assertEqual(self.deliver(10 + number), 503, reply)
        self.assertEqual(self.stage.count(), 0)
        self.say = lambda question: server.Reply(200, [], b'{"verification_status":"SUCCESS"}')
        self.assertEqual(self.deliver(20), 200)
        self.assertEqual(self.stage.count(), 1)

    def test_garbage_asks_nothing(self):
        """A stranger without a signature, with an old one, or with a body that is no JSON, does not have PayPal asked."""
        self.assertEqual(self.deliver(1, b'{"id":"forged"}', crc_of=b'{"id":"genuine"}'), 401)
        self.assertEqual(self.deliver(2, when=time.time() - 5 * 86400), 401)
        self.assertEqual(self.deliver(3, b'{"id":1},"webhook_id":"other"'), 401)
        self.assertEqual((self.tokens, self.questions, self.stage.count()), ([], [], 0))

    def test_one_capture_spends_little(self):
        """Of one transmission five questions a minute, whatever bodies it comes with; others are asked about as before."""
        self.say = lambda question: server.Reply(200, [], json.dumps({"verification_status": "SUCCESS" if question[
            "transmission_id"] == "t-2" else "FAILURE"}).encode())
        bodies = [b'{"id":"%d"}' % number for number in range(8)]
        self.assertEqual([self.deliver(1, body) for body in bodies], [401] * 5 + [503] * 3)
        self.assertEqual(len(self.questions), 5)
        self.assertEqual(self.deliver(2), 200)

    def test_sixteen_questions_are_open_at_once_for_ten_seconds(self):
        """PayPal says nothing: the seventeenth delivery is told so at once, the others when their time is up."""
        asked, over = threading.Semaphore(0), threading.Event()

        def say_nothing(question):
            asked.release()
            over.wait(30)

        self.assertEqual(self.deliver(0), 200)  # the certificate and the token are there
        self.say = say_nothing
        self.addCleanup(over.set)
        started = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            told = [pool.submit(self.deliver, number) for number in range(1, 17)]
            for _ in range(16):
                self.assertTrue(asked.acquire(timeout=8))
            refused = self.semel.ask("POST", "/hooks/paypal", *self.signed(17))
            self.assertEqual((refused.status, refused.get("Retry-After")), (503, "5"))
            self.assertLess(time.monotonic() - started, 9)
            self.assertEqual([each.result() for each in told], [503] * 16)
        self.assertGreater(time.monotonic() - started, 9)
        self.assertLess(time.monotonic() - started, 20)
        self.assertEqual((len(self.questions), self.stage.count()), (17, 1))

    def test_a_webhook_asks_six_hundred_times_a_minute(self):
        """The next delivery is told to come again, and is not handed on."""
        deliveries = [self.signed(number) for number in range(601)]
        started = time.monotonic()
        with self.semel.connect() as client:
            replies = [client.ask("POST", "/hooks/paypal", *delivery) for delivery in deliveries]
        if time.monotonic() - started > 55:
            self.skipTest("this machine is too busy to send 601 deliveries in a minute")
        self.assertEqual({reply.status for reply in replies[:600]}, {200})
        self.assertEqual((replies[600].status, replies[600].get("Retry-After")), (503, "5"))
        self.assertEqual((len(self.questions), self.stage.count()), (600, 600))

    def test_a_token_is_used_until_it_ages_out(self):
        """One that ends in twelve seconds is used for six of them. Then there is another."""
        self.life = 12
        self.assertEqual([self.deliver(1), self.deliver(2)], [200, 200])
        self.assertEqual(len(self.tokens), 1)
        time.sleep(6.1)
        self.assertEqual(self.deliver(3), 200)
        self.assertEqual([token for token, _ in self.questions], ["Bearer token-1"] * 2 + ["Bearer token-2"])


if __name__ == "__main__":
    harness.run()
