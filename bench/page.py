"""docs/performance.md: which of its figures came from which run.

Words and figures live on one page. What a run measured stands between two marks,

    <!-- measured: desk -->
    ...
    <!-- end of desk -->

and only that is replaced, with the day and the commit: a run of one part leaves what the other parts have measured.
"""
import re


def marked(text, name):
    """The stretch of the page that this part fills, marks included; None if the page has no room for it."""
    return re.search(rf"<!-- measured: {re.escape(name)} -->\n.*?<!-- end of {re.escape(name)} -->", text, re.DOTALL)


def replaced(text, name, new):
    """The page with this between the marks."""
    found = marked(text, name)
    if not found:
        raise LookupError(f"docs/performance.md has no place for {name}: add <!-- measured: {name} --> and <!-- end of {name} -->")
    return f"{text[:found.start()]}<!-- measured: {name} -->\n{new}\n<!-- end of {name} -->{text[found.end():]}"


def origin(about, command):
    return f"Measured {about['date']} at commit {about['commit']} by `{command}`."


def filled(text, name, table, about, command):
    """The page with this table in its place, and where it came from."""
    return replaced(text, name, f"{origin(about, command)}\n\n{table}")
