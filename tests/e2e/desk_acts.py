#!/usr/bin/env python3
"""Random acts of operators against a model while gateways are killed (kill -9) at any moment: no act without its entry in the
audit log, a whole chain, and what an operator was told is so. Payments go on meanwhile; the origin writes down each effect.

--binary SEMEL [--acts N] [--seed N] [--stores embedded,postgres]"""
import argparse
import collections
import json
import random
import sys
import threading
import time

import gateway
import operators
import postgres_server
import programs
import server
import wire
from harness import keyed

GONE = (OSError, wire.Closed, wire.Cut, wire.Silent)


class Broken(Exception):
    """A promise was broken."""


def hold(true, what):
    if not true:
        raise Broken(what)


class Asserting:
    """What operators.ByApi needs of a test case."""

    @staticmethod
    def assertEqual(one, other, what=""):
        hold(one == other, f"{one} is not {other}: {what}")


class Origin(server.Server):
    """Each POST is an effect. The answer to the first of a payment that is to be lost never leaves."""

    def __init__(self):
        self._lock = threading.Lock()
        self._effects = collections.Counter()
        self._lost = set()
        super().__init__(server.replies(self._answer))

    def lose(self, name):
        with self._lock:
            self._lost.add(name)

    def effects(self, name):
        with self._lock:
            return self._effects[name]

    def _answer(self, request):
        name = request.get("Idempotency-Key")
        with self._lock:
            self._effects[name] += 1
            if name in self._lost:
                self._lost.discard(name)
                return None
        return server.Reply(201, body=f"attempt {request.get('Idempotency-Attempt')}".encode())


class Known:
    """What the model knows of a payment: the answers that it may give from now on, and whether an attempt may run."""

    def __init__(self, name):
        self.name = name
        self.id = None
        self.told = None  # ("done", body) | ("not-done",) | ("reopen",): the last act that was answered with 200
        self.open = []    # acts since then that were cut off: any of them may have been applied
        self.heard = None  # what the customer heard when the books were last compared
        self.forgotten_at = 0.0  # until then a gateway that was not told may go by what it remembers


