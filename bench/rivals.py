"""The servers that contenders.py measures: each contender on loopback, before the same upstream, which counts its requests."""
import dataclasses
import json
import shutil
import time
import urllib.error
import urllib.request

import gateway
import postgres

BASE = "Semel, embedded"

HAPROXY_CONF = """
global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend all
  bind 127.0.0.1:{port}
  default_backend app
backend app
  server origin 127.0.0.1:{origin}
"""
RESTATE_CONF = """
node-name = "bench"
cluster-name = "bench"
base-dir = "{work}/restate-data"
disable-telemetry = true
bind-ip = "127.0.0.1"
bind-port = {node}
[ingress]
bind-port = {port}
[admin]
bind-port = {admin}
"""
ORIGIN = gateway.ORIGIN_BODY.replace("location /", "location = /count {{ stub_status; }} location /", 1)
WAITING = """[[route]]
path = "/wait/*"
upstream = "app"
key = "required"
scope = ""
in_flight = "wait"
[[route]]"""


@dataclasses.dataclass
class Contender:
    name: str
    port: int
    servers: list
    path: str = "/v1/charges"
    database: bool = False
    stores: bool = True  # keeps answers, so a duplicate has no effect
    counted: bool = True  # its effects are the upstream's


class Rivals:
    """Starts them; what is missing on this machine is said and left out."""

    def __init__(self, work, programs, semel, database, say):
        self.work, self.programs, self.semel, self.database, self.say = work, programs, semel, database, say
        self.contenders = {}

    def start(self, stack):
        self.stack = stack
        self.origin = postgres.free_port()
        self.nginx("origin", ORIGIN.format(port=self.origin, answer=gateway.ANSWER), self.origin)
        self.add(Contender("direct", self.origin, [], stores=False))
        port = postgres.free_port()
        server = self.nginx("nginx", gateway.PROXY_BODY.format(work=self.work, port=port, origin=self.origin), port)
        self.add(Contender("nginx", port, [server], stores=False))
        self.start_haproxy()
        for name, url in (("memory", "memory:"), ("embedded", f"embedded:{self.work}/semel-data"),
                          ("PostgreSQL", self.database.url)):
            self.start_semel(name, url)
        port = postgres.free_port()
        guard = self.keep([self.programs / "guard_server", self.work / "guard-data", port], port, "guard")
        self.add(Contender("Semel, middleware", port, [guard], counted=False))
        folder = postgres.install(self.work.parent / "node", self.say)
        if folder:
            for name, script, table in (("Fastify + pg", "middleware.mjs", "idempotency_keys"),
                                        ("Express + pg", "express.mjs", "express_keys")):
                self.database.run(postgres.MIDDLEWARE_TABLE.replace("idempotency_keys", table))
                port = postgres.free_port()
                server = self.keep(["node", folder / script, port, self.origin, self.database.sockets], port, script)
                self.add(Contender(name, port, [server], database=True))
            self.start_restate(folder)

    def add(self, contender):
        self.contenders[contender.name] = contender

    def keep(self, command, port, name, ready="/ready"):
        server = gateway.Server([str(word) for word in command], port, self.work / f"{name}.log", ready)
        self.stack.callback(server.stop)
        return server

    def nginx(self, name, body, port):
        (self.work / f"{name}.tmp").mkdir(exist_ok=True)
        conf = self.work / f"{name}.conf"
        conf.write_text(gateway.NGINX_CONF.format(work=self.work, name=name, body=body))
        return self.keep(["nginx", "-e", self.work / f"{name}.err", "-c", conf], port, name)

    def start_haproxy(self):
        if not shutil.which("haproxy"):
            return self.say("HAProxy: not measured, it is not installed")
        port = postgres.free_port()
        conf = self.work / "haproxy.cfg"
        conf.write_text(HAPROXY_CONF.format(port=port, origin=self.origin))
        self.add(Contender("HAProxy", port, [self.keep(["haproxy", "-f", conf], port, "haproxy")], stores=False))

    def start_semel(self, name, url):
        port, admin = postgres.free_port(), postgres.free_port()
        conf = self.work / f"semel-{name}.toml"
        text = gateway.SEMEL_CONF.format(port=port, admin=admin, store=url, origin=self.origin)
        conf.write_text(text.replace("[[route]]", WAITING, 1))
        server = self.keep([self.semel, "serve", "--config", conf], port, f"semel-{name}")
        on_database = name == "PostgreSQL"
        self.add(Contender(f"Semel, {name}", port, [server], database=on_database))
        if name == "embedded":
            self.add(Contender("Semel, waiting", port, [server], path="/wait/charges"))

    def start_restate(self, folder):
        binary = folder / "node_modules/@restatedev/restate-server-linux-x64/bin/restate-server"
        if not binary.exists():
            return self.say("Restate: not measured, npm has no server for this machine")
        port, admin, node, handler = (postgres.free_port() for _ in range(4))
        conf = self.work / "restate.toml"
        conf.write_text(RESTATE_CONF.format(work=self.work, port=port, admin=admin, node=node))
        service = self.keep(["node", folder / "restate.mjs", handler, self.origin], handler, "restate-handler", ready=None)
        server = self.keep([binary, "--config-file", conf, "--no-logo"], port, "restate", ready="/restate/health")
        request = urllib.request.Request(f"http://127.0.0.1:{admin}/deployments", method="POST",
                                         headers={"Content-Type": "application/json"},
                                         data=json.dumps({"uri": f"http://127.0.0.1:{handler}"}).encode())
        for attempt in range(40):
            try:
                urllib.request.urlopen(request, timeout=10).read()
                break
            except (OSError, urllib.error.URLError):
                if attempt == 39:
                    raise
                time.sleep(0.25)
        self.add(Contender("Restate", port, [server, service], path="/charges/create"))

    def effects(self):
        """How often the upstream was asked so far, this time included."""
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.origin}/count", timeout=5).read().decode()
        return int(text.split("requests")[1].split()[2])

    def spent(self, contender):
        """CPU seconds so far, those of the database included where it is used."""
        own = sum(server.cpu_seconds() for server in contender.servers)
        return own + (self.database.cpu_seconds() if contender.database else 0)
