"""What every check reads: the files of a tree, and a C++ file with its comments and literals told apart from its code."""
import bisect
import functools
import os
import pathlib
import re
import subprocess

from lint import scopes

CODE_FOLDERS = ("src/", "include/", "tests/", "bench/", "examples/")
PRODUCT = ("src/", "include/")
CPP = (".h", ".hpp", ".cc", ".cpp")

LITERAL = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))"""
    r"""|\b(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?(?:\)(?P=fence)"|\Z)"""
    r"""|(?P<number>\b[0-9](?:'?[\w.])*)"""  # so that the ' of 1'000 opens nothing
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.S)


def blank(text):
    return "\n".join(" " * len(line) for line in text.split("\n"))


class Source:
    """A C++ file in four views of equal shape: the text, and that without literals, without comments, and without both."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.header = path.endswith((".h", ".hpp"))
        self.comments = []  # (offset, text)
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self.lines = len(self._newlines) + (not text.endswith("\n") and text != "")
        words, bare, code, end = [], [], [], 0
        for match in LITERAL.finditer(text):
            if match["number"]:
                continue
            between, end = text[end:match.start()], match.end()
            if match["comment"]:
                self.comments.append((match.start(), match[0]))
                nothing = blank(match[0])
                words += [between, match[0]]
                bare += [between, nothing]
                code += [between, nothing]
            else:  # the quotes stay: a literal is still an expression
                literal = '"' + blank(match[0][1:-1]) + '"'
                words += [between, literal]
                bare += [between, match[0]]
                code += [between, literal]
        self.without_literals = "".join(words) + text[end:]
        self.without_comments = "".join(bare) + text[end:]
        self.code = "".join(code) + text[end:]  # without both

    def line(self, offset):
        return bisect.bisect_left(self._newlines, offset) + 1

    @functools.cached_property
    def includes(self):
        """(line, is it quoted, path) of every #include that is code."""
        found = []
        for match in re.finditer(r"^[ \t]*#[ \t]*include\b", self.code, re.M):
            target = re.compile(r'\s*([<"])([^>"\n]*)').match(self.text, match.end())
            if target:
                found.append((self.line(match.end()), target[1] == '"', target[2]))
        return found

    @functools.cached_property
    def scopes(self):
        """The file's outermost scope, with the namespaces, classes and functions in it."""
        directive = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
        return scopes.scan(directive.sub(lambda match: blank(match[0]), self.code))


class Tree:
    """The text of every file under `root`, and the C++ files among them, read once for all checks."""

    def __init__(self, root):
        self.texts = {}
        self.others = []  # pictures and the like
        for path in files_of(root):
            try:
                self.texts[path] = (root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                self.others.append(path)
            except OSError:  # deleted but still tracked
                continue
        self.sources = {path: Source(path, text) for path, text in self.texts.items()
                        if path.startswith(CODE_FOLDERS) and path.endswith(CPP)}

    def product(self):
        """The sources of src/ and include/: include/ and headers first."""
        found = [source for path, source in self.sources.items() if path.startswith(PRODUCT)]
        return sorted(found, key=lambda source: (not source.path.startswith("include/"), not source.header, source.path))


def files_of(root):
    """Tracked and untracked files that git does not ignore; every file if the root is not a repository's own."""
    def git(*arguments):
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
        return os.fsdecode(done.stdout) if done.returncode == 0 else None

    try:
        top = git("rev-parse", "--show-toplevel")
        if top is not None and pathlib.Path(top.rstrip("\n")).resolve() == root:
            return sorted(set(git("ls-files", "-co", "-z", "--exclude-standard").split("\0")) - {""})
    except FileNotFoundError:
        pass
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "build", "semel-data", "__pycache__")]
        found += [(pathlib.Path(folder) / name).relative_to(root).as_posix() for name in names]
    return sorted(found)
