"""An upstream that writes down every byte that it gets, by connection; and Node's parser as a second reader of them."""
import base64
import json
import pathlib
import subprocess

import server
import wire

ANSWER = server.Reply(200, [("Connection", "close")]).bytes()
PATIENCE_S = 20


class Recorded:
    """A socket that remembers what was read from it."""

    def __init__(self, sock):
        self.sock = sock
        self.bytes = b""

    def recv(self, size):
        got = self.sock.recv(size)
        self.bytes += got
        return got

    def __getattr__(self, name):
        return getattr(self.sock, name)


class RawOrigin(server.Server):
    """Answers each request once it has all of it, and asks for the connection to be closed: one request on each."""

    def __init__(self):
        self._seen = []
        super().__init__(self._keep, wrap=Recorded)

    def take(self, seconds=5.0):
        """What came on each connection since the last time, now that all of them are closed."""
        if not self.wait_idle(seconds):
            raise wire.Silent("the gateway leaves a connection to the upstream open")
        seen, self._seen = self._seen, []
        return seen

    def _keep(self, connection):
        connection.reader.seconds = PATIENCE_S
        try:
            wire.read_body(connection.reader, wire.read_head(connection.reader), until_close=False)
            connection.send(ANSWER)
            connection.reader.to_end()
        except ValueError:
            pass  # a length that is none
        finally:
            self._seen.append(connection.sock.bytes)


class Node:
    """llhttp.mjs: what Node's strict parser makes of a stream of bytes."""

    def __init__(self):
        program = pathlib.Path(__file__).resolve().parent / "llhttp.mjs"
        self.process = subprocess.Popen(["node", str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, data):
        """([(method, target, body, complete)], error or None)"""
        self.process.stdin.write(base64.b64encode(data).decode() + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        requests = [(one["method"], one["target"], base64.b64decode(one["body"]), one["complete"])
                    for one in found["requests"]]
        return requests, found["error"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
