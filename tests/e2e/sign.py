#!/usr/bin/env python3
"""Deliveries from the command line, and the list of who sends them: sign.py --binary SEMEL"""
import hashlib
import hmac
import pathlib
import tempfile
import time

import harness


class Providers(harness.Case):
    def test_are_listed_and_shown(self):
        """One line each, and the file of one as it is in the repository."""
        for arguments in (("providers",), ("providers", "list")):
            listed = self.run_semel(*arguments)
            self.assertEqual(listed.returncode, 0)
            self.assertIn("\nstripe ", listed.stdout)
        shown = self.run_semel("providers", "show", "stripe")
        source = pathlib.Path(__file__).resolve().parents[2] / "providers" / "stripe.toml"
        self.assertEqual(shown.stdout, source.read_text(encoding="utf-8"))
        self.assertEqual(self.run_semel("providers", "show", "nobody").returncode, 1)


class Sign(harness.Case):
    def printed(self, *arguments):
        """The request line, the fields and the body of `semel sign`."""
        done = self.run_semel("sign", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        head, _, body = done.stdout.partition("\n\n")
        first, *lines = head.split("\n")
        return first, dict(line.split(": ", 1) for line in lines), body

    def test_prints_a_delivery(self):
        """Signed as Stripe documents it, at this very time."""
        first, fields, body = self.printed("stripe", "--secret", "s3cret", "--body", '{"id":"a"}', "--url", "http://h/hook?x=1")
        self.assertEqual((first, body), ("POST /hook?x=1", '{"id":"a"}'))
        stamp, signature = (part.split("=")[1] for part in fields["Stripe-Signature"].split(","))
        self.assertLess(abs(int(stamp) - time.time()), 10)
        self.assertEqual(signature, hmac.new(b"s3cret", f"{stamp}.{body}".encode(), hashlib.sha256).hexdigest())

    def test_takes_an_age_an_id_and_fields(self):
        """For deliveries that are late, or that must have a certain name."""
        _, fields, _ = self.printed("standard-webhooks", "--secret", "whsec_c2VjcmV0", "--body", "{}", "--age", "600", "--id",
                               "msg_7", "--header", "X-More: yes")
        self.assertEqual((fields["webhook-id"], fields["X-More"]), ("msg_7", "yes"))
        self.assertLess(abs(time.time() - 600 - int(fields["webhook-timestamp"])), 10)

    def test_takes_a_file_of_ones_own(self):
        """A provider that does not come with Semel; one with a mistake is explained with line and column."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "acme.toml"
            text = '[[signature]]\nfrom = "{header:S}"\nsigns = "{body}"\n[event]\nid = "{json:/id}"\n'
            path.write_text(text, encoding="utf-8")
            _, fields, _ = self.printed("acme", "--providers", folder, "--secret", "k", "--body", "{}")
            self.assertEqual(fields["S"], hmac.new(b"k", b"{}", hashlib.sha256).hexdigest())
            path.write_text(text.replace("{body}", "{bdy}"), encoding="utf-8")
            broken = self.run_semel("sign", "acme", "--providers", folder, "--secret", "k")
            self.assertEqual(broken.returncode, 2)
            self.assertIn(f"{path}:3:11: error: signs: there is no part {{bdy}}", broken.stderr)

    def test_says_what_is_wrong(self):
        """Usage that cannot work ends with 2 and a sentence."""
        for arguments in (("nobody", "--secret", "x"), ("stripe",), ("adyen", "--secret", "no hex", "--body", "{}"),
                          ("stripe", "--secret", "env:SEMEL_NOT_THERE"), ("stripe", "--secret", "x", "--header", "odd")):
            done = self.run_semel("sign", *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertTrue(done.stderr, arguments)
        nobody = self.run_semel("sign", "stripe", "--secret", "x", "--send", "--url", "http://127.0.0.1:1/")
        self.assertEqual((nobody.returncode, nobody.stdout), (1, "1 x no answer\n"))


if __name__ == "__main__":
    harness.run()
