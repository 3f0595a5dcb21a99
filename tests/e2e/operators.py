"""Operators of a desk: one who has only the API, one who has only a terminal. Every answer of the API is remembered and, where
npm can be had, validated against docs/openapi-admin.json with ajv when the tests of a class have ended."""
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import threading

import harness
import npm
import wire
from harness import CONFIG, ROUTE, keyed

TOKENS = {"viewer": "view-1", "operator": "ops-1", "admin": "admin-1"}
LISTED = ", ".join(f'{role} = "{token}"' for role, token in TOKENS.items())
WITH_TOKENS = CONFIG.replace("[store]", f"tokens = {{ {LISTED} }}\n[store]") + ROUTE
OPENAPI = pathlib.Path(__file__).parents[2] / "docs" / "openapi-admin.json"
REAL = b'{"id": "pay_1", "amount": 12}'

ANSWERS = []
FOLDER = None  # of the packages; None: answers are not validated


def prepare(build):
    """Finds ajv. Without npm the tests run all the same, and say that answers were not validated."""
    global FOLDER
    try:
        FOLDER = npm.install(pathlib.Path(__file__).parent / "claims_npm", build)
    except SystemExit:
        print("answers are not validated against the description")


def template(target):
    """The path of the document that a target is for."""
    path = target.partition("?")[0]
    if path == "/v1/inbox/export":
        return path
    if path.startswith("/v1/inbox/jobs"):
        return re.sub(r"jobs/[^/]+$", "jobs/{id}", path)
    if path.startswith("/v1/audits/"):
        return re.sub(r"audits/(findings/)?[^/]+/(run|close|acknowledge)$", r"audits/\1{id}/\2", path)
    return re.sub(r"^/v1/(keys|inbox|destinations)/(?!find$)[^/]+", r"/v1/\1/{id}", path)


