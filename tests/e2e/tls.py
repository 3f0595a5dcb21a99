#!/usr/bin/env python3
"""TLS on both sides: who is let in, whom the gateway believes, and certificates that change. --binary SEMEL"""
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import certificates
import harness
import stage as staging
import wire
from harness import CONFIG, ROUTE, keyed

TLS = CONFIG.replace("threads = 2", 'threads = 2\ntls = { cert = "$cert", key = "$key" $more }')
UPSTREAM = CONFIG.replace("http://$upstream", "https://$upstream") + "$options\n" + ROUTE
BY_SUBJECT = '\n[[route]]\npath = "/v1/*"\nupstream = "app"\nscope = "{client_cert:subject}"\n'


def trusting(authority, cert=None, key=None):
    """What a client of the gateway uses."""
    context = ssl.create_default_context(cafile=authority.path)
    if cert is not None:
        context.load_cert_chain(cert, key)
    return context


class SecureWire(wire.Wire):
    """A client's connection with TLS; `name` is whom it expects."""

    def __init__(self, address, context, name="localhost"):
        super().__init__(address)
        self.sock = context.wrap_socket(self.sock, server_hostname=name)
        self.reader = wire.Reader(self.sock)


class Case(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="semel-tls-")
        cls.authority = certificates.Authority(cls.folder.name)
        cls.stranger = certificates.Authority(cls.folder.name, "stranger")
        cls.cert, cls.key = cls.authority.sign("server", "/CN=localhost")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def secure(self, config=TLS + ROUTE, more="", **values):
        return self.gateway(config, **{"cert": self.cert, "key": self.key, "more": more, **values})

    def client(self, semel, **more):
        return SecureWire(semel.address, trusting(self.authority, **more))


