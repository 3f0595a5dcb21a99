#!/usr/bin/env python3
"""Deliveries from the command line, and the list of who sends them: sign.py --binary SEMEL"""
import hashlib
import hmac
import pathlib
import tempfile
import time

import certificates
import harness
import programs


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
        self.assertIn('did you mean "stripe"?', self.run_semel("providers", "show", "strpe").stderr)

    def test_files_of_ones_own_are_shown_and_checked(self):
        """By name in a folder, or by path; a mistake has its line and column, and what is not signed is said."""
        text = '[[signature]]\nfrom = "{header:S}"\nsigns = "{method}\\n{body}"\n[event]\nid = "{header:Id}"\n'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "acme.toml"
            path.write_text(text, encoding="utf-8")
            self.assertEqual(self.run_semel("providers", "show", "acme", "--providers", folder).stdout, text)
            self.assertEqual(self.run_semel("providers", "show", str(path)).stdout, text)
            checked = self.run_semel("providers", "check", str(path))
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertIn('  signs "{method}\\n{body}"; the signature does NOT cover the event\'s id\n', checked.stdout)
            path.write_text(text.replace("{body}", "{bdy}"), encoding="utf-8")
            broken = self.run_semel("providers", "check", str(path))
            self.assertEqual(broken.returncode, 1)
            self.assertIn(f"{path}:3:", broken.stderr)
            self.assertIn("there is no part {bdy}", broken.stderr)


class Sign(harness.Case):
    def test_prints_a_command_for_curl(self):
        """Which a shell runs as it is: the same bytes arrive."""
        self.answer_all(status=200, body=lambda arrival: arrival.message.body)
        address = "http://%s:%d/hook?x=1" % self.stage.address
        done = self.run_semel("sign", "stripe", "--secret", "s3cret", "--body", '{"id":"it\'s $HOME"}', "--url", address, "--curl")
        self.assertEqual(done.returncode, 0, done.stderr)
        sent = programs.run("sh", "-c", done.stdout)
        self.assertEqual(sent.stdout, '{"id":"it\'s $HOME"}', sent.stderr)

    def test_sends_by_tls(self):
        """With the authority that is given, or with none; a certificate of nobody's is refused with the reason. So does the
        hammer."""
        with tempfile.TemporaryDirectory() as folder:
            authority = certificates.Authority(pathlib.Path(folder))
            authority.sign("server", "/CN=localhost")
            config = (harness.CONFIG + harness.ROUTE).replace("threads = 2", (
                'threads = 2\ntls = { cert = "%s/server.pem", key = "%s/server.key" }' % (folder, folder)))
            self.answer_all(status=200, body=lambda arrival: b"thanks")
            with self.gateway(config) as semel:
                url = "https://127.0.0.1:%d/v1/x" % semel.address[1]
                send = ["sign", "stripe", "--secret", "s", "--body", "{}", "--url", url, "--send", "--header",
                        "Authorization: a", "--header", "Idempotency-Key: k"]
                refused = self.run_semel(*send)
                self.assertEqual(refused.returncode, 1)
                self.assertIn("certificate", refused.stderr)
                for trust in (["--ca", f"{folder}/ca.pem"], ["--insecure"]):
                    done = self.run_semel(*send, *trust)
                    self.assertEqual((done.returncode, done.stdout), (0, "1 x 200\nthanks\n"), done.stderr)
                hammer = ["hammer", url, "--keys", "5", "--duplicates", "5", "--header", "Authorization: a"]
                self.assertIn("certificate", self.run_semel(*hammer).stderr)
                done = self.run_semel(*hammer, "--ca", f"{folder}/ca.pem")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

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
        self.assertIn("http://127.0.0.1:1 does not answer; is anything listening there?", nobody.stderr)
        for secret, why in (("env:SEMEL_NOT_THERE", 'the environment has no variable "SEMEL_NOT_THERE"'),
                            ("file:/not/there", "/not/there: No such file or directory")):
            self.assertIn(why, self.run_semel("sign", "stripe", "--secret", secret).stderr)


if __name__ == "__main__":
    harness.run()
