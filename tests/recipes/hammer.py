#!/usr/bin/env python3
"""The hammer against both adapters and the one-transaction example: hammer.py --binary SEMEL --examples FOLDER
    --adapters FOLDER [--keys 200] [--runs 10]

25 requests at once for each key. `semel hammer` exits 0 only if no key ran twice, all answers of a key were the same,
nothing failed and the effects are as many as the keys.
"""
import argparse
import json
import pathlib
import string
import subprocess
import tempfile
import time

import programs
from programs import Program, expect, free_address, wire

import postgres

CONFIG = """
[server]
listen = "$listen"
[admin]
listen = ""
[store]
url = "embedded:$data"
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
        done = subprocess.run([options.binary, "hammer", "http://%s:%d%s" % (*address, target), "--keys",
                               str(options.keys), "--duplicates", "25"], capture_output=True, text=True, check=False)
        expect(done.returncode == 0, f"{name}, run {number}:\n{done.stdout}{done.stderr}")
        made = json.loads(wire.ask(effects, "GET", "/effects").body)["effects"] - before
        expect(made == options.keys, f"{name}, run {number}: {made} effects of {options.keys} keys")
    print(f"{name}: {options.runs} runs of {options.keys} keys, 25 at once: one effect each, answers identical")


def hammer_adapter(options, name):
    address, upstream, side = free_address(), free_address(), free_address()
    with tempfile.TemporaryDirectory(prefix="semel-hammer-") as folder:
        config = pathlib.Path(folder) / "semel.toml"
        values = {"listen": "%s:%d" % address, "upstream": "%s:%d" % upstream, "data": folder + "/data"}
        config.write_text(string.Template(CONFIG).substitute(values), encoding="utf-8")
        demo = subprocess.Popen([options.binary, "demo", "--without", "--port", str(upstream[1])], cwd=folder,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            ready = wire.eventually(lambda: answers(upstream), 30.0)
            expect(ready, "the demo does not answer")
            with Program(options.adapters / f"{name}_server", "serve", "--config", config, cwd=folder):
                hammer(options, name, address, "/v1/payments", upstream)
        finally:
            demo.terminate()
            demo.wait()


def answers(address):
    try:
        return wire.ask(address, "GET", "/effects").status == 200
    except (OSError, wire.Closed, wire.Cut, wire.Silent):
        time.sleep(0.02)
        return False


def hammer_payments(options):
    address = free_address()
    server = postgres.Server(options.binary, "max_connections = 100")
    try:
        # A thread stays with its connection: as many as the hammer has (50), or the last wait for the first to close.
        with Program(options.examples / "example_payments", server.url, address[1], 64):
            hammer(options, "one transaction", address, "/payments", address)
    finally:
        server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=programs.path, required=True)
    parser.add_argument("--examples", type=programs.path, required=True)
    parser.add_argument("--adapters", type=programs.path, required=True)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    for name in ("beast", "httplib"):
        hammer_adapter(options, name)
    hammer_payments(options)


if __name__ == "__main__":
    main()