def complaints():
    """What is wrong with the answers so far, and how many there were."""
    if FOLDER is None:
        return "", len(ANSWERS)
    done = subprocess.run(["node", "validate.mjs", str(OPENAPI)], cwd=FOLDER, input="\n".join(ANSWERS), text=True,
                          capture_output=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return "", int(lines[-1])
    return done.stdout[-4000:] + done.stderr[-2000:], 0


def is_whole(entries):
    """Whether each hash covers its entry and the one before."""
    before = "00" * 32
    for number, entry in enumerate(entries, 1):
        text = "\n".join(["semel audit v1", before, str(number), entry["entry"]])
        if entry["number"] != number or entry["hash"] != hashlib.sha256(text.encode()).hexdigest():
            return False
        before = entry["hash"]
    return True


class ByApi:
    """An operator who only has the API."""

    def __init__(self, case, semel):
        self.case, self.semel = case, semel

    def call(self, method, target, body=None, token=TOKENS["operator"], fields=()):
        head = [("Authorization", f"Bearer {token}")] if token else []
        data = None if body is None else json.dumps(body).encode()
        reply = wire.ask(self.semel.admin, method, target, [*head, *fields], data)
        in_lines = reply.get("Content-Type") == "application/x-ndjson"
        said = reply.body.decode() if in_lines else json.loads(reply.body or b"null")
        if method != "HEAD":  # which has no body to be held against the description
            ANSWERS.append(json.dumps({"path": template(target), "method": method, "status": reply.status,
                                       "type": reply.get("Content-Type"), "body": said}))
        return reply, said

    def good(self, *arguments, **options):
        reply, body = self.call(*arguments, **options)
        self.case.assertEqual(reply.status, 200, body)
        return body

    def find(self, key, scope):
        return self.good("POST", "/v1/keys/find", {"namespace": "default", "scope": scope, "key": key})["items"][0]

    def object(self, webhook, object):
        return self.good("POST", "/v1/keys/find", {"webhook": webhook, "object": object})["items"][0]

    def show(self, id):
        return self.good("GET", f"/v1/keys/{id}")

    def unknown(self):
        return self.good("GET", "/v1/keys?state=unknown")

    def done(self, key, body):
        self.good("POST", f"/v1/keys/{key['id']}/resolve",
                  {"fence": key["fence"], "as": "done", "reason": "seen at the bank",
                   "response": {"status": 201, "fields": [{"name": "Location", "value": "/pay_1"}], "body": body.decode()}})

    def done_by_probe(self, key, text, scope):
        """The status of the answer and what it says."""
        reply, said = self.call("POST", f"/v1/keys/{key['id']}/resolve",
                                {"fence": key["fence"], "as": "done", "from": "probe", "reason": "as the bank says",
                                 "route": "/v1/payments", "key": text, "fields": {"Authorization": scope}})
        return reply.status, said

    def not_done(self, key):
        self.good("POST", f"/v1/keys/{key['id']}/resolve", {"fence": key["fence"], "as": "not-done", "reason": "not there"})

    def reopen(self, key):
        return self.good("POST", f"/v1/keys/{key['id']}/reopen", {"fence": key["fence"], "reason": "again"})

    def entries(self):
        entries = []
        while True:
            page = self.good("GET", f"/v1/audit?limit=1000&after={len(entries)}")
            entries += page["items"]
            if page["complete"]:
                return entries


class ByCommandLine:
    """An operator who only has a terminal."""

    def __init__(self, case, semel):
        self.case, self.semel = case, semel

    def run(self, *words, token=TOKENS["operator"]):
        where = ["--admin", "http://%s:%d" % self.semel.admin, "--token", token, "--json"]
        return self.case.run_semel("keys", *words, *where)

    def good(self, *words):
        done = self.run(*words)
        self.case.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def find(self, key, scope):
        return self.good("find", key, "--route", "/v1/payments", "--header", f"Authorization: {scope}")

    def object(self, webhook, object):
        return self.good("find", "--webhook", webhook, "--object", object)

    def show(self, id):
        return self.good("show", id[:12])

    def unknown(self):
        return self.good("list", "--state", "unknown")

    def done(self, key, body):
        file = self.semel.folder / "answer.json"
        file.write_bytes(body)
        self.good("resolve", key["id"], "--fence", str(key["fence"]), "--as", "done", "--status", "201", "--body", f"@{file}",
                  "--field", "Location: /pay_1", "--reason", "seen at the bank")

    def done_by_probe(self, key, text, scope):
        done = self.run("resolve", key["id"], "--fence", str(key["fence"]), "--as", "done", "--from-probe", "--key", text,
                        "--route", "/v1/payments", "--header", f"Authorization: {scope}", "--reason", "as the bank says")
        said = json.loads(done.stdout)
        return said.get("status", 200), said

    def not_done(self, key):
        self.good("resolve", key["id"], "--fence", str(key["fence"]), "--as", "not-done", "--reason", "not there")

    def reopen(self, key):
        return self.good("reopen", key["id"], "--fence", str(key["fence"]), "--reason", "again")

    def entries(self):
        done = self.run("audit")
        self.case.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]


class Case(harness.Case):
    """Payments whose answers are lost, and operators whose every answer is as the document says."""

    @classmethod
    def tearDownClass(cls):
        wrong, count = complaints()
        if wrong:
            raise AssertionError(f"answers that are not as the document says:\n{wrong}")
        print(f"{cls.__name__}: {count} answers {'were not validated' if FOLDER is None else 'are as the document says'}",
              file=sys.stderr)

    def lose(self, semel, key):
        """A payment arrives, and its answer never does."""
        asked = threading.Thread(target=semel.ask, args=("POST", "/v1/payments", keyed(key), b"12"))
        asked.start()
        arrival = self.stage.next()
        arrival.read_body()
        arrival.reset()
        asked.join()

    def pay(self, semel, key):
        return semel.ask("POST", "/v1/payments", keyed(key), b"12")


def run():
    harness.run(build=prepare)
