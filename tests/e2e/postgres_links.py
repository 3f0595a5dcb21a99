#!/usr/bin/env python3
"""A gateway whose way to PostgreSQL is slow or breaks, and one whose clock is wrong. --binary SEMEL --build FOLDER"""
import json
import pathlib
import socket
import time

import harness
import postgres_server
import server
import signers
import wire
from harness import keyed

ROUTE = """
[[route]]
path = "/v1/*"
upstream = "app"
lease = "8s"
"""
WEBHOOK = """
[[webhook]]
path = "/hubspot"
provider = "hubspot"
secrets = ["new-secret"]
upstream = "app"
"""
PUBLIC = 'public_url = "https://hooks.example.com"\n[admin]'
OFFSET_S = -30
CLAIM = b"claim"  # is in the name of the function, and of the prepared statement


class Link(server.Server):
    """The way to the server, which may be slow or broken."""

    def __init__(self, path):
        self.path = path
        self.delay_s = 0.0
        self.broken = False
        self.doomed = False  # the answer to the next claim is dropped, and the link is broken from then on
        super().__init__(self.relay)

    @property
    def url(self):
        return "postgres://postgres@%s:%d/postgres?sslmode=disable" % self.address

    def relay(self, connection):
        if self.broken:
            return
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(self.path)
            while not self.broken:
                if wire.readable(connection.sock, 0.001) and not self.carry(connection.sock, other):
                    return
                if wire.readable(other, 0.001):
                    time.sleep(self.delay_s)
                    if not self.carry(other, connection.sock):
                        return

    def carry(self, source, sink):
        data = source.recv(1 << 20)
        if self.broken or not data:
            return False
        sink.sendall(data)
        if self.doomed and sink.family == socket.AF_UNIX and CLAIM in data:
            self.doomed = False
            time.sleep(0.2)  # for the server: it commits, and nobody hears of it
            self.broken = True
        return True


class Links(harness.Case):
    build = None

    @classmethod
    def setUpClass(cls):
        cls.server = postgres_server.Server(cls.binary)
        cls.addClassCleanup(cls.server.close)

    def link(self):
        link = Link(str(self.server.sockets / ".s.PGSQL.5432"))
        self.addCleanup(link.close)
        return link

    def test_a_claim_whose_answer_was_lost_does_not_hold_its_key(self):
        """Nothing was sent, and the process knows it: when the store is back, the key is free, long before its ttl."""
        link = self.link()
        semel = self.gateway(harness.CONFIG + ROUTE, store=link.url).start()
        self.answer_all()
        self.assertEqual(semel.ask("POST", "/v1/pay", keyed("before"), b"{}").status, 200)
        link.doomed = True
        self.assert_problem(semel.ask("POST", "/v1/pay", keyed("lost"), b"{}"), 503, "store-unavailable")
        self.assertEqual(self.server.run("SELECT count(*) FROM semel.keys WHERE state = 'running'"), "1", "nothing was claimed")
        time.sleep(0.5)
        link.broken = False

        def runs():
            return semel.ask("POST", "/v1/pay", keyed("lost"), b"{}").status == 200

        self.assertTrue(wire.eventually(runs, 20, 0.3), "the key is held although nothing was sent")
        self.assertEqual(self.stage.count(), 2)

    def test_many_events_of_a_delivery_on_a_slow_link(self):
        """They are claimed together: one wait for all of them, not one for each."""
        link = self.link()
        semel = self.gateway(harness.CONFIG.replace("[admin]", PUBLIC) + WEBHOOK, store=link.url).start()
        self.answer_all()
        body = json.dumps([{"eventId": number, "subscriptionType": "contact.creation", "portalId": 7, "subscriptionId": 1,
                            "objectId": number, "occurredAt": 1} for number in range(900)]).encode()
        link.delay_s = 0.006
        fields = signers.hubspot(b"new-secret", body, int(time.time()))
        reply = semel.ask("POST", "/hubspot", [("Content-Type", "application/json"), *fields], body, seconds=60)
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(self.stage.count(), 1)

    def test_an_answer_expires_by_the_clock_of_the_store(self):
        """A gateway whose clock is behind does not give it a moment longer, however hot it is."""
        library = pathlib.Path(self.build) / "tests" / "proof" / "libwall_clock.so"
        if not library.exists():
            self.skipTest(f"{library} has not been built")
        semel = self.gateway(harness.CONFIG + ROUTE.replace("8s", "1s") + 'ttl = "2s"\n', store=self.server.url)
        offset = semel.folder / "offset"
        offset.write_text(str(OFFSET_S), encoding="ascii")
        semel.environment.update({"LD_PRELOAD": str(library), "SEMEL_WALL_CLOCK": str(offset)})
        semel.start()
        self.answer_all()
        claimed = time.monotonic()
        self.assertEqual(semel.ask("POST", "/v1/pay", keyed("hot"), b"{}").status, 200)
        for _ in range(12):  # until each of its threads has it in memory
            again = semel.ask("POST", "/v1/pay", keyed("hot"), b"{}")
            self.assertEqual(again.get("Idempotent-Replayed"), "true")
        time.sleep(max(0.0, claimed + 2.6 - time.monotonic()))
        late = semel.ask("POST", "/v1/pay", keyed("hot"), b"{}")
        self.assertIsNone(late.get("Idempotent-Replayed"))
        self.assertEqual(self.stage.count(), 2)


def build_in(folder):
    Links.build = folder


if __name__ == "__main__":
    harness.run(build=build_in)
