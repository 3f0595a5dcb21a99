"""Requests that programs read in different ways, and some that only look so: a fixed list, each with what must come of it.

TAKEN: goes to the upstream as one request, which every parser reads alike. REFUSED: 4xx or 5xx, the connection is closed,
the upstream sees nothing. ANSWERED: refused too, but the framing is clear, so the connection may stay. UNFINISHED: there is no end to it, so it
gets no answer when the client closes, and the upstream sees nothing.
"""
import dataclasses

TAKEN, REFUSED, ANSWERED, UNFINISHED = "taken", "refused", "answered", "unfinished"


@dataclasses.dataclass
class Payload:
    name: str
    data: bytes
    verdict: str
    method: str = "POST"  # what the upstream must see of one that is taken
    target: str = "/v1/x"
    body: bytes = b"ab"
    known: bool = True  # the method, to Node's parser


def text(name):
    """For titles."""
    return name.encode("unicode_escape").decode() if isinstance(name, str) else repr(name)[2:-1]


def head(start=b"POST /v1/x HTTP/1.1", host=b"Host: a\r\n"):
    return start + b"\r\n" + host + b"Authorization: a\r\nIdempotency-Key: $key\r\n"


def with_fields(lines, body=b"ab", start=b"POST /v1/x HTTP/1.1"):
    return head(start) + lines + b"\r\n" + body


METHODS = ["M-SEARCH", "PROPFIND", "FOO", "!#$%&'*+-.^`|~", "P" * 60]  # that the gateway is told of

LENGTH = b"Content-Length: 2\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"2\r\nab\r\n0\r\n\r\n"


def lengths():
    for value in (b"2", b"02", b"000000000002", b" 2 ", b"\t2\t", b" \t 2 \t "):
        yield Payload(f"length {text(value)}", with_fields(b"Content-Length:" + value + b"\r\n"), TAKEN)
    for value in (b"", b" ", b"+2", b"-2", b"-0", b"+0", b"0x2", b"0X2", b"2 2", b"2\t2", b"2,2", b"2, 2", b"2,3", b"2;2", b"2,",
                  b",2", b",", b"2.0", b"2e0", b"2_0", b"0b10", b"two", b'"2"', b"'2'", b"2\x0b", b"\x0c2", b"2\x00", b"\xb2",
                  b"\xef\xbc\x92", b"2\x85", b"\xa02", b"2 a", b"2a", b"(2)", b"%32", b"9223372036854775808",
                  b"18446744073709551615", b"18446744073709551616", b"18446744073709551618", b"99999999999999999999",
                  b"36893488147419103234", b"2147483648"):
        yield Payload(f"length {text(value)}", with_fields(b"Content-Length: " + value + b"\r\n"), REFUSED)
    for one, other in ((b"2", b"2"), (b"2", b"3"), (b"3", b"2"), (b"0", b"2"), (b"2", b"0"), (b"02", b"2"), (b"2", b"")):
        for name in (b"Content-Length", b"content-length", b"CONTENT-LENGTH"):
            lines = b"Content-Length: " + one + b"\r\n" + name + b": " + other + b"\r\n"
            yield Payload(f"lengths {text(one)} and {text(name)} {text(other)}", with_fields(lines), REFUSED)


