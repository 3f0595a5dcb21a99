"""A claims API in memory, for what the real one cannot be made to do: lose answers, be away, be slow.

What counts is tested with the real one by other programs; this one follows the same rules as far as the client's tests need.
"""
import http.server
import json
import secrets
import threading
import time


class Key:
    def __init__(self):
        self.state, self.owner, self.fence, self.number, self.result = "free", None, None, 0, None
        self.fingerprint, self.lapses, self.expires = None, 0.0, 0.0


class FakeApi:
    """`down` answers nothing; `lose` is how many answers are made and then lost; `calls` is what came, in order."""

    def __init__(self, port=0):
        self.keys, self.calls, self.lose, self.down = {}, [], 0, False
        self.lock = threading.Condition()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if api.down:
                    return self.close_without_a_word()
                status, answer = api.answer(self.path, body)
                if api.lose > 0:
                    api.lose -= 1
                    return self.close_without_a_word()
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def close_without_a_word(self):
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path, body):
        with self.lock:
            self.calls.append((path.removeprefix("/v1/claims"), body))
        if "items" in body:
            return 200, {"items": [self.one(path, item)[1] for item in body["items"]]}
        return self.one(path, body)

    def one(self, path, item):
        act = {"": self.claim, "/renew": self.renew, "/complete": self.complete, "/release": self.release,
               "/get": self.get}[path.removeprefix("/v1/claims")]
        with self.lock:
            key = self.keys.setdefault((item["namespace"], item["scope"], item["key"]), Key())
            if key.state == "running" and time.monotonic() > key.lapses:
                key.state = "unknown"
            answer = act(key, item)
            self.lock.notify_all()
            return answer

    def state(self, key, scope="", namespace="default"):
        with self.lock:
            return self.keys[namespace, scope, key].state

    def claim(self, key, item):
        asked = item.get("fingerprint") or json.dumps(item.get("payload"), sort_keys=True)
        until = time.monotonic() + item.get("wait_ms", 0) / 1000
        while True:
            if key.state == "running" and time.monotonic() > key.lapses:
                key.state = "unknown"
            mine = key.owner == item["owner"] and key.state == "running"
            if not mine and key.state != "free" and key.fingerprint != asked:
                return problem(422, "key-reused", "key-reused", "new-key")
            if mine or key.state == "free" or (key.state == "unknown" and item.get("on_unknown") == "retry"):
                break
            if key.state == "done":
                return 200, {"outcome": "done", "result": key.result, "attempt": key.number, "expires_at": stamp(key.expires)}
            if key.state == "unknown":
                return problem(409, "outcome-unknown", "unknown", "never")
            if time.monotonic() >= until:
                return problem(409, "in-flight", "running", "same-key")
            self.lock.wait(0.02)
        if not mine:
            key.number += 1
            key.owner, key.fence, key.state = item["owner"], f"{key.number}.{secrets.token_hex(8)}", "running"
            key.fingerprint, key.expires = asked, time.time() + item.get("ttl_ms", 86400000) / 1000
        key.lapses = time.monotonic() + item["lease_ms"] / 1000
        return 201, {"outcome": "granted", "fence": key.fence, "attempt": key.number, "expires_at": stamp(key.expires)}

    def held(self, key, item):
        return key.state == "running" and key.fence == item["fence"]

    def renew(self, key, item):
        if not self.held(key, item):
            return problem(409, "claim-lost", "fenced", "never")
        key.lapses = time.monotonic() + item["lease_ms"] / 1000
        return 200, {"outcome": "renewed"}

    def complete(self, key, item):
        if self.held(key, item):
            key.state, key.result = ("unknown", None) if item.get("outcome") == "unknown" else ("done", item["result"])
        elif key.fence != item["fence"] or (item.get("result") or None) != key.result:
            return problem(409, "claim-lost", "fenced", "never")
        return 200, {"outcome": "completed"}

    def release(self, key, item):
        if self.held(key, item):
            key.state = "free"
        elif key.fence != item["fence"] or key.state != "free":
            return problem(409, "claim-lost", "fenced", "never")
        return 200, {"outcome": "released"}

    def get(self, key, item):
        more = {"result": key.result, "attempt": key.number} if key.state == "done" else {}
        return 200, {"outcome": key.state, **more}


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def problem(status, slug, outcome, retry):
    return status, {"type": "urn:semel:problem:" + slug, "title": slug, "status": status, "detail": f"The key is {outcome}.",
                    "outcome": outcome, "retry": retry, "retry_after_ms": 800}
