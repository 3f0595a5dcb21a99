"""A small charges API that is not idempotent and not well: it loses connections, answers 500 and stalls, by plan.

Every POST that acts is a charge with an id of its own, whatever key it carries. Each key meets at most `faults_max`
faults, drawn by a seed, then it is served as it should be: a client that goes on trying gets there.

  fault          acts   what the caller sees
  drop_before    no     the connection closes without an answer
  drop_after     yes    the connection closes without an answer
  cut_answer     yes    half an answer
  refuse_500     no     500
  act_then_500   yes    500
  refuse_503     no     503
  stall          no     nothing, until the caller has lost patience
  stall_after    yes    as above
  late           yes    as above, but it acts only after the caller has lost patience

GET /v1/charges?key=K tells what became of a key: 200 and its charge, 404 if there is none, 409 while a request with
that key is still being worked on, for then nobody can tell yet. Other GETs answer with the number of charges.
"""
import json
import random
import threading
import time
import urllib.parse

import server

FAULTS = ("drop_before", "drop_after", "cut_answer", "refuse_500", "act_then_500", "refuse_503", "stall", "stall_after",
          "late")


def reply(status, content):
    return server.Reply(status, [("Content-Type", "application/json")], json.dumps(content).encode())


def trouble(status, message, kind="api_error"):
    return reply(status, {"error": {"type": kind, "message": message}})


def shown(charge, amount):
    return reply(200, {"id": charge, "object": "charge", "amount": amount, "status": "succeeded"})


class Charges(server.Server):
    def __init__(self, faults=FAULTS, faults_max=3, chance=0.6, seed=1, stall_s=1.6, key_of=None, work_s=0.0):
        self.faults = faults
        self.faults_max = faults_max
        self.chance = chance
        self.stall_s = stall_s  # longer than the gateway waits
        self.work_s = work_s
        self.key_of = key_of or (lambda request: request.get("Idempotency-Key"))
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._next = 0
        self._busy = {}  # key → requests that are being worked on
        self._met = {}  # key → faults so far
        self.charges = []  # (key, id, amount), in order
        self.met = []  # every fault that happened
        super().__init__(server.replies(self._answer))

    def by_key(self):
        """key → ids of its charges."""
        with self._lock:
            found = {}
            for key, charge, _ in self.charges:
                found.setdefault(key, []).append(charge)
            return found

    def _answer(self, request):
        return self._charge(request) if request.method == "POST" else self._look_up(request)

    def _look_up(self, request):
        url = urllib.parse.urlsplit(request.target)
        key = urllib.parse.parse_qs(url.query).get("key", [None])[0]
        with self._lock:
            busy = self._busy.get(key, 0)
            found = next((charge for charge in self.charges if charge[0] == key), None)
        if key is None:
            return reply(200, {"object": "list", "effects": len(self.charges)})
        if found:
            return shown(found[1], found[2])
        if busy:
            return trouble(409, "still being worked on")
        return trouble(404, "no such charge", "invalid_request_error")

    def _draw(self, key):
        with self._lock:
            if not self.faults or self._met.get(key, 0) >= self.faults_max or self._random.random() >= self.chance:
                return None
            self._met[key] = self._met.get(key, 0) + 1
            fault = self._random.choice(self.faults)
            self.met.append(fault)
            return fault

    def _act(self, key, amount):
        time.sleep(self.work_s)
        with self._lock:
            self._next += 1
            charge = f"ch_{self._next}"
            self.charges.append((key, charge, amount))
            return charge

    def _charge(self, request):
        key = self.key_of(request)
        with self._lock:
            self._busy[key] = self._busy.get(key, 0) + 1
        try:
            return self._answer_with(self._draw(key), key, amount_of(request))
        finally:
            with self._lock:
                self._busy[key] -= 1

    def _answer_with(self, fault, key, amount):
        if fault in ("stall", "late"):
            time.sleep(self.stall_s)
        if fault in ("drop_before", "stall"):
            return None
        if fault in ("refuse_500", "refuse_503"):
            return trouble(int(fault[-3:]), "nothing was done")
        charge = self._act(key, amount)
        if fault == "stall_after":
            time.sleep(self.stall_s)
        if fault in ("drop_after", "stall_after", "late"):
            return None
        if fault == "act_then_500":
            return trouble(500, "something went wrong")
        if fault == "cut_answer":
            return b"HTTP/1.1 200 Fine\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{\"id\":"
        return shown(charge, amount)


def amount_of(request):
    """Of a form, as Stripe's clients send it, or of JSON."""
    body = request.body.decode()
    if body.startswith("{"):
        return json.loads(body).get("amount", 0)
    return int(urllib.parse.parse_qs(body).get("amount", ["0"])[0])
