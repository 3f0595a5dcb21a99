#!/usr/bin/env python3
"""What a scanner looks for: old versions, weak suites, compression, renegotiation, names, chains. --binary SEMEL"""
import pathlib
import queue
import re
import shutil
import ssl
import subprocess
import time
import unittest

import harness
import hello
import server
import tls
import wire


class Scanned(tls.Case):
    """By hellos of our own making, so that it does not matter what the installed OpenSSL can still say."""

    def test_old_versions_are_refused(self):
        """SSL 2 and 3, TLS 1.0 and 1.1, whatever suites they offer; 1.2 is agreed on."""
        suites = (*hello.GOOD, 0xC009, 0x002F, 0x000A, 0x0005)
        with self.secure() as semel:
            for version in (hello.SSL3, hello.TLS10, hello.TLS11):
                said = hello.say(semel.address, hello.client_hello(version, suites))
                self.assertIn(said, (("alert", hello.PROTOCOL_VERSION), ("alert", hello.HANDSHAKE_FAILURE)), hex(version))
            ssl2 = b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + b"\x01\x00\x80" * 7 + bytes(16)
            self.assertNotEqual(hello.say(semel.address, ssl2)[0], "hello")
            said = hello.say(semel.address, hello.client_hello(hello.TLS12, suites))
            self.assertEqual(said[:2], ("hello", hello.TLS12))
            self.assertIn(said[2], hello.GOOD)
            fallen = hello.client_hello(hello.TLS12, (*hello.GOOD, hello.FALLBACK_SCSV))
            self.assertEqual(hello.say(semel.address, fallen), ("alert", hello.INAPPROPRIATE_FALLBACK))

    def test_weak_suites_are_refused_one_by_one(self):
        """Each alone, so that none hides behind another; the good ones work each alone."""
        with self.secure() as semel:
            for suite in hello.GOOD:
                self.assertEqual(hello.say(semel.address, hello.client_hello(hello.TLS12, (suite,))),
                                 ("hello", hello.TLS12, suite, 0), hex(suite))
            for kind, suites in hello.WEAK.items():
                for suite in suites:
                    self.assertEqual(hello.say(semel.address, hello.client_hello(hello.TLS12, (suite,))),
                                     ("alert", hello.HANDSHAKE_FAILURE), (kind, hex(suite)))

    def test_keys_are_agreed_on_three_groups_only(self):
        """Each alone: X25519, P-256 and P-384 work, and nothing else does."""
        with self.secure() as semel:
            for group, name in hello.GROUPS.items():
                said = hello.say(semel.address, hello.client_hello(hello.TLS12, hello.GOOD, groups=(group, 0x0017)))
                self.assertEqual(said[:2], ("hello", hello.TLS12), name)  # with P-256, which the certificate is on
                self.assertEqual(self.agreed_on(semel, name), name)
            for group, name in hello.OTHER_GROUPS.items():
                said = hello.say(semel.address, hello.client_hello(hello.TLS12, hello.GOOD, groups=(group,)))
                self.assertEqual(said, ("alert", hello.HANDSHAKE_FAILURE), name)
            for name in ("P-521", "X448"):
                self.assertIsNone(self.agreed_on(semel, name))

    def agreed_on(self, semel, group):
        """The group of a handshake of TLS 1.3 in which the client offers only this one, by its own account."""
        said = subprocess.run(["openssl", "s_client", "-connect", "%s:%d" % semel.address, "-groups", group, "-tls1_3", "-CAfile",
                               self.authority.path], input=b"", capture_output=True, timeout=20, check=False)
        found = re.search(r"Server Temp Key: (?:ECDH, )?(\S+?),", said.stdout.decode(errors="replace"))
        return {"prime256v1": "P-256", "secp384r1": "P-384"}.get(found[1], found[1]) if found else None

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl program")
    def test_no_status_is_stapled(self):
        """OCSP stapling is not supported: a client that asks for it is served without."""
        with self.secure() as semel:
            said = subprocess.run(["openssl", "s_client", "-connect", "%s:%d" % semel.address, "-status", "-CAfile",
                                   self.authority.path], input="", capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("OCSP response: no response sent", said.stdout)

    def test_http_1_1_is_agreed_on(self):
        """By ALPN, whatever else is offered; a client that offers only others is told so."""
        with self.secure() as semel:
            for offered, chosen in ((["h2", "http/1.1"], "http/1.1"), (["http/1.1"], "http/1.1"), ([], None)):
                context = tls.trusting(self.authority)
                context.set_alpn_protocols(offered)
                with tls.SecureWire(semel.address, context) as client:
                    self.assertEqual(client.sock.selected_alpn_protocol(), chosen)
            for offered in (["h2"], ["http/1.0", "h2c"]):
                context = tls.trusting(self.authority)
                context.set_alpn_protocols(offered)
                with self.assertRaisesRegex(ssl.SSLError, "(?i)no.application.protocol"):
                    tls.SecureWire(semel.address, context)

    def test_nothing_is_compressed(self):
        """A client that would like to is answered without."""
        with self.secure() as semel:
            said = hello.say(semel.address, hello.client_hello(hello.TLS12, hello.GOOD, compressions=(1, 0)))
            self.assertEqual((said[0], said[3]), ("hello", 0))

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl program")
    def test_a_client_cannot_renegotiate(self):
        """It is told that there is no renegotiation, and others are served meanwhile."""
        self.answer_all()
        with self.secure() as semel:
            client = subprocess.Popen(["openssl", "s_client", "-connect", "%s:%d" % semel.address, "-tls1_2", "-CAfile",
                                       self.authority.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
            self.addCleanup(client.kill)
            time.sleep(0.5)
            client.stdin.write(b"R\n")
            client.stdin.flush()
            time.sleep(0.5)
            said = client.communicate(timeout=20)[0].decode(errors="replace")
            self.assertIn("RENEGOTIATING", said)
            self.assertIn("no renegotiation", said.lower())
            with self.client(semel) as other:
                self.assertEqual(other.ask("GET", "/v1/x").status, 200)

    def test_any_name_gets_the_one_certificate(self):
        """No SNI, the right one, another, an address: the same certificate, for the client to judge."""
        with self.secure() as semel:
            seen = set()
            for name in (None, "localhost", "elsewhere.example", "127.0.0.1"):
                context = ssl.create_default_context(cafile=self.authority.path)
                context.check_hostname = False
                with wire.Wire(semel.address) as plain:
                    with context.wrap_socket(plain.sock, server_hostname=name) as secured:
                        seen.add(secured.getpeercert(binary_form=True))
                        self.assertIn(secured.version(), ("TLSv1.3", "TLSv1.2"))
                        self.assertIsNone(secured.compression())
            self.assertEqual(len(seen), 1)

    def test_the_whole_chain_is_sent(self):
        """A client that knows only the root is satisfied if the file has what stands between; without it, it is not."""
        self.answer_all()
        middle = self.authority.authorise("middle")
        cert, key = middle.sign("behind-middle", "/CN=localhost")
        chain = pathlib.Path(self.folder.name) / "chain.pem"
        chain.write_bytes(cert.read_bytes() + middle.path.read_bytes())
        with self.secure(cert=chain, key=key) as semel, self.client(semel) as client:
            self.assertEqual(client.ask("GET", "/v1/x").status, 200)
            done = subprocess.run(["curl", "-sS", "--cacert", str(self.authority.path), "-o", "/dev/null", "-w",
                                   "%{ssl_verify_result} %{http_code}", "https://localhost:%d/v1/x" % semel.address[1]],
                                  capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(done.stdout, "0 200", done.stderr)
        with self.secure(cert=cert, key=key) as semel:
            with self.assertRaises(ssl.SSLCertVerificationError):
                self.client(semel)


class Offered(harness.Case):
    """What the gateway says to an https:// upstream, in its first message."""

    def test_an_upstream_is_offered_nothing_weak(self):
        """TLS 1.2 and 1.3, strong suites and the three groups; no compression, and no protocol is asked for."""
        heard = queue.Queue()
        listener = server.Server(lambda connection: heard.put(hello.read_client_hello(connection.reader)))
        self.addCleanup(listener.close)
        config = harness.CONFIG.replace("http://$upstream", "https://$upstream") + harness.ROUTE
        with self.gateway(config, upstream="%s:%d" % listener.address) as semel:
            self.assert_problem(semel.ask("POST", "/v1/x", harness.keyed("k1")), 502, "upstream-unreachable")
        offer = heard.get(timeout=10)
        self.assertEqual(set(offer["versions"]), {hello.TLS12, hello.TLS13})
        self.assertEqual(set(offer["suites"]) - {hello.NO_RENEGOTIATION},
                         {*hello.GOOD, *hello.GOOD_RSA, *hello.OF_TLS13})
        self.assertEqual(set(offer["groups"]), set(hello.GROUPS))
        self.assertEqual(offer["compressions"], [0])
        self.assertNotIn(hello.ALPN, offer["extensions"])


if __name__ == "__main__":
    harness.run()