def codings():
    for value in (b"chunked", b"Chunked", b"CHUNKED", b" chunked ", b"\tchunked", b",chunked", b"chunked,", b", ,chunked , ,"):
        yield Payload(f"coding {text(value)}", with_fields(b"Transfer-Encoding: " + value + b"\r\n", CHUNKS), TAKEN)
    for value in (b"", b",", b"identity", b"chunked, identity", b"identity, chunked", b"gzip", b"gzip, chunked",
                  b"chunked, gzip", b"chunked, chunked", b"chunked chunked", b"chunked;q=1", b"chunked; a=b", b'"chunked"',
                  b"'chunked'", b"chunke", b"xchunked", b"x-chunked", b"chunkedx", b"chunked\x00", b"chunked\x0b", b"\x0bchunked",
                  b"\x0cchunked", b"chunked\x0c", b"chunked,,gzip", b"deflate", b"cow", b"chunked\xa0", b"\xa0chunked", b"chun ked",
                  b"chunked/1", b"chunked=1", b"trailers", b"compress, deflate, gzip, chunked"):
        yield Payload(f"coding {text(value)}", with_fields(b"Transfer-Encoding: " + value + b"\r\n", CHUNKS), REFUSED)
    for name in (b"Transfer-Encoding", b"transfer-encoding", b"TRANSFER-ENCODING"):
        for value in (b"0", b"2", b"12"):
            for first, second in ((name + b": chunked", b"Content-Length: " + value), (b"Content-Length: " + value, name + b": chunked")):
                yield Payload(f"{text(first)} and {text(second)}", with_fields(first + b"\r\n" + second + b"\r\n", CHUNKS), REFUSED)
    for line in (b"Transfer-Encoding : chunked", b"Transfer-Encoding\t: chunked", b" Transfer-Encoding: chunked",
                 b"Transfer_Encoding: chunked", b"Transfer\x00-Encoding: chunked", b"Transfer-Encoding\x00: chunked",
                 b"Transfer-Encoding:\r\n chunked", b"Transfer-Encoding:\r\n\tchunked", b"X: y\r\n Transfer-Encoding: chunked",
                 b"X: y\nTransfer-Encoding: chunked", b"X: y\rTransfer-Encoding: chunked", b"X: \rTransfer-Encoding: chunked",
                 b"Transfer-Encoding\xa0: chunked", b"Transfer-Encoding;: chunked", b"\x0bTransfer-Encoding: chunked",
                 b"Transfer Encoding: chunked", b"Transfer-Encoding", b"Content_Length: 12", b"Content-Length : 12",
                 b"Content-Length\t: 12", b"Content Length: 12", b"X: y\nContent-Length: 12"):
        yield Payload(f"disguise {text(line)}", with_fields(LENGTH + line + b"\r\n"), REFUSED)
    for line in (b"X-Transfer-Encoding: chunked", b"Transfer-Encodin: chunked", b"Content-Lengths: 12", b"TE: trailers",
                 b"Content-Encoding: chunked"):
        yield Payload(f"no disguise {text(line)}", with_fields(LENGTH + line + b"\r\n"), TAKEN)
    yield Payload("coding in HTTP/1.0", with_fields(CHUNKED, CHUNKS, b"POST /v1/x HTTP/1.0"), REFUSED)
    yield Payload("codings on two lines", with_fields(CHUNKED + CHUNKED, CHUNKS), REFUSED)
    yield Payload("codings on two lines, one unknown", with_fields(b"Transfer-Encoding: gzip\r\n" + CHUNKED, CHUNKS), REFUSED)
    yield Payload("codings on two lines, the last unknown", with_fields(CHUNKED + b"Transfer-Encoding: x\r\n", CHUNKS), REFUSED)


