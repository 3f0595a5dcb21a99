#!/usr/bin/env python3
"""What the command line says to those who mistype it. --binary SEMEL"""
import os

import harness


class CommandLine(harness.Case):
    def said(self, *words):
        done = self.run_semel(*words, seconds=20)
        return done.returncode, done.stdout, done.stderr

    def test_the_version_is_told_either_way(self):
        """As a command, and as the option that everybody tries first."""
        code, said, _ = self.said("--version")
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^semel \d+\.\d+\.\d+ \(.+\)\n$")
        self.assertEqual(self.said("version"), (0, said, ""))

    def test_a_mistyped_command_is_named(self):
        """The nearest one is offered where there is one; nothing is run."""
        code, _, complaint = self.said("sreve", "--config", "x.toml")
        self.assertEqual(code, 2)
        self.assertIn("there is no command 'sreve'; did you mean serve?", complaint)
        code, _, complaint = self.said("frobnicate")
        self.assertEqual(code, 2)
        self.assertIn("there is no command 'frobnicate'\n", complaint)

    def test_a_mistyped_option_is_named_before_what_is_missing(self):
        """--confg is why --config is missing."""
        code, _, complaint = self.said("serve", "--confg", "x.toml")
        self.assertEqual(code, 2)
        self.assertIn("there is no option '--confg'; did you mean --config?", complaint)
        self.assertNotIn("required", complaint)

    def test_help_explains_each_command(self):
        """As --help does, also for a command within another."""
        for words in ((), ("serve",), ("providers", "check")):
            code, explained, _ = self.said("help", *words)
            self.assertEqual(code, 0)
            self.assertEqual(explained, self.said(*words, "--help")[1])
        self.assertIn("Run the gateway", self.said("help")[1])
        self.assertEqual(self.said("help", "frobnicate")[0], 2)

    def test_what_is_missing_is_said_when_nothing_else_is_wrong(self):
        """No command at all, and a command without what it needs."""
        self.assertEqual(self.said()[0], 2)
        code, _, complaint = self.said("check")
        self.assertEqual(code, 2)
        self.assertIn("--config is required", complaint)
        code, _, complaint = self.said("serve")
        self.assertEqual(code, 2)
        self.assertIn("serve needs a configuration file, or --upstream URL", complaint)

    def test_a_pipeline_checks_without_secrets(self):
        """Secrets and certificates may be missing there; every other mistake is still one."""
        semel = self.gateway(harness.CONFIG.replace("threads = 2", 'tls = { cert = "none.pem", key = "none.key" }').replace(
            "[store]", 'token = "env:NOT_THERE"\n[store]') + harness.ROUTE)
        code, _, complaint = self.said("check", semel.config_path)
        self.assertEqual(code, 1)
        self.assertIn('the environment has no variable "NOT_THERE"', complaint)
        code, said, complaint = self.said("check", "--no-secrets", semel.config_path)
        self.assertEqual((code, complaint), (0, ""))
        self.assertIn("not looked at (--no-secrets)", said)
        semel.write_config(semel.config_path.read_text(encoding="utf-8") + 'lease = "soon"\n')
        code, _, complaint = self.said("check", "--no-secrets", "--config", semel.config_path)
        self.assertEqual(code, 1)
        self.assertIn("lease", complaint)

    def test_a_gateway_without_a_file_says_where_it_keeps_its_data(self):
        """--listen, --admin and --data are for --upstream; a file says these things itself."""
        semel = self.gateway()
        semel.command = [semel.command[0], "serve", "--upstream", "http://" + semel.values["upstream"], "--listen",
                         semel.values["listen"], "--admin", semel.values["admin"], "--data", "./kept"]
        semel.start()
        self.answer_all()
        self.assertEqual(semel.ask("POST", "/x", harness.keyed("k"), b"1").status, 200)
        self.assertEqual(semel.ask("POST", "/x", harness.keyed("k"), b"1").get("Idempotent-Replayed"), "true")
        self.assertIn(f"keys and answers are kept in {semel.folder}/kept\n", semel.said_now())
        self.assertTrue((semel.folder / "kept").is_dir())
        self.assertEqual(semel.stop(), 0)
        for words, complaint in ((("--listen", "x", "--upstream", "http://a"), "--listen: "),
                                 (("--admin", "0.0.0.0:1", "--upstream", "http://a"), "--admin: can be reached from outside"),
                                 (("--listen", ":1", "--config", "f"), "--listen requires --upstream")):
            code, _, said = self.said("serve", *words)
            self.assertEqual(code, 2, words)
            self.assertIn(complaint, said)

    def test_the_start_says_who_listens(self):
        """Without an admin listener no port of it is named."""
        semel = self.gateway(harness.CONFIG.replace("$admin", "") + harness.ROUTE).start()
        self.assertIn("listening on %s:%d, no admin listener\n" % semel.address, semel.said_now())
        self.assertEqual(semel.stop(), 0)

    def test_who_forgets_the_token_of_the_desk_is_told_where_it_goes(self):
        """The words of the listener are for programs; a person gave no token, or a wrong one."""
        semel = self.gateway(harness.CONFIG.replace("[store]", 'token = "0123456789abcdef"\n[store]') + harness.ROUTE).start()
        where = ("--admin", "http://%s:%d" % semel.admin)
        for words in ((), ("--token", "wrong")):
            code, _, complaint = self.said("keys", "list", *where, *words)
            self.assertEqual(code, 3)
            self.assertIn("give --token, SEMEL_ADMIN_TOKEN or --config FILE", complaint)
        self.assertEqual(self.said("keys", "list", *where, "--token", "0123456789abcdef")[0], 0)
        knows = {**os.environ, "SEMEL_ADMIN_TOKEN": "0123456789abcdef"}
        for command in (("keys", "list"), ("inbox", "list")):
            self.assertNotEqual(self.run_semel(*command, *where, env=knows).returncode, 3, command)
            wrong = self.run_semel(*command, *where, "--token", "wrong", env=knows)
            self.assertEqual(wrong.returncode, 3, "what is given counts, not what is usual")

    def test_what_a_store_on_redis_cannot_do_is_refused_before_the_start(self):
        """By check and by serve, in the same words."""
        route = harness.ROUTE + 'probe = "/v1/payments/{key}"\n'
        semel = self.gateway(harness.CONFIG + route + '[[resolver]]\nroute = "/v1/*"\nask = "probe"\ncertain_after = "2m"\n', store="redis://127.0.0.1:1")
        for command in ("check", "serve"):
            code, _, complaint = self.said(command, semel.config_path)
            self.assertEqual(code, 1, complaint)
            self.assertIn("[[resolver]] needs the embedded store or PostgreSQL", complaint)

    def test_serve_and_check_take_the_file_the_same_way(self):
        """As a word, and behind --config."""
        semel = self.gateway()
        for words in ((semel.config_path,), ("--config", semel.config_path), ("-c", semel.config_path)):
            self.assertEqual(self.said("check", *words)[0], 0, words)
        semel.command = [semel.command[0], "serve", str(semel.config_path)]
        semel.start()
        self.assertEqual(semel.stop(), 0)


if __name__ == "__main__":
    harness.run()
