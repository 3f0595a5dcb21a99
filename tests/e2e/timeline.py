#!/usr/bin/env python3
"""What an operator sees of a key's life: lines of the log that say why, the timeline on every store, and requests as they
happen. --binary SEMEL --build FOLDER"""
import contextlib
import functools
import json
import pathlib
import socket
import subprocess
import threading
import time

import harness
import postgres_server
import programs
import wire
from desk import TOKENS, WITH_TOKENS, ByApi, ByCommandLine
from harness import CONFIG, KEY_ONE, ROUTE, keyed

AGENT = ("User-Agent", "shop/1.2")
OBSERVED = """
[[route]]
path = "/watched/*"
upstream = "app"
key = "required"
mode = "observe"
"""


def pay(semel, key, body=b"12", target="/v1/payments", method="POST", agent=AGENT):
    return semel.ask(method, target, [*keyed(key), agent], body)


class Life(harness.Case):
    def during(self, ask):
        """What arrives at the upstream while `ask` is under way; it is answered by the caller."""
        replies = []
        asking = threading.Thread(target=lambda: replies.append(ask()), daemon=True)
        asking.start()
        arrival = self.stage.next()
        arrival.read_body()
        return arrival, lambda: (asking.join(10), replies[0])[1]

    def lose(self, semel, key, **more):
        arrival, reply = self.during(lambda: pay(semel, key, **more))
        arrival.reset()
        return reply()

    def lines(self, semel, count):
        def read():
            return [json.loads(line) for line in semel.stdout().splitlines()]

        self.assertTrue(wire.eventually(lambda: len(read()) >= count), read())
        return read()


class LogLines(Life):
    def test_a_line_says_who_asked(self):
        """The client's address, its program, and a hash of the scope that is the same for all of its requests."""
        with self.gateway(CONFIG + ROUTE) as semel:
            self.answer_all()
            pay(semel, "k1")
            pay(semel, "k2", agent=("User-Agent", "x" * 500 + '"\\'))
            semel.ask("POST", "/v1/payments", keyed("k1", scope="bob"), b"12")
            by_agent = {line.get("agent"): line for line in self.lines(semel, 3)}
            first, second, third = by_agent["shop/1.2"], by_agent["x" * 120], by_agent[None]
            self.assertEqual(first["client"], "127.0.0.1")
            self.assertRegex(first["scope"], "^[0-9a-f]{12}$")
            self.assertEqual(first["scope"], second["scope"])
            self.assertNotEqual(first["scope"], third["scope"])

    def test_a_line_says_why_an_outcome_is_unknown(self):
        """And the first caller is told of this attempt, a later one of an earlier attempt."""
        config = CONFIG.replace("[upstream.app]\n", '[upstream.app]\ntimeout = "1s"\n') + ROUTE
        ends = {"reset": lambda arrival: arrival.reset(), "close": lambda arrival: arrival.close(),
                "timeout": lambda arrival: None, "malformed": lambda arrival: arrival.send(b"220 mail ready\r\n\r\n"),
                "cut": lambda arrival: (arrival.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), arrival.close()),
                "answer": lambda arrival: arrival.answer(504)}
        with self.gateway(config) as semel:
            for number, (key, end) in enumerate(ends.items()):
                arrival, reply = self.during(lambda: pay(semel, key))
                end(arrival)
                reply = reply()
                arrival.close()
                later = pay(semel, key)
                self.assertEqual((reply.status in (502, 504), later.status), (True, 409), key)
                if key != "answer":
                    self.assertIn(b"This attempt", reply.body)
                self.assertIn(b"An earlier attempt", later.body)
                new = {line["outcome"]: line for line in self.lines(semel, 2 * number + 2)[2 * number:]}
                line, repeat = new["unknown"], new["refused"]
                self.assertEqual(line["cause"], {"close": "reset"}.get(key, key))
                self.assertEqual((repeat["problem"], "cause" in repeat), ("outcome-unknown", False))
            self.stage.close()
            pay(semel, "refused")
            line = self.lines(semel, 2 * len(ends) + 1)[-1]
            self.assertEqual((line["problem"], line["cause"]), ("upstream-unreachable", "refused"))

    def test_a_line_says_what_differs_at_a_reused_key(self):
        """On the gateway that has run the request; another one does not know, and says nothing."""
        with self.gateway(CONFIG + ROUTE) as semel:
            self.answer_all()
            pay(semel, "k")
            self.lines(semel, 1)
            for number, (differs, change) in enumerate([
                    ("body", {"body": b"13"}), ("target", {"target": "/v1/refunds"}), ("method", {"method": "PATCH"}),
                    ("target, body", {"target": "/v1/x", "body": b""}),
                    ("method, target, body", {"method": "PATCH", "target": "/v1/x", "body": b"1"})]):
                self.assertEqual(pay(semel, "k", **change).status, 422)
                line = self.lines(semel, number + 2)[-1]
                self.assertEqual((line["problem"], line["differs"]), ("key-reused", differs))
            semel.stop()
            semel.start()
            self.assertEqual(pay(semel, "k", body=b"14").status, 422)
            line = self.lines(semel, 7)[-1]
            self.assertNotIn("differs", line)

    def test_a_line_says_what_observing_would_have_done(self):
        with self.gateway(CONFIG + OBSERVED) as semel:
            self.answer_all()
            would = []
            for key, body in (("k", b"1"), ("k", b"1"), ("k", b"2"), ("a b", b"1")):
                pay(semel, key, body, target="/watched/x")
                would.append(self.lines(semel, len(would) + 1)[-1]["would"])
            self.assertEqual(would, ["run", "replay", "key-reused", "key-invalid"])


