#!/usr/bin/env python3
"""The examples do what docs/embedding.md says of them: recipes.py --examples FOLDER --binary SEMEL"""
import concurrent.futures
import json
import pathlib
import tempfile

import examples
from examples import expect, pay, run, wire

import postgres_server
from programs import Program, free_address


def check_second_guard(example, server):
    lines = run(example, server.url).splitlines()
    first = lines[0].removeprefix("key-1 ran: paid as ")
    expect(lines == [f"key-1 ran: paid as {first}", f"key-1 replayed: paid as {first}",
                     f"key-2 ran: was paid as {first}"], f"second_guard said {lines}")


def check_out_of_order(example, server):
    said = run(example, server.url)
    expect(said == "created: applied\ncancelled: applied\nactive: too old, not applied\ncancelled: a duplicate\n"
           "now cancelled\n", f"out_of_order said {said}")


def check_payout(example, server):
    expect(run(example, server.url, "p1", 500) == "ran: paid out 500 cents\n", "the first payout")
    expect(run(example, server.url, "p1", 500) == "replayed: paid out 500 cents\n", "its retry")
    expect(server.run("SELECT string_agg(entry, ' ' ORDER BY entry) FROM ledger") == "booked paid reserved", "the ledger")
    expect(server.run("SELECT state FROM payouts") == "booked", "the state machine")
    expect(server.run("SELECT cents FROM accounts") == "999999500", "the balance")
    # Too much money is refused for good, and the retry hears the same.
    expect(run(example, server.url, "p2", 5000000000) == "ran: not enough money\n", "a payout of too much")
    expect(run(example, server.url, "p2", 5000000000) == "replayed: not enough money\n", "its retry")
    # Several at once, of one key and of others: the row lock and the steps share them out.
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        said = list(pool.map(lambda n: run(example, server.url, f"q{n % 3}", 100), range(6)))
    expect(all(line.endswith("paid out 100 cents\n") for line in said), f"concurrent payouts said {said}")
    expect(server.run("SELECT count(*) FROM bank_transfers") == "4", "one transfer for each payout")
    expect(server.run("SELECT cents FROM accounts") == "999999200", "the balance in the end")


def check_payments(example, server):
    address = free_address()
    with Program(example, server.url, address[1], 8):
        first, again = pay(address, "k1", b'{"amount": 10}'), pay(address, "k1", b'{"amount":10}')
        expect(first.status == 201 and again.status == 201 and first.body == again.body, "a payment and its retry")
        expect(again.get("Idempotent-Replayed") == "true" and first.get("Idempotency-Expires"), "the marks")
        reused = pay(address, "k1", b'{"amount": 11}')
        expect(reused.status == 422 and json.loads(reused.body)["type"] == "urn:semel:problem:key-reused", "reuse")
        expect(wire.ask(address, "POST", "/payments", [], b"{}").status == 400, "a payment without a key")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: pay(address, "k2", b"{}"), range(24)))
        expect({reply.status for reply in replies} == {201} and len({reply.body for reply in replies}) == 1,
               "duplicates at the same time")
        expect(json.loads(wire.ask(address, "GET", "/effects").body) == {"effects": 2}, "the effects")
    # The gateway's record and this one are one: `semel.keys` has both, done.
    expect(server.run("SELECT string_agg(DISTINCT state::text, ' ') FROM semel.keys WHERE space = 'default'") == "done",
           "the records")


def check_webhook(example, binary):
    address = free_address()
    event = '{"id":"evt_1","type":"payout.paid","data":{"object":{"id":"po_1"}}}'
    with tempfile.TemporaryDirectory(prefix="semel-recipe-") as folder:
        with Program(example, pathlib.Path(folder) / "data", address[1], "whsec_test"):
            run(binary, "sign", "stripe", "--secret", "whsec_test", "--url", "http://%s:%d/webhooks" % address, "--send",
                "--times", 5, "--body", event)
            forged = wire.ask(address, "POST", "/webhooks", [("Stripe-Signature", "t=1,v1=00")], event.encode())
            expect(forged.status == 401, f"a forged delivery got {forged.status}")
            expect(json.loads(wire.ask(address, "GET", "/effects").body) == {"effects": 1}, "the events")


def main():
    options = examples.arguments("examples").parse_args()
    check_webhook(options.examples / "example_webhook", options.binary)
    server = postgres_server.Server(options.binary)
    try:
        for check in (check_second_guard, check_out_of_order, check_payout, check_payments):
            check(options.examples / f"example_{check.__name__.removeprefix('check_')}", server)
    finally:
        server.close()
    print("5 recipes hold")


if __name__ == "__main__":
    main()
