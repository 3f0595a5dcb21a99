#!/usr/bin/python3 -B
"""A middleware in the place of the gateway, for the gateway's own scenarios: strict_server.py serve --config FILE

Reads the routes of the configuration, starts a claims API on its store (the binary is in the environment, SEMEL_BINARY), and
guards an application that forwards each request to its upstream, as the gateway does. STRICT says which middleware: asgi or
wsgi. Both are served by uvicorn, since the servers of WSGI that Debian has close their connections. For tests/e2e/scenarios.py.
"""
import asyncio
import concurrent.futures
import http.client
import io
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import paths  # noqa: F401
import programs
import semel
import semel_asgi
import semel_wsgi
import tomllib
import uvicorn
from semel_routes import Routes
from semel_rules import Rules

TOKEN = "a-token-of-the-strict-tests"
SAME = ("methods", "key", "key_from", "scope", "namespace", "fingerprint", "ignore", "in_flight", "on_unknown", "keep")
NOT_FORWARDED = {"HOST", "CONNECTION", "CONTENT-LENGTH", "TRANSFER-ENCODING", "EXPECT"}
API = """
[admin]
listen = ""
[api]
listen = "%s"
[[api.token]]
name = "app"
secret = "%s"
namespaces = ["*"]
[store]
url = "%s"
"""


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[unit]


def size(text):
    number, unit = re.fullmatch(r"(\d+)(KiB|MiB)?", str(text)).groups()
    return int(number) * {None: 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit]


def rules_of(route, limits):
    options = {name: route[name] for name in SAME if name in route}
    options.update({name: seconds(route[name]) for name in ("ttl", "lease", "wait_max") if name in route})
    if options.get("on_unknown") == "probe":
        options["on_unknown"] = "hold"
    kept = size(route.get("store_body_max", limits["store_body_max"]))
    return Rules(body_bytes_max=size(limits["body_bytes"]), store_body_max=kept, **options)


class Business:
    """The application: what is behind the gateway otherwise. An upstream that cannot be reached has not done anything."""

    def __init__(self, config, routes):
        self.config, self.routes = config, routes
        self.threads = concurrent.futures.ThreadPoolExecutor(200)

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return
        request = semel_asgi.request_of(scope)
        route = self.routes.find(request)
        body = await semel_asgi.read_body(receive, 1 << 30)
        if route is None:
            status, fields, data = 404, [], b""
        else:
            status, fields, data = await asyncio.get_running_loop().run_in_executor(self.threads, self.forward, route, request, body)
        await send({"type": "http.response.start", "status": status, "headers": semel_asgi.raw(fields)})
        await send({"type": "http.response.body", "body": data})

    def forward(self, route, request, body):
        upstream = self.config["upstream"][route["upstream"]]
        host, port = upstream["url"].removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=seconds(upstream.get("timeout", "30s")))
        try:
            connection.connect()
        except OSError as error:
            raise semel.NoEffect from error
        connection.putrequest(request.method, request.target, skip_accept_encoding=True)
        for name, value in request.fields:
            if name.upper() not in NOT_FORWARDED:
                connection.putheader(name, value.encode("latin-1"))
        if body or request.method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        if reply.status < 200:
            raise OSError("no final answer")
        return reply.status, [pair for pair in reply.getheaders() if pair[0].lower() != "transfer-encoding"], data


class Wsgi:
    """The WSGI middleware around the same business, under a server of ASGI."""

    def __init__(self, business, client, routes):
        self.business = business
        self.guard = semel_wsgi.Guard(self.handle, client, routes=routes)

    def handle(self, environ, start_response):
        request = semel_wsgi.request_of(environ)
        route = self.business.routes.find(request)
        if route is None:
            start_response("404 Not Found", [])
            return []
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        status, fields, data = self.business.forward(route, request, body)
        start_response(f"{status} Fine", fields)
        return iter([data[:1], data[1:]])

    def run(self, scope, body):
        request = semel_asgi.request_of(scope)
        environ = {"REQUEST_METHOD": request.method, "RAW_URI": request.target, "PATH_INFO": scope["path"], "REMOTE_ADDR": request.ip,
                   "QUERY_STRING": request.query, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        for name, value in request.fields:
            key = name.upper().replace("-", "_")
            key = key if key == "CONTENT_TYPE" else "HTTP_" + key
            if key != "HTTP_CONTENT_LENGTH":
                environ[key] = f"{environ[key]},{value}" if key in environ else value
        said = []
        pieces = self.guard(environ, lambda status, fields, exc_info=None: said.append((int(status[:3]), fields)))
        return (*said[-1], b"".join(pieces))

    async def __call__(self, scope, receive, send):
        try:
            body = await semel_asgi.read_body(receive, 1 << 30)
        except semel_asgi.Gone:
            return
        status, fields, data = await asyncio.get_running_loop().run_in_executor(self.business.threads, self.run, scope, body)
        await send({"type": "http.response.start", "status": status, "headers": semel_asgi.raw(fields)})
        await send({"type": "http.response.body", "body": data})


def main():
    config = tomllib.loads(pathlib.Path(sys.argv[3]).read_text(encoding="utf-8"))
    api = programs.free_address()
    file = pathlib.Path(sys.argv[3]).with_name("api.toml")
    file.write_text(API % ("%s:%d" % api, TOKEN, config["store"]["url"]), encoding="utf-8")
    with open(file.with_suffix(".log"), "wb") as log:  # what it says is not for whoever waits for this server
        process = subprocess.Popen([os.environ["SEMEL_BINARY"], "serve", "--config", str(file)], stderr=log)
    while not programs.answers(api, "/v1/openapi.json"):
        if process.poll() is not None:
            return 1
        time.sleep(0.02)
    client = semel.Client("http://%s:%d" % api, TOKEN)
    routes = [(route["path"], rules_of(route, config["limits"])) for route in config["route"]]
    business = Business(config, Routes(client, [(route["path"], route) for route in config["route"]], {}))
    host, port = config["server"]["listen"].split(":")
    of_wsgi = os.environ.get("STRICT") == "wsgi"
    app = Wsgi(business, client, routes) if of_wsgi else semel_asgi.Guard(business, client, routes=routes, threads=200)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", date_header=False, server_header=False, lifespan="off"))
    with socket.create_server((host, int(port)), backlog=100) as listener:
        print("strict_server: listening on", port, file=sys.stderr, flush=True)
        server.run([listener])
    process.terminate()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
