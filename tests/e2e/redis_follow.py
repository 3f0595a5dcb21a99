#!/usr/bin/env python3
"""How soon a gateway notices that Redis has gone, and uses what took its place: redis_follow.py --binary SEMEL

Prints a JSON object for bench/run; redis_failover.py uses it, too.
"""
import argparse
import contextlib
import json
import time

import gateway
import harness
import programs
import redis_server
import redis_sets
from redis_server import until


@contextlib.contextmanager
def asking(binary, url):
    """The status that a new key gets, as a function; and the gateway that answers."""
    with contextlib.ExitStack() as stack:
        api = programs.Demo(binary, "--without")
        stack.callback(api.close)
        api.start()
        node = gateway.Gateway(binary, harness.CONFIG + harness.ROUTE, store=url, upstream="%s:%d" % api.address)
        stack.callback(node.close)
        node.start()
        numbers = iter(range(1 << 30))

        def status():
            return node.ask("POST", "/v1/payments", harness.keyed(f"k{next(numbers)}"), b'{"amount": 1}').status

        until(lambda: status() == 201)
        try:
            yield status
        except AssertionError:
            print(node.stderr()[-4000:])
            raise


def seconds_until(holds):
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > 60:
            raise AssertionError("it never happened")
        time.sleep(0.005)
    return time.monotonic() - begun


def follow(options):
    """Seconds until new keys are refused after the server stood still ("stop") and after the primary was killed ("kill"), and
    until they are taken after a Sentinel has named the promoted replica ("taken")."""
    found = {}
    with contextlib.closing(redis_server.Server(options.binary)) as server, asking(options.binary, server.url) as status:
        with server.standing_still():
            found["stop"] = seconds_until(lambda: status() == 503)
        until(lambda: status() == 201)
    with contextlib.closing(redis_sets.Pair(options.binary)) as servers, asking(options.binary, servers.url) as status:
        servers.primary.kill()
        found["kill"] = seconds_until(lambda: status() == 503)
        servers.wait_for_promotion()
        found["taken"] = seconds_until(lambda: status() == 201)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    print(json.dumps(follow(parser.parse_args())))


if __name__ == "__main__":
    main()