class Trial:
    def __init__(self, options, store, url):
        self.options, self.store = options, store
        self.chance = random.Random(options.seed)
        self.origin = Origin()
        config = operators.WITH_TOKENS
        values = {"upstream": "%s:%d" % self.origin.address, "store": url}
        self.gateways = [gateway.Gateway(options.binary, config, **values) for _ in range(2 if url else 1)]
        self.counts = collections.Counter()
        self.payments = []
        self.broken = []
        self.lock = threading.Lock()

    def count(self, what):
        with self.lock:
            self.counts[what] += 1
            return self.counts[what]

    def close(self):
        for semel in self.gateways:
            semel.close()
        self.origin.close()

    # ---- the customer ----

    def pay(self, payment, semel):
        """Status and body, or None if there was no answer."""
        try:
            reply = semel.ask("POST", "/v1/payments", keyed(payment.name), b"12")
            return reply.status, reply.body, reply.get("Idempotent-Replayed")
        except GONE:
            return None

    def new_payment(self):
        payment = Known(f"pay-{len(self.payments)}-{self.options.seed}")
        self.payments.append(payment)
        self.origin.lose(payment.name)
        self.pay(payment, self.chance.choice(self.gateways))
        return payment

    # ---- the operator ----

    def act(self, payment, chance):
        """One random act. What was answered is so from now on; what was cut off may be. False if nobody answers."""
        semel = chance.choice(self.gateways)
        desk = operators.ByApi(Asserting, semel)
        try:
            key = desk.find(payment.name, "alice")
        except GONE:
            return False
        payment.id = key["id"]
        kind = {"unknown": chance.choice(["done", "not-done"]), "done": "reopen"}.get(key["state"])
        if kind is None and chance.random() < 0.9:
            return True  # it is free: the customer is next
        kind = kind or chance.choice(["done", "not-done", "reopen"])  # to be refused
        fence = key["fence"] if chance.random() < 0.9 else key["fence"] + chance.choice([-1, 1])
        number = self.count("acts")
        body = f"answer {payment.name} {number}"
        asked = {"fence": fence, "reason": f"act {number}"}
        if kind != "reopen":
            asked["as"] = kind
        if kind == "done":
            asked["response"] = {"status": 201, "body": body}
        act = (kind, body) if kind == "done" else (kind,)
        try:
            reply, said = desk.call("POST", f"/v1/keys/{key['id']}/{'reopen' if kind == 'reopen' else 'resolve'}", asked)
        except GONE:
            payment.open.append(act)
            self.count("cut off")
            return False
        if reply.status == 200:
            payment.told, payment.open = act, []
            payment.forgotten_at = time.monotonic() + said["in_effect_within_ms"] / 1000
            self.count("applied")
        elif reply.status == 503:
            payment.open.append(act)
            self.count("not known")
        else:
            hold(reply.status in (400, 409), f"{reply.status}: {said}")
            self.count("refused")
        return True

    # ---- the books ----

    def check_log(self):
        """The chain is whole, and each act that a key shows has its entry. Returns the acts by key."""
        desk = operators.ByApi(Asserting, self.gateways[0])
        entries = desk.entries()
        hold(operators.is_whole(entries), "the chain of the audit log is broken")
        acts = collections.defaultdict(list)
        for entry in entries:
            text = json.loads(entry["entry"])
            if "act" in text:
                acts[text["id"]].append(text)
        return acts

    @staticmethod
    def complaint(payment, answer, possible, logged):
        """What is wrong with the answer that the customer got; None if it is as it may be."""
        status, body, replayed = answer
        sure = payment.told if not payment.open else None
        if status == 409:
            return f"settled, and still {body}" if sure or b"outcome-unknown" not in body else None
        if body.startswith(b"answer"):
            bodies = [act[1].encode() for act in possible if act[0] == "done"]
            if not sure:
                bodies.append(payment.heard)  # nothing may have been done since
            return None if replayed and body in bodies else f"{body} is not the answer, {bodies} are"
        if status != 201 or not body.startswith(b"attempt"):
            return f"{answer}"
        if sure and sure[0] == "done":
            return f"{body} in place of {sure[1]}"
        if not possible and payment.heard != body:
            return f"{body} in place of {payment.heard}, and nobody did anything"
        opened = any(act["act"] in ("resolve as not-done", "reopen") for act in logged)
        return None if opened else "it ran again, and nobody is in the log for it"

    def check(self, payment, acts):
        """What the operator was told is what the customer hears, from every gateway."""
        possible = [payment.told] if payment.told else []
        possible += payment.open
        logged = acts.get(payment.id, [])
        if payment.told:
            word = "reopen" if payment.told[0] == "reopen" else f"resolve as {payment.told[0]}"
            hold(any(act["act"] == word for act in logged), f"{payment.name}: an act without its entry")
        ran_before = self.origin.effects(payment.name)
        for semel in self.gateways:
            while True:
                answer = self.pay(payment, semel)
                hold(answer is not None, "a gateway that runs answers")
                wrong = self.complaint(payment, answer, possible, logged)
                if wrong is None or time.monotonic() > payment.forgotten_at + 0.5:
                    break
                self.count("remembered")
                time.sleep(0.2)
            hold(wrong is None, f"{payment.name}: {wrong}; told {payment.told}, cut off {payment.open}")
        # Each further effect needs an act that let the payment run again.
        openings = sum(act["act"] in ("resolve as not-done", "reopen") for act in logged)
        effects = self.origin.effects(payment.name)
        hold(effects <= 1 + openings, f"{payment.name}: {effects} effects with {openings} acts that let it run")
        self.counts["ran again"] += effects - ran_before
        payment.told, payment.open, payment.heard = None, [], answer[1]

    # ---- a round ----

    def operate(self, payments, seed, until):
        """An operator at work until nobody answers, or it is enough."""
        chance = random.Random(seed)
        try:
            while not until.is_set() and self.act(chance.choice(payments), chance):
                pass
        except Broken as broken:
            self.broken.append(broken)

    def round(self):
        """Three operators, each with payments of their own, until a gateway is killed under them."""
        shares = [[self.new_payment() for _ in range(8)] for _ in range(3)]
        for number, payment in enumerate(self.chance.sample(self.payments[:-24], min(len(self.payments) - 24, 6))):
            shares[number % 3].append(payment)
        victim = self.chance.choice(self.gateways)
        enough = threading.Event()
        people = [threading.Thread(target=self.operate, args=(share, self.chance.random(), enough)) for share in shares]
        for each in people:
            each.start()
        time.sleep(self.chance.uniform(0.002, 0.12))
        victim.kill()
        enough.set()
        for each in people:
            each.join()
        if self.broken:
            raise self.broken[0]
        self.count("kills")
        victim.start()
        acts_by_key = self.check_log()
        for share in shares:
            for payment in share:
                self.check(payment, acts_by_key)

    def run(self):
        for semel in self.gateways:
            semel.start()
        while self.counts["acts"] < self.options.acts:
            self.round()
        verified = programs.run(programs.path(self.options.binary), "keys", "audit", "--verify", "--config",
                                          self.gateways[0].config_path)
        hold(verified.returncode == 0, verified.stderr)
        hold(self.counts["applied"] * 3 > self.options.acts, f"too few acts were applied: {dict(self.counts)}")
        hold(self.counts["cut off"] > 0 or self.counts["kills"] < 8, f"no kill hit an act: {dict(self.counts)}")
        return verified.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--acts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--stores", default="embedded,postgres")
    options = parser.parse_args()
    print("seed", options.seed)
    for store in options.stores.split(","):
        server = postgres_server.Server(options.binary) if store == "postgres" else None
        if server:
            server.prepare("acts")
        trial = Trial(options, store, server.url_of("acts") if server else None)
        begun = time.monotonic()
        try:
            said = trial.run()
            print(f"{store}: {dict(trial.counts)} in {time.monotonic() - begun:.0f} s; {said}", flush=True)
        except Broken as broken:
            print(f"{store}: BROKEN: {broken}; {dict(trial.counts)}")
            return 1
        finally:
            trial.close()
            if server:
                server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
