#!/usr/bin/env python3
"""What each kind of flood costs, and what a well-behaved client beside it notices of it. --binary SEMEL

Each flood is a process of its own that sends so many requests a second (SEMEL_FLOOD_RATE), none of which has an effect. It
is stopped and continued, so that rounds with and without it alternate on one gateway; SEMEL_FLOOD_SECONDS is the time of
all rounds of one flood. A line is printed for each: the time of another client's first runs without and with it, the CPU
time of the gateway for a thousand of its requests, and the memory that the gateway holds afterwards beyond that before.
docs/limits.md has the figures of a longer run.
"""
import base64
import collections
import json
import multiprocessing
import os
import signal
import subprocess
import time

import harness
import programs
import wire
from harness import CONFIG, ROUTE, keyed
from memory import memory

RATE = int(os.environ.get("SEMEL_FLOOD_RATE", 500))
SECONDS = float(os.environ.get("SEMEL_FLOOD_SECONDS", 2))
ROUNDS = 8
EXTRA_BYTES_MAX = 24 << 20
SLOWER_MAX = 10  # for the median: only what nobody can overlook fails on a busy machine

LIMITS = '\n[limits]\nkeys_per_scope = 64\nconnections = 200\n'
HOOK = '\n[[webhook]]\npath = "/hook"\nprovider = "stripe"\nsecrets = ["secret"]\nupstream = "app"\n'
FORM = '\n[[webhook]]\npath = "/form"\nprovider = "twilio"\nsecrets = ["secret"]\nupstream = "app"\n'
EVERYTHING = '\n[[route]]\npath = "/*"\nupstream = "app"\nkey = "off"\n'
TOKENS = ('\n[jwt]\nalgorithms = ["ES256"]\nkeys = "keys.json"\nissuer = "us"\naudience = ["here"]\n'
          '[[route]]\npath = "/jwt/*"\nupstream = "app"\nscope = "{jwt:sub}"\n')
CLAIMS = ('\n[api]\nlisten = "$api"\n[[api.token]]\nname = "worker"\nsecret = "0123456789abcdef-worker"\n'
          'namespaces = ["orders"]\n')
CORS = 'policy_document = true\ncors = { origins = ["https://app.example.com"], preflights = "answer" }\n'
CALM = '\n[[route]]\npath = "/calm/*"\nupstream = "app"\nnamespace = "calm"\n'

JSON = ("Content-Type", "application/json")
ORIGIN = ("Origin", "https://other.example.com")


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# It names no key, so that each of the set is tried.
FORGED = ".".join(encoded(part) for part in (b'{"alg":"ES256"}', b'{"sub":"ann","exp":9999999999}', bytes(range(1, 65))))


def key_set():
    """Four keys that a token may be signed with."""
    keys = []
    for _ in range(4):
        private = subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"], check=True,
                                 capture_output=True, timeout=60).stdout
        point = subprocess.run(["openssl", "pkey", "-pubout", "-outform", "DER"], input=private, check=True,
                               capture_output=True, timeout=60).stdout[-64:]
        keys.append({"kty": "EC", "crv": "P-256", "x": encoded(point[:32]), "y": encoded(point[32:])})
    return json.dumps({"keys": keys})


FLOODS = {  # name: (method, target, fields and body of its nth request, the status that it gets)
    "no key": lambda _: ("POST", "/v1/x", [("Authorization", "s")], b"{}"),
    "new keys over a quota": lambda n: ("POST", "/v1/x", keyed(f"flood{n}", scope="flood"), b"{}"),
    "made-up tokens": lambda n: ("POST", "/v1/x", keyed(f"k{n}", scope=f"made-up{n}") + [("X-Scenario", "denied")], b"{}"),
    "a used key with another body": lambda n: ("POST", "/v1/x", keyed("used", scope="used"), b'{"n":%d}' % n),
    "forged deliveries of 64 KiB": lambda n: ("POST", "/hook", [JSON, ("Stripe-Signature", f"t={int(time.time())},v1={n:064x}")],
                                              b'{"id":"evt_%d","a":"%s"}' % (n, b"x" * 65536)),
    "forged forms of 64 KiB": lambda _: ("POST", "/form", [("Content-Type", "application/x-www-form-urlencoded"),
                                                           ("X-Twilio-Signature", "A" * 27 + "=")], b"a&" * 32768),
    "paths of 8 KiB, encoded over and over": lambda _: ("POST", "/hook%" + "25" * 4000 + "00", [], b""),
    "heads with an underscore": lambda _: ("POST", "/v1/x", [("X_Bad", "1")], b""),
    "deep JSON of 64 KiB": lambda n: ("POST", "/v1/x", keyed(f"j{n}", scope="flood") + [JSON], b"[" * 65536),
    "forged tokens of callers": lambda n: ("POST", "/jwt/x", keyed(f"t{n}", scope=f"Bearer {FORGED}"), b"{}"),
    "preflights": lambda _: ("OPTIONS", "/v1/x", [ORIGIN, ("Access-Control-Request-Method", "POST")], None),
    "the policy document": lambda _: ("GET", "/.well-known/idempotency", [], None),
    "guesses at the sign-in": lambda n: ("POST", "/v1/session", [JSON, ("X-Semel", "1"), ("Sec-Fetch-Site", "same-origin")],
                                         b'{"token":"guess%d"}' % n),
    "claims with wrong tokens": lambda n: ("POST", "/v1/claims", [JSON, ("Authorization", f"Bearer guess{n}")], b'{"key":"k"}'),
}
LISTENERS = {"guesses at the sign-in": "admin", "claims with wrong tokens": "api"}  # others: the gateway's
STATUSES = {"no key": 400, "new keys over a quota": 429, "made-up tokens": 401, "a used key with another body": 422,
            "forged deliveries of 64 KiB": 401, "forged forms of 64 KiB": 401, "paths of 8 KiB, encoded over and over": 400,
            "heads with an underscore": 400, "deep JSON of 64 KiB": 429, "forged tokens of callers": 401, "preflights": 204,
            "the policy document": 200, "guesses at the sign-in": 401,
            "claims with wrong tokens": 401}


