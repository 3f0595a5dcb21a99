"""What must not stand in a co_await expression, and which lambdas must not be coroutines (docs/adr/0003-coroutine-style.md)."""
import re

from lint.source import blank


def check(source):
    for match in re.finditer(r"\bco_await\b", source.code):
        odd = temporary(source.code, match.end())
        if odd:
            yield source.line(match.start()), f"`{odd}` inside a co_await expression: name the value on the line above"
    if not re.search(r"\bco_(?:await|return|yield)\b", source.code):
        return
    for start, _, body in lambdas(source.code, captures="some"):
        if re.search(r"\bco_(?:await|return|yield)\b", without_lambdas(body)):
            yield source.line(start), "a capturing lambda is a coroutine: its captures die before it does"


def temporary(code, start):
    """The `{` or `?` in the expression that begins at `start`, if there is one."""
    depth = 0
    for match in re.compile(r"[()\[\]{}?;]").finditer(code, start):
        if match[0] in "{?":
            return match[0]
        if match[0] in "([":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and match[0] == ";"):
            return None
    return None


def closing(code, start):
    """The offset behind the bracket that closes the one at `start`."""
    depth = 0
    for match in re.compile(r"[()\[\]{}]").finditer(code, start):
        depth += 1 if match[0] in "([{" else -1
        if depth == 0:
            return match.end()
    return len(code)


def lambdas(code, captures="any"):
    """(offset, end, body) of each lambda expression."""
    for match in re.finditer(r"\[", code):
        before = code[max(0, match.start() - 500):match.start()].rstrip()
        word = re.search(r"\w+$", before[-64:])
        subscript = before.endswith((")", "]", "[")) or (word and word[0] not in ("return", "co_return", "co_await"))
        if subscript or code.startswith("[[", match.start()):
            continue
        end = closing(code, match.start())
        if captures == "some" and not code[match.start() + 1:end - 1].strip():
            continue
        end = re.compile(r"\s*(?:<[^;{}]*?>\s*)?").match(code, end).end()
        if code.startswith("(", end):
            end = closing(code, end)
        body = re.compile(r"(?:\s|mutable|static|constexpr|consteval|noexcept|->[^;{}=]*|requires[^;{}]*)*\{").match(code, end)
        if body:
            begin = body.end() - 1
            yield match.start(), closing(code, begin), code[begin:closing(code, begin)]


def without_lambdas(body):
    for start, end, _ in lambdas(body):
        body = body[:start] + blank(body[start:end]) + body[end:]
    return body
