#!/usr/bin/env python3
"""tools/tidy finds what it is there to find, and nothing else.

Each case plants one violation in a small clean tree and names the one place where it must be reported. The clean tree
itself is full of things that only look like violations.
"""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDY = pathlib.Path(__file__).resolve().parents[2] / "tools" / "tidy"


def load_tidy():
    """The script as a module: a process for each case would take ten times as long."""
    loader = importlib.machinery.SourceFileLoader("tidy", str(TIDY))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


tidy = load_tidy()

CLEAN = {
    "include/semel/key.h": '''// A key.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>

#include <semel/result.h>
''',
    "src/core/check.h": '''// Stops the process.
#pragma once

#include <cstdio>
#include <cstdlib>
''',
    "src/core/looks_odd.cc": '''#include "core/looks_odd.h"

#include <semel/key.h>

// Comments may speak of system_clock::now(), rand() and #include <iostream>; so may strings.
const char* text = "steady_clock::now() time(nullptr) // rand() TODO DISABLED_ \\" sleep(1)";
const char* raw = R"x(using namespace std; " GTEST_SKIP() )" random_device)x";
constexpr int thousand = 1'000, quote = '"', mark = '\\'';
struct Reader {
  Time time() { return number(1'000); }
  Time sleep_time(int a, int rand) { return a < rand ? time_of(a) : time_of(rand); }
  Array digits{{1, 2, 3}};
};
int read(Reader& reader, Reader* other) { return reader.time() + other->time(); }
''',
    "src/once/system_clock.cc": "auto now() { return std::chrono::steady_clock::now(); }\nboost::asio::steady_timer timer;\n",
    "src/http/session.cc": '#include <boost/beast/http.hpp>\n#include "core/check.h"\nboost::asio::steady_timer timer;\n',
    "src/gateway/exchange.cc": '#include "gateway/exchange.h"\n#include "http/session.h"\n#include "once/once.h"\n',
    "src/store/coroutines.cc": '''#include "store/coroutines.h"
Task<int> fine(Key key) {
  if (auto got = co_await find(key); !got) { co_return 0; }
  if (co_await find(key)) { co_return a ? 1 : 2; }
  for (auto& [name, value] : fields) { co_await put(name, value); }
  auto plain = []() -> Task<int> { co_return 1; };
  auto capturing = [&key](int a) mutable { return [](int b) -> Task<int> { co_return b; }(a); };
  co_return indices[0] + co_await plain();
}
''',
    "tests/store/fine_test.cc": '#include "store/coroutines.h"\nTEST(A, B) { EXPECT_EQ(std::this_thread::sleep_for(1), 1); }\n',
    "examples/once.cc": "#include <semel/key.h>\nint main() {}\n",
    "docs/notes.md": "What we call a TODO is an issue.\n",
    "tools/script.sh": "#!/bin/sh\necho 'TODO: nothing'\n",
}


def lines(count, text="int a;"):
    return "\n".join([text] * count) + "\n"