def chunks():
    for size in (b"2", b"02", b"0000000000000002", b"2;a", b"2;a=b", b'2;a="b"', b"2;a=b;c=d", b";".join([b"2"] + [b"a=b"] * 50)):
        yield Payload(f"chunk {text(size)[:40]}", with_fields(CHUNKED, size + b"\r\nab\r\n0\r\n\r\n"), TAKEN)
    for digit in (b"a", b"A", b"0a"):
        yield Payload(f"chunk {text(digit)}", with_fields(CHUNKED, digit + b"\r\n0123456789\r\n0\r\n\r\n"), TAKEN, body=b"0123456789")
    for size in (b"", b" 2", b"2 ", b"\t2", b"2\t", b"+2", b"-2", b"0x2", b"0X2", b"x2", b"2h", b"2_0", b"2.0", b"2,", b"two", b"g",
                 b'"2"', b"00000000000000002", b"10000000000000002", b"100000000000000000000000000000002",
                 b"2\x00", b"\x002", b"2\x0b", b"2\xa0", b"2;" + b"a" * 5000, b"2;\x00", b"2;a=\x00",
                 b"2;a=b\nc", b"2;a=\rb", b"2;\x7f", b"2;a=\x01"):
        yield Payload(f"chunk {text(size)[:40]}", with_fields(CHUNKED, size + b"\r\nab\r\n0\r\n\r\n"), REFUSED)
    for size in (b"FFFFFFFFFFFFFFFF", b"8000000000000002", b"2ab", b'2;a="b'):
        yield Payload(f"chunk {text(size)}", with_fields(CHUNKED, size + b"\r\nab\r\n0\r\n\r\n"), UNFINISHED)
    for end in (b"\n", b"\r", b"\n\r", b"\r\r\n", b"\x00\r\n", b" \r\n", b"\n\n", b"xx"):
        yield Payload(f"size ends with {text(end)}", with_fields(CHUNKED, b"2" + end + b"ab\r\n0\r\n\r\n"), REFUSED)
        yield Payload(f"data ends with {text(end)}", with_fields(CHUNKED, b"2\r\nab" + end + b"0\r\n\r\n"), REFUSED)
        yield Payload(f"last size ends with {text(end)}", with_fields(CHUNKED, b"2\r\nab\r\n0" + end + b"\r\n" + b"\r\n"), REFUSED)
    for trailer in (b"X-T: 1", b"Host: b", b"Idempotency-Key: other",
                    b"Authorization: b", b"X-T: 1\r\nX-U: 2"):
        yield Payload(f"trailer {text(trailer)}", with_fields(CHUNKED, b"2\r\nab\r\n0\r\n" + trailer + b"\r\n\r\n"), TAKEN)
    for trailer in (b"Content-Length: 9", b"Transfer-Encoding: chunked", b"X-T", b"X T: 1", b": 1", b"X-T : 1", b"X-T: 1\nX: 2", b"X-T: \x00", b"X-T: 1\r\n 2", b"X-T: a\rb", b" X-T: 1"):
        yield Payload(f"trailer {text(trailer)}", with_fields(CHUNKED, b"2\r\nab\r\n0\r\n" + trailer + b"\r\n\r\n"), REFUSED)


def fields():
    for byte in b"\x00\x01\x08\x0b\x0c\x1f \"(),/;<=>?@[\\]{}\x7f\x80\xff\t\r\n":
        yield Payload(f"name with {byte:#04x}", with_fields(LENGTH + b"X" + bytes([byte]) + b"A: b\r\n"), REFUSED)
    for byte in [*range(9), 10, 11, 12, 13, *range(14, 32), 127]:
        yield Payload(f"value with {byte:#04x}", with_fields(LENGTH + b"X-A: b" + bytes([byte]) + b"c\r\n"), REFUSED)
    for byte in (9, 32, 33, 126, 128, 255):
        yield Payload(f"value with {byte:#04x}", with_fields(LENGTH + b"X-A: b" + bytes([byte]) + b"c\r\n"), TAKEN)
    for lines in (b"X-A: b\r\n c\r\n", b"X-A: b\r\n\tc\r\n", b"X-A:\r\n b\r\n", b"X-A: b\r\n \r\n", b"X-A: b\r\n\r c\r\n", b": b\r\n",
                  b"X-A\r\n", b"X-A: b\n", b"X-A: b\r\r\n", b"\r X-A: b\r\n", b"X-A: b\n\r\n"):
        yield Payload(f"lines {text(lines)}", with_fields(LENGTH + lines), REFUSED)
    for lines in (b"X-A:b\r\n", b"X-A:\r\n", b"X-A:   b   \r\n", b"X-A: b:c\r\n", b"X:A: b\r\n", b"x-a: b\r\nX-A: c\r\n", b"!#$%&'*+-.^`|~: b\r\n"):
        yield Payload(f"lines {text(lines)}", with_fields(LENGTH + lines), TAKEN)
    for name in (b"Idempotency-Key", b"Authorization", b"Host", b"Content-Length", b"idempotency-key", b"close, Host"):
        yield Payload(f"Connection names {text(name)}", with_fields(LENGTH + b"Connection: " + name + b"\r\n"), ANSWERED)
    for name in (b"X-A", b"close", b"keep-alive", b"TE", b"x-a, close", b"Via"):
        yield Payload(f"Connection names {text(name)}", with_fields(LENGTH + b"X-A: b\r\nConnection: " + name + b"\r\n"), TAKEN)
    yield Payload("Connection names the coding", with_fields(CHUNKED + b"Connection: Transfer-Encoding\r\n", CHUNKS), TAKEN)
    yield Payload("two keys", with_fields(LENGTH + b"Idempotency-Key: other\r\n"), ANSWERED)
    yield Payload("an upgrade", with_fields(LENGTH + b"Connection: Upgrade\r\nUpgrade: h2c\r\n"), TAKEN)
    yield Payload("an unknown expectation", with_fields(LENGTH + b"Expect: 200-ok\r\n"), REFUSED)