def flood(address, name, rate, count, refused):
    """Sends on one connection, `rate` a second, for ever; a connection that was closed is made again."""
    client, number, began = None, 0, time.monotonic()
    while True:
        number += 1
        client = client or wire.Wire(address, seconds=60)
        reply = client.ask(*FLOODS[name](number))
        count.value += 1
        if reply.status == STATUSES[name]:
            refused.value += 1
        if reply.get("Connection") == "close":
            client.close()
            client = None
        ahead = number / rate - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(ahead)
        elif ahead < -0.1:  # it was stopped: it does not catch up
            number, began = number, time.monotonic() - number / rate


def cpu_seconds(semel):
    with open(f"/proc/{semel.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def at(times, part):
    return sorted(times)[int(len(times) * part)] * 1000


class Floods(harness.Case):
    number = 0

    def well_behaved(self, client, seconds, times):
        """First runs of another client, one after the other."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.number += 1
            who = self.number // 50  # so that nobody's quota is reached: callers of their own, each at an address of its own
            fields = [*keyed(f"k{self.number}", f"caller{who}"), ("X-Forwarded-For", f"10.1.{who >> 8}.{who & 255}")]
            began = time.monotonic()
            self.assertEqual(client.ask("POST", "/calm/x", fields, b"{}").status, 200)
            times.append(time.monotonic() - began)

    def listener(self, semel, name):
        return {"admin": semel.admin, "api": self.api}.get(LISTENERS.get(name), semel.address)

    def beside(self, semel, name):
        # Without a lock: only the flood writes, and when it is ended it may hold one.
        count, refused = (multiprocessing.Value("q", 0, lock=False) for _ in range(2))
        process = multiprocessing.Process(target=flood, args=(self.listener(semel, name), name, RATE, count, refused),
                                          daemon=True)
        times = {"without": [], "with": []}
        spent = collections.Counter()
        before = memory(semel, "VmRSS")
        process.start()
        try:
            with semel.connect() as client:
                for number in range(ROUNDS * 2):
                    which = ("without", "with")[number % 2]
                    os.kill(process.pid, signal.SIGSTOP if which == "without" else signal.SIGCONT)
                    began, sent = cpu_seconds(semel), len(times[which])
                    self.well_behaved(client, SECONDS / ROUNDS / 2, times[which])
                    spent[which] += cpu_seconds(semel) - began
                    spent[which + " requests"] += len(times[which]) - sent
        finally:
            os.kill(process.pid, signal.SIGCONT)
            process.terminate()
            process.join(10)
        own = spent["without"] / max(1, spent["without requests"])
        flooded = max(0.0, spent["with"] - own * spent["with requests"]) / max(1, count.value) * 1e6
        return {"name": name, "requests": count.value, "refused": refused.value, "ms": [
            at(times[which], part) for part in (0.5, 0.99) for which in ("without", "with")], "cpu_us": flooded,
            "bytes": memory(semel, "VmRSS") - before}

    def test_a_client_beside_each_flood(self):
        """Every request of the flood is refused, the other client's are all answered, and memory does not grow."""
        self.answer_all(body=lambda arrival: b"done")
        self.answer_all("denied", status=401)
        config = CONFIG.replace("[server]\n", f'[server]\npublic_url = "http://127.0.0.1"\n{CORS}')
        config = config.replace("[admin]\n", '[admin]\ntoken = "a token that nobody guesses"\n')
        config += LIMITS + CLAIMS + TOKENS + HOOK + FORM + CALM + ROUTE + EVERYTHING
        self.api = programs.free_address()
        semel = self.gateway(config, api="%s:%d" % self.api)
        (semel.folder / "keys.json").write_text(key_set(), encoding="utf-8")
        with semel:
            for key, scope in (("used", "used"), *((f"first{number}", "flood") for number in range(64))):
                self.assertEqual(semel.ask("POST", "/v1/x", keyed(key, scope=scope), b"{}").status, 200)
            found = [self.beside(semel, name) for name in FLOODS]
        print(json.dumps(found))
        for one in found:
            median, with_it, slow, slow_with_it = one["ms"]
            print("| {} | {:.2f} → {:.2f} | {:.2f} → {:.2f} | {:.1f} × | {:.0f} µs | {:.1f} MiB |".format(
                one["name"], median, with_it, slow, slow_with_it, slow_with_it / slow, one["cpu_us"], one["bytes"] / 2**20))
        for one in found:
            with self.subTest(one["name"]):
                self.assertGreater(one["requests"], 10)
                self.assertGreaterEqual(one["refused"], one["requests"] * 0.99)
                self.assertLess(one["ms"][1], one["ms"][0] * SLOWER_MAX)
                if not harness.has_sanitizer(self.binary, "asan", "tsan"):
                    self.assertLess(one["bytes"], EXTRA_BYTES_MAX)


if __name__ == "__main__":
    harness.run()