class Listener(Case):
    def test_requests_and_replays_go_through(self):
        """A first request, a replay and one that passes, on one connection; the upstream hears of https."""
        self.answer_all(status=201, body=lambda arrival: arrival.message.get("X-Forwarded-Proto").encode())
        with self.secure() as semel, self.client(semel) as client:
            first = client.ask("POST", "/v1/x", keyed("k1"), b"{}")
            again = client.ask("POST", "/v1/x", keyed("k1"), b"{}")
            passed = client.ask("GET", "/v1/x")
            self.assertEqual((first.status, first.body), (201, b"https"))
            self.assertEqual((again.body, again.get("Idempotent-Replayed")), (b"https", "true"))
            self.assertEqual(passed.body, b"https")
        self.assertEqual(self.stage.count(), 2)

    def test_large_bodies_stream_both_ways(self):
        """8 MiB up and 8 MiB down at the same time, byte for byte."""
        data = bytes(range(256)) * 4096 * 8
        def echo():
            arrival = self.stage.next(seconds=20)
            arrival.answer(200, body=arrival.read_body().body)
        threading.Thread(target=echo, daemon=True).start()
        with self.secure() as semel, self.client(semel) as client:
            reply = client.ask("PUT", "/v1/blob", (), data)
            self.assertEqual(reply.status, 200)
            self.assertTrue(reply.body == data)

    def test_curl_is_served(self):
        """An ordinary client, verifying, negotiates HTTP/1.1."""
        self.answer_all(status=200, body=lambda arrival: b"hello")
        with self.secure() as semel:
            url = "https://localhost:%d/v1/x" % semel.address[1]
            said = subprocess.run(["curl", "-sS", "--cacert", self.authority.path, "--resolve",
                                   "localhost:%d:127.0.0.1" % semel.address[1], "-w", " %{http_version} %{http_code}", url],
                                  capture_output=True, timeout=20, check=False)
            self.assertEqual(said.stdout, b"hello 1.1 200", said.stderr)

    def offered(self, semel, *arguments):
        """What `openssl s_client` reports, and whether the handshake worked."""
        said = subprocess.run(["openssl", "s_client", "-connect", "%s:%d" % semel.address, "-CAfile",
                               self.authority.path, *arguments], input=b"", capture_output=True, timeout=20, check=False)
        return said.returncode == 0, (said.stdout + said.stderr).decode(errors="replace")

    def test_only_strong_versions_and_suites_are_spoken(self):
        """TLS 1.2 and 1.3 work; 1.1, suites without forward secrecy or with CBC, and unknown protocols do not."""
        with self.secure() as semel:
            for good in (["-tls1_3"], ["-tls1_2"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"],
                         ["-alpn", "h2,http/1.1"]):
                worked, text = self.offered(semel, *good)
                self.assertTrue(worked, (good, text))
            for bad in (["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], ["-tls1_2", "-cipher", "AES128-GCM-SHA256"],
                        ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"], ["-alpn", "h2"]):
                worked, text = self.offered(semel, *bad)
                self.assertFalse(worked, (bad, text))
            _, text = self.offered(semel, "-tls1_2")
            self.assertIn("Secure Renegotiation IS supported", text)
            self.assertIn("Compression: NONE", text)

    def test_plain_http_gets_no_answer(self):
        """Who does not speak TLS is closed on, and others are served."""
        self.answer_all()
        with self.secure() as semel:
            plain = semel.connect()
            plain.send(b"GET /v1/x HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertNotIn(b"HTTP", plain.wait_closed())
            with self.client(semel) as client:
                self.assertEqual(client.ask("GET", "/v1/x").status, 200)

    def test_a_handshake_that_never_ends_is_cut(self):
        """A client that connects and says nothing is closed after header_timeout."""
        config = TLS + '\n[limits]\nheader_timeout = "1s"\n' + ROUTE
        with self.secure(config) as semel:
            silent = semel.connect()
            started = time.monotonic()
            silent.wait_closed()
            self.assertLess(time.monotonic() - started, 5)

    def test_one_connection_too_many_is_closed_before_the_handshake(self):
        """Nothing is said to it, in clear or otherwise; when another leaves there is room again."""
        for limit in ("connections", "connections_per_ip"):
            with self.secure(TLS + f"\n[limits]\n{limit} = 2\n" + ROUTE) as semel:
                self.answer_all()
                kept = [self.client(semel) for _ in range(2)]
                for client in kept:
                    self.addCleanup(client.close)
                    self.assertEqual(client.ask("GET", "/v1/x").status, 200)
                with semel.connect() as refused:
                    self.assertEqual(refused.wait_closed(), b"")
                kept.pop().close()
                self.assertTrue(wire.eventually(lambda: self.served(semel)), limit)

    def served(self, semel):
        try:
            with self.client(semel) as client:
                return client.ask("GET", "/v1/x").status == 200
        except (ssl.SSLError, OSError, wire.Closed):
            return False

    def test_a_cut_answer_is_not_a_proper_end(self):
        """The upstream dies in the middle of a body without a length: the client must not take it for whole."""
        def half():
            arrival = self.stage.next(seconds=20)
            arrival.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            arrival.reset()
        threading.Thread(target=half, daemon=True).start()
        with self.secure() as semel, self.client(semel) as client:
            client.request("GET", "/v1/x")
            with self.assertRaises((wire.Cut, ssl.SSLError)):
                client.reply("GET")

    def test_certificates_are_read_again_on_sighup(self):
        """New connections get the new certificate, an open one goes on, and a broken file changes nothing."""
        self.answer_all()
        cert, key = (shutil.copy(file, f"{self.folder.name}/live-{file.name}") for file in (self.cert, self.key))
        with self.secure(cert=cert, key=key) as semel, self.client(semel) as old:
            before = old.sock.getpeercert()["serialNumber"]
            fresh_cert, fresh_key = self.authority.sign("fresh", "/CN=localhost")
            shutil.copy(fresh_cert, cert)
            shutil.copy(fresh_key, key)
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: "semel: reloaded" in semel.stderr()))
            def serial():
                with self.client(semel) as client:
                    return client.sock.getpeercert()["serialNumber"]
            self.assertTrue(wire.eventually(lambda: serial() != before))
            self.assertEqual(old.ask("GET", "/v1/x").status, 200)
            after = serial()
            pathlib.Path(cert).write_text("not a certificate", encoding="ascii")
            semel.signal(signal.SIGHUP)
            self.assertTrue(wire.eventually(lambda: "not reloaded: " in semel.stderr()))
            self.assertRegex(semel.stderr(), r"error: server\.tls\.cert: .* holds")
            self.assertEqual(serial(), after)

    def resumed(self, semel, context, session):
        """Whether the gateway takes up this session again, and the session that it leaves."""
        with wire.Wire(semel.address) as plain:
            sock = context.wrap_socket(plain.sock, server_hostname="localhost", session=session)
            sock.sendall(b"GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 200"))  # tickets of TLS 1.3 come with it
            reused, session = sock.session_reused, sock.session
            sock.close()
            return reused, session

    def test_sessions_are_resumed_by_tickets_only(self):
        """There is no cache for those without a ticket, and the keys of tickets go when certificates are read again."""
        for _ in range(3):
            self.answer_all()
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.secure() as semel:
                context = trusting(self.authority)
                context.maximum_version = context.minimum_version = version
                _, session = self.resumed(semel, context, None)
                self.assertTrue(self.resumed(semel, context, session)[0], version)
                semel.signal(signal.SIGHUP)
                self.assertTrue(wire.eventually(lambda: "semel: reloaded" in semel.stderr()))
                self.assertTrue(wire.eventually(lambda: not self.resumed(semel, context, session)[0]), version)
        with self.secure() as semel:
            context = trusting(self.authority)
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.options |= ssl.OP_NO_TICKET
            _, session = self.resumed(semel, context, None)
            self.assertFalse(self.resumed(semel, context, session)[0])

    def test_a_file_that_is_missing_stops_the_start(self):
        """The message names the option and the file; `semel check` says the same."""
        semel = self.secure(cert="/no/such.pem").spawn()
        self.assertEqual(semel.wait(), 1)
        self.assertRegex(semel.stderr(), r"semel\.toml:\d+:\d+: error: server\.tls\.cert: /no/such\.pem cannot be read: No such file")
        semel.spawn("check", str(semel.config_path))
        self.assertEqual(semel.wait(), 1)

    def test_what_is_wrong_with_a_file_is_said_in_words(self):
        """At the place that names it: another kind of file, a key of another certificate, one with a passphrase, an old one."""
        folder = self.authority.folder
        other, other_key = self.authority.sign("other", "/CN=other")
        old, old_key = self.authority.sign("old", "/CN=old", days=-1)
        (folder / "empty.pem").touch()
        subprocess.run(["openssl", "pkcs8", "-topk8", "-in", other_key, "-out", folder / "locked.key", "-passout", "pass:x"],
                       check=True, capture_output=True)
        for files, words in (({"cert": other_key, "key": other_key}, "holds a private key, not a certificate"),
                             ({"cert": other, "key": other}, "holds a certificate, not its private key"),
                             ({"cert": other, "key": old_key}, f"is not the key of the certificate in {other}"),
                             ({"cert": other, "key": folder / "locked.key"}, "holds a key with a passphrase"),
                             ({"cert": folder / "empty.pem", "key": other_key}, "is empty")):
            semel = self.secure(**files)
            done = self.run_semel("check", semel.config_path)
            self.assertEqual(done.returncode, 1, words)
            self.assertRegex(done.stderr, rf"semel\.toml:\d+:\d+: error: server\.tls\.(cert|key): .*{re.escape(words)}")
        done = self.run_semel("check", self.secure(cert=old, key=old_key).config_path)
        self.assertRegex(done.stderr, r"semel\.toml:\d+:\d+: warning: server\.tls\.cert: .* has expired, .*\(subject CN=old, issuer CN=ca")
        done = self.run_semel("check", self.secure(cert=other, key=other_key).config_path)
        self.assertRegex(done.stderr, r"warning: server\.tls\.cert: .* expires in 1 days \(subject CN=other.*until \d{4}-\d\d-\d\d\)")
        self.assertRegex(done.stdout, r"TLS with the certificate of subject CN=other, issuer CN=ca, until \d{4}-")

    def test_names_of_files_go_by_the_folder_of_the_configuration(self):
        """Wherever the program is started."""
        semel = self.secure()
        (semel.folder / "near.pem").write_bytes(pathlib.Path(self.cert).read_bytes())
        (semel.folder / "near.key").write_bytes(pathlib.Path(self.key).read_bytes())
        text = semel.config_path.read_text(encoding="utf-8")
        semel.config_path.write_text(text.replace(str(self.cert), "near.pem").replace(str(self.key), "near.key"), encoding="utf-8")
        done = self.run_semel("check", semel.config_path, cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)


class ClientCertificates(Case):
    def test_only_clients_with_a_certificate_are_let_in(self):
        """Signed by our authority: served. None, or a stranger's: not one request goes through."""
        self.answer_all()
        good = self.authority.sign("alice", "/O=Example/CN=alice")
        bad = self.stranger.sign("mallory", "/O=Example/CN=alice")
        with self.secure(more=f', client_ca = "{self.authority.path}"') as semel:
            with self.client(semel, cert=good[0], key=good[1]) as client:
                self.assertEqual(client.ask("GET", "/v1/x").status, 200)
            for pair in ({}, {"cert": bad[0], "key": bad[1]}):
                with self.assertRaises((ssl.SSLError, wire.Closed, ConnectionError)):
                    with self.client(semel, **pair) as client:
                        client.ask("GET", "/v1/x")
            self.assertEqual(semel.metrics()[1]["semel_tls_handshake_failures_total"], 2)
        self.assertEqual(self.stage.count(), 1)

    def test_the_subject_can_be_the_scope(self):
        """Two clients use one key: each has its own answer. Without a certificate there is no scope."""
        self.answer_all(body=lambda arrival: arrival.message.get("X-Who").encode())
        pairs = {name: self.authority.sign(name, f"/O=Example/CN={name}") for name in ("anna", "bert")}
        more = f', client_ca = "{self.authority.path}", client_cert = "optional"'
        with self.secure(TLS + BY_SUBJECT, more=more) as semel:
            for _ in range(2):
                for name, (cert, key) in pairs.items():
                    with self.client(semel, cert=cert, key=key) as client:
                        reply = client.ask("POST", "/v1/x", [("Idempotency-Key", "k1"), ("X-Who", name)])
                        self.assertEqual((reply.status, reply.body), (200, name.encode()))
            with self.client(semel) as client:
                self.assert_problem(client.ask("POST", "/v1/x", [("Idempotency-Key", "k1")]), 401, "scope-missing")
        self.assertEqual(self.stage.count(), 2)

    def test_a_subject_belongs_to_its_authority(self):
        """Two authorities have certified the same name: neither client gets the other's answer."""
        self.answer_all(body=lambda arrival: arrival.message.get("X-Who").encode())
        other = certificates.Authority(self.authority.folder, "other-ca")
        both = pathlib.Path(self.authority.folder) / "both.pem"
        both.write_bytes(pathlib.Path(self.authority.path).read_bytes() + pathlib.Path(other.path).read_bytes())
        pairs = [authority.sign(name, "/O=Example/CN=alice")
                 for name, authority in (("alice-1", self.authority), ("alice-2", other))]
        with self.secure(TLS + BY_SUBJECT, more=f', client_ca = "{both}"') as semel:
            for who, (cert, key) in zip(("one", "two"), pairs):
                with self.client(semel, cert=cert, key=key) as client:
                    reply = client.ask("POST", "/v1/x", [("Idempotency-Key", "k1"), ("X-Who", who)])
                    self.assertEqual((reply.status, reply.body), (200, who.encode()))
        self.assertEqual(self.stage.count(), 2)


class Upstream(Case):
    """The stage speaks TLS; the gateway is the client."""

    def stand(self, cert, key, name_seen=None, client_ca=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        if name_seen is not None:
            context.sni_callback = lambda sock, name, ctx: name_seen.append(name)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        self.stage.close()
        self.stage = staging.Stage(wrap=lambda sock: context.wrap_socket(sock, server_side=True))
        self.addCleanup(self.stage.close)

    def guarded(self, options="", host="127.0.0.1"):
        return self.gateway(UPSTREAM, upstream="%s:%d" % (host, self.stage.address[1]), options=options)

    def test_an_upstream_that_is_known_is_used_and_kept(self):
        """Verified by `ca`; requests share one connection although tickets arrive on it; the name is told (SNI)."""
        names = []
        self.stand(self.cert, self.key, names)
        self.answer_all(body=lambda arrival: b"%d" % arrival.serial)
        with self.guarded(f'ca = "{self.authority.path}"\n', "localhost") as semel, semel.connect() as client:
            replies = [client.ask("POST", "/v1/x", keyed(f"k{i}"), b"{}") for i in range(4)]
            self.assertEqual({(reply.status, reply.body) for reply in replies}, {(200, replies[0].body)})
        self.assertEqual(set(names), {"localhost"})

    def test_an_upstream_that_the_machine_trusts_is_used(self):
        """Without `ca` the machine's authorities count; with it only those that it names."""
        self.stand(self.cert, self.key)
        self.answer_all()
        for options, status in (("", 200), (f'ca = "{self.stranger.path}"\n', 502)):
            semel = self.guarded(options)
            semel.environment["SSL_CERT_FILE"] = str(self.authority.path)
            with semel:
                self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, status)
        self.assertEqual(self.stage.count(), 1)

    def refused(self, options="", host="127.0.0.1", why=""):
        """Nothing goes up; the caller is not told why, but the log and /readyz know."""
        with self.guarded(options, host) as semel:
            reply = semel.ask("POST", "/v1/x", keyed("k1"))
            self.assert_problem(reply, 502, "upstream-unreachable")
            self.assertNotIn(b"certificate", reply.body)
            self.assertTrue(wire.eventually(lambda: why in semel.stdout()), semel.stdout())
            ready = wire.ask(semel.admin, "GET", "/readyz")
            self.assertEqual(ready.status, 503)
            self.assertIn(why.encode(), ready.body)
        self.assertEqual(self.stage.count(), 0)

    def test_an_upstream_that_is_not_known_gets_nothing(self):
        """Signed by nobody we trust: 502, nothing was sent, the key is free."""
        self.stand(self.cert, self.key)
        self.refused(why="its certificate is refused: unable to get local issuer certificate (subject CN=")

    def test_a_common_name_is_no_host(self):
        """The right authority and the right name, but only as a common name: browsers refuse that, too."""
        cert, key = self.authority.sign("common", "/CN=localhost", alt="DNS:elsewhere.test")
        self.stand(cert, key)
        self.refused(f'ca = "{self.authority.path}"\n', host="localhost", why="hostname mismatch")
        bare = self.authority.sign_without_names("bare", "/CN=localhost")
        self.stand(*bare)
        self.refused(f'ca = "{self.authority.path}"\n', host="localhost", why="hostname mismatch")

    def test_a_certificate_for_another_name_is_refused(self):
        """The right authority, but not the host that was asked for."""
        cert, key = self.authority.sign("elsewhere", "/CN=elsewhere", alt="DNS:elsewhere.test")
        self.stand(cert, key)
        self.refused(f'ca = "{self.authority.path}"\n', why="IP address mismatch")
        self.refused(f'ca = "{self.authority.path}"\n', "localhost", why="hostname mismatch")

    def test_a_plain_upstream_behind_https_gets_nothing(self):
        """It answers no handshake, so no request goes to it."""
        self.refused(f'ca = "{self.authority.path}"\nconnect_timeout = "1s"\n')

    def test_verification_can_be_switched_off(self):
        """verify = false takes any certificate, and warns."""
        self.stand(self.cert, self.key)
        self.answer_all()
        with self.guarded("verify = false\n") as semel:
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
            self.assertIn("verify = false", semel.stderr())

    def test_we_show_our_certificate_where_it_is_asked_for(self):
        """With cert and key the upstream lets us in; without them it does not."""
        ours = self.authority.sign("gateway", "/CN=gateway")
        self.stand(self.cert, self.key, client_ca=self.authority.path)
        self.answer_all()
        with self.guarded(f'ca = "{self.authority.path}"\ncert = "{ours[0]}"\nkey = "{ours[1]}"\n') as semel:
            self.assertEqual(semel.ask("POST", "/v1/x", keyed("k1")).status, 200)
        with self.guarded(f'ca = "{self.authority.path}"\n') as semel:
            self.assertIn(semel.ask("POST", "/v1/x", keyed("k2")).status, (502,))
        self.assertEqual(self.stage.count(), 1)

    def test_a_body_without_a_length_is_cut_unless_its_end_is_said(self):
        """Closing the socket without TLS's own end could be anybody's doing: the answer is not taken for whole."""
        self.stand(self.cert, self.key)
        def cut():
            arrival = self.stage.next(seconds=20)
            arrival.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it")
            socket.socket(fileno=arrival.sock.detach()).close()
            arrival.end(keep=False)
        threading.Thread(target=cut, daemon=True).start()
        with self.guarded(f'ca = "{self.authority.path}"\n') as semel:
            self.assert_problem(semel.ask("POST", "/v1/x", keyed("k1")), 502, "outcome-unknown")


if __name__ == "__main__":
    if shutil.which("openssl") is None or shutil.which("curl") is None:
        raise unittest.SkipTest("openssl and curl are needed")
    harness.run()
