"""What the apps of the tests have in common: their table of routes, and the business behind them."""
import http.client
import os
import pathlib
import sys
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import semel  # noqa: E402
from semel_rules import Rules  # noqa: E402
from semel_webhook import standard  # noqa: E402

PORT = int(os.environ["PORT"])
LEASE = float(os.environ.get("LEASE_MS", "30000")) / 1000
ORIGIN = urllib.parse.urlsplit(os.environ["ORIGIN"])
NOT_FORWARDED = {"host", "connection", "content-length", "transfer-encoding"}
PIECES = (b"one ", b"two ", b"three")
LARGE = b"x" * (2 << 20)

api = semel.Client(os.environ["SEMEL_URL"], os.environ["SEMEL_TOKEN"], timeout=3.0)
routes = [
    ("/hold/*", Rules(lease=LEASE)),
    ("/v1/*", Rules(lease=LEASE, scope="{header:Authorization?}")),
    ("/wait/*", Rules(lease=LEASE, in_flight="wait", wait_max=2)),
    ("/retry/*", Rules(lease=LEASE, on_unknown="retry")),
    ("/optional/*", Rules(lease=LEASE, key="optional")),
    ("/brief/*", Rules(lease=1, ttl=2)),
    ("/own/*", Rules(lease=LEASE, namespace="own")),
    ("/hooks", Rules(lease=LEASE, namespace="hooks", webhook=standard(os.environ["WEBHOOK_SECRET"]))),
    ("/ways/*", Rules(lease=LEASE)),
]


def forward(method, target, fields, body):
    """Sends the request to the business; its status, fields and body. Raises if it cannot be reached or breaks off."""
    connection = http.client.HTTPConnection(ORIGIN.hostname, ORIGIN.port, timeout=30)
    try:
        connection.putrequest(method, target, skip_host=False, skip_accept_encoding=True)
        for name, value in fields:
            if name.lower() not in NOT_FORWARDED:
                connection.putheader(name, value.encode("latin-1"))
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        reply = connection.getresponse()
        data = reply.read()
        return reply.status, [(name, value) for name, value in reply.getheaders() if name.lower() not in NOT_FORWARDED], data
    finally:
        connection.close()
