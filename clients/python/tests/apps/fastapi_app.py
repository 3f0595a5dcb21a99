#!/usr/bin/env python3
"""The app that the tests of all clients talk to, in FastAPI, served by uvicorn."""
import asyncio

import common
import fastapi
import semel_asgi
import uvicorn
from fastapi import responses

app = fastapi.FastAPI()


async def forwarded(request):
    query = request.scope["query_string"].decode("latin-1")
    target = request.scope["raw_path"].decode("latin-1") + ("?" + query if query else "")
    fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.scope["headers"]]
    return await asyncio.get_running_loop().run_in_executor(None, common.forward, request.method, target, fields,
                                                            await request.body())


@app.get("/ready")
async def ready():
    return "ready"


async def pieces():
    for piece in common.PIECES:
        await asyncio.sleep(0.02)
        yield piece


async def broken():
    yield b"half"
    raise RuntimeError("the answer breaks off")


def cookie():
    answer = responses.PlainTextResponse("cookie", headers={"X-Two": "1"})
    answer.set_cookie("a", "1")
    answer.headers.append("X-Two", "2")
    return answer


WAYS = {
    "json": lambda: responses.JSONResponse({"id": 7, "name": "\u00e9"}, 201, {"Location": "/things/7"}),
    "text": lambda: responses.PlainTextResponse("plain text"),
    "bytes": lambda: responses.Response(bytes(range(256)), media_type="application/octet-stream"),
    "stream": lambda: responses.StreamingResponse(pieces(), media_type="text/plain"),
    "empty": lambda: responses.Response(status_code=204),
    "redirect": lambda: responses.RedirectResponse("/things/7", 303),
    "cookie": cookie,
    "break": lambda: responses.StreamingResponse(broken(), media_type="text/plain"),
    "large": lambda: responses.Response(common.LARGE, media_type="text/plain"),
}


@app.post("/ways/{way}")
async def ways(way: str, request: fastapi.Request):
    await forwarded(request)
    if way == "throw":
        raise RuntimeError("the handler fails")
    if way not in WAYS:
        raise fastapi.HTTPException(404)
    return WAYS[way]()


@app.api_route("/{_path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
async def everything(_path: str, request: fastapi.Request):
    status, fields, body = await forwarded(request)
    answer = responses.Response(body, status)
    answer.raw_headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]
    answer.headers["content-length"] = str(len(body))
    return answer


if __name__ == "__main__":
    uvicorn.run(semel_asgi.Guard(app, common.api, routes=common.routes), host="127.0.0.1", port=common.PORT, log_level="error",
                server_header=False)
