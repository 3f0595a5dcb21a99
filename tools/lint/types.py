"""Types: each name is defined once in the program, and no class grows too many members."""
import collections
import re

from lint import scopes

MEMBERS_MAX = 12


def check_names(tree):
    """A type's name exists once in src/ and include/, whatever its namespace; nested types are named by their outer one."""
    places = collections.defaultdict(list)
    namespaces = {name for source in tree.product() for scope in source.scopes.walk() if scope.kind == "namespace"
                  for name in scope.path()}
    for source in tree.product():
        for names, offset in scopes.types(source.scopes):
            while len(names) > 1 and names[0] in namespaces:  # struct store::Committer::Impl
                names = names[1:]
            places["::".join(names)].append((source.path, source.line(offset)))
    for name, (first, *others) in places.items():
        outer = name.rpartition("::")[0]
        if len(places.get(outer, ())) < 2:  # else the outer type is the finding
            for path, line in others:
                where = f"{first[0]}:{first[1]}"
                yield path, line, f"{name} is defined in {where} already: a type's name exists once in the program"


def check_sizes(tree):
    """A class has a bounded number of data members. Static ones do not count.

    Plain aggregates may be larger: all their data members are public, and they have no member functions but defaulted ones.
    Friends do not count: a configuration may be compared.
    """
    for path, source in tree.sources.items():
        if not path.startswith("src/"):
            continue
        for scope in source.scopes.walk():
            if scope.is_type() and scope.name:
                data, plain = members(scope)
                if data > MEMBERS_MAX and not plain:
                    message = f"has {data} data members; {MEMBERS_MAX} is the end: find the values in it"
                    yield path, source.line(scope.offset), f"{'::'.join(scope.path())} {message}"


NO_MEMBER = re.compile(r"(?:using|typedef|friend|static_assert|template|(?:(?:inline|constexpr)\s+)*static|enum"
                       r"|(?:class|struct|union)\s+\w+$)\b")
STATIC_FUNCTION = re.compile(r"(?:(?:inline|constexpr)\s+)*(?:static|template)\b[^={]*\(")


def members(scope):
    """(number of data members, is it a plain aggregate)"""
    data, plain = 0, True
    for statement in scope.statements:
        if statement.kind == "type" and not statement.scope.name and statement.scope.kind == "union":
            data += members(statement.scope)[0]
        elif statement.kind == "function":
            plain = plain and statement.text.startswith("friend")
        elif statement.kind == "plain":
            count = variables(statement.text)
            data += count
            if count:
                plain = plain and statement.access == "public"
            elif not NO_MEMBER.match(statement.text) or STATIC_FUNCTION.match(statement.text):
                plain = plain and bool(re.search(r"=\s*default$", statement.text))
    return data, plain


def variables(text):
    """How many variables a declaration declares; none if it is of a function, a type or a static."""
    if NO_MEMBER.match(text) or re.search(r"\boperator\b", text):
        return 0
    text = re.sub(r"\[\[.*?\]\]|\b(?:alignas|decltype)\s*\([^()]*\)", " T ", text, flags=re.S)
    before = None
    while text != before:  # from the inside out
        before, text = text, re.sub(r"<[^<>;]*>|\{[^{}]*\}", " ", text)
    if "(" in text.partition("=")[0]:
        return 0
    before = None
    while text != before:
        before, text = text, re.sub(r"\([^()]*\)", " ", text)
    return text.count(",") + 1