def hosts():
    def with_host(line, verdict):
        return Payload(f"host {text(line)}", head(host=line) + LENGTH + b"\r\nab", verdict)

    for value in (b"a", b"a:80", b"[::1]", b"[::1]:80", b"A.EXAMPLE", b"a."):
        yield with_host(b"Host: " + value + b"\r\n", TAKEN)
    for value in (b"a b", b"a/b", b"a?b", b"a#b", b"a@b", b"a\\b", b"a\x00b", b"http://a", b"a\tb", b'"a"', b"a<b", b"\xe9", b"a\x00.b",
                  b"a^b", b"a|b", b"{a}", b"a`b"):
        yield with_host(b"Host: " + value + b"\r\n", REFUSED)
    for lines in (b"", b"Host: a\r\nHost: b\r\n", b"Host: a\r\nHost: a\r\n", b"host: a\r\nHOST: b\r\n", b"Host : a\r\n", b" Host: a\r\n",
                  b"Host: a\r\n b\r\n", b"Host\r\n"):
        yield with_host(lines, REFUSED)


def starts():
    def with_start(start, verdict, **more):
        return Payload(f"start {text(start)[:60]}", head(start) + LENGTH + b"\r\nab", verdict, **more)

    for version in (b"HTTP/1.2", b"HTTP/2", b"HTTP/2.0", b"HTTP/3", b"HTTP/0.9", b"HTTP/1", b"HTTP/1.", b"HTTP/1.11", b"HTTP/01.1",
                    b"HTTP/1.01", b"http/1.1", b"Http/1.1", b"HTTPS/1.1", b"HTTP /1.1", b"HTTP/ 1.1", b"HTTP/1 .1", b"HTTP/1.1 ",
                    b" HTTP/1.1", b"", b"\tHTTP/1.1", b"HTTP/1,1", b"HTTP/-1.1", b"HTTP/1.1\x00", b"HTTP/1.1;a", b"HTTP/9.9", b"ICY/1.1",
                    b"HTTP/1.1 HTTP/1.1", b"HTTP\\1.1"):
        yield with_start(b"POST /v1/x " + version, REFUSED)
    for start in (b" POST /v1/x HTTP/1.1", b"POST\t/v1/x HTTP/1.1", b"POST /v1/x\tHTTP/1.1", b"POST\x0b/v1/x HTTP/1.1", b"POST/v1/x HTTP/1.1",
                  b"POST  /v1/x HTTP/1.1", b"POST", b"POST ", b"/v1/x HTTP/1.1", b"\x00POST /v1/x HTTP/1.1", b"POST /v1/x HTTP/1.1\n",
                  b"POST /v1/x HTTP/1.1\r", b"PO\rST /v1/x HTTP/1.1", b"PO\nST /v1/x HTTP/1.1", b"P(ST /v1/x HTTP/1.1", b'P"ST /v1/x HTTP/1.1',
                  b"P\xc9 /v1/x HTTP/1.1", b"PO:ST /v1/x HTTP/1.1", b"CONNECT a:80 HTTP/1.1", b"CONNECT /v1/x HTTP/1.1", b"TRACE /v1/x HTTP/1.1",
                  b"PRI * HTTP/2.0", b"\r\n\r\nPOST /v1/x HTTP/1.1", b"\nPOST /v1/x HTTP/1.1", b"\rPOST /v1/x HTTP/1.1"):
        yield with_start(start, REFUSED)
    yield with_start(b"\r\nPOST /v1/x HTTP/1.1", TAKEN)
    yield with_start(b"POST /v1/x HTTP/1.0", TAKEN)
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "GET", "M-SEARCH", "PROPFIND"):
        yield with_start(method.encode() + b" /v1/x HTTP/1.1", TAKEN, method=method)
    yield with_start(b"post /v1/x HTTP/1.1", REFUSED)  # 400: guarded, but for its letters
    for method in (b"get", b"FOOT", b"BREW", b"P" * 61):
        yield with_start(method + b" /v1/x HTTP/1.1", REFUSED)  # 501
    for method in ("FOO", "!#$%&'*+-.^`|~", "P" * 60):
        yield with_start(method.encode() + b" /v1/x HTTP/1.1", TAKEN, method=method, known=False)


