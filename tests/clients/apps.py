"""A service with one of our middlewares, the claims API that it uses, and the business behind it (README.md)."""
import argparse
import pathlib
import shlex
import sys

E2E = pathlib.Path(__file__).resolve().parent.parent / "e2e"
sys.path.insert(0, str(E2E))

import gateway  # noqa: E402
import harness  # noqa: E402
import origin  # noqa: E402
import programs  # noqa: E402
import wire  # noqa: E402

ROOT = E2E.parent.parent
TOKEN = "a-token-of-the-tests-of-clients"
WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

API = """
[admin]
listen = "$admin"
[store]
url = "$store"
[log]
requests = false
[api]
listen = "$api"
[[api.token]]
name = "app"
secret = "$token"
namespaces = ["*"]
"""

# With a gateway beside it, on the same store.
BESIDE = """
[server]
listen = "$listen"
[upstream.app]
url = "http://$upstream"
[[route]]
path = "/hold/*"
upstream = "app"
lease = "$lease"
[[route]]
path = "/wait/*"
upstream = "app"
lease = "$lease"
in_flight = "wait"
wait_max = "2s"
[[route]]
path = "/own/*"
upstream = "app"
lease = "$lease"
namespace = "own"
"""


class Semel(gateway.Gateway):
    """A semel process with a claims API; `api` is its address."""

    def __init__(self, binary, config=API, folder=None, **values):
        self.api = programs.free_address()
        super().__init__(binary, config, folder=folder, api="%s:%d" % self.api, token=TOKEN, **values)

class App(programs.Answering):
    """An app, not started yet; it may be killed and started again."""

    def __init__(self, command, api, business, lease_ms=1000, folder=None, **environment):
        port = programs.free_port()
        told = {"PORT": str(port), "SEMEL_URL": "http://%s:%d" % api, "SEMEL_TOKEN": TOKEN, "ORIGIN": "http://%s:%d" % business,
                "LEASE_MS": str(lease_ms), "WEBHOOK_SECRET": WEBHOOK_SECRET}
        super().__init__((programs.HOST, port), *shlex.split(command), target="/ready", folder=folder, cwd=pathlib.Path.cwd(),
                         environment={**told, **environment})

    def start(self, *arguments, seconds=120.0):
        """A framework takes its time to load."""
        return super().start(*arguments, seconds=seconds)


class World:
    """An origin, a semel and an app, all started."""

    def __init__(self, binary, command, folder, lease_ms=1000):
        self.folder = pathlib.Path(folder)
        business = programs.free_port()
        self.origin = origin.Origin(business, self.folder / "origin.jsonl")
        self.semel = Semel(binary, folder=self.home("semel"))
        self.app = App(command, self.semel.api, self.origin.address, lease_ms, folder=self.home("app"))
        try:
            self.semel.start()
            self.app.start()
        except Exception:
            self.close()
            raise

    def home(self, name):
        folder = self.folder / name
        folder.mkdir()
        return folder

    def ask(self, target, key=None, body=b'{"amount": 5}', scope="alice", method="POST", extra=(), seconds=15.0):
        fields = [("Content-Type", "application/json"), *extra]
        if scope is not None:
            fields.append(("Authorization", scope))
        if key is not None:
            fields.append(("Idempotency-Key", key))
        return wire.ask(self.app.address, method, target, fields, body, seconds)

    def effects(self, key):
        """Of the origin under this key, in order."""
        return [record for record in self.origin.records() if record["key"] == key and record["what"] == "effect"]

    def attempts(self, key):
        return [record["attempt"] for record in self.origin.records() if record["key"] == key]

    def close(self):
        for process in (self.app, self.semel, self.origin):
            process.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def arguments(description, **numbers):
    """A parser of what the programs of this folder share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--app", required=True, help="the command that starts the app; with --node its path in clients/node")
    parser.add_argument("--node", action="store_true", help="the app is a program of clients/node")
    parser.add_argument("--build", type=pathlib.Path, help="where npm packages are put")
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    return parser


def parsed(parser):
    """The options; the packages that an app of Node needs are there then, or the program ends with 77 and says why."""
    options = parser.parse_args()
    if options.node:
        options.app = f"node {node_client(options.build) / options.app}"
    return options


def node_client(build):
    """A copy of clients/node with its packages. Without --build it is the tree's own, which must have them."""
    source = ROOT / "clients" / "node"
    if build is None:
        if not (source / "node_modules").exists():
            harness.skip("clients/node has no node_modules; give --build, or run npm ci there")
        return source
    import npm  # pylint: disable=import-outside-toplevel
    return npm.install(source, build, ("lib", "types", "test", "recipes"))
