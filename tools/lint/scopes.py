"""The outline of a C++ file by its braces: which namespaces, types, functions and statements stand in which.

No parser: it reads code whose comments, literals and directives are blanked, and tells what a brace opens by the text
before it. Bodies of functions are not looked into, so what is local to a function is not seen.
"""
import re

TOKEN = re.compile(r"[(){};]")
ACCESS = re.compile(r"\s*(public|private|protected)\s*:(?!:)")
NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\b\s*(?:\[\[.*?\]\]\s*)?((?:\w+(?:\s*::\s*)?(?:inline\s+)?)*)\s*$")
TYPE = re.compile(
    r"\b(?P<kind>class|struct|union|enum(?:\s+(?:class|struct))?)\b(?![^<]*>)"
    r"(?:\s*\[\[.*?\]\]|\s*alignas\s*\([^()]*\))*"
    r"(?:\s*(?P<name>\w+(?:\s*::\s*\w+)*))?\s*(?P<special><.*>)?\s*(?:\bfinal\b)?\s*(?::(?!:)[^()=]*)?$", re.S)
EXTERN = re.compile(r'^\s*extern\s*"[^"]*"\s*$')
FUNCTION_HEAD = re.compile(r"\)\s*(?:(?:const|noexcept|override|final|mutable|volatile|try|&&?)\s*|noexcept\s*\(.*\)\s*"
                           r"|->.*|requires\b.*|\[\[.*\]\]\s*)*$", re.S)
CONSTRUCTOR_HEAD = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)", re.S)
ALIAS = re.compile(r"^\s*using\s+(\w+)\s*(?:\[\[.*?\]\]\s*)?=\s*(.*)$|^\s*typedef\b.*?(\w+)\s*$", re.S)


class Scope:
    """The file, a namespace, a type, an enum or an `extern "C"`, with what stands in it. Anonymous ones are named ""."""

    def __init__(self, kind, name, offset, outer):
        self.kind = kind  # "file", "namespace", "extern", "enum", or "class", "struct", "union"
        self.name = name
        self.offset = offset
        self.outer = outer
        self.statements = []
        self.access = "private" if kind == "class" else "public"  # of the next statement
        self.special = False  # a specialisation of a template

    def walk(self):
        yield self
        for statement in self.statements:
            if statement.scope is not None:
                yield from statement.scope.walk()

    def is_type(self):
        return self.kind in ("class", "struct", "union")

    def path(self):
        """Of a type: the names of the types around it and its own. Of a namespace: all of it, "" where anonymous."""
        names, scope = [], self
        while scope is not None and (scope.is_type() if self.is_type() else scope.kind == "namespace"):
            names[:0] = scope.name.split("::") if scope.name else [""]
            scope = scope.outer
            while scope is not None and scope.kind == "extern":
                scope = scope.outer
        return names


class Statement:
    """A declaration or definition: kind is "plain", "function" (with a body), "enum", "namespace", "extern" or "type"."""

    def __init__(self, kind, offset, text, access, scope=None, name="", body=0, end=0):
        self.kind, self.offset, self.text, self.access, self.scope = kind, offset, text, access, scope
        self.name, self.body, self.end = name, body, end  # of a function: where its braces are


def scan(code):
    """The outermost scope of a file."""
    scope = Scope("file", "", 0, None)
    top = scope
    head = parens = depth = 0  # where the statement begins; open parentheses in it; open braces of a body or a value
    body = None  # of the function that is being passed over: (offset of the brace, name)
    for match in TOKEN.finditer(code):
        token, at = match[0], match.start()
        if depth:
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth == 0 and body is not None:
                add(scope, "function", code, head, body[0], name=body[1], body=body[0], end=at)
                head, body = match.end(), None
        elif token in "()":
            parens += 1 if token == "(" else -1
        elif token == "{":
            opened, body = (None, None) if parens else opening(scope, code, head, at)
            if opened is not None:
                scope, head = opened, match.end()
            else:
                depth = 1
        elif token == "}":
            parens = 0
            if scope.outer is not None:
                scope, head = scope.outer, match.end()
        elif token == ";" and parens == 0:
            add(scope, "plain", code, head, at)
            head = match.end()
    return top


def opening(scope, code, head, at):
    """What the brace at `at` opens: (a scope, None), (None, a function) or (None, None) for a value."""
    text = code[head:at]
    text = text[access(scope, text):].lstrip()
    start, text = at - len(text), text.rstrip()
    namespace = NAMESPACE.match(text)
    declared = without_template(text)
    kind = TYPE.search(declared)
    if namespace or EXTERN.match(text):
        name = re.sub(r"\s+|\binline\b", "", namespace[1]) if namespace else ""
        return enter(scope, "namespace" if namespace else "extern", name, start), None
    if kind:
        inner = enter(scope, kind["kind"].split()[0], re.sub(r"\s+", "", kind["name"] or ""), start)
        inner.special = bool(kind["special"])
        return inner, None
    constructor = CONSTRUCTOR_HEAD.search(text)
    if constructor and text.rstrip()[-1] in ")}" or FUNCTION_HEAD.search(text):
        names = re.findall(r"([\w:~]+)\s*\(", text[:constructor.start() + 1] if constructor else text)
        return None, (at, names[0] if names else "a function")
    return None, None


def enter(scope, kind, name, offset):
    inner = Scope(kind, name, offset, scope)
    kind = kind if kind in ("namespace", "extern", "enum") else "type"
    scope.statements.append(Statement(kind, offset, "", scope.access, inner, name))
    return inner


def add(scope, kind, code, head, end_of_head, **more):
    text = code[head:end_of_head]
    text = text[access(scope, text):]
    if text.strip():
        scope.statements.append(Statement(kind, end_of_head - len(text.lstrip()), text.strip(), scope.access, **more))


def access(scope, text):
    """Notes the access specifiers that `text` begins with, and returns where they end."""
    end = 0
    if scope.is_type():
        while match := ACCESS.match(text, end):
            scope.access, end = match[1], match.end()
    return end


def without_template(text):
    """The declaration without the `template <...>` before it."""
    while match := re.match(r"\s*template\s*<", text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"<": 1, ">": -1}.get(text[end], 0)
            end += 1
        text = text[end:]
    return re.sub(r"^\s*requires\b.*?(?=\b(?:class|struct|union|using)\b)", "", text, flags=re.S)


def types(top):
    """(names, offset) of each type that is defined: its name and those of the types around it, but of no namespace."""
    for scope in top.walk():
        if scope.is_type() and scope.name and not scope.special:
            yield scope.path(), scope.offset
        for statement in scope.statements:
            outer = scope.path() if scope.is_type() else []
            if statement.kind == "enum" and statement.name:
                yield [*outer, *statement.name.split("::")], statement.offset
            elif statement.kind == "plain" and not scope.is_type():
                alias = ALIAS.match(without_template(statement.text))
                # `using tcp = asio::ip::tcp` only drops the namespace, as `using asio::ip::tcp` does.
                if alias and not (alias[1] and re.fullmatch(rf"(?:::)?(?:[a-z]\w*::)+{alias[1]}", alias[2].strip())):
                    yield [alias[1] or alias[3]], statement.offset
