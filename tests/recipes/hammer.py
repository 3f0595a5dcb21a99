#!/usr/bin/env python3
"""The hammer against both adapters and the one-transaction example: hammer.py --binary SEMEL --examples FOLDER
    --adapters FOLDER [--keys 200] [--runs 10]

25 requests at once for each key. `semel hammer` exits 0 only if no key ran twice, all answers of a key were the same,
nothing failed and the effects are as many as the keys.
"""
import json

import examples
from examples import expect, wire

import gateway
import postgres_server
import programs

CONFIG = """
[server]
listen = "$listen"
[admin]
listen = ""
[store]
url = "$store"
[upstream.app]
url = "http://$upstream"
[[route]]
path = "/v1/*"
upstream = "app"
scope = "{header:Authorization?}"
"""


def hammer(options, name, address, target, effects):
    for number in range(1, options.runs + 1):
        before = json.loads(wire.ask(effects, "GET", "/effects").body)["effects"]
        done = programs.run(options.binary, "hammer", "http://%s:%d%s" % (*address, target), "--keys", options.keys,
                            "--duplicates", 25, seconds=3600)
        expect(done.returncode == 0, f"{name}, run {number}:\n{done.stdout}{done.stderr}")
        made = json.loads(wire.ask(effects, "GET", "/effects").body)["effects"] - before
        expect(made == options.keys, f"{name}, run {number}: {made} effects of {options.keys} keys")
    print(f"{name}: {options.runs} runs of {options.keys} keys, 25 at once: one effect each, answers identical")


def hammer_adapter(options, name):
    with programs.Demo(options.binary, "--without") as api:
        server = options.adapters / f"{name}_server"
        with gateway.Gateway(server, CONFIG, upstream="%s:%d" % api.address) as semel:
            hammer(options, name, semel.address, "/v1/payments", api.address)


def hammer_payments(options):
    address = programs.free_address()
    server = postgres_server.Server(options.binary, "max_connections = 100")
    try:
        # A thread stays with its connection: as many as the hammer has (50), or the last wait for the first to close.
        with programs.Program(options.examples / "example_payments", server.url, address[1], 64):
            hammer(options, "one transaction", address, "/payments", address)
    finally:
        server.close()


def main():
    options = examples.arguments("examples", "adapters", keys=200, runs=10).parse_args()
    for name in ("beast", "httplib"):
        hammer_adapter(options, name)
    hammer_payments(options)


if __name__ == "__main__":
    main()
