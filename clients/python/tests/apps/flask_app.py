#!/usr/bin/env python3
"""The app that the tests of all clients talk to, in Flask."""
import signal
import threading
import time

import common
import flask
import semel_wsgi
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

app = flask.Flask(__name__)
app.wsgi_app = semel_wsgi.Guard(app.wsgi_app, common.api, routes=common.routes)


def forwarded():
    request = flask.request
    return common.forward(request.method, request.environ["RAW_URI"], list(request.headers), request.get_data())


@app.get("/ready")
def ready():
    return "ready"


@app.post("/ways/<way>")
def ways(way):
    forwarded()
    if way == "json":
        return flask.jsonify(id=7, name="\u00e9"), 201, {"Location": "/things/7"}
    if way == "text":
        return flask.Response("plain text", mimetype="text/plain")
    if way == "bytes":
        return flask.Response(bytes(range(256)), mimetype="application/octet-stream")
    if way == "stream":
        return flask.Response((time.sleep(0.02) or piece for piece in common.PIECES), mimetype="text/plain")
    if way == "empty":
        return "", 204
    if way == "redirect":
        return flask.redirect("/things/7", 303)
    if way == "cookie":
        answer = flask.Response("cookie", mimetype="text/plain")
        answer.set_cookie("a", "1")
        answer.headers.extend([("X-Two", "1"), ("X-Two", "2")])
        return answer
    if way == "break":
        return flask.Response(broken(), mimetype="text/plain")
    if way == "large":
        return flask.Response(common.LARGE, mimetype="text/plain")
    if way == "throw":
        raise RuntimeError("the handler fails")
    flask.abort(404)


def broken():
    yield "half"
    raise RuntimeError("the answer breaks off")


@app.route("/<path:_path>", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
def everything(_path):
    status, fields, body = forwarded()
    return flask.Response(body, status, fields)


class Handler(WSGIRequestHandler):
    def send_header(self, name, value):
        if name != "Server":  # the server's own, not the application's
            super().send_header(name, value)

    def log_request(self, *_):
        pass


def main():
    server = ThreadedWSGIServer("127.0.0.1", common.PORT, app, Handler)
    server.daemon_threads = False  # what is under way is answered
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever(0.05)
    server.server_close()


if __name__ == "__main__":
    main()
