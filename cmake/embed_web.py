#!/usr/bin/env python3
"""Compiles the dashboard in: embed_web.py WEB OUTPUT

Writes a C++ source that has every file of the folder WEB which a browser loads, packed with gzip. All but the page itself are
served below /assets/HASH/, where the hash covers all of them: relative imports stay as they are written, and a path never
changes its content. `assets/` in index.html is put right, and so is the one bare import in web/vendor/; what the first page
needs is named there, so that a browser fetches it at once. The same files give the same output.
"""
import gzip
import hashlib
import pathlib
import posixpath
import re
import sys

TYPES = {".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8"}
PAGE = "index.html"
START = "app/main.js"
BARE = {b'from"preact"': b'from"./preact.mjs"'}  # of preact/hooks.mjs, which stands beside it
COLUMNS = 32
LITERAL_BYTES_MAX = 65_000  # that a compiler must take; gzip's output is far below


def content(file):
    data = file.read_bytes()
    if "vendor" in file.parts:
        for bare, relative in BARE.items():
            data = data.replace(bare, relative)
    return data


def closure(name, contents, seen=()):
    """What a module needs before it can run, itself first: what it imports, and what that imports."""
    if name in seen:
        return list(seen)
    seen = [*seen, name]
    for specifier in re.findall(rb'\bfrom ?"(\.[^"]+)"', contents[name]):
        seen = closure(posixpath.normpath(posixpath.join(posixpath.dirname(name), specifier.decode())), contents, seen)
    return seen


def literal(data):
    lines = []
    for at in range(0, len(data), COLUMNS):
        lines.append('     "' + "".join(f"\\{byte:03o}" for byte in data[at:at + COLUMNS]) + '"')
    return "\n".join(lines)


def collected(web):
    """(path, type, content) of each file, the page last."""
    files = sorted(file for file in web.rglob("*") if file.is_file() and file.suffix in TYPES and file.name != PAGE)
    contents = {file.relative_to(web).as_posix(): content(file) for file in files}
    page = (web / PAGE).read_bytes()
    covered = hashlib.sha256(page)
    for name, data in contents.items():
        covered.update(f"\n{name} {len(data)}\n".encode() + data)
    base = "/assets/" + covered.hexdigest()[:16] + "/"
    preloads = "".join(f'<link rel="modulepreload" href="{base}{name}">\n' for name in closure(START, contents))
    page = re.sub(rb'(?<=["\'])assets/', base.encode(), page).replace(b"<!-- modules -->\n", preloads.encode())
    rows = [(base + name, TYPES[pathlib.PurePath(name).suffix], data) for name, data in contents.items()]
    return [*rows, ("/", TYPES[".html"], page)]


def source(rows):
    out = ["// Made of web/ by cmake/embed_web.py.", '#include "admin/web.h"', "", "#include <array>", "#include <span>",
           "#include <string_view>", "", "namespace semel::admin {", "namespace {", "",
           f"constexpr std::array<WebFile, {len(rows)}> files{{{{"]
    for path, type_, data in rows:
        packed = gzip.compress(data, 9, mtime=0)
        if len(packed) > LITERAL_BYTES_MAX:
            sys.exit(f"embed_web.py: {path} is too large: {len(packed)} bytes packed")
        out.append(f'    {{.path = "{path}",\n     .type = "{type_}",\n     .packed = std::string_view(\n{literal(packed)},'
                   f"\n     {len(packed)})}},")
    out += ["}};", "", "}  // namespace", "", "std::span<const WebFile> web_files() {", "  return files;", "}", "",
            "}  // namespace semel::admin", ""]
    return "\n".join(out)


def main(web, output):
    pathlib.Path(output).write_text(source(collected(pathlib.Path(web).resolve())), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
