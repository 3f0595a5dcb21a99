"""The claims API as a test calls it. Every answer is written down, and at the end all of them are held against the
description of the API (docs/openapi-claims.json) with ajv."""
import http.client
import json
import pathlib
import subprocess
import uuid

import npm
import programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "openapi-claims.json"
SECRET = "0123456789abcdef-worker"
OTHER_SECRET = "0123456789abcdef-other"

CONFIG = """
[server]
listen = "$listen"
threads = 2
[admin]
listen = "$admin"
[store]
url = "$store"
$store_more
[api]
listen = "$api"
[[api.token]]
name = "worker"
secret = "0123456789abcdef-worker"
namespaces = ["orders", "jobs.*"]
[[api.token]]
name = "other"
secret = "0123456789abcdef-other"
namespaces = ["others"]
"""

ANSWERS = []
FOLDER = None  # of the packages; None: answers are not validated


def prepare(build):
    """Finds ajv. Without npm the tests run all the same, and say that answers were not validated."""
    global FOLDER
    try:
        FOLDER = npm.install(ROOT / "tests" / "e2e" / "claims_npm", build)
    except SystemExit:
        print("answers are not validated against the description")


def validate():
    """What is wrong with the answers so far, and how many there were."""
    if FOLDER is None:
        return "", len(ANSWERS)
    done = subprocess.run(["node", "validate.mjs", str(DOCUMENT)], cwd=FOLDER, input="\n".join(ANSWERS), text=True,
                          capture_output=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return "", int(lines[-1])
    return done.stdout[-4000:] + done.stderr[-2000:], 0


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def __getattr__(self, name):
        return self.body.get(name)

    def __repr__(self):
        return f"{self.status} {self.body}"


class Caller:
    """One connection of one holder of a token."""

    def __init__(self, address, secret=SECRET, seconds=40):
        self.address, self.secret, self.seconds = address, secret, seconds
        self.connection = None

    def call(self, path, request, secret=None, method="POST"):
        body = request if isinstance(request, (bytes, str)) else json.dumps(request)
        secret = self.secret if secret is None else secret
        fields = {"Authorization": f"Bearer {secret}"} if secret else {}
        if self.connection is None:
            self.connection = http.client.HTTPConnection(*self.address, timeout=self.seconds)
        try:
            self.connection.request(method, "/v1/claims" + path, body, fields)
            reply = self.connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        said = json.loads(text)
        kind = (reply.getheader("Content-Type") or "").split(";")[0]
        assert kind != "application/problem+json" or text.endswith(b"}\n"), text  # for those who read it in a terminal
        if reply.status != 404:
            ANSWERS.append(json.dumps({"path": "/v1/claims" + path, "method": "POST", "status": reply.status, "type": kind,
                                       "body": said}))
        return Answer(reply.status, dict(reply.getheaders()), said)

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def claim(self, key, owner=None, **more):
        return self.call("", {"namespace": "orders", "key": key, "owner": owner or fresh_owner(), **more})

    def end(self, path, key, fence, **more):
        return self.call(path, {"namespace": "orders", "key": key, "fence": fence, **more})

    def complete(self, key, fence, body="done", **more):
        return self.end("/complete", key, fence, result={"body": body}, **more)

    def get(self, key, **more):
        return self.call("/get", {"namespace": "orders", "key": key, **more})


def fresh_owner():
    return uuid.uuid4().hex


def gateway(case, config=CONFIG, store_more="", **values):
    """A semel with the API; `api` is where."""
    address = programs.free_address()
    semel = case.gateway(config, api="%s:%d" % address, store_more=store_more, **values)
    semel.api = address
    semel.caller = Caller(address)
    return semel
