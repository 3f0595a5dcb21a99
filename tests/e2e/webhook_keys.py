#!/usr/bin/env python3
"""Keys of providers by TLS: who is believed and who is not, with a server and an authority of our own. --binary SEMEL"""
import base64
import json
import re
import ssl
import subprocess
import time

import harness
import server
import webhooks


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


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
        openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "signer.key", "-out",
                "signer.pem", "-subj", "/CN=sns.amazonaws.com")
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


if __name__ == "__main__":
    harness.run()
