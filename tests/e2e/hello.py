"""A TLS client's first message, byte by byte, with versions and suites that no library offers any more, and what a server
says to it."""
import os
import struct

import wire

ALERT, HANDSHAKE = 21, 22
SSL3, TLS10, TLS11, TLS12 = 0x0300, 0x0301, 0x0302, 0x0303
PROTOCOL_VERSION, HANDSHAKE_FAILURE, INAPPROPRIATE_FALLBACK = 70, 40, 86
FALLBACK_SCSV = 0x5600
GOOD = (0xC02B, 0xC02C, 0xCCA9)  # ECDHE-ECDSA with AES-128-GCM, AES-256-GCM, ChaCha20
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


def client_hello(version, suites, compressions=(0,)):
    name = b"localhost"
    extensions = b"".join((
        _extension(0, struct.pack("!HBH", len(name) + 3, 0, len(name)) + name),
        _extension(10, _list((0x001D, 0x0017))),  # X25519, P-256
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
