#!/usr/bin/env python3
"""The story of examples/payouts: a webhook, a fee and its receipt in one transaction, and the audit; with the naive service beside
it. payouts.py --binary SEMEL"""
import json
import pathlib
import re

import harness
import postgres_server
import programs
import wire

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "payouts"
EVENT = '{"id":"evt_1","type":"payout.paid","data":{"object":{"id":"po_1","amount":10000}}}'
FEE = {"payout": "po_1", "fee": 50}
TOKEN = "only-an-example"


class Payouts(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = postgres_server.Server(cls.binary)
        cls.databases = 0

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        type(self).databases += 1
        self.name = f"payouts_{self.databases}"
        self.server.run(f"CREATE DATABASE {self.name}")
        schema = (FOLDER / "schema.sql").read_text(encoding="utf-8")
        if self.databases > 1:  # roles are of the whole server
            schema = re.sub(r"^CREATE ROLE .*$", "", schema, flags=re.M)
        self.server.run(schema, self.name)
        done = self.run_semel("migrate", "--outbox", "--url", self.server.url_of(self.name), "--writer", "payouts_app",
                              "--mover", "payouts_mover")
        self.assertEqual(done.returncode, 0, done)
        self.outside = self.program("outside.mjs", [])
        self.service = None

    def program(self, name, words, **environment):
        made = programs.Printing("node", FOLDER / name, *words, environment={"PORT": str(programs.free_port()), **environment})
        self.addCleanup(made.close)
        return made.start()

    def serve(self, *words):
        """Starts the service, on one way or the other."""
        self.service = self.program("server.mjs", words, PAYOUTS_DATABASE=self.url_of("payouts_app"),
                                    RECEIPTS="http://%s:%d/receipts" % self.outside.address)

    def url_of(self, role):
        return self.server.url_of(self.name).replace("user=postgres", f"user={role}")

    def semel(self, *words):
        """The gateway of the example, on free ports, with the service."""
        self.serve(*words)
        config = (FOLDER / "semel.toml").read_text(encoding="utf-8").replace("$1", "$$1").replace("$2", "$$2")
        for old, new in (("127.0.0.1:8080", "$listen"), ("127.0.0.1:9080", "$admin"), ("./semel-data", "$data"),
                         ("127.0.0.1:3000", "%s:%d" % self.service.address), ("127.0.0.1:3001", "%s:%d" % self.outside.address)):
            self.assertIn(old, config)
            config = config.replace(old, new)
        return self.gateway(config, environment={
            "STRIPE_SECRET": "whsec_test", "SEMEL_ADMIN_TOKEN": TOKEN, "PAYOUTS_MOVER_DATABASE": self.url_of("payouts_mover"),
            "PAYOUTS_AUDITOR_DATABASE": self.url_of("payouts_auditor")}).start()

    def ten_at_once(self, address, path):
        """How often each status came."""
        done = self.run_semel("sign", "stripe", "--secret", "whsec_test", "--body", EVENT, "--send", "--url",
                              "http://%s:%d%s" % (*address, path), "--times", 10, "--parallel", 10)
        return {status: int(count) for count, status in re.findall(r"(\d+) x (\S+)", done.stdout)}

    def fees(self):
        return json.loads(wire.ask(self.service.address, "GET", "/").body)

    def taken(self, path):
        """What the world outside was sent there."""
        return [each for each in json.loads(wire.ask(self.outside.address, "GET", "/").body) if each["path"] == path]

    def states(self, semel, destination="payouts"):
        """How many deliveries to it are in which state."""
        text = wire.ask(semel.admin, "GET", "/metrics", [("Authorization", f"Bearer {TOKEN}")]).body.decode()
        found = re.findall(r'^semel_inbox_deliveries\{.*destination="%s".*state="(\w+)"\} (\d+)$' % destination, text, re.M)
        return {state: int(count) for state, count in found if count != "0"}

    def audit(self, semel, *words):
        return self.run_semel("audit", *words, "--admin", "http://%s:%d" % semel.admin, "--token", TOKEN)

    def eventually(self, condition, seconds=60):
        self.assertTrue(wire.eventually(condition, seconds, 0.05))

    def test_without_semel_it_charges_ten_times(self):
        """So that the next tests mean something."""
        self.serve()
        self.assertEqual(self.ten_at_once(self.service.address, "/"), {"200": 10})
        self.assertEqual(self.fees(), [FEE] * 10)

    def test_one_fee_one_receipt_and_a_clean_audit(self):
        """Ten signed deliveries at once, then ten more: 200 for each, one fee of 50 on 10,000, one receipt, and nothing found."""
        semel = self.semel()
        self.assertEqual(self.ten_at_once(semel.address, "/webhooks/stripe"), {"200": 10})
        self.assertEqual(self.ten_at_once(semel.address, "/webhooks/stripe"), {"200": 10})
        self.eventually(lambda: self.states(semel) == {"done": 1} and self.states(semel, "receipts") == {"done": 1})
        self.assertEqual(self.fees(), [FEE])
        receipt, = self.taken("/receipts")
        self.assertEqual(receipt["body"], FEE)
        self.assertRegex(receipt["key"], "^[0-9a-f]{64}$")
        done = self.audit(semel, "run", "fees")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("1 effect", done.stdout)
        self.assertEqual(self.audit(semel, "test", "fees").returncode, 0, "it would have seen a duplicate")
        self.assertEqual(self.taken("/pages"), [])

    def test_a_service_that_is_away_charges_when_it_is_back(self):
        """Stripe hears 200 while the service is down; the fee is charged once it has come back."""
        semel = self.semel()
        self.service.kill()
        self.assertEqual(self.ten_at_once(semel.address, "/webhooks/stripe"), {"200": 10})
        self.eventually(lambda: self.states(semel) == {"waiting": 1})
        self.service.start()
        self.eventually(lambda: self.states(semel) == {"done": 1})
        self.assertEqual(self.fees(), [FEE])
        self.assertEqual(self.audit(semel, "run", "fees").returncode, 0)

    def test_a_receipt_waits_for_the_world_outside(self):
        """The fee is charged once although nobody takes the receipt, which goes out once when somebody does."""
        semel = self.semel()
        self.outside.kill()
        self.assertEqual(self.ten_at_once(semel.address, "/webhooks/stripe"), {"200": 10})
        self.eventually(lambda: self.states(semel) == {"done": 1} and self.states(semel, "receipts") == {"waiting": 1})
        self.outside.start()
        self.eventually(lambda: self.states(semel, "receipts") == {"done": 1})
        self.assertEqual((self.fees(), [each["body"] for each in self.taken("/receipts")]), ([FEE], [FEE]))
        self.assertEqual(self.audit(semel, "run", "fees").returncode, 0)

    def test_the_audit_finds_the_double_fee_of_the_naive_service(self):
        """The receipt is not taken, so the service asks for the announcement again, and charges again. There is one finding. It is
        paged once, and once more when there is one more fee, however often the audit looks."""
        semel = self.semel("--naive")
        self.outside.kill()
        self.assertEqual(self.ten_at_once(semel.address, "/webhooks/stripe"), {"200": 10})
        self.eventually(lambda: len(self.fees()) >= 2)
        for _ in range(2):
            done = self.audit(semel, "run", "fees")
            self.assertEqual(done.returncode, 1, done)
        self.outside.start()
        self.eventually(lambda: self.states(semel) == {"done": 1})
        fees = len(self.fees())
        self.assertEqual(len(self.taken("/receipts")), 1, "the last attempt")
        self.eventually(lambda: self.audit(semel, "run", "fees").returncode == 1 and self.taken("/pages"))
        listed = self.audit(semel, "list", "fees")
        self.assertEqual(listed.returncode, 1, listed)
        self.assertRegex(listed.stdout, rf"fees duplicate open {fees} effect\(s\)")
        told = lambda: [page["body"]["effects"] for page in self.taken("/pages")]
        self.eventually(lambda: fees in told())
        for _ in range(3):
            self.assertEqual(self.audit(semel, "run", "fees").returncode, 1)
        self.eventually(lambda: set(self.states(semel, "oncall")) == {"done"})
        self.assertEqual(sorted(told()), sorted(set(told())), "one page for each number of fees")
        page = self.taken("/pages")[-1]["body"]
        self.assertEqual((page["audit"], page["kind"], len(page["rows"])), ("fees", "duplicate", page["effects"]))
        self.assertNotIn("evt_1", json.dumps(page), "a page holds no key in clear")


if __name__ == "__main__":
    harness.run()
