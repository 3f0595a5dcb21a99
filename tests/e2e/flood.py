#!/usr/bin/env python3
"""New keys of one scope as fast as they are answered, on a few connections, until SIGTERM: flood.py PORT SCOPE

Then prints how many were answered with which status, as JSON. A program of its own, so that it costs whoever measures beside
it no more than the processor.
"""
import collections
import json
import signal
import sys

import wire
from harness import keyed

CONNECTIONS = 4


def main():
    port, scope = int(sys.argv[1]), sys.argv[2]
    statuses = collections.Counter()
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    clients = [wire.Wire(("127.0.0.1", port), seconds=60) for _ in range(CONNECTIONS)]
    number = 0
    while not over:
        for client in clients:
            number += 1
            client.request("POST", "/v1/x", keyed(f"flood{number}", scope=scope))
        for client in clients:
            statuses[client.reply().status] += 1
    print(json.dumps(statuses))


if __name__ == "__main__":
    main()
