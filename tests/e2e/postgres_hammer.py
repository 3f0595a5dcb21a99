#!/usr/bin/env python3
"""Duplicates shared out over two gateways on one PostgreSQL server: postgres_hammer.py --binary SEMEL [--keys N] [--rounds N]

nginx hands every request to the gateway whose turn it is, so the 25 duplicates of a key meet on both. Each round has keys
of its own; after each, the API behind has acted once for every key. Skipped (77) without nginx.
"""
import argparse
import collections
import json
import pathlib
import shutil
import sys
import tempfile
import time

import gateway
import harness
import postgres_nodes
import postgres_server
import programs

NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  upstream nodes {{ {servers} keepalive 256; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://nodes; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_next_upstream off;
    }}
  }}
}}
"""


def run(options, folder, keep):
    server = postgres_server.Server(options.binary, postgres_nodes.QUICK_TO_NOTICE)
    keep(server.close)
    api = programs.Demo(options.binary, "--without")
    keep(api.close)
    upstream = "%s:%d" % api.start().address
    nodes = [gateway.Gateway(options.binary, postgres_nodes.CONFIG, store=server.url, upstream=upstream) for _ in range(2)]
    for node in nodes:
        keep(node.close)
        node.start()
    address = programs.free_address()
    servers = " ".join("server %s:%d;" % node.address for node in nodes)
    (folder / "conf").write_text(NGINX.format(folder=folder, servers=servers, port=address[1]), encoding="utf-8")
    balancer = programs.Answering(address, "nginx", "-e", folder / "error.log", "-c", folder / "conf",
                                  target="/v1/payments")
    keep(balancer.close)
    keep(balancer.stop)
    balancer.start()
    total = collections.Counter()
    for number in range(options.rounds):
        started = time.monotonic()
        done = programs.run(programs.path(options.binary), "hammer", "http://%s:%d/v1/payments" % address, "--keys",
                            options.keys, "--duplicates", 25, "--json", "--header", f"Authorization: tenant{number}",
                            "--effects", f"{api.url}/effects", seconds=3600)
        if done.returncode != 0:
            print(done.stdout + done.stderr)
            return 1
        result = json.loads(done.stdout)
        effects, counts = result["effects"], result["counts"]
        total.update(counts)
        twice = server.run("SELECT count(*) FROM semel.keys WHERE fence > 1")
        deadlocks = server.run(postgres_nodes.DEADLOCKS)
        shares = [node.metrics()[1]["semel_store_batch_writes_count"] for node in nodes]
        print(f"round {number + 1}: {options.keys} keys x 25, {effects['after'] - effects['before']} effects, {twice} claimed twice, {deadlocks} deadlocks, "
              f"commits by each gateway so far {shares[0]:.0f} and {shares[1]:.0f}, {time.monotonic() - started:.1f} s", flush=True)
        if effects["after"] - effects["before"] != options.keys or twice != "0" or deadlocks != "0":
            return 1
    for what, times in total.items():
        print(f"  {times:8}  {what}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    if shutil.which("nginx") is None:
        harness.skip("nginx not found")
    cleanups = []
    with tempfile.TemporaryDirectory(prefix="semel-hammer-") as folder:
        try:
            return run(options, pathlib.Path(folder), cleanups.append)
        finally:
            for cleanup in reversed(cleanups):
                cleanup()


if __name__ == "__main__":
    sys.exit(main())
