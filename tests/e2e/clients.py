#!/usr/bin/env python3
"""Clients that nobody here wrote: curl, wrk and h2load in front of a charges API that is not well (charges.py).
clients.py --binary SEMEL

What counts is what the API did: one charge per key, however often the clients asked.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

import charges
import harness
from programs import run

LUA = pathlib.Path(__file__).resolve().parent / "keys.lua"

PROBING = harness.CONFIG + """timeout = "1500ms"
connect_timeout = "1s"

[[route]]
path = "/v1/*"
upstream = "app"
in_flight = "wait"
keep = { "5xx" = "unknown" }
on_unknown = "probe"
probe = "/v1/charges?key={key}"
"""

# For load: the API only refuses now and then, before it has acted, so a duplicate that comes later runs.
WAITING = harness.CONFIG + """
[log]
requests = false

[[route]]
path = "/v1/*"
upstream = "app"
in_flight = "wait"
"""
BY_QUERY = WAITING + 'key_from = "{query:key}"\n'


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Clients(harness.Case):
    def charges(self, **how):
        api = charges.Charges(**how)
        self.addCleanup(api.close)
        return api

    def in_front_of(self, api, config):
        return self.gateway(config, upstream="%s:%d" % api.address)

    def assert_one_charge_each(self, api, keys):
        made = api.by_key()
        self.assertEqual({key: ids for key, ids in made.items() if len(ids) != 1}, {})
        self.assertEqual(set(made), set(keys))

    @needs("curl")
    def test_curl_gets_there_by_retrying(self):
        """curl --retry: every call ends with the id of the one charge that its key stands for."""
        api = self.charges(seed=3, stall_s=2.2)
        with self.in_front_of(api, PROBING) as semel:
            def call(key):
                return run("curl", "-sS", "--retry", 12, "--retry-all-errors", "--fail-with-body", "--max-time", 60,
                           "-H", "Authorization: Bearer curl", "-H", f"Idempotency-Key: {key}",
                           "-d", f"amount={1000 + int(key[1:])}", "-o", "-", "http://%s:%d/v1/charges" % semel.address)

            keys = [f"c{number}" for number in range(40)]
            with concurrent.futures.ThreadPoolExecutor(10) as pool:
                calls = dict(zip(keys, pool.map(call, keys)))
        self.assert_one_charge_each(api, keys)
        made = api.by_key()
        for key, done in calls.items():
            self.assertEqual(done.returncode, 0, done)
            # The bodies of the tries before come first: curl prints every one of them.
            last = json.loads(done.stdout[done.stdout.rindex('{"id"'):])
            self.assertEqual(last["id"], made[key][0])
        self.assertGreater(len(set(api.met)), 5, "the API was too well for this to mean anything")
        print(f"curl: {len(keys)} keys, {len(api.charges)} charges, {len(api.met)} faults")

    @needs("wrk")
    def test_wrk_repeats_every_key_and_charges_it_once(self):
        """wrk: hundreds of keys over and over on 32 connections; the API charges each of them once."""
        keys = 300
        api = self.charges(seed=4, faults=("refuse_503", "refuse_500"), chance=0.1, faults_max=1)
        with self.in_front_of(api, WAITING) as semel:
            done = run("wrk", "-t2", "-c32", "-d4s", "-s", LUA, "http://%s:%d" % semel.address,
                       env={**os.environ, "SEMEL_KEYS": str(keys)})
            self.assertEqual(done.returncode, 0, done.stderr)
            said = json.loads(done.stdout.splitlines()[-1])
        self.assertGreater(said["ok"], 4 * keys, done.stdout)
        # What the API refused itself goes through to the one who asked; nothing else but the charge is an answer.
        self.assertEqual(said["other"], len(api.met), done.stdout)
        self.assertEqual((said["connect"], said["read"], said["write"]), (0, 0, 0), done.stdout)
        self.assert_one_charge_each(api, [f"wrk-{number}" for number in range(keys)])
        print(f"wrk: {said['ok']} answers for {keys} keys, {len(api.charges)} charges, {len(api.met)} faults")

    @needs("h2load")
    def test_h2load_repeats_every_key_and_charges_it_once(self):
        """h2load --h1: every connection goes through all keys, and all of them are answered with 200."""
        keys, requests, connections = 100, 6000, 20
        api = self.charges(faults=(), work_s=0.02, key_of=lambda request: request.target.partition("key=")[2])
        with self.in_front_of(api, BY_QUERY) as semel, tempfile.TemporaryDirectory() as folder:
            base = "http://%s:%d/v1/charges?key=" % semel.address
            uris, body = pathlib.Path(folder) / "uris", pathlib.Path(folder) / "body"
            uris.write_text("".join(f"{base}h{number}\n" for number in range(keys)), encoding="utf-8")
            body.write_text('{"amount": 1000}', encoding="utf-8")
            done = run("h2load", "--h1", "-n", requests, "-c", connections, "-t", 1, "-d", body, "-i", uris,
                       "-H", "Authorization: Bearer h2load")
            self.assertEqual(done.returncode, 0, done.stderr)
        counts = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", done.stdout)
        self.assertEqual([int(count) for count in counts.groups()], [requests, 0, 0, 0], done.stdout)
        self.assert_one_charge_each(api, [f"h{number}" for number in range(keys)])
        print(f"h2load: {requests} answers for {keys} keys, {len(api.charges)} charges")

    def test_many_duplicates_wait_for_one_slow_answer(self):
        """semel hammer: 64 requests of each key at once, a slow API, in_flight = "wait": all get the one answer."""
        keys, duplicates = 48, 64
        api = self.charges(faults=(), work_s=0.3)
        with self.in_front_of(api, WAITING) as semel:
            url = "http://%s:%d" % semel.address
            done = run(self.binary, "hammer", url + "/v1/charges", "--effects", url + "/v1/", "--keys", keys,
                       "--duplicates", duplicates, "--connections", 1024, "--header", "Authorization: hammer", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["effects"], {"before": 0, "after": keys})
        counts = found["counts"]
        self.assertEqual((counts["first_runs"], counts["replays"]), (keys, keys * (duplicates - 1)), done.stdout)
        self.assertEqual(counts["sent_again"], 0, done.stdout)  # nobody was sent away to come back


if __name__ == "__main__":
    harness.run()
