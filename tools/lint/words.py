"""Words that must not stand in the code, or only in one place: time, chance, casts, unfinished work, other people's hosts."""
import re

from lint.includes import PURE
from lint.source import CODE_FOLDERS, PRODUCT


def call(names):
    """A call of the system's function: no member (`x.time()`), no declaration (`Time time()`), none of ours (`a::time()`)."""
    return rf"\b(?=(?:{names})\s*\()(?:(?<![\w.])(?<!->)(?<!\w::)(?<![\w>&*]\s)|(?<=return )|(?<=else )|(?<=\bstd::))\w+\s*\("


# (what, pattern, where it is banned, files or folders that are the exception, what to do instead)
BANS = [
    ("the real clock",
     r"\b(?:system|steady|high_resolution|utc|tai|gps|file)_clock\b|\b(?:gettimeofday|clock_gettime|timespec_get)\b"
     r"|\bCLOCK_[A-Z]\w*|" + call("time"),
     PRODUCT, ("src/runtime/system_clock.cc",), "take a semel::Clock"),
    ("a timer",
     r"\b(?:steady_timer|system_timer|high_resolution_timer|deadline_timer|basic_waitable_timer)\b",
     PRODUCT, ("src/runtime/system_clock.cc", "src/http/"), "use Clock::after"),
    ("sleeping",
     r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\b|" + call("sleep"),
     PRODUCT, (), "use Clock::after"),
    ("chance",
     r"\brandom_device\b|" + call("s?rand|rand_r|s?random|[demn]rand48"),
     PRODUCT, (), "take a seed"),
    ("the environment",
     r"\b(?:secure_)?getenv\b",
     PURE, (), "take it as a parameter"),
    ("a cast that asks what an object can do",
     r"\b(?:dynamic_cast|dynamic_pointer_cast|typeid)\b",
     PRODUCT, (), "have the value that opening it returns say so"),
    ("a secret that is compared byte by byte",
     r"\breveal\(\)\s*[=!]=(?!=)|(?<![=!<>])[=!]=\s*[\w.:>-]+\breveal\(\)(?!\.)",
     PRODUCT, (), "use core::equal_in_constant_time"),
    ("a switched-off test",
     r"\bGTEST_SKIP\s*\(\s*\)|\bDISABLED_\w*",
     CODE_FOLDERS, (), "make it run or delete it"),
]
BANS = [(what, re.compile(pattern), where, spared, instead) for what, pattern, where, spared, instead in BANS]

# What the whole of src/ and include/ has once, in src/core/.
SINGLE = [
    ("hex table", re.compile(r"0123456789abcdef", re.I)),
    ("constant-time comparison", re.compile(r"\bCRYPTO_memcmp\b")),
]

UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
UNWRITTEN = re.compile(r"\bnot implemented\b")  # in lower case: the reason phrase of status 501 is not meant
ASSERTS = re.compile(r"\b(?:EXPECT_|ASSERT_|RC_ASSERT|rc::check)")

# Package registries. In parts, so that this file does not name one itself.
REGISTRY_HOSTS = re.compile(r"\b(?:" + "|".join(r"\.".join(parts) for parts in (
    ("deb", "debian", "org"), ("ftp", r"(?:\w+\.)?debian", "org"), ("security", "debian", "org"),
    ("snapshot", "debian", "org"), ("archive", "ubuntu", "com"), ("security", "ubuntu", "com"), ("apt", "llvm", "org"),
    ("npmjs", "(?:org|com)"), ("registry", "yarnpkg", "com"), ("pypi", "org"), ("pythonhosted", "org"),
    ("crates", "io"), ("rubygems", "org"), ("proxy", "golang", "org"), ("maven", "(?:apache|org)"), ("docker", "io"),
    ("hub", "docker", "com"), ("ghcr", "io"), ("quay", "io"), ("conan", "io"), ("jfrog", "io"),
)) + r")\b")


def check(source):
    for what, pattern, where, spared, instead in BANS:
        if source.path.startswith(where) and not source.path.startswith(tuple(spared)):
            for match in pattern.finditer(source.code):
                yield source.line(match.start()), f"{what} (`{match[0].strip()}`): {instead}"
    for match in UNFINISHED.finditer(source.without_literals):
        yield source.line(match.start()), f"{match[0]}: finish it or open an issue"
    for match in UNWRITTEN.finditer(source.text):
        yield source.line(match.start()), "a part that is not written yet"
    if re.search(r"_test\.(cc|cpp)$", source.path) and not ASSERTS.search(source.code):
        yield 1, "a test file that asserts nothing"


def check_single(tree):
    for what, pattern in SINGLE:
        places = [(source.path, source.line(match.start())) for source in tree.product()
                  for match in pattern.finditer(source.without_comments)]
        home = next((place for place in places if place[0].startswith("src/core/")), None)
        for path, line in places:
            if (path, line) != home:
                where = f"{home[0]}:{home[1]} is the one" if home else "it belongs in src/core/"
                yield path, line, f"a {what} of its own: {where}"


def check_scripts(tree):
    for path, text in tree.texts.items():
        if path not in tree.sources and (path.endswith((".py", ".sh", ".cmake", "CMakeLists.txt")) or text.startswith("#!")):
            for number, line in enumerate(text.split("\n"), 1):
                comment = re.search(r"(?:^|\s)#.*", line)
                if comment and UNFINISHED.search(comment[0]):
                    yield path, number, "unfinished: finish it or open an issue"


def check_hosts(tree):
    for path, text in tree.texts.items():
        for match in REGISTRY_HOSTS.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield path, line, "names a package registry: packages.txt lists names, the machine knows where they come from"