# name: (path, content, line, what the message says)
PLANTED = {
    "core includes a folder above it": ("src/core/a.cc", '#include "core/a.h"\n#include "store/b.h"\n', 2, "may not include"),
    "siblings include each other": ("src/once/a.cc", '#include "store/memory.h"\n', 1, "may not include"),
    "in angle brackets too": ("src/store/a.cc", "#include <once/a.h>\n", 1, "may not include"),
    "gateway includes cli": ("src/gateway/a.cc", '#include "cli/a.h"\n', 1, "may not include"),
    "a folder without a place": ("src/extra/a.cc", '#include "core/a.h"\n', 1, "no place"),
    "a path with ..": ("src/once/a.cc", '#include "../core/a.h"\n', 1, '".."'),
    "a quoted foreign header": ("src/once/a.cc", '#include "fmt/core.h"\n', 1, "quotes are for"),
    "include/ includes src": ("include/semel/a.h", '// A.\n#pragma once\n#include "core/a.h"\n', 3, "include/ may"),
    "include/ includes another library": ("include/semel/a.h", "// A.\n#pragma once\n#include <boost/beast.hpp>\n", 3, "include/ may"),
    "an example looks inside": ("examples/a.cc", '#include "core/check.h"\n', 1, "examples use"),
    "Asio in core": ("src/core/a.cc", "#include <boost/asio/post.hpp>\n", 1, "is pure"),
    "RocksDB in policy": ("src/policy/a.cc", "#include <rocksdb/db.h>\n", 1, "is pure"),
    "spdlog in core": ("src/core/a.cc", "#include <spdlog/spdlog.h>\n", 1, "is pure"),
    "libpq in core": ("src/core/a.cc", "#include <libpq-fe.h>\n", 1, "is pure"),
    "hiredis in core": ("src/core/a.cc", "#include <hiredis/hiredis.h>\n", 1, "is pure"),
    "iostream in core": ("src/core/a.cc", "#include <iostream>\n", 1, "is pure"),
    "threads in core": ("src/core/a.cc", "#include <thread>\n", 1, "is pure"),
    "a mutex in core": ("src/core/a.cc", "#include <mutex>\n", 1, "is pure"),
    "files in policy": ("src/policy/a.cc", "#include <filesystem>\n", 1, "is pure"),
    "streams in core": ("src/core/a.cc", "#include <fstream>\n", 1, "is pure"),
    "cstdlib in core": ("src/core/a.cc", "#include <cstdlib>\n", 1, "is pure"),
    "the environment in core": ("src/core/a.cc", "auto a = std::getenv(name);\n", 1, "the environment"),
    "Beast outside http": ("src/gateway/a.cc", "#include <boost/beast/core.hpp>\n", 1, "Beast lives"),
    "a file too long": ("src/core/a.cc", "// A.\n" + lines(400), 401, "401 lines"),
    "a test file too long": ("tests/core/a.cc", "// A.\n" + lines(400), 401, "401 lines"),
    "a function too long": ("src/core/a.cc", "int f(int a) {\n" + lines(70) + "}\n", 1, "f is 72 lines"),
    "a method too long": ("src/core/a.h", "// A.\n#pragma once\nclass A : B {\n  A() : a_{1} {\n" + lines(69) + "}\n};\n", 4, "A is 71"),
    "a long constructor": ("src/store/a.cc", "namespace a {\nA::A(int b) : b_(b), c_{b} {\n" + lines(69) + "}\n}\n", 2, "A::A is 71"),
    "a test too long": ("tests/core/a_test.cc", "TEST(A, B) {\n" + lines(70, "EXPECT_TRUE(a);") + "}\n", 1, "72 lines"),
    "system_clock": ("src/once/a.cc", "auto a = std::chrono::system_clock::now();\n", 1, "the real clock"),
    "steady_clock": ("include/semel/a.h", "// A.\n#pragma once\nusing C = std::chrono::steady_clock;\n", 3, "the real clock"),
    "high_resolution_clock": ("src/http/a.cc", "high_resolution_clock::now();\n", 1, "the real clock"),
    "time()": ("src/once/a.cc", "auto a = std::time(nullptr);\n", 1, "the real clock"),
    "time() returned": ("src/once/a.cc", "int f() { return time(nullptr); }\n", 1, "the real clock"),
    "gettimeofday": ("src/once/a.cc", "gettimeofday(&a, nullptr);\n", 1, "the real clock"),
    "a clock's name": ("src/once/a.cc", "auto a = CLOCK_BOOTTIME;\n", 1, "the real clock"),
    "a timer": ("src/once/a.cc", "boost::asio::steady_timer a;\n", 1, "a timer"),
    "sleep_for": ("src/once/system_clock.cc", "std::this_thread::sleep_for(a);\n", 1, "sleeping"),
    "sleep()": ("src/store/a.cc", "::sleep(1);\n", 1, "sleeping"),
    "usleep": ("src/store/a.cc", "usleep(1);\n", 1, "sleeping"),
    "rand": ("src/once/a.cc", "int a = rand();\n", 1, "chance"),
    "srand": ("src/once/a.cc", "std::srand(1);\n", 1, "chance"),
    "random_device": ("src/once/a.cc", "std::random_device a;\n", 1, "chance"),
    "using namespace in a header": ("tests/support/a.h", "// A.\n#pragma once\nusing namespace std;\n", 3, "using namespace"),
    "no pragma once": ("src/store/a.h", "// A. #pragma once\nint a;\n", 1, "#pragma once"),
    "a header without a comment": ("src/store/a.h", "#pragma once\n", 1, "opens without"),
    "a long source without a comment": ("src/store/a.cc", lines(101), 1, "opens without"),
    "braces inside co_await": ("src/once/a.cc", "Task<int> f() {\n  co_return co_await g(\n      Key{1});\n}\n", 2, "`{` inside"),
    "a choice inside co_await": ("tests/once/a.cc", "Task<int> f() {\n  auto a = co_await g(b ? c : d);\n}\n", 2, "`?` inside"),
    "a lambda inside co_await": ("src/once/a.cc", "Task<int> f() {\n  co_await g([] { h(); });\n}\n", 2, "`{` inside"),
    "a capturing lambda coroutine": ("tests/once/a.cc", "auto a = [&b](int c) -> Task<int> {\n  co_return b;\n};\n", 1, "capturing"),
    "one without parameters": ("src/once/a.cc", "void f() {\n  g(1, [=] { co_await h(); });\n}\n", 2, "capturing"),
    "one inside another lambda": ("src/once/a.cc", "auto a = [] {\n  return [this]() -> Task<int> { co_return 1; };\n};\n", 2, "capturing"),
    "TODO in a comment": ("src/once/a.cc", "int a;\n// TODO: later\n", 2, "TODO"),
    "FIXME in a block comment": ("bench/a.cc", "/*\n FIXME */\n", 2, "FIXME"),
    "XXX in a script": ("tools/a.sh", "#!/bin/sh\n# XXX\n", 2, "unfinished"),
    "an unwritten part": ("src/once/a.cc", 'auto a = fail("not implemented");\n', 1, "not written yet"),
    "a skipped test": ("tests/core/a_test.cc", "TEST(A, B) { EXPECT_TRUE(a);\n GTEST_SKIP() << a; }\n", 2, "switched-off"),
    "a disabled test": ("tests/core/a_test.cc", "TEST(A, DISABLED_B) { EXPECT_TRUE(a); }\n", 1, "switched-off"),
    "a test that asserts nothing": ("tests/core/a_test.cc", '// EXPECT_TRUE(a)\nTEST(A, B) { run("EXPECT_"); }\n', 1, "asserts nothing"),
    "a registry in the docs": ("docs/a.md", "Fetch\nhttps://" + "registry." + "npmjs" + ".org/a\n", 2, "package registry"),
    "a registry in a script": ("tools/a", "curl deb." + "debian" + ".org\n", 1, "package registry"),
}


class Tidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name).resolve()
        for path, content in CLEAN.items():
            self.write(path, content)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, content):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")

    def findings(self):
        return list(tidy.findings(self.root))

    def run_tidy(self, root):
        return subprocess.run([sys.executable, TIDY, root], capture_output=True, text=True, check=False)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True)

    def test_a_clean_tree_gives_nothing(self):
        self.assertEqual(self.findings(), [])

    def test_each_violation_is_found_once_and_where_it_is(self):
        for name, (path, content, line, message) in PLANTED.items():
            with self.subTest(name):
                self.write(path, content)
                found = self.findings()
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(f"{path}:{line}: "), found[0])
                self.assertIn(message, found[0])
                self.write(path, CLEAN[path]) if path in CLEAN else (self.root / path).unlink()

    def test_a_repository_is_asked_for_its_files(self):
        """Tracked and new files count; ignored and deleted ones do not."""
        self.write(".gitignore", "ignored/\n")
        self.write("src/core/gone.cc", "int a = rand();\n")
        self.write("src/core/tracked.cc", "int a = rand();\n")
        self.git("init", "-q")
        self.git("add", ".")
        (self.root / "src/core/gone.cc").unlink()
        self.write("src/core/new.cc", "int a = rand();\n")
        self.write("ignored/src/core/a.md", "deb." + "debian" + ".org\n")
        self.assertEqual([line.split(":")[0] for line in self.findings()], ["src/core/new.cc", "src/core/tracked.cc"])

    def test_binary_files_are_passed_over(self):
        (self.root / "tests" / "corpus").write_bytes(b"\xff\xfe\x00")
        self.assertEqual(self.findings(), [])

    def test_the_command_says_nothing_of_a_clean_tree_and_fails_on_another(self):
        done = self.run_tidy(self.root)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.write("src/once/a.cc", "int a = rand();\n")
        done = self.run_tidy(self.root)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertTrue(done.stdout.startswith("src/once/a.cc:1: chance"), done.stdout)

    def test_a_missing_root_is_an_error(self):
        done = self.run_tidy(self.root / "nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("not a folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
