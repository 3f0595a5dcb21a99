#!/usr/bin/env python3
"""A payments service whose table has the last word: service.py PORT DATABASE

POST /v1/payments inserts a row under the Idempotency-Key. If there is one already, nothing is inserted, and the answer is
the payment that is there. GET /counts says how many rows there are and how many inserts were refused.
"""
import http.server
import json
import sqlite3
import sys
import threading

TABLE = "CREATE TABLE IF NOT EXISTS payments (id INTEGER PRIMARY KEY, idempotency_key TEXT NOT NULL UNIQUE, amount INTEGER)"


class Payments:
    def __init__(self, path):
        self.lock = threading.Lock()
        self.refused = 0
        self.rows = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.rows.execute(TABLE)

    def pay(self, key, amount):
        with self.lock:
            try:
                self.rows.execute("INSERT INTO payments (idempotency_key, amount) VALUES (?, ?)", (key, amount))
            except sqlite3.IntegrityError:
                self.refused += 1
            number, kept = self.rows.execute("SELECT id, amount FROM payments WHERE idempotency_key = ?", (key,)).fetchone()
        return {"id": number, "amount": kept}

    def counts(self):
        with self.lock:
            return {"rows": self.rows.execute("SELECT count(*) FROM payments").fetchone()[0], "refused": self.refused}


def handler(payments):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status, what):
            body = json.dumps(what).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.answer(200, payments.counts())

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(201, payments.pay(self.headers["Idempotency-Key"], body["amount"]))

        def log_message(self, *_):
            pass

    return Handler


def main():
    payments = Payments(sys.argv[2])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler(payments))
    print("listening on 127.0.0.1:%d" % server.server_port, file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