class Timeline(Life):
    @functools.cached_property
    def postgres(self):
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        return server

    def events(self, desk, id, enough):
        """The events of a timeline that `enough` says yes to; the last second may be missing before."""
        def read():
            found = desk.good("GET", f"/v1/keys/{id}/timeline")
            return found if enough(found["events"]) else None

        found = wire.eventually(read, seconds=8)
        self.assertTrue(found, desk.good("GET", f"/v1/keys/{id}/timeline"))
        self.assertEqual((found["dropped"], found["partial"], found["id"]), (0, False, id))
        self.assertEqual([event for event in found["events"] if "at" not in event], [])
        return found["events"]

    def story(self, first, second):
        """The answer is lost at one gateway; the customer asks again at both; an operator settles it at the second."""
        self.lose(first, "order")
        self.assertEqual(pay(first, "order").status, 409)
        self.assertEqual(pay(second, "order", agent=("User-Agent", "other/3")).status, 409)
        self.assertEqual(pay(second, "order", body=b"13").status, 422)
        desk = ByApi(self, second)
        key = desk.find("order", "alice")
        heard = {"outcome-unknown": 2, "key-reused": 1}

        def repeats(events):
            answers = {}
            for event in events:
                for answer, count in event.get("answers", {}).items():
                    answers[answer] = answers.get(answer, 0) + count
            return answers

        def has(events, fence, answers):  # each gateway writes its own part
            return repeats(events) == answers and any(event["event"] == "attempt" and event["fence"] == fence for event in events)

        events = self.events(desk, key["id"], lambda events: has(events, 1, heard))
        claimed, attempt, outcome = events[:3]
        self.assertEqual((claimed["event"], claimed["fence"]), ("claimed", 1))
        self.assertEqual((attempt["event"], attempt["fence"], attempt["upstream"], attempt["cause"], attempt["told"]),
                         ("attempt", 1, "app", "reset", 502))
        self.assertNotIn("status", attempt)
        self.assertGreater(attempt["ms"], 0)
        self.assertEqual((attempt["client"], attempt["agent"]), ("127.0.0.1", "shop/1.2"))
        self.assertEqual((outcome["event"], outcome["outcome"], outcome["cause"]), ("outcome", "unknown", "reset"))
        callers = [caller for event in events[3:] for caller in event["callers"]]
        self.assertEqual({(caller["answer"], caller["status"], caller["agent"]) for caller in callers},
                         {("outcome-unknown", 409, "shop/1.2"), ("outcome-unknown", 409, "other/3"), ("key-reused", 422, "shop/1.2")})
        self.assertEqual([caller.get("differs") for caller in callers if caller["answer"] == "key-reused"], ["body"])
        nodes = {event["node"] for event in events if "node" in event}
        self.assertEqual(nodes, {f"{socket.gethostname()}:{semel.process.pid}" for semel in (first, second)})

        desk.not_done(key)
        arrival, reply = self.during(lambda: pay(second, "order"))
        arrival.answer(201, (), b"paid")
        self.assertEqual(reply().status, 201)
        self.assertEqual(pay(first, "order").status, 201)
        events = self.events(desk, key["id"], lambda events: has(events, 2, {**heard, "replayed": 1}))
        second_run = next(event for event in events if event["event"] == "attempt" and event["fence"] == 2)
        self.assertEqual((second_run["status"], second_run["told"]), (201, 201))
        told = [event.get("outcome") for event in events if event["event"] == "outcome"]
        self.assertEqual(told, ["unknown", "ran"])
        act = next(event for event in events if event["event"] == "act")
        self.assertEqual((act["act"], act["reason"]), ("resolve as not-done", "not there"))
        self.assertLess(events.index(act), events.index(second_run))

        shown = ByCommandLine(self, second).good("show", key["id"])
        self.assertEqual((shown["state"], shown["events"]), ("done", events))
        text = self.run_semel("keys", "show", key["id"], "--admin", "http://%s:%d" % second.admin, "--token", TOKENS["viewer"])
        for words in ("attempt    fence 1 at app by", "no answer, reset", "unknown, because of: reset", "differs in: body",
                      "x replayed (201) for 127.0.0.1 shop/1.2", "resolve as not-done"):
            self.assertIn(words, text.stdout)

    def test_the_story_on_the_embedded_store(self):
        with self.gateway(WITH_TOKENS) as semel:
            self.story(semel, semel)

    def test_the_story_on_an_encrypted_store(self):
        with self.gateway(harness.encrypted(WITH_TOKENS, KEY_ONE)) as semel:
            self.story(semel, semel)

    def test_the_story_with_two_gateways_on_postgresql(self):
        for database, config in (("plain", WITH_TOKENS), ("sealed", harness.encrypted(WITH_TOKENS, KEY_ONE))):
            self.postgres.prepare(database)
            url = self.postgres.url_of(database)
            with self.gateway(config, store=url) as first, self.gateway(config, store=url) as second:
                self.story(first, second)
            self.stage.close()
            self.setUp()

    def test_fences_tell_the_order_if_clocks_are_out_of_step(self):
        """A clock that is set back a little between an act and the run that it allowed does not turn them round."""
        library = pathlib.Path(self.build) / "tests" / "proof" / "libwall_clock.so"
        if not library.exists():
            self.skipTest(f"{library} has not been built")
        with self.gateway(WITH_TOKENS) as semel:
            semel.stop()
            offset = semel.folder / "offset"
            offset.write_text("1", encoding="ascii")
            semel.environment.update({"LD_PRELOAD": str(library), "SEMEL_WALL_CLOCK": str(offset)})
            semel.start()
            self.lose(semel, "order")
            desk = ByApi(self, semel)
            key = desk.find("order", "alice")
            desk.not_done(key)
            offset.write_text("0", encoding="ascii")
            arrival, reply = self.during(lambda: pay(semel, "order"))
            arrival.answer(201, (), b"paid")
            self.assertEqual(reply().status, 201)
            events = self.events(desk, key["id"], lambda events: sum(event["event"] == "attempt" for event in events) == 2)
            self.assertEqual([(event["event"], event["fence"]) for event in events],
                             [("claimed", 1), ("attempt", 1), ("outcome", 1), ("act", 1),
                              ("claimed", 2), ("attempt", 2), ("outcome", 2)])
            times = [event["at"] for event in events]
            self.assertNotEqual(times, sorted(times))  # what each clock said is shown as it was

    def test_a_gateway_that_stops_in_good_order_loses_nothing(self):
        """And one that was killed leaves what the record knows."""
        config = WITH_TOKENS.replace(ROUTE, ROUTE + 'lease = "1s"\n')
        with self.gateway(config) as semel:
            self.lose(semel, "k")
            semel.stop()
            semel.start()
            desk = ByApi(self, semel)
            events = self.events(desk, desk.find("k", "alice")["id"], len)
            self.assertEqual([event["event"] for event in events], ["claimed", "attempt", "outcome"])

            asking = threading.Thread(target=lambda: self.assertRaises((OSError, wire.Closed), pay, semel, "cut"), daemon=True)
            asking.start()
            self.stage.next().read_body()
            semel.kill()
            semel.start()
            desk = ByApi(self, semel)
            key = desk.find("cut", "alice")
            events = self.events(desk, key["id"], lambda events: len(events) == 2)
            self.assertEqual([(event["event"], event.get("cause")) for event in events],
                             [("claimed", None), ("outcome", "no word")])

    def test_a_key_that_is_not_there(self):
        with self.gateway(WITH_TOKENS) as semel:
            desk = ByApi(self, semel)
            for id, status in (("ab" * 32, 404), ("abcd", 404), ("xyz", 400)):
                reply, problem = desk.call("GET", f"/v1/keys/{id}/timeline")
                self.assertEqual((reply.status, problem["status"]), (status, status))


