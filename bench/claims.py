"""The claims API: pairs of claim and complete on the embedded store, alone and in batches of 100, against the store alone.

The driver (bench/claims_bench.cc) looks at every answer. CPU is what the API's process used per item, a claim and its
completion being two items; the store's own thread is part of it. So `API CPU` is that less what the same pair costs in the
store alone (bench/store_bench.cc), in the same round.
"""
import json
import pathlib
import shutil
import statistics
import subprocess

import gateway

API, ADMIN = 9330, 9331
SECRET = "bench-0123456789abcdef"
CONFIG = """
[server]
threads = 1
[admin]
listen = "127.0.0.1:{admin}"
[store]
url = "{store}"
[log]
requests = false
[api]
listen = "127.0.0.1:{port}"
[[api.token]]
name = "bench"
secret = "{secret}"
namespaces = ["bench"]
"""
LOADS = {"batches of 100": (8, 100), "single calls": (64, 1)}


def measure(work, programs, binary, rounds, seconds, say):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    conf = work / "semel.toml"
    conf.write_text(CONFIG.format(store=f"embedded:{work}/data", port=API, admin=ADMIN, secret=SECRET))
    semel = gateway.Server([str(binary), "serve", "--config", str(conf)], API, work / "semel.log", "/v1/openapi.json")
    results = {name: [] for name in LOADS}
    try:
        for number in range(-1, rounds):
            say(f"claims: round {number + 1}/{rounds}")
            store = None
            if number >= 0:
                subprocess.run([programs / "store_bench", "fill", work / "alone", "10000"], check=True, stdout=subprocess.PIPE)
                alone = subprocess.run([programs / "store_bench", "pairs", work / "alone", "256", "1", str(seconds * 1000)],
                                       check=True, stdout=subprocess.PIPE, text=True)
                store = json.loads(alone.stdout)["rounds"][0]
                shutil.rmtree(work / "alone", ignore_errors=True)
            for name, (connections, items) in LOADS.items():
                before = semel.cpu_seconds()
                done = subprocess.run([programs / "claims_bench", str(API), SECRET, f"r{number}-{items}", str(connections),
                                       str(items), str(seconds if store else 1)], check=True, stdout=subprocess.PIPE, text=True)
                said = json.loads(done.stdout)
                if store is None:
                    continue
                cpu = (semel.cpu_seconds() - before) * 1e6 / (2 * said["pairs"])
                results[name].append({"rate": said["pairs"] / said["seconds"], "cpu_us": cpu,
                                      "api_us": cpu - store["cpu_us_per_pair"] / 2, "store_rate": store["pairs_per_s"]})
    finally:
        semel.stop()
        shutil.rmtree(work, ignore_errors=True)
    return {name: {what: statistics.median(one[what] for one in of_one) for what in of_one[0]} for name, of_one in results.items()}


def table(results):
    if not results:
        return "Not measured."
    rows = ["| claim + complete | pairs/s | store alone, pairs/s | CPU per item | of that the API |", "|---|---:|---:|---:|---:|"]
    rows += [f"| {name} | {one['rate']:,.0f} | {one['store_rate']:,.0f} | {one['cpu_us']:.1f} µs | {one['api_us']:.1f} µs |"
             for name, one in results.items()]
    return "\n".join(rows)
