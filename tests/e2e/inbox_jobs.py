#!/usr/bin/env python3
"""Bulk work on the inbox: planned, counted, started, watched, killed on the way. --binary SEMEL [--build FOLDER]

Dead letters are made by a handler that refuses each event once, for good. What the desk answers is held against
docs/openapi-admin.json, and so are the requests that it shows as examples.
"""
import base64
import collections
import json
import subprocess
import threading
import time

import inbox
import operators
import programs
import wire
from inbox_handler import Handler

DEAD = 2_000
KILLS = 12


def refuse_once(event, attempt):
    return 400 if attempt == 1 else 200


class Jobs(operators.Case):
    start, send, metrics, states = inbox.Inbox.start, inbox.Inbox.send, inbox.Inbox.metrics, inbox.Inbox.states
    assert_states, listed, post = inbox.Inbox.assert_states, inbox.Inbox.listed, inbox.Inbox.post

    def api(self, semel):
        return operators.ByApi(self, semel)

    def plan(self, semel, action, rate=None, **filter):
        filter = {name.rstrip("_"): value for name, value in filter.items()}
        body = {"action": action, "filter": filter, **({"rate": rate} if rate else {})}
        return self.api(semel).good("POST", "/v1/inbox/jobs", body)

    def begin(self, semel, plan, reason="the handler is repaired"):
        return self.api(semel).good("POST", "/v1/inbox/jobs", {"token": plan["token"], "count": plan["count"], "reason": reason})["job"]

    def job(self, semel, number):
        return self.api(semel).good("GET", f"/v1/inbox/jobs/{number}")

    def ended(self, semel, number, seconds=60):
        """The job, when it has taken all and all of that has ended."""
        wire.eventually(lambda: (lambda job: job["state"] != "running" and job["open"] == 0)(self.job(semel, number)), seconds, 0.1)
        return self.job(semel, number)

    def cli(self, semel, *words, **options):
        where = ["--admin", "http://%s:%d" % semel.admin, "--token", operators.TOKENS["operator"]]
        return self.run_semel("inbox", *words, *where, **options)

    def send_many(self, semel, numbers, senders=8):
        def feed(mine):
            for number in mine:  # 503 asks for it again: a gateway that was slow for too long takes a new number as a holder
                wire.eventually(lambda: self.send(semel, f"evt_{number}", expected=None, data={"object": {"id": f"po_{number % 10}"}})
                                .status == 200, 30, 0.2)

        threads = [threading.Thread(target=feed, args=(numbers[i::senders],)) for i in range(senders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_kills_on_the_way(self):
        """kill -9, again and again, while a job sends thousands of dead letters again: each is delivered once more, exactly. The
        destination is paused meanwhile, so that no attempt is cut by a kill, and what comes then is what the job did."""
        handler = Handler(refuse_once)
        semel = self.start(handler, more='replay_share = "100%"\n')
        self.send_many(semel, list(range(DEAD)))
        self.assert_states(semel, dead=DEAD, seconds=60)
        self.assertEqual(self.post(semel, "/v1/destinations/app/pause", reason="a test")[0], 200)
        plan = self.plan(semel, "replay", rate="400/s", state="dead", destination="app")
        self.assertEqual((plan["count"], plan["at_least"], len(plan["sample"])), (DEAD, False, 10))
        number = self.begin(semel, plan)["id"]
        kills = 0
        for kill in range(KILLS):
            goal = DEAD * (kill + 1) // (KILLS + 2)
            wire.eventually(lambda goal=goal: self.job(semel, number)["taken"] >= goal, 60, 0.01)
            kills += self.job(semel, number)["state"] == "running"
            semel.kill()
            semel.start()
        self.assertGreater(kills, KILLS // 2, "the job was over too early to be cut")
        self.assertTrue(wire.eventually(lambda: self.job(semel, number)["state"] == "done", 60, 0.1), self.job(semel, number))
        self.assertEqual(self.job(semel, number)["taken"], DEAD)
        self.assertEqual(handler.count(), DEAD, "the destination is paused")
        self.assertEqual(self.post(semel, "/v1/destinations/app/resume", reason="a test")[0], 200)
        job = self.ended(semel, number, seconds=120)
        self.assertEqual((job["taken"], job["done"], job["dead"], job["other"]), (DEAD, DEAD, 0, 0))
        calls = collections.Counter(call[0] for call in handler.calls)
        self.assertEqual(set(calls.values()), {2})
        self.assertEqual({call[1] for call in handler.calls}, {1, 2})
        self.assert_states(semel, done=DEAD)
        self.assertEqual(handler.troubles, [])

    def test_kills_while_it_is_delivered(self):
        """The same while deliveries run: all arrive, the job takes each once, and only attempts that a kill cut are made again."""
        handler = Handler(lambda event, attempt: time.sleep(0.002) or refuse_once(event, attempt))
        semel = self.start(handler, more='replay_share = "100%"\n')
        dead, kills = 400, 6
        self.send_many(semel, list(range(dead)))
        self.assert_states(semel, dead=dead, seconds=60)
        number = self.begin(semel, self.plan(semel, "replay", rate="200/s", state="dead"))["id"]
        for kill in range(kills):
            goal = dead * (kill + 1) // (kills + 2)
            wire.eventually(lambda goal=goal: self.job(semel, number)["taken"] >= goal, 60, 0.01)
            semel.kill()
            semel.start()
        job = self.ended(semel, number)
        self.assertEqual((job["taken"], job["done"]), (dead, dead))
        self.assertLessEqual(handler.count(), 2 * dead + 8 * kills, "8 run at once")
        self.assert_states(semel, done=dead)
        self.assertEqual(len(handler.events()), dead)

    def test_the_share_of_replays(self):
        """Replays have a quarter of the destination, and new events the rest, however many wait to be sent again."""
        gate = threading.Event()
        running = collections.Counter()
        most = collections.Counter()
        lock = threading.Lock()

        def speak(event, attempt):
            if attempt == 1 and not event.startswith("evt_new"):
                return 400
            kind = "new" if event.startswith("evt_new") else "replay"
            with lock:
                running[kind] += 1
                most[kind] = max(most[kind], running[kind])
            gate.wait(30)
            with lock:
                running[kind] -= 1
            return 200

        handler = Handler(speak)
        self.addCleanup(gate.set)
        semel = self.start(handler)
        self.send_many(semel, list(range(40)))
        self.assert_states(semel, dead=40)
        number = self.begin(semel, self.plan(semel, "replay", state="dead"))["id"]
        self.assertTrue(wire.eventually(lambda: running["replay"] == 2, 20), running)
        for i in range(6):
            self.send(semel, f"evt_new_{i}")
        self.assertTrue(wire.eventually(lambda: running["new"] == 6, 20), running)
        gate.set()
        self.assertEqual(self.ended(semel, number)["done"], 40)
        self.assertEqual(most["replay"], 2)
        self.assert_states(semel, done=46)
        self.assertEqual(handler.troubles, [])

    def test_a_plan_and_its_start(self):
        """Nothing is left out in silence, nothing is done without the token, the count and a reason, and a start is not doubled."""
        handler = Handler(refuse_once)
        semel = self.start(handler)
        self.send_many(semel, [1, 2, 3], senders=1)
        self.assert_states(semel, dead=3)
        refused = [
            {}, {"action": "replay"}, {"action": "burn", "filter": {}}, {"action": "replay", "filter": {}},
            {"action": "replay", "filter": {"state": "dead", "sauce": "/x"}},
            {"action": "replay", "filter": {"state": "dead"}, "limit": 3},
            {"action": "replay", "filter": {"state": "running"}}, {"action": "replay", "filter": {"state": "dead", "type": ""}},
            {"action": "replay", "filter": {"state": "dead", "type": 3}}, {"action": "replay", "filter": {"state": "dead"}, "rate": "quick"},
            {"action": "replay", "filter": {"state": "dead", "destination": "nobody"}},
            {"action": "replay", "filter": {"state": "dead", "from": "yesterday"}},
            {"action": "replay", "filter": {"state": "dead", "object": "po_1"}},
            {"action": "discard", "filter": {"state": "done"}}, {"action": "backfill", "filter": {"destination": "app"}},
            {"action": "erase", "filter": {"source": "/hooks/stripe"}},
            {"action": "erase", "filter": {"source": "/hooks/stripe", "object": "po_1", "state": "dead"}},
        ]
        for body in refused:
            self.assertEqual(self.post(semel, "/v1/inbox/jobs", **body)[0], 400, body)
        reply, _ = self.api(semel).call("POST", "/v1/inbox/jobs", {"action": "replay", "filter": {"state": "dead"}},
                                        token=operators.TOKENS["viewer"])
        self.assertEqual(reply.status, 403)
        plan = self.plan(semel, "replay", state="dead")
        token, count = plan["token"], plan["count"]
        self.assertEqual((count, len(plan["sample"])), (3, 3))
        self.assertEqual(self.api(semel).good("GET", "/v1/inbox/jobs")["items"], [])
        for status, body in ((400, {"token": token, "count": count}), (400, {"token": token, "reason": "x"}),
                             (409, {"token": token, "count": 2, "reason": "x"}), (404, {"token": "0", "count": 3, "reason": "x"})):
            self.assertEqual(self.post(semel, "/v1/inbox/jobs", **body)[0], status, body)
        self.assertEqual(handler.count(), 3)
        first, again = self.begin(semel, plan), self.begin(semel, plan)
        self.assertEqual(first["id"], again["id"])
        self.assertEqual(self.ended(semel, first["id"])["done"], 3)
        self.assertEqual(handler.count(), 6)
        self.assertEqual(self.post(semel, "/v1/inbox/1/redeliver", reason="x")[0], 400)
        for target, status in (("77", 404), ("x", 400)):
            reply, _ = self.api(semel).call("GET", f"/v1/inbox/jobs/{target}")
            self.assertEqual(reply.status, status)
        entries = [json.loads(entry["entry"]) for entry in self.api(semel).entries()]
        acts = [entry for entry in entries if entry.get("act") == "start job"]
        self.assertEqual([(act["job"], act["count"], act["filter"]["state"], act["reason"]) for act in acts],
                         [(first["id"], 3, "dead", "the handler is repaired")] * 2)

    def test_examples_of_the_document(self):
        """Every request that the document shows is one that the gateway takes."""
        semel = self.start(Handler())
        self.send(semel, "evt_1")
        self.assert_states(semel, done=1)
        document = json.loads(operators.OPENAPI.read_text(encoding="utf-8"))
        examples = document["paths"]["/v1/inbox/jobs"]["post"]["requestBody"]["content"]["application/json"]["examples"]
        for name, example in examples.items():
            expected = 404 if name == "start" else 200  # of no plan that is here
            self.assertEqual(self.post(semel, "/v1/inbox/jobs", **example["value"])[0], expected, name)

    def test_a_job_is_cancelled(self):
        """It takes nothing more, says so in the audit log, and stays cancelled."""
        handler = Handler(refuse_once)
        semel = self.start(handler)
        self.send_many(semel, list(range(40)))
        self.assert_states(semel, dead=40)
        number = self.begin(semel, self.plan(semel, "replay", rate="5/s", state="dead"))["id"]
        self.assertTrue(wire.eventually(lambda: self.job(semel, number)["taken"] >= 2, 20))
        reply, _ = self.api(semel).call("DELETE", f"/v1/inbox/jobs/{number}", {})
        self.assertEqual(reply.status, 400)
        done = self.cli(semel, "job", "cancel", number, "--reason", "wrong one")
        self.assertEqual(done.returncode, 0, done.stderr)
        job = self.ended(semel, number)
        self.assertEqual(job["state"], "cancelled")
        self.assertLess(job["taken"], 40)
        self.assertEqual(self.cli(semel, "job", "cancel", number, "--reason", "again").returncode, 1)
        self.assert_states(semel, done=job["taken"], dead=40 - job["taken"])
        self.assertIn("cancel job", [json.loads(entry["entry"]).get("act") for entry in self.api(semel).entries()])

    def test_from_a_terminal(self):
        """The count is shown and somebody is asked; then it is watched until all is delivered."""
        handler = Handler(refuse_once)
        semel = self.start(handler)
        self.send_many(semel, list(range(30)))
        self.assert_states(semel, dead=30)
        words = ["replay", "--to", "app", "--state", "dead", "--from", "2020-01-01T00:00:00Z", "--rate", "50/s", "--reason", "repaired"]
        said = self.cli(semel, *words, input="n\n")
        self.assertEqual((said.returncode, handler.count()), (1, 30))
        self.assertIn("replay: 30 deliveries", said.stderr)
        self.assertIn("nothing was done", said.stderr)
        said = self.cli(semel, *words, input="y\n")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("job 2 replay done: 30 of 30 sent again; 30 delivered, 0 dead", said.stdout)
        self.assertEqual(handler.count(), 60)
        self.assertEqual(self.cli(semel, *words, "--yes").returncode, 1)
        self.assertIn("(%s: repaired)" % self.job(semel, 2)["who"], self.cli(semel, "jobs").stdout)
        self.assertIn("30 delivered", self.cli(semel, "job", "2").stdout)
        self.assertEqual(self.cli(semel, "replay", "--reason", "x", "--yes").returncode, 2)

    def test_discard_backfill_and_erase(self):
        """Each does what it says, and keys stay: a duplicate of an event whose body is gone is still one."""
        broken = threading.Event()
        broken.set()
        handler = Handler(lambda event, attempt: 400 if event == "evt_1" and broken.is_set() else 200)
        more = '[destination.crm]\nupstream = "app"\ntarget = "/crm"\n'
        semel = self.start(handler, more=more)
        self.send_many(semel, [1, 2, 12, 3], senders=1)
        self.assert_states(semel, dead=1, done=3)
        broken.clear()
        self.assertEqual(self.cli(semel, "discard", "--state", "dead", "--reason", "a test", "--yes").returncode, 0)
        self.assert_states(semel, discarded=1, done=3)
        erased = self.cli(semel, "erase", "--source", "/hooks/stripe", "--object", "po_2", "--reason", "the customer asks", "--yes")
        self.assertEqual(erased.returncode, 0, erased.stderr)
        self.assertIn("2 of 2 erased", erased.stdout)
        self.send(semel, "evt_2", data={"object": {"id": "po_2"}})
        self.assertEqual(sorted(item["body_kept"] for item in self.listed(semel)), [False, False, True, True])
        filled = self.cli(semel, "backfill", "--source", "/hooks/stripe", "--to", "crm", "--reason", "it is new", "--yes")
        self.assertEqual(filled.returncode, 0, filled.stderr)
        self.assert_states(semel, discarded=1, done=5)
        came = sorted(json.loads(request.body)["id"] for request in handler.requests if request.target == "/crm")
        self.assertEqual(came, ["evt_1", "evt_3"])
        self.assertEqual(handler.count("evt_2"), 1)

    def test_what_operators_are_told_of_the_inbox(self):
        """`semel check` says where events go, and by which filter; a tally counts them as accepted, not as run."""
        more = '[destination.crm]\nupstream = "app"\n'
        handler = Handler()
        semel = inbox.Inbox.start_with_deliver(self, handler, more, '{ to = "app" }, { to = "crm", when = "{type} ^= \'customer.\'" }')
        said = self.run_semel("check", str(semel.config_path))
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("through the inbox, to app (app), crm (app) when {type} ^= 'customer.'\n", said.stdout)
        self.send(semel, "evt_1")
        self.assert_states(semel, done=1, skipped=1)
        api = self.api(semel)

        def outcomes():
            return [item["outcomes"] for item in api.good("GET", "/v1/tally")["totals"]]

        self.assertTrue(wire.eventually(outcomes, 30, 0.2))
        self.assertEqual(outcomes(), [{"accepted": 1}])

    def test_export_goes_on_where_it_was(self):
        """Every event once with its body, in lines; from any line on; only for operators; in the audit log."""
        semel = self.start(Handler())
        self.send_many(semel, list(range(250)))
        self.assert_states(semel, done=250)
        whole = self.cli(semel, "export", "--ndjson")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        lines = [json.loads(line) for line in whole.stdout.splitlines()]
        names = [json.loads(base64.b64decode(line["body_base64"]))["id"] for line in lines]
        self.assertEqual(sorted(names), sorted(f"evt_{i}" for i in range(250)))
        self.assertEqual([line["id"] for line in lines], sorted(line["id"] for line in lines))
        rest = self.cli(semel, "export", "--after", lines[99]["id"])
        self.assertEqual(rest.stdout.splitlines(), whole.stdout.splitlines()[100:])
        self.assertEqual(self.cli(semel, "export", "--state", "dead").stdout, "")
        where = ["--admin", "http://%s:%d" % semel.admin, "--token", operators.TOKENS["viewer"]]
        self.assertEqual(self.run_semel("inbox", "export", *where).returncode, 3)
        entries = [json.loads(entry["entry"]) for entry in self.api(semel).entries()]
        self.assertEqual([entry.get("act") for entry in entries], ["export inbox"] * 3)

    def test_tail_shows_what_changes(self):
        """Each delivery when it comes and when it changes, and nothing that was there before."""
        gate = threading.Event()
        handler = Handler(lambda event, attempt: event == "evt_old" and 200 or gate.wait(30) and 200)
        self.addCleanup(gate.set)
        semel = self.start(handler)
        self.send(semel, "evt_old")
        self.assert_states(semel, done=1)
        command = [programs.path(self.binary), "inbox", "tail", "--lines", "2", "--admin", "http://%s:%d" % semel.admin, "--token",
                   operators.TOKENS["viewer"], "--json"]
        tail = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        self.addCleanup(tail.stdout.close)
        self.addCleanup(tail.wait)
        self.addCleanup(tail.kill)
        number, first = 0, []
        reader = threading.Thread(target=lambda: first.append(tail.stdout.readline()))
        reader.start()
        while not first and number < 60:  # it may not have begun yet
            self.send(semel, f"evt_{number}")
            number += 1
            reader.join(1)
        self.assertEqual(json.loads(first[0])["state"], "running")
        gate.set()
        second = json.loads(tail.stdout.readline())
        self.assertNotEqual((second["id"], second["state"]), (json.loads(first[0])["id"], "running"))
        self.assertEqual(tail.wait(20), 0)


if __name__ == "__main__":
    operators.run()