class Stream:
    """The server-sent events of a tail."""

    def __init__(self, semel, query="", token=TOKENS["viewer"], seconds=10.0):
        self.wire = wire.Wire(semel.admin, seconds)
        self.wire.request("GET", "/v1/tail" + query, [("Authorization", f"Bearer {token}")])
        self.head = wire.read_head(self.wire.reader)
        self.text = b""
        self.events = []

    def read(self, count):
        """Reads until there are so many events."""
        while len(self.events) < count:
            size = int(self.wire.reader.line(), 16)
            if size == 0:
                raise wire.Closed()
            self.text += self.wire.reader.exactly(size)
            self.wire.reader.exactly(2)
            *whole, self.text = self.text.split(b"\n\n")
            for event in whole:
                if not event.startswith(b":"):
                    self.events.append(dict(line.split(b": ", 1) for line in event.split(b"\n")))
        return [json.loads(event[b"data"]) for event in self.events]


class Tail(Life):
    def test_those_who_watch_get_what_they_want(self):
        with self.gateway(WITH_TOKENS + OBSERVED) as semel:
            self.answer_all()
            everything, replays = Stream(semel), Stream(semel, "?outcome=replayed&route=/v1/*")
            errors = Stream(semel, "?status=4xx")
            self.assertEqual((everything.head.status, everything.head.get("Content-Type")), (200, "text/event-stream"))
            pay(semel, "k")
            pay(semel, "k")
            pay(semel, "k", body=b"13")
            pay(semel, "w", target="/watched/x")
            lines = everything.read(4)
            self.assertEqual(sorted(line["outcome"] for line in lines), ["observed", "ran", "refused", "replayed"])
            self.assertEqual([line["outcome"] for line in replays.read(1)], ["replayed"])
            self.assertEqual([line["problem"] for line in errors.read(1)], ["key-reused"])
            by_key = Stream(semel, "?key=" + lines[0]["key"])
            pay(semel, "other")
            pay(semel, "k")
            self.assertEqual([line["outcome"] for line in by_key.read(1)], ["replayed"])
            for query, member in (("?status=5", "status:"), ("?key=xyz", "key:")):
                reply = wire.ask(semel.admin, "GET", "/v1/tail" + query, [("Authorization", "Bearer " + TOKENS["viewer"])])
                self.assertEqual((reply.status, member in json.loads(reply.body)["detail"]), (400, True))
            self.assertEqual(semel.stop(), 0, "those who watch keep nobody from stopping")
            with self.assertRaises((wire.Closed, wire.Cut)):
                everything.read(100)

    def test_the_command_line_watches(self):
        with self.gateway(WITH_TOKENS) as semel:
            self.answer_all()
            where = ["--admin", "http://%s:%d" % semel.admin, "--token", TOKENS["viewer"]]
            watchers = [subprocess.Popen([programs.path(self.binary), "keys", "watch", *where, *words, "--lines", "2"],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                        for words in (["--json"], ["--outcome", "replayed"])]
            with contextlib.ExitStack() as stack:
                for watcher in watchers:
                    stack.callback(watcher.kill)
                stop = threading.Event()

                def ask():
                    while not stop.is_set():
                        pay(semel, "k")
                        time.sleep(0.05)

                asking = threading.Thread(target=ask)
                asking.start()
                try:
                    (lines, _), (text, _) = (watcher.communicate(timeout=20) for watcher in watchers)
                finally:
                    stop.set()
                    asking.join()
            self.assertEqual([watcher.returncode for watcher in watchers], [0, 0])
            for line in lines.splitlines():
                self.assertEqual(json.loads(line)["route"], "/v1/*")
            self.assertRegex(text.splitlines()[0], r"^20\S+Z +200 replayed +[0-9a-f]{12} POST /v1/payments .*127\.0\.0\.1 shop/1\.2$")
            refused = self.run_semel("keys", "watch", *where[:2], "--token", "wrong")
            self.assertEqual(refused.returncode, 3, refused.stderr)
            self.assertEqual(self.run_semel("keys", "watch", *where, "--status", "x").returncode, 2)

    def test_a_watcher_that_stands_still_slows_nobody(self):
        """It misses lines, is told how many when it reads again, or is cut off; requests go on as before."""
        with self.gateway(WITH_TOKENS) as semel:
            self.answer_all()
            pay(semel, "k")

            def hurry(count):
                with semel.connect() as client:
                    begun = time.monotonic()
                    for _ in range(count):
                        self.assertEqual(client.ask("POST", "/v1/payments", [*keyed("k"), ("User-Agent", "x" * 100)], b"12").status, 200)
                    return time.monotonic() - begun

            unwatched = min(hurry(2000) for _ in range(2))
            still = Stream(semel)
            still.wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            watched = [hurry(2000) for _ in range(12)]
            self.assertLess(min(watched), 3 * unwatched)
            self.assertLess(max(watched), 3 * unwatched + 2)
            self.assertEqual(semel.ask("POST", "/v1/payments", keyed("k"), b"12").status, 200)


def build_in(folder):
    Timeline.build = folder


if __name__ == "__main__":
    harness.run(build=build_in)
