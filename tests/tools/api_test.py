#!/usr/bin/env python3
"""docs/api.md lists the public surface, all of it and nothing else, and it stays small: api_test.py ROOT [--print]

Counts what stands in namespace semel in include/semel: functions (overloads are one), types and aliases. What a class
has inside belongs to the class.
"""
import pathlib
import re
import sys

LIMIT = 65  # functions and types, those for stores and other client libraries among them
NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)


def declarations(text):
    """The text of each declaration in namespace semel, up to its body or its end."""
    text = NOISE.sub(" ", text)
    for match in re.finditer(r"namespace semel \{", text):
        depth, start = 1, match.end()
        for at in range(match.end(), len(text)):
            if text[at] == "{":
                if depth == 1:
                    yield text[start:at]
                depth += 1
            elif text[at] == "}":
                depth -= 1
                if depth == 1:
                    start = at + 1
                if depth == 0:
                    break
            elif text[at] == ";" and depth == 1:
                yield text[start:at]
                start = at + 1


def named(declaration):
    """(kind, name), or nothing."""
    said = " ".join(re.sub(r"template <[^>]*>|\[\[\w+\]\]", " ", declaration).split())
    if match := re.match(r"using (\w+) =", said):
        return "alias", match[1]
    if match := re.match(r"(?:enum class|struct|class) (\w+)", said):
        return "type", match[1]
    if re.match(r"(?:namespace|inline constexpr|friend)\b", said):
        return None
    if match := re.search(r"(\w+)\(", said):
        return "function", match[1]
    return None


def surface(root):
    """By kind: name → headers."""
    found = {"type": {}, "function": {}, "alias": {}}
    for header in sorted((root / "include" / "semel").glob("*.h")):
        for declaration in declarations(header.read_text(encoding="utf-8")):
            said = named(declaration)
            if said:
                found[said[0]].setdefault(said[1], set()).add(header.name)
    return found


def listed(document):
    """By the heading they stand under: the names of the first column of each table."""
    names = {}
    heading = ""
    for line in document.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif match := re.match(r"\| (`.*?) \|", line):
            names.setdefault(heading, set()).update(re.findall(r"`(\w+)`", match[1]))
    return names


def main(root, *options):
    root = pathlib.Path(root)
    found = surface(root)
    if "--print" in options:
        for kind, names in found.items():
            print(kind, len(names), *sorted(f"{name}:{'+'.join(headers)}" for name, headers in names.items()), sep="\n  ")
        return 0
    names = listed(root / "docs" / "api.md")
    trouble = []
    told = set().union(*names.values())
    there = set().union(*(set(kind) for kind in found.values()))
    trouble += [f"docs/api.md does not list {name}" for name in sorted(there - told)]
    trouble += [f"docs/api.md lists {name}, which is not there" for name in sorted(told - there)]
    count = len(found["function"]) + len(found["type"])
    if not count or count >= LIMIT:
        trouble.append(f"{count} functions and types; under {LIMIT} is the promise")
    print("\n".join(trouble) or f"{count} functions and types, {len(found['alias'])} other names for types")
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
