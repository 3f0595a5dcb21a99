#!/usr/bin/env python3
"""Signers that nobody here wrote are believed, and one flipped byte is not.
real_signers.py --binary SEMEL --build FOLDER

The packages come with `npm ci` into FOLDER; without node, npm or a registry that can be reached the test is skipped.
"""
import json
import pathlib
import subprocess

import harness
import npm

SOURCE = pathlib.Path(__file__).resolve().parent / "signers_npm"
PUBLIC_URL = "https://hooks.example.com"


def webhook(provider, secret):
    return f'\n[[webhook]]\npath = "/hooks/{provider}"\nprovider = "{provider}"\nsecrets = ["{secret}"]\nupstream = "app"\n'


def flipped(body):
    """The same with one letter altered, inside a value that every provider signs."""
    for word in ("evt_real", "delivered", "TestMerchant", "7914073381342284"):
        if word in body:
            return body.replace(word, word[:-1] + ("8" if word[-1] != "8" else "9"), 1)
    raise AssertionError(body)


class RealSigners(harness.Case):
    folder = None

    def test_are_believed_and_altered_deliveries_are_not(self):
        """Each library's delivery reaches the handler once; with a byte of its body altered it is refused."""
        signed = subprocess.run(["node", "sign.mjs", PUBLIC_URL], cwd=self.folder, capture_output=True, text=True,
                                check=True, timeout=60)
        deliveries = json.loads(signed.stdout)
        secrets = {each["provider"]: each["secret"] for each in deliveries}
        config = harness.CONFIG.replace("threads = 2", f'threads = 2\npublic_url = "{PUBLIC_URL}"')
        semel = self.gateway(config + "".join(webhook(*pair) for pair in secrets.items())).start()
        self.answer_all()
        for each in deliveries:
            target = each.get("target") or "/hooks/" + each["provider"]
            fields = list(each["fields"].items())
            with self.subTest(each["provider"], target=target):
                forged = semel.ask("POST", target, fields, flipped(each["body"]).encode())
                self.assert_problem(forged, 401, "signature-invalid")
                for _ in range(2):
                    reply = semel.ask("POST", target, fields, each["body"].encode())
                    self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(self.stage.count(), len(deliveries))
        self.assertEqual(semel.stop(), 0)


if __name__ == "__main__":
    npm.run(RealSigners, SOURCE)
