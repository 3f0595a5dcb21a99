#!/usr/bin/env python3
"""The app that the tests of all clients talk to, in Django, served by its own threaded server."""
import signal
import threading
import time

import common
import django
import semel_wsgi
from django.conf import settings
from django.core.servers.basehttp import ServerHandler, ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse, StreamingHttpResponse
from django.urls import path, re_path

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="of the tests", MIDDLEWARE=[], LOGGING_CONFIG=None,
                   DATA_UPLOAD_MAX_MEMORY_SIZE=None)
django.setup(set_prefix=False)


def forwarded(request):
    fields = list(request.headers.items())
    return common.forward(request.method, semel_wsgi.target_of(request.environ), fields, request.body)


def ready(_request):
    return HttpResponse("ready")


def broken():
    yield b"half"
    raise RuntimeError("the answer breaks off")


def cookie():
    answer = HttpResponse("cookie", content_type="text/plain")
    answer.set_cookie("a", "1")
    answer["X-Two"] = "1, 2"  # Django has no way to send a field twice
    return answer


def redirect():
    answer = HttpResponseRedirect("/things/7")
    answer.status_code = 303
    return answer


WAYS = {
    "json": lambda: JsonResponse({"id": 7, "name": "\u00e9"}, status=201, headers={"Location": "/things/7"}),
    "text": lambda: HttpResponse("plain text", content_type="text/plain"),
    "bytes": lambda: HttpResponse(bytes(range(256)), content_type="application/octet-stream"),
    "stream": lambda: StreamingHttpResponse((time.sleep(0.02) or piece for piece in common.PIECES), content_type="text/plain"),
    "empty": lambda: HttpResponse(status=204),
    "redirect": redirect,
    "cookie": cookie,
    "break": lambda: StreamingHttpResponse(broken(), content_type="text/plain"),
    "large": lambda: HttpResponse(common.LARGE, content_type="text/plain"),
}


def ways(request, way):
    forwarded(request)
    if way == "throw":
        raise RuntimeError("the handler fails")
    if way not in WAYS:
        raise Http404
    return WAYS[way]()


def everything(request, _path):
    status, fields, body = forwarded(request)
    answer = HttpResponse(body, status=status)
    del answer["Content-Type"]
    for name, value in fields:
        answer[name] = value
    return answer


urlpatterns = [path("ready", ready), path("ways/<way>", ways), re_path("^(.*)$", everything)]


class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def main():
    ServerHandler.log_exception = lambda *_: None
    server = ThreadedWSGIServer(("127.0.0.1", common.PORT), Handler)
    server.daemon_threads = False  # what is under way is answered
    server.set_app(semel_wsgi.Guard(get_wsgi_application(), common.api, routes=common.routes))
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever(0.05)
    server.server_close()


if __name__ == "__main__":
    main()
