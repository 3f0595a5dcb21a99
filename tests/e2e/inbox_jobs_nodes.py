#!/usr/bin/env python3
"""Bulk work on the inbox of two gateways that share a PostgreSQL, each of them killed on the way. --binary SEMEL --build FOLDER

One of the two moves a job on; when that one is dead, the other goes on where it was. Dead letters are made by a handler that
refuses each event once, for good.
"""
import collections
import sys
import threading
import time

import inbox
import inbox_jobs
import operators
import postgres_server
import wire
from inbox_handler import Handler

DEAD = 1_200
KILLS = 6
BEAT = '[inbox]\nnode_beat = "1s"\n'


class JobsOfTwo(operators.Case):
    send, metrics, states, post = inbox.Inbox.send, inbox.Inbox.metrics, inbox.Inbox.states, inbox.Inbox.post
    assert_states, listed = inbox.Inbox.assert_states, inbox.Inbox.listed
    api, plan, begin, job = inbox_jobs.Jobs.api, inbox_jobs.Jobs.plan, inbox_jobs.Jobs.begin, inbox_jobs.Jobs.job
    ended, cli, send_many = inbox_jobs.Jobs.ended, inbox_jobs.Jobs.cli, inbox_jobs.Jobs.send_many
    server, databases = None, 0

    def start_two(self, handler, more='replay_share = "100%"\n'):
        JobsOfTwo.databases += 1
        self.name = f"jobs_{JobsOfTwo.databases}"
        url = self.server.prepare(self.name)
        return [inbox.Inbox.start(self, handler, more=more, webhook=BEAT, store=url) for _ in range(2)]

    def runner(self, number):
        """The holder that moves the job on, if it lives."""
        return self.server.run(f"SELECT j.runner FROM semel.inbox_jobs j JOIN semel.inbox_holders h ON h.holder = j.runner "
                               f"WHERE j.number = {number} AND NOT h.dead", self.name)

    def is_paused(self, node):
        return self.api(node).good("GET", "/v1/destinations")["items"][0]["paused"]

    def test_kills_on_the_way(self):
        """kill -9 of one gateway after the other while a job sends thousands again: it goes on at the other, and each delivery is
        taken once. The destination is paused meanwhile, so that what comes then is what the job did."""
        handler = Handler(inbox_jobs.refuse_once)
        nodes = self.start_two(handler)
        self.send_many(nodes[0], list(range(DEAD)))
        self.assert_states(nodes[0], dead=DEAD, seconds=60)
        self.assertEqual(self.post(nodes[0], "/v1/destinations/app/pause", reason="a test")[0], 200)
        self.assertTrue(wire.eventually(lambda: self.is_paused(nodes[1]), 20), "the other follows")
        plan = self.plan(nodes[0], "replay", rate="150/s", state="dead", destination="app")
        self.assertEqual((plan["count"], plan["at_least"]), (DEAD, False))
        number = self.begin(nodes[1], plan)["id"]
        runners, cut = set(), 0
        for kill in range(KILLS):
            dying, living = nodes[kill % 2], nodes[(kill + 1) % 2]
            goal = DEAD * (kill + 1) // (KILLS + 2)
            self.assertTrue(wire.eventually(lambda: self.job(living, number)["taken"] >= goal, 60, 0.05))
            runners.add(self.runner(number))
            cut += self.job(living, number)["state"] == "running"
            dying.kill()
            dying.start()
        self.assertGreater(cut, KILLS // 2, "the job was over too early to be cut")
        self.assertGreater(len(runners - {""}), 1, "the job never changed hands")
        self.assertTrue(wire.eventually(lambda: self.job(nodes[0], number)["state"] == "done", 60, 0.1), self.job(nodes[0], number))
        self.assertEqual(self.job(nodes[1], number)["taken"], DEAD)
        self.assertEqual(handler.count(), DEAD, "the destination is paused")
        self.assertEqual(self.post(nodes[0], "/v1/destinations/app/resume", reason="a test")[0], 200)
        job = self.ended(nodes[1], number, seconds=120)
        self.assertEqual((job["taken"], job["done"], job["dead"], job["other"]), (DEAD, DEAD, 0, 0))
        self.assertEqual(set(collections.Counter(call[0] for call in handler.calls).values()), {2})
        self.assertEqual({call[1] for call in handler.calls}, {1, 2})
        self.assert_states(nodes[0], done=DEAD)
        self.assertEqual(handler.troubles, [])

    def test_kills_while_it_is_delivered(self):
        """The same while deliveries run: all arrive, and only attempts that a kill cut are made again."""
        handler = Handler(lambda event, attempt: time.sleep(0.002) or inbox_jobs.refuse_once(event, attempt))
        nodes = self.start_two(handler)
        dead, kills = 300, 4
        self.send_many(nodes[0], list(range(dead)))
        self.assert_states(nodes[0], dead=dead, seconds=60)
        number = self.begin(nodes[0], self.plan(nodes[0], "replay", rate="60/s", state="dead"))["id"]
        for kill in range(kills):
            dying, living = nodes[kill % 2], nodes[(kill + 1) % 2]
            goal = dead * (kill + 1) // (kills + 2)
            self.assertTrue(wire.eventually(lambda: self.job(living, number)["taken"] >= goal, 60, 0.05))
            dying.kill()
            dying.start()
        job = self.ended(nodes[0], number)
        self.assertEqual((job["taken"], job["done"]), (dead, dead))
        self.assertLessEqual(handler.count(), 2 * dead + 8 * kills, "8 run at once on each")
        self.assert_states(nodes[1], done=dead, seconds=30)
        self.assertEqual(len(handler.events()), dead)

    def test_the_rate_is_that_of_one_job(self):
        """Two gateways look at it, and it is no faster than its rate."""
        handler = Handler(inbox_jobs.refuse_once)
        nodes = self.start_two(handler)
        self.send_many(nodes[0], list(range(60)))
        self.assert_states(nodes[0], dead=60)
        began = time.monotonic()
        number = self.begin(nodes[0], self.plan(nodes[0], "replay", rate="20/s", state="dead"))["id"]
        self.assertTrue(wire.eventually(lambda: self.job(nodes[1], number)["taken"] == 60, 60, 0.05))
        self.assertGreater(time.monotonic() - began, 60 / 20 - 0.5)
        self.assertEqual(self.ended(nodes[0], number)["done"], 60)

    def test_cancelled_at_the_other(self):
        """One gateway moves it on, the other is told to stop it."""
        handler = Handler(inbox_jobs.refuse_once)
        nodes = self.start_two(handler)
        self.send_many(nodes[0], list(range(40)))
        self.assert_states(nodes[0], dead=40)
        number = str(self.begin(nodes[0], self.plan(nodes[0], "replay", rate="5/s", state="dead"))["id"])
        self.assertTrue(wire.eventually(lambda: self.job(nodes[1], number)["taken"] > 0, 30))
        self.assertTrue(wire.eventually(lambda: self.runner(number) != "", 30))
        for node in nodes:
            self.cli(node, "job", "cancel", number, "--reason", "wrong one")
        job = self.ended(nodes[0], number)
        self.assertEqual(job["state"], "cancelled")
        self.assertLess(job["taken"], 40)
        self.assert_states(nodes[1], done=job["taken"], dead=40 - job["taken"])

    def test_discard_backfill_and_erase(self):
        """Each does what it says here, too."""
        broken = threading.Event()
        broken.set()
        handler = Handler(lambda event, attempt: 400 if event == "evt_1" and broken.is_set() else 200)
        nodes = self.start_two(handler, more='[destination.crm]\nupstream = "app"\ntarget = "/crm"\n')
        self.send_many(nodes[0], [1, 2, 12, 3], senders=1)
        self.assert_states(nodes[0], dead=1, done=3)
        broken.clear()
        self.assertEqual(self.cli(nodes[1], "discard", "--state", "dead", "--reason", "a test", "--yes").returncode, 0)
        erased = self.cli(nodes[1], "erase", "--source", "/hooks/stripe", "--object", "po_2", "--reason", "asked for", "--yes")
        self.assertEqual(erased.returncode, 0, erased.stderr)
        self.assertIn("2 of 2 erased", erased.stdout)
        self.send(nodes[0], "evt_2", data={"object": {"id": "po_2"}})
        self.assertEqual(sorted(item["body_kept"] for item in self.listed(nodes[0])), [False, False, True, True])
        filled = self.cli(nodes[0], "backfill", "--source", "/hooks/stripe", "--to", "crm", "--reason", "it is new", "--yes")
        self.assertEqual(filled.returncode, 0, filled.stderr)
        self.assert_states(nodes[1], discarded=1, done=5)
        self.assertEqual(handler.count("evt_2"), 1)


if __name__ == "__main__":
    JobsOfTwo.server = postgres_server.Server(sys.argv[sys.argv.index("--binary") + 1])
    try:
        operators.run()
    finally:
        JobsOfTwo.server.close()
