"""What the programs with a browser have in common: a gateway, somebody who plays stories.mjs at it, and things that went wrong.
--binary SEMEL --build FOLDER"""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import desk  # noqa: E402
import harness  # noqa: E402
import npm  # noqa: E402
import postgres_server  # noqa: E402
import wire  # noqa: E402
from harness import keyed  # noqa: E402

WEBHOOK = '[[webhook]]\npath = "/hooks/stripe"\nprovider = "stripe"\nsecrets = ["whsec_1", "whsec_2"]\nupstream = "app"\n'
GITHUB = WEBHOOK.replace("stripe", "github")
CONFIG = desk.WITH_TOKENS + WEBHOOK
INBOX = '[destination.app]\nupstream = "app"\nfatal = ["400"]\n' + WEBHOOK.replace(
    'upstream = "app"\n', 'delivery = "inbox"\ndeliver = [ { to = "app" } ]\n')
HOSTILE = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "\u202egnp.exe", "{{7*7}}"]
STORY_SECONDS_MAX = 240


class Case(harness.Case):
    folder = None  # with the packages

    def start(self, config=CONFIG, **values):
        semel = self.gateway(config, **values).start()
        self.url = "http://127.0.0.1:%d/" % semel.admin[1]
        return semel

    def tell(self, story, **parameters):
        """Plays a story of stories.mjs to its end."""
        values = {"url": self.url, "folder": str(self.build), "token": desk.TOKENS["operator"], "name": "embedded", **parameters}
        environment = {**os.environ, "SEMEL_PACKAGES": str(self.folder), "SEMEL_CHROMIUM": self.chromium}
        done = subprocess.run(["node", str(HERE / "stories.mjs"), story, json.dumps(values)], env=environment, capture_output=True,
                              text=True, timeout=STORY_SECONDS_MAX, check=False)
        print(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stderr)

    def lose(self, semel, key):
        asked = threading.Thread(target=semel.ask, args=("POST", "/v1/payments", keyed(key), b"12"))
        asked.start()
        arrival = self.stage.next()
        arrival.read_body()
        arrival.reset()
        asked.join()

    def pay(self, semel, key):
        return semel.ask("POST", "/v1/payments", keyed(key), b"12")

    def deliver(self, semel, secret, event=None):
        return self.run_semel("sign", "stripe", "--secret", secret, "--body", json.dumps(event or {"id": "evt_1", "type": "x"}), "--send",
                              "--url", "http://%s:%d/hooks/stripe" % semel.address)

    def id_of(self, semel, key):
        return desk.ByApi(self, semel).find(key, "alice")["id"]

    @functools.cached_property
    def postgres(self):
        server = postgres_server.Server(self.binary)
        self.addCleanup(server.close)
        server.prepare("desk")
        return server.url_of("desk")

    def states(self, semel):
        return desk.ByApi(self, semel).good("GET", "/v1/destinations")["items"][0]["states"]

    def serve(self, status_of):
        """The upstream answers what `status_of(message)` says."""
        def run():
            while True:
                try:
                    arrival = self.stage.next("", seconds=60)
                    arrival.read_body()
                    arrival.answer(status_of(arrival.message), (), b"{}")
                except (wire.Silent, wire.Cut, OSError):
                    return

        threading.Thread(target=run, daemon=True).start()

    def bury(self, semel, count=6, kind="x"):
        """The destination refuses each event once, for good. Then it was repaired."""
        self.serve(lambda message: 400 if message.get("Idempotency-Attempt") == "1" else 200)
        for number in range(count):
            sent = self.deliver(semel, "whsec_1", {"id": f"evt_{number}", "type": kind})
            self.assertEqual(sent.returncode, 0, sent.stderr)
        self.assertTrue(wire.eventually(lambda: self.states(semel)["dead"] == count, seconds=20), self.states(semel))


def prepare(build):
    Case.chromium = shutil.which("chromium") or harness.skip("chromium is not installed (packages.txt)")
    Case.build = pathlib.Path(build) / "browser"
    Case.build.mkdir(parents=True, exist_ok=True)
    Case.folder = npm.install(HERE / "browser_npm", build)
