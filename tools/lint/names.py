"""Comments and documents name only what exists: paths, functions, types, options.

Read are the Markdown files, and the comments of C++ files, scripts and TOML files; quoted code (```) is not. What exists is
what stands in the tree outside of comments and documents: a word in a statement of SQL or in a script counts, so only a name
that is gone from all of them is found. tests/tools/docs_test.py uses this module, too.

    src/store/store.h, store/store.h, store.h     a file or folder; a path from a folder of the root must be whole
    claim(), Store::claim(), `claim(key, terms)`  something of that name that is called; for A::b, where there is an A
    Store::claim, Code::full                      the same without the call
    `store_body_max`, `Store`                     in backticks, with a _ or a capital: a word
"""
import os
import re

from lint import scopes
from lint.source import blank

# What is named and stands nowhere in the tree, because it is somebody else's.
OUTSIDE = {"Server::Post", "max_wal_size", "sched_attr"}
# Markdown that tells of the past: its symbols may be gone.
HISTORY = ("CHANGELOG.md",)
# The lint and its tests name what need not exist.
LINT = ("tests/tools/tidy_test.py", "tools/lint/")

ROOTS = r"(?:\.ci|bench|clients|cmake|conf|docs|examples|include|packaging|providers|src|tests|tools|web)/"
PATH = re.compile(rf"(?<![\w/.:<>*$}}-])(?:{ROOTS}[\w./-]*|(?:[\w.-]+/)*[a-z0-9][\w.-]*\.(?:h|cc|py|mjs|cmake))(?![\w/*{{$-])")
PLACEHOLDER = re.compile(r"(?:^|/)[A-Z]{3,}(?:\.toml)?(?:/|$)")  # src/FOLDER/
CALL = re.compile(r"(?<![\w:$-])((?:\w+::)*~?[a-zA-Z]\w*)\(\)")
QUALIFIED = re.compile(r"(?<![\w:.>$-])((?:\w+::)+~?\w+)\b(?!::|\(\))")
QUOTED = re.compile(r"`([^`\n]+)`")
QUOTED_CALL = re.compile(r"((?:\w+::)*~?[a-zA-Z]\w*)\([\w\s.,:…&*<>-]+\)")
QUOTED_WORD = re.compile(r"[A-Z][a-z]\w*|[a-zA-Z]\w*(?:_|[a-z][A-Z])\w*")

SCRIPT_PROSE = re.compile(r'(?m)(?:^|(?<=\s))#.*|"""(?:.|\n)*?"""')
SCRIPTS = (".py", ".sh", ".cmake", "CMakeLists.txt", ".toml")
CODE = (*SCRIPTS, ".mjs", ".js", ".ts", ".lua", ".sql", ".json", ".in", ".service", ".txt", ".conf")


