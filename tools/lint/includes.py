"""Which folder may include which (docs/life-of-a-request.md shows the way of a request through them), and no circles."""
import re

# A folder may include what its arrows lead to, and what that leads to. once, store and http stand side by side, as
# guard and telemetry do, gateway and api, and admin and outbox.
BELOW = ("config", "once", "store", "http")
ARROWS = {
    "core": (),
    "reading": ("core",),
    "policy": ("reading",),
    "inbox": ("policy",),
    "webhook": ("inbox",),
    "config": ("webhook",),
    "runtime": ("core",),
    "once": ("runtime",),
    "store": ("runtime",),
    "http": ("runtime",),
    "guard": BELOW,
    "telemetry": BELOW,
    "auditor": ("telemetry",),
    "gateway": ("guard", "telemetry"),
    "api": ("guard", "telemetry"),
    "outbox": ("gateway",),
    "resolver": ("gateway",),
    "admin": ("resolver", "api", "auditor"),
    "cli": ("admin", "outbox"),
}
ORDER = ("core <- reading <- policy <- inbox <- webhook <- config; core <- runtime <- once, store, http; "
         "all of these <- guard, telemetry <- auditor, gateway, api; gateway <- outbox, resolver; "
         "auditor, api, resolver <- admin; admin, outbox <- cli")
KEPT_APART = ("store",)  # the subfolders of these know the folder, which does not know them, nor do they know each other

# No I/O, threads, clock, log or environment. One file may end the process with a message.
PURE = tuple(f"src/{room}/" for room in ("core", "reading", "policy", "inbox", "webhook", "config"))
PURE_EXCEPT = {"src/core/check.h": {"cstdio", "cstdlib"}}
IMPURE = re.compile(
    r"(boost/(asio|beast)|spdlog|rocksdb|postgresql|libpq|hiredis|sys|arpa|netinet)(/|\.|-|$)"
    r"|(iostream|fstream|print|syncstream|filesystem|thread|stop_token|mutex|shared_mutex|condition_variable|future"
    r"|semaphore|latch|barrier|random|cstdio|cstdlib|csignal|stdio\.h|stdlib\.h|signal\.h|time\.h|unistd\.h|fcntl\.h"
    r"|pthread\.h)$")

# A public header drags in somebody else's library only if it is the adapter for it.
ADAPTERS = {"include/semel/beast.h": r"boost/beast/", "include/semel/httplib.h": r"httplib\.h$",
            "include/semel/pqxx_transaction.h": r"pqxx/pqxx$"}
STANDARD = re.compile(r"[a-z_0-9]+$")


def reach(folder):
    """The folders that `folder` may include, itself among them."""
    return {folder}.union(*(reach(below) for below in ARROWS[folder]))


MAY_INCLUDE = {folder: reach(folder) for folder in ARROWS}


def room_of(path):
    """("store", "embedded") for what stands in src/store/embedded/, ("core", "") for src/core/json/, named from src/."""
    folder, *rest = path.split("/")[:-1]
    return folder, rest[0] if rest and folder in KEPT_APART else ""


def may_include(room, other):
    if room[0] == other[0]:
        return other[1] in ("", room[1])
    return other[0] in MAY_INCLUDE.get(room[0], ())


def check(source):
    parts = source.path.split("/")
    for line, quoted, target in source.includes:
        if ".." in target.split("/"):
            yield line, f'"{target}": name headers from the root of src/ or include/, without ".."'
        elif parts[0] == "include":
            adapted = source.path in ADAPTERS and re.match(ADAPTERS[source.path], target)
            if quoted or not (STANDARD.match(target) or re.match(r"semel/|boost/asio(\.hpp|/)", target) or adapted):
                yield line, f"{target}: include/ may include only <semel/...>, the standard library and <boost/asio/...>"
        elif parts[0] == "examples":
            if quoted or target.split("/")[0] in ARROWS:
                yield line, f"{target}: examples use what is installed: <semel/...>"
        elif parts[0] == "src" and len(parts) > 2:
            yield from check_room(source, line, quoted, target)


def check_room(source, line, quoted, target):
    room = room_of(source.path.removeprefix("src/"))
    other = room_of(target) if "/" in target else (room if quoted else ("", ""))
    if room[0] not in ARROWS:
        yield line, f"src/{room[0]}/ has no place in the order of folders (ARROWS in tools/lint/includes.py)"
    elif other[0] in ARROWS and not may_include(room, other):
        folder = "/".join(filter(None, room))
        yield line, f"src/{folder}/ may not include {target}: arrows go {ORDER}; stores do not know each other"
    elif quoted and other[0] not in ARROWS and other[0] != "semel":
        yield line, f'"{target}": quotes are for headers of src/, as "folder/name.h"'
    if source.path.startswith(PURE) and IMPURE.match(target):
        if target not in PURE_EXCEPT.get(source.path, ()):
            yield line, f"{target}: src/{room[0]}/ is pure (no I/O, threads, clock, log or environment)"
    if target.startswith("boost/beast") and room[0] != "http":
        yield line, f"{target}: Beast lives in src/http/ and nowhere else"


def check_circles(tree):
    """Parts, each a header with its source, do not need each other in a circle. #pragma once hides it from the compiler."""
    needs = {}  # part -> [(the part that it includes, path, line)]
    for source in tree.product():
        needed = needs.setdefault(part_of(source.path), [])
        for line, _, target in source.includes:
            found = next((f"{root}/{target}" for root in ("src", "include") if f"{root}/{target}" in tree.sources), None)
            if found is not None and part_of(found) != part_of(source.path):
                needed.append((part_of(found), source.path, line))
    done, way, told = set(), [], set()

    def follow(part):
        way.append(part)
        for other, path, line in needs[part]:
            if other in way:
                circle = " -> ".join([*way[way.index(other):], other])
                if circle not in told:
                    yield path, line, f"a circle of includes: {circle}"
                told.add(circle)
            elif other not in done:
                yield from follow(other)
        done.add(way.pop())

    for part in needs:
        if part not in done:
            yield from follow(part)


def part_of(path):
    return path.rpartition(".")[0]
