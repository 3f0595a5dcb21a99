"""How long files and functions may grow, and what a header must have."""
import re

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
COMMENTED_FROM_LINES = 100  # a .cc file over this many lines opens with a comment; a header always does


def check(source):
    if source.lines > FILE_LINES_MAX:
        yield FILE_LINES_MAX + 1, f"{source.lines} lines; {FILE_LINES_MAX} is the end: split it where the seam is"
    if source.header and not re.search(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", source.code, re.M):
        yield 1, "a header without #pragma once"
    if source.header:
        for match in re.finditer(r"\busing\s+namespace\b", source.code):
            yield source.line(match.start()), "`using namespace` in a header"
    if source.header or source.lines > COMMENTED_FROM_LINES:
        if not source.text.lstrip().startswith(("//", "/*")):
            yield 1, "opens without a comment that says what this file is"
    for scope in source.scopes.walk():
        for statement in scope.statements:
            if statement.kind == "function":  # lambdas count as part of their function
                first, last = source.line(statement.body), source.line(statement.end)
                if last - first + 1 > FUNCTION_LINES_MAX:
                    yield first, f"{statement.name} is {last - first + 1} lines long; {FUNCTION_LINES_MAX} is the end"