class Names:
    """What there is to be named in a tree."""

    def __init__(self, tree):
        self.words, self.called, self.folders = set(), set(), set()
        self.homes = {}  # of a type or namespace: the words of the files that define it or reach into it
        self.defined = set()
        for path, text in tree.texts.items():
            parts = path.split("/")
            self.folders.update("/".join(parts[:end]) for end in range(1, len(parts)))
            self.words.add(parts[-1].split(".")[0])
            if path.startswith(LINT) or path.endswith(("package-lock.json", ".md.in")):
                continue
            if path in tree.sources:
                self._read(tree.sources[path])
            elif path.endswith(CODE) or text.startswith("#!"):
                self._take(without_comments(path, text))
        self.files = set(tree.texts) | set(tree.others)
        self.folders.update(path.rpartition("/")[0] for path in tree.others)
        paths = self.files | self.folders
        self.endings = {path[at:] for path in paths for at in [0, *(match.end() for match in re.finditer("/", path))]}
        self.endings |= {target for source in tree.sources.values() for _, _, target in source.includes}

    def _take(self, text):
        words = set(re.findall(r"\w+", text))
        self.words |= words
        self.called.update(re.findall(r"\b(\w+)(?:<[^;(){}]{0,99}>)?\s?\(", text))
        return words

    def _read(self, source):
        words = self._take(source.without_comments)
        names = {name for path, _ in scopes.types(source.scopes) for name in path}
        for scope in source.scopes.walk():
            if scope.kind == "namespace" and scope.path()[0] == "semel":
                names.update(filter(None, scope.path()))
        self.defined |= names
        for name in names.union(re.findall(r"\b(\w+)\s*::", source.code)):
            self.homes.setdefault(name, []).append(words)

    def lacks_path(self, name, folder):
        """Whether no file or folder is named so, from the root, from `folder`, or as the end of a path."""
        name = name.rstrip("./")
        if PLACEHOLDER.search(name):
            return False
        if re.match(ROOTS, name + "/"):
            numbered = re.fullmatch(r"docs/adr/\d{4}", name)
            return not (name in self.files or name in self.folders
                        or numbered and any(path.startswith(name) for path in self.files))
        return not (name in self.endings or name.startswith("build/")
                    or os.path.normpath(os.path.join(folder, name)) in self.files | self.folders)

    def lacks_symbol(self, name, called):
        """Whether nothing is named so. Of A::B::c, A must be known, B be where A is, and c where B is."""
        *outer, last = name.replace("~", "").split("::")
        if name in OUTSIDE or (outer and outer[0] not in self.defined and outer[0] in self.homes):
            return False  # somebody else's namespace
        if last not in (self.called if called else self.words):
            return True
        for around, inner in zip(outer, [*outer[1:], last]):
            if not any(inner in words for words in self.homes.get(around, ())):
                return True
        return False


def script_prose(text):
    """The comments and documentation strings of a script, as matches."""
    for match in SCRIPT_PROSE.finditer(text):
        if match[0].startswith("#") or not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip():
            yield match


def without_comments(path, text):
    if path.endswith(SCRIPTS) or text.startswith("#!"):
        for match in script_prose(text):
            text = text[:match.start()] + " " * len(match[0]) + text[match.end():]
        return text
    return re.sub(r"(?m)(?:^|\s)(?://|--).*", "", text) if path.endswith((".mjs", ".lua", ".sql")) else text


def prose_of(markdown):
    """A document whose fenced blocks are blank, and what says which file they quote."""
    return re.sub(r"^```.*?^```|^<!-- (?:verbatim|part): .*?-->", lambda match: blank(match[0]), markdown, flags=re.M | re.S)


def check(tree):
    names = Names(tree)
    for path, text in tree.texts.items():
        if path.startswith(LINT):
            continue
        if path in tree.sources:
            for offset, comment in tree.sources[path].comments:
                yield from check_prose(names, path, text, offset, comment)
        elif path.endswith(".md"):
            yield from check_prose(names, path, text, 0, prose_of(text))
        elif path.endswith(SCRIPTS) or text.startswith("#!"):
            for match in script_prose(text):
                yield from check_prose(names, path, text, match.start(), match[0])


def check_prose(names, path, text, offset, prose):
    def at(match):
        return text.count("\n", 0, offset + match.start()) + 1

    for match in PATH.finditer(prose):
        if names.lacks_path(match[0], path.rpartition("/")[0]):
            yield path, at(match), f"{match[0].rstrip('./')} does not exist"
    if path in HISTORY:
        return
    for match in CALL.finditer(prose):
        if names.lacks_symbol(match[1], called=True):
            yield path, at(match), f"there is no {match[0]}"
    for match in QUALIFIED.finditer(prose):
        if names.lacks_symbol(match[1], called=False):
            yield path, at(match), f"there is no {match[0]}"
    for match in QUOTED.finditer(prose):
        call, word = QUOTED_CALL.fullmatch(match[1]), QUOTED_WORD.fullmatch(match[1])
        if call and names.lacks_symbol(call[1], called=True) or word and names.lacks_symbol(word[0], called=False):
            yield path, at(match), f"there is no {match[1]}"