def targets():
    def with_target(sent, verdict, **more):
        return Payload(f"target {text(sent)[:60]}", head(b"POST " + sent + b" HTTP/1.1") + LENGTH + b"\r\nab", verdict, **more)

    for target in ("/v1/x?a=b", "/v1//x", "/v1/x?a=b?c", "/v1/%41", "/v1/x;y=z", "/v1/x?%2e%2e", "/v1/:@!$&'()*+,;=-._~", "/v1/x?",
                   "/v1/x?a=%00", "/v1/a..b", "/v1/..."):
        yield with_target(target.encode(), TAKEN, target=target)
    for target in (b"http://a/v1/x", b"HTTP://A/v1/x", b"https://a:81/v1/x", b"http://b/v1/x", b"http://[::1]:8/v1/x"):
        yield with_target(target, TAKEN)
    for target in (b"v1/x", b"*", b"a:80", b"http:///v1/x", b"http:/v1/x", b"http://", b"http:", b"ftp://a/v1/x", b"http://u@a/v1/x",
                   b"http://u:p@a/v1/x", b"/v1/x#f", b"#", b"?", b"?a", b"/v1/ x", b"/v1/\tx", b"/v1/\x00", b"/v1/\x01", b"/v1/\x7f", b"/v1/\xe9",
                   b"javascript:a", b"http://a b/v1/x", b"http://a\\b/v1/x", b"http://a#/v1/x", b"//", b"http://a\x00/v1/x", b"/v1/" + b"a" * 9000):
        yield with_target(target, ANSWERED if target == b"//" else REFUSED)
    for target in (b"/v1/../x", b"/v1/%2e%2e/x", b"/v1/.%2E/x", b"/v1/%2fx", b"/v1/%5cx", b"/v1/%00x", b"/v1/..%2f", b"/v1/x\\y", b"/v1/..",
                   b"/nowhere", b"/v1", b"http://a", b"http://a?b"):
        yield with_target(target, ANSWERED)


def payloads():
    """All of them, each with a key of its own."""
    made = [*lengths(), *codings(), *chunks(), *fields(), *hosts(), *starts(), *targets()]
    for number, payload in enumerate(made):
        payload.data = payload.data.replace(b"$key", b"payload-%d" % number)
    return made
