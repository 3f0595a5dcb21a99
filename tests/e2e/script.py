"""Scenarios as text: a conversation between clients, the gateway and the upstream, from top to bottom.

    config: standard                    the gateway they run on: NAME.toml beside the file

    == A retry gets the stored answer   a scenario, up to the next one
    > POST /v1/payments                 a client sends a request
    > Idempotency-Key: k1
    >
    > {"amount": 1}
        >> POST /v1/payments            it arrives at the upstream (this waits for it) ...
        >> Idempotency-Attempt: 1
        << 201 Created                  ... and is answered so
        <<
        << {"id": 7}
    < 201                               the client reads its reply
    < Idempotent-Replayed: -
    <
    < {"id": 7}

    > again
    < replay
    = 1 effect                          requests that arrived at the upstream, all told

A client is a connection. `A>` and `A<` are those of client A; a client without a name has none. It connects when it
first sends, and again after the gateway has closed; `admin>` connects to the admin listener. Host, X-Scenario,
Authorization and Content-Length are added to a request unless it has them; `Name: -` leaves one out. A body with
`Transfer-Encoding: chunked` goes out as a chunk per line. With `Expect: 100-continue` only the head goes out.

    > again          the client's last request; fields and body that follow replace its own
    > again until 201    the same, as often as it takes to get this status
    > body           the body that Expect held back
    > raw "..."      these bytes          > close    > reset    hang up, politely or not

    > sign: stripe SECRET 10    signed as this provider does it, 10 seconds ago; signed anew each time (signers.py)

    < 201            the status (or ~ and a regular expression), then fields; those not named may be anything
    < replay         the last answer from the upstream once more: status, body and stored fields, and the marker
    < raw "..."      these bytes          < closed   < open     < nothing for 300ms

    >> head POST /x  as >> POST /x, but its body is left for `>> raw "..."`
    << raw "..."     these bytes, and more may follow           << close    << reset    << done

    Name: value      this line alone (repeat it for several)    Name: -      no such field
    Name: *          any value                                  Name: ~ ...  a regular expression
    problem: in-flight same-key         an RFC 9457 body of this type with this advice
    framing: length                     or chunked, close, none

A body is what follows an empty line: text, or `@5KiB` for that many bytes, or lines `~ ...`, each a regular expression
that it must hold. Behind a body, an empty line ends the block. Anywhere: `$id` is the scenario's own name, `<x*300>` is
300 x's, `<\\xff>` a byte. `sleep 1s` waits.
"""
import ast
import dataclasses
import re

UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
LINE = re.compile(r"^\s*(\w*)(>>|<<|>|<)(?: (.*))?$")
ALONE = re.compile(r"raw .*|nothing for .*|open|closed|close|reset|done|body|again until .*")  # blocks of one line


class Mistake(Exception):
    """The file is not as it should be."""


@dataclasses.dataclass
class Block:
    """Consecutive lines of one speaker: the first one, fields, and a body or None."""

    line: int
    who: str
    arrow: str
    first: str
    fields: list
    body: list


@dataclasses.dataclass
class Scenario:
    file: str
    line: int
    title: str
    config: str
    name: str = ""
    steps: list = dataclasses.field(default_factory=list)
    effects: int = None


def expand(text, name):
    """Bytes as latin-1 characters."""
    text = text.replace("$id", name)
    text = re.sub(r"<(.)\*(\d+)>", lambda m: m[1] * int(m[2]), text)
    return re.sub(r"<\\x([0-9a-f]{2})>", lambda m: chr(int(m[1], 16)), text)


def literal(text):
    """The bytes of `raw "..."`."""
    return ast.literal_eval(text.strip()).encode("latin-1")


def seconds(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)", text.strip())
    if not match:
        raise Mistake(f"not a time: {text}")
    return float(match[1]) / (1000 if match[2] == "ms" else 1)


def body_bytes(lines, name):
    """The body that these lines stand for; None if there is none."""
    if lines is None:
        return None
    sized = re.fullmatch(r"@(\d+)(\w*)", lines[0]) if len(lines) == 1 else None
    if sized:
        size = int(sized[1]) * UNITS[sized[2]]
        return (b"0123456789abcdef" * (size // 16 + 1))[:size]
    return expand("\n".join(lines), name).encode("latin-1")


def block_of(line, who, arrow, texts):
    head, body = texts, None
    if "" in texts:
        head, body = texts[:texts.index("")], texts[texts.index("") + 1:]
    if not head:
        raise Mistake(f"line {line}: a block begins with an empty line")
    fields = []
    for text in head[1:]:
        field, colon, value = text.partition(":")
        if not colon:
            raise Mistake(f"line {line}: not a field: {text}")
        fields.append((field, value.strip(" ")))
    return Block(line, who, arrow, head[0], fields, body)


def parse_effects(text):
    match = re.fullmatch(r"= (no|\d+) effects?", text)
    if not match:
        raise Mistake(f"not a number of effects: {text}")
    return 0 if match[1] == "no" else int(match[1])


def parse(path):
    """The scenarios of a file."""
    config, scenarios, pending = None, [], None

    def flush():
        nonlocal pending
        if pending is not None:
            if not scenarios:
                raise Mistake(f"{path.name}:{pending[0]}: before the first scenario")
            scenarios[-1].steps.append(block_of(*pending))
            pending = None

    for number, text in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        said = LINE.match(text)
        if said and not text.startswith("=="):
            who, arrow, rest = said[1], said[2], said[3] or ""
            in_head = pending is not None and "" not in pending[3]
            if pending is None or pending[1:3] != (who, arrow) or (in_head and rest and ":" not in rest):
                flush()
                pending = (number, who, arrow, [])
            pending[3].append(rest)
            if len(pending[3]) == 1 and ALONE.fullmatch(rest):
                flush()
            continue
        flush()
        stripped = text.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith("config:"):
            config = stripped.partition(":")[2].strip()
        elif stripped.startswith("== "):
            scenarios.append(Scenario(path.name, number, stripped[3:], config))
        elif stripped.startswith("sleep "):
            scenarios[-1].steps.append(seconds(stripped[6:]))
        elif stripped.startswith("= "):
            scenarios[-1].effects = parse_effects(stripped)
        else:
            raise Mistake(f"{path.name}:{number}: what is this? {stripped}")
    flush()
    for index, scenario in enumerate(scenarios, 1):
        scenario.name = f"{path.stem}-{index}"
        if scenario.effects is None or scenario.config is None:
            raise Mistake(f"{path.name}:{scenario.line}: no `= N effects` or no `config:`")
    return scenarios
