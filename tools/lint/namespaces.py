"""Namespaces follow folders: src/store/embedded/ is semel::store::embedded, and what users name is in semel."""
import re

from lint import includes

# Folders below a room that are only there for order: their files are in the room's namespace.
SAME_AS_OUTER = ("cli/demo", "cli/hammer", "cli/keys")

FORWARD = re.compile(r"^(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+\w+(?:\s*:\s*[\w:]+)?$", re.S)
SPECIAL = re.compile(r"^template\s*<\s*>|^template\b.*\b(?:class|struct)\s+[\w:]+\s*<", re.S)


def namespace_of(path):
    folder = path.removeprefix("src/").rpartition("/")[0]
    folder = next((same.rpartition("/")[0] for same in SAME_AS_OUTER if folder == same), folder)
    return ["semel", *folder.split("/")]


def check(source):
    if source.path.startswith("src/") and source.path.count("/") > 1:
        yield from check_source(source, namespace_of(source.path))
    elif source.path.startswith("include/"):
        yield from check_public(source)


def check_source(source, own):
    told = []
    for scope, names, declared in opened(source):
        if not source.header and names and names != own and names == own[:len(names)]:
            yield from check_above(source, scope, names, own)
            continue
        if names == own or not declared or names in told:
            continue
        told.append(names)
        if not names:
            if source.header and not forward(declared):
                yield source.line(declared[0].offset), f"declared outside of any namespace; {'::'.join(own)} is its own"
        elif names[0] == "semel" and not (len(names) > 1 and forward(declared) and may_name(own, names)):
            kind = "header" if source.header else "source"
            where = f"in a {kind} of {'::'.join(own)}: namespaces follow folders"
            yield source.line(scope.offset), f"namespace {'::'.join(names)} {where}"
        elif names[0] != "semel" and not forward(declared):
            only = "only forward declarations and specialisations may stand there"
            yield source.line(scope.offset), f"namespace {'::'.join(names)}: {only}"


def check_above(source, scope, names, own):
    """A source may define what include/ or the folder above declares, but adds no type there."""
    for statement in scope.statements:
        if scope.name and statement.kind in ("type", "enum") and "::" not in statement.name:
            if not (statement.scope and statement.scope.special):
                message = f"adds to {'::'.join(names)}: put it into {'::'.join(own)} or an anonymous namespace"
                yield source.line(statement.offset), f"{statement.name} {message}"


def check_public(source):
    adapter = source.path.rpartition("/")[2].removesuffix(".h") + "_adapter"
    for _, names, declared in opened(source):
        allowed = names in (["semel"], ["semel", "detail"], ["semel", adapter])
        if declared and not allowed and not forward(declared):
            where = "::".join(names) or "no namespace"
            yield source.line(declared[0].offset), f"in {where}: include/ declares in semel and semel::detail"


def opened(source):
    """(scope, names without the anonymous, what is declared right in it) of the file and each of its namespaces."""
    for scope in source.scopes.walk():
        if scope.kind in ("file", "namespace"):
            declared = [statement for statement in scope.statements if statement.kind not in ("namespace", "extern")
                        and not re.match(r"(?:namespace|using(?![^;]*=)|static_assert)\b", statement.text)]
            yield scope, [name for name in scope.path() if name], declared


def forward(statements):
    return all(is_forward(statement) for statement in statements)


def is_forward(statement):
    if statement.kind == "type":
        return statement.scope.special
    return bool(FORWARD.match(statement.text) or SPECIAL.match(statement.text))


def may_name(own, names):
    return includes.may_include(includes.room_of("/".join([*own[1:], ""])), includes.room_of("/".join([*names[1:], ""])))
