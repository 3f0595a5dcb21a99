#!/usr/bin/env python3
"""The limits of a destination hold for all gateways together: two of them share a PostgreSQL. --binary SEMEL --build FOLDER

The handler writes down how many calls are under way. With concurrency = 1 that is exact, also when the one gateway that calls
it is killed, stopped or ended; other limits are divided by those that live.
"""
import contextlib
import sys
import threading
import time

import inbox
import operators
import postgres_server
import wire
from inbox_handler import Handler

BEAT_S = 0.3
BEAT = f'[inbox]\nnode_beat = "{int(BEAT_S * 1000)}ms"\n'


class Crowd(Handler):
    """Counts the calls that are under way."""

    def __init__(self, seconds):
        self.under_way = self.most = 0
        self.begun = []
        self.crowd = threading.Lock()
        super().__init__(lambda event, attempt: self.work(seconds))

    def work(self, seconds):
        with self.crowd:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self.begun.append(time.monotonic())
        time.sleep(seconds)
        with self.crowd:
            self.under_way -= 1
        return 200


class Shares(operators.Case):
    send, metrics, states, post = inbox.Inbox.send, inbox.Inbox.metrics, inbox.Inbox.states, inbox.Inbox.post
    assert_states = inbox.Inbox.assert_states
    server, databases = None, 0

    def start_two(self, handler, **limits):
        Shares.databases += 1
        self.name = f"shares_{Shares.databases}"
        url = self.server.prepare(self.name)
        text = inbox.INBOX.replace("concurrency = 8", "\n".join(f"{name} = {value}" for name, value in limits.items()))
        self.addCleanup(handler.close)
        nodes, self.names = [], []
        for _ in range(2):
            config = inbox.CONFIG + text % {"give_up": "1h", "more": "", "webhook": BEAT}
            semel = self.gateway(config, upstream="%s:%d" % handler.address, store=url)
            for name in ("secret", "sign"):
                (semel.folder / f"data-{name}").write_text(inbox.SECRET, encoding="utf-8")
            nodes.append(semel.start())
            self.names.append(self.newcomer(set(self.names)))
        self.assertTrue(wire.eventually(lambda: self.holders() == 2, 30))
        time.sleep(4 * BEAT_S)  # until both have learned of each other
        return nodes

    def holders(self):
        return int(self.server.run("SELECT count(*) FROM semel.inbox_holders WHERE NOT dead", self.name))

    def lead(self):
        return self.server.run("SELECT holder FROM semel.inbox_leads", self.name)

    def feed(self, nodes, count, prefix="evt"):
        def run(node, numbers):
            for number in numbers:
                self.send(node, f"{prefix}_{number}")

        threads = [threading.Thread(target=run, args=(nodes[i % len(nodes)], range(i, count, 8))) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_concurrency_is_that_of_both_together(self):
        """Each has its part, and the parts are the whole."""
        handler = Crowd(0.05)
        nodes = self.start_two(handler, concurrency=5)
        self.feed(nodes, 200)
        self.assert_states(nodes[0], done=200, seconds=90)
        self.assertLessEqual(handler.most, 5)
        self.assertGreater(handler.most, 3, "both deliver")
        self.assertEqual(handler.troubles, [])

    def test_a_rate_is_that_of_both_together(self):
        """So many begin in any second, and one second's worth more at the beginning."""
        handler = Crowd(0)
        nodes = self.start_two(handler, concurrency=16, rate='"20/s"')
        self.feed(nodes, 100)
        self.assert_states(nodes[0], done=100, seconds=90)
        begun = handler.begun
        self.assertGreaterEqual(begun[-1] - begun[0], (100 - 2 * 20) / 20)
        self.assertLess(begun[-1] - begun[0], 30, "both have a part of the rate")

    def newcomer(self, known):
        """The holder that has come since."""
        new = lambda: set(self.server.run("SELECT holder FROM semel.inbox_holders WHERE NOT dead", self.name).split()) - known
        self.assertTrue(wire.eventually(new, 30, 0.05))
        return new().pop()

    def test_one_at_a_time_is_exact(self):
        """While both gateways accept, the one that calls is killed, stopped and ended, again and again: never two calls at once."""
        handler = Crowd(0.03)
        nodes = self.start_two(handler, concurrency=1)
        names = dict(zip(nodes, self.names))
        known, leads, sent = set(self.names), set(), 0
        for fault in ("kill", "stop", "end", "kill"):
            self.feed(nodes, 30, f"evt_{sent}")
            sent += 1
            self.assertTrue(wire.eventually(lambda: handler.under_way == 1, 30, 0.001))
            before = self.lead()
            leads.add(before)
            dying = next(node for node in nodes if names[node] == before)
            with dying.stopped() if fault == "stop" else contextlib.nullcontext():
                if fault == "kill":
                    dying.kill()
                if fault == "end":
                    self.assertEqual(dying.stop(), 0)
                self.assertTrue(wire.eventually(lambda: self.lead() not in ("", before), 60, 0.05), fault)
            if fault != "stop":
                dying.start()
            names[dying] = self.newcomer(known)
            known.add(names[dying])
            done = handler.count()
            self.assertTrue(wire.eventually(lambda: handler.count() > done + 3, 60), "the other goes on")
        self.assertTrue(wire.eventually(lambda: len(handler.events()) == 30 * sent, 120), len(handler.events()))
        self.assertEqual(handler.most, 1)
        self.assertEqual(len(leads), 4, leads)
        self.assertEqual([each for each in handler.troubles if "while another" in each], [])

    def test_the_one_that_is_left_has_it_all(self):
        """When one is gone, the other has the whole limit."""
        handler = Crowd(0.2)
        nodes = self.start_two(handler, concurrency=6)
        nodes[1].kill()
        self.assertTrue(wire.eventually(lambda: self.holders() == 1, 60, 0.1))
        time.sleep(3 * BEAT_S)
        self.feed(nodes[:1], 60)
        self.assertTrue(wire.eventually(lambda: handler.most == 6, 30))
        self.assert_states(nodes[0], done=60, seconds=60)
        self.assertEqual(handler.most, 6)


if __name__ == "__main__":
    Shares.server = postgres_server.Server(sys.argv[sys.argv.index("--binary") + 1])
    try:
        operators.run()
    finally:
        Shares.server.close()
