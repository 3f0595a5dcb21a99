#!/usr/bin/env python3
"""Timelines of keys that share a request, or have none at the gateway: events of one delivery, and keys of the claims API.
--binary SEMEL --build FOLDER"""
import functools
import json
import threading

import claims_api
import harness
import operators
import postgres_server
import wire
from harness import KEY_ONE
from operators import WITH_TOKENS, ByApi, ByCommandLine

HOOK = ('[[webhook]]\npath = "/hooks/okta"\nprovider = "okta"\nsecrets = ["the-secret-of-okta"]\nupstream = "app"\n')
CLAIMS = WITH_TOKENS + '[api]\nlisten = "$api"\n[[api.token]]\nname = "worker"\nsecret = "%s"\nnamespaces = ["orders"]\n' % (
    claims_api.SECRET)


class Together(operators.Case):
    @functools.cached_property
    def postgres(self):
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        return server

    def events(self, desk, id, enough):
        """The events of a timeline, when `enough` says yes to them: the last second may be missing before."""
        def read():
            found = desk.good("GET", f"/v1/keys/{id}/timeline")["events"]
            return found if enough(found) else None

        found = wire.eventually(read, seconds=20)
        self.assertTrue(found, desk.good("GET", f"/v1/keys/{id}/timeline"))
        return found

    def deliver(self, semel, *ids):
        body = json.dumps({"data": {"events": [{"uuid": id, "eventType": "x"} for id in ids]}}).encode()
        return semel.ask("POST", "/hooks/okta", [("Authorization", "the-secret-of-okta")], body)

    def delivery_story(self, semel):
        """One event comes alone and fails, comes again with a second that runs with it, and then with a third."""
        for status, ids in ((500, "a"), (200, "ab"), (200, "abc")):
            replies = []
            asking = threading.Thread(target=lambda: replies.append(self.deliver(semel, *ids)))
            asking.start()
            arrival = self.stage.next()
            arrival.read_body()
            arrival.answer(status)
            asking.join()
            self.assertEqual(replies[0].status, status)
        self.assertEqual(self.deliver(semel, "c", "a").status, 200)
        desk = ByApi(self, semel)

        def life(event):
            id = ByCommandLine(self, semel).good("find", event, "--webhook", "/hooks/okta")["id"]
            expected = {"a": 2, "b": 1, "c": 1}[event]
            return self.events(desk, id, lambda events: repeats(events) >= expected)

        def repeats(events):
            return sum(event["answers"].get("replayed", 0) for event in events if event["event"] == "repeats")

        def attempts(events):
            return [(event["fence"], event.get("status"), event["upstream"]) for event in events if event["event"] == "attempt"]

        a, b, c = (life(event) for event in "abc")
        self.assertEqual(attempts(a), [(1, 500, "app"), (2, 200, "app")])
        self.assertEqual(attempts(b), [(1, 200, "app")])
        self.assertEqual(attempts(c), [(1, 200, "app")])
        self.assertEqual([repeats(events) for events in (a, b, c)], [2, 1, 1])
        self.assertEqual([event["outcome"] for event in a if event["event"] == "outcome"], ["released", "ran"])
        self.assertEqual(len([event for event in a if event["event"] == "claimed"]), 2)

    def test_events_of_one_delivery_have_timelines_of_their_own(self):
        self.postgres.prepare("events")
        for config, store in ((WITH_TOKENS + HOOK, None), (harness.encrypted(WITH_TOKENS + HOOK, KEY_ONE), None),
                              (WITH_TOKENS + HOOK, self.postgres.url_of("events"))):
            with self.gateway(config, store=store) as semel:
                self.delivery_story(semel)
            self.stage.close()
            self.setUp()

    def claims_story(self, semel):
        one = semel.caller.claim("job-1", payload={"a": 1})
        self.assertEqual(semel.caller.claim("job-1", payload={"a": 1}).outcome, "running")
        self.assertEqual(semel.caller.claim("job-1", payload={"a": 2}).outcome, "key-reused")
        self.assertEqual(semel.caller.end("/release", "job-1", one.fence).outcome, "released")
        two = semel.caller.claim("job-1", payload={"a": 1})
        self.assertEqual(semel.caller.end("/complete", "job-1", two.fence, result={"status": 202, "body": "x"}).outcome, "completed")
        self.assertEqual(semel.caller.claim("job-1", payload={"a": 1}).outcome, "done")
        lost = semel.caller.claim("job-2", lease_ms=1000)
        self.assertEqual(lost.outcome, "granted")

        desk = ByApi(self, semel)
        line = ByCommandLine(self, semel)
        id = line.good("find", "job-1", "--namespace", "orders")["id"]
        heard = {"in-flight": 1, "key-reused": 1, "replayed": 1}

        def answers(events):
            found = {}
            for event in events:
                for answer, count in event.get("answers", {}).items():
                    found[answer] = found.get(answer, 0) + count
            return found

        events = self.events(desk, id, lambda events: answers(events) == heard)
        steps = [(event["event"], event["fence"], event.get("outcome")) for event in events if event["event"] != "repeats"]
        self.assertEqual(steps, [("claimed", 1, None), ("outcome", 1, "released"), ("claimed", 2, None), ("outcome", 2, "ran")])
        self.assertEqual({event["route"] for event in events if "route" in event}, {"api worker"})
        self.assertEqual([event["status"] for event in events if event.get("outcome") == "ran"], [202])

        id = line.good("find", "job-2", "--namespace", "orders")["id"]
        events = self.events(desk, id, lambda events: len(events) == 2)
        self.assertEqual([(event["event"], event.get("cause")) for event in events], [("claimed", None), ("outcome", "no word")])

    def test_keys_of_the_claims_api_have_timelines(self):
        self.postgres.prepare("claims")
        for config, store in ((CLAIMS, None), (CLAIMS, self.postgres.url_of("claims"))):
            with claims_api.gateway(self, config, store=store) as semel:
                self.claims_story(semel)
            self.stage.close()
            self.setUp()


if __name__ == "__main__":
    operators.run()
