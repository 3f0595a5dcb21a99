"""A TLS client's first message, byte by byte: made with versions, suites and groups that no library offers any more, to see
what a server says to it; and read, to see what a client offers."""
import os
import struct

import wire

ALERT, HANDSHAKE = 21, 22
SSL3, TLS10, TLS11, TLS12, TLS13 = 0x0300, 0x0301, 0x0302, 0x0303, 0x0304
PROTOCOL_VERSION, HANDSHAKE_FAILURE, INAPPROPRIATE_FALLBACK = 70, 40, 86
FALLBACK_SCSV = 0x5600
GOOD = (0xC02B, 0xC02C, 0xCCA9)  # ECDHE-ECDSA with AES-128-GCM, AES-256-GCM, ChaCha20
GOOD_RSA = (0xC02F, 0xC030, 0xCCA8)  # the same with an RSA certificate
ALPN = 16
OF_TLS13 = (0x1301, 0x1302, 0x1303)
NO_RENEGOTIATION = 0x00FF  # stands among the suites and says that a server may not renegotiate unnoticed
GROUPS = {0x001D: "X25519", 0x0017: "P-256", 0x0018: "P-384"}
OTHER_GROUPS = {0x0019: "P-521", 0x001E: "X448", 0x0015: "P-224", 0x0016: "secp256k1", 0x001A: "brainpool", 0x0100: "ffdhe2048"}
WEAK = {
    "no encryption": (0x0001, 0x0002, 0x003B, 0xC006, 0xC010), "no certificate": (0x0018, 0x0034, 0x006C, 0x00A6, 0xC018),
    "export": (0x0003, 0x0006, 0x0008, 0x0014), "RC4": (0x0004, 0x0005, 0xC007, 0xC011), "DES": (0x0009, 0x0015),
    "3DES": (0x000A, 0x0016, 0xC008, 0xC012), "no forward secrecy": (0x002F, 0x0035, 0x009C, 0x009D, 0xC004, 0xC02D),
    "CBC": (0xC009, 0xC00A, 0xC023, 0xC024), "finite fields": (0x0033, 0x0039, 0x009E, 0x009F),
    "a shared secret": (0x008C, 0x00A8, 0xC035), "CCM-8": (0xC0AE, 0xC0AF), "Camellia, SEED and ARIA": (0x0041, 0x0096, 0xC05C),
}


def _extension(kind, data):
    return struct.pack("!HH", kind, len(data)) + data


def _list(items, form="!H"):
    packed = b"".join(struct.pack("!H", item) for item in items)
    return struct.pack(form, len(packed)) + packed


def client_hello(version, suites, compressions=(0,), groups=(0x001D, 0x0017)):  # X25519, P-256
    name = b"localhost"
    extensions = b"".join((
        _extension(0, struct.pack("!HBH", len(name) + 3, 0, len(name)) + name),
        _extension(10, _list(groups)),
        _extension(11, b"\x01\x00"),
        _extension(13, _list((0x0403, 0x0503, 0x0804, 0x0401, 0x0203))),
    ))
    body = struct.pack("!H", version) + os.urandom(32) + b"\x00" + _list(suites)
    body += bytes([len(compressions), *compressions])
    body += struct.pack("!H", len(extensions)) + extensions
    message = b"\x01" + struct.pack("!I", len(body))[1:] + body
    return struct.pack("!BHH", HANDSHAKE, min(version, TLS10), len(message)) + message


def say(address, data):
    """("alert", number), ("hello", version, suite, compression), or ("closed",)"""
    with wire.Wire(address) as client:
        client.send(data)
        try:
            kind, _, size = struct.unpack("!BHH", client.reader.exactly(5))
            record = client.reader.exactly(size)
        except wire.Cut:
            return ("closed",)
    if kind == ALERT:
        return ("alert", record[1])
    version = struct.unpack("!H", record[4:6])[0]
    rest = record[38:]
    suite, compression = struct.unpack("!HB", rest[1 + rest[0]:4 + rest[0]])
    return ("hello", version, suite, compression)


def _items(data, size):
    return [int.from_bytes(data[at:at + 2], "big") for at in range(0, size, 2)]


def read_client_hello(reader):
    """What a client offers: versions, suites, groups, compressions; and the numbers of its extensions."""
    kind, _, size = struct.unpack("!BHH", reader.exactly(5))
    if kind != HANDSHAKE:
        raise wire.Cut(f"a record of type {kind} in place of a hello")
    rest = reader.exactly(size)[4 + 2 + 32:]  # behind the type, the size, a version of old and the random bytes
    rest = rest[1 + rest[0]:]
    size = int.from_bytes(rest[:2], "big")
    suites, rest = _items(rest[2:], size), rest[2 + size:]
    compressions, rest = list(rest[1:1 + rest[0]]), rest[1 + rest[0] + 2:]
    extensions = {}
    while rest:
        number, size = struct.unpack("!HH", rest[:4])
        extensions[number], rest = rest[4:4 + size], rest[4 + size:]
    return {"versions": _items(extensions[43][1:], extensions[43][0]), "suites": suites, "compressions": compressions,
            "groups": _items(extensions[10][2:], len(extensions[10]) - 2), "extensions": set(extensions)}
