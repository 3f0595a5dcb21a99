#!/usr/bin/env python3
"""tools/tidy and docs_test.py find what they are there to find, and nothing else.

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


def load(script):
    """The script as a module: a process for each case would take ten times as long."""
    loader = importlib.machinery.SourceFileLoader(script.stem, str(script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(script.stem, loader))
    loader.exec_module(module)
    return module


tidy = load(TIDY)  # which makes its package known
from lint import includes  # noqa: E402
from lint.source import Source  # noqa: E402

docs = load(pathlib.Path(__file__).resolve().with_name("docs_test.py"))

CLEAN = {
    "include/semel/key.h": '''// A key.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>

#include <semel/result.h>

struct pg_conn;  // libpq's PGconn

namespace semel {
namespace store::postgres {
class Shards;
}

namespace detail {
int hidden();
}

struct Key {
  struct Impl;
  int part;
};
}  // namespace semel

template <>
struct std::hash<semel::Key> {
  int operator()(const semel::Key& key) const;
};
''',
    "include/semel/beast.h": "// An adapter.\n#pragma once\n#include <boost/beast/http.hpp>\nnamespace semel::beast_adapter {\nint a();\n}\n",
    "src/core/check.h": '''// Stops the process.
#pragma once

#include <cstdio>
#include <cstdlib>
''',
    "src/core/crypto.cc": 'constexpr auto digits = "0123456789abcdef";\nbool same() { return CRYPTO_memcmp(a, b, 1) == 0; }\n',
    "src/core/looks_odd.cc": '''#include "core/looks_odd.h"

#include <semel/key.h>

// Comments may speak of std::chrono::system_clock::now(), rand(), "0123456789abcdef" and #include <iostream>; so may strings.
const char* text = "steady_clock::now() time(nullptr) // rand() TODO DISABLED_ \\" sleep(1) dynamic_cast";
const char* raw = R"x(using namespace std; " GTEST_SKIP() )" random_device)x";
constexpr int thousand = 1'000, quote = '"', mark = '\\'';
struct Reader {
  Time time() { return number(1'000); }
  Time sleep_time(int a, int rand) { return a < rand ? time_of(a) : time_of(rand); }
  Array digits{{1, 2, 3}};
};
int read(Reader& reader, Reader* other) { return reader.time() + other->time() + runtime::time(); }
''',
    "src/runtime/system_clock.cc": "auto now() { return std::chrono::steady_clock::now(); }\nboost::asio::steady_timer timer;\n",
    "src/http/session.cc": '#include <boost/beast/http.hpp>\n#include "core/check.h"\nboost::asio::steady_timer timer;\n',
    "src/http/body.h": '// A.\n#pragma once\n#include "http/parser.h"\n',
    "src/http/parser.h": '// A.\n#pragma once\n',
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
    "src/store/batch.h": '''// A batch: Batch::add() in src/store/batch.cc takes what coroutines.cc finds(store/coroutines.cc, docs/adr/0001).
#pragma once

namespace rocksdb {
class DB;
}

namespace semel::core {
struct Reader;
}

namespace semel::store {

namespace asio = boost::asio;
using asio::ip::tcp;
struct Impl;

// More members than twelve, but only values.
struct Options {
  int a, b = 1, c{2}, d;
  std::map<int, int> e, f;
  int g, h, i, j, k, l, m, n;
  friend bool operator==(const Options&, const Options&) = default;
};

template <class T>
class Batch : public Options {
 public:
  enum class State : int { open, closed };
  struct Impl {};
  using Key = int;
  static constexpr int limit = max(1, 2);

  explicit Batch(int a, int b, int c) : a_{a}, b_(b) { add(a, b); }
  std::map<int, std::function<void(int, int)>> add(int a, int b = 0, int c = 0, int d = 0);
  bool operator==(const Batch& other) const;

 private:
  int a_ = f(1, 2), b_, c_, d_, e_, f_, g_, h_;
  std::function<void(int, int)> done_;
  std::map<int, std::array<int, 2>> i_{}, j_;
  int k_[2];
};

template <>
class Batch<int> {};

}  // namespace semel::store
''',
    "src/store/batch.cc": '''namespace semel {
namespace {
struct Local {};
using tcp = boost::asio::ip::tcp;
}
struct Key::Impl {};
}  // namespace semel
namespace semel::store {
using tcp = asio::ip::tcp;
}
''',
    "src/store/embedded/ledger.h": '''// Of one store.
#pragma once
#include "store/batch.h"
namespace semel::store::embedded {
struct Ledger {
  struct Impl {};
};
}
''',
    "src/cli/hammer/storm.h": "// A storm.\n#pragma once\nnamespace semel::cli {\nclass Storm;\n}\n",
    "tests/store/fine_test.cc": '#include "store/coroutines.h"\nTEST(A, Holds) { EXPECT_EQ(std::this_thread::sleep_for(1), 1); }\n',
    "examples/once.cc": "#include <semel/key.h>\nint main() {}\n",
    "docs/adr/0001-batches.md": "See `src/store/batch.h`, [the notes](../notes.md) and `embedded/ledger.h`.\n",
    "docs/notes.md": '''What we call a TODO is an issue. `Batch::add()`, `semel::Key`, `semel::store::Batch` and `add(a, b)` exist, add() in
`store/batch.h` does so too, `clock_timestamp()` is in a script, `body_max` an option, `A.Holds` a test, and
`std::format` not ours. `build/x.h`, `src/FOLDER/`, `*_test.cc` and https://example.com/a.h are no paths. `./dev test` runs it.
```
gone(); src/gone.h `gone_option`
```
''',
    "conf/semel.toml": "# As Batch::add() says.\nbody_max = 1  # of src/store/batch.h\n",
    "tools/script.sh": "#!/bin/sh\necho 'TODO: nothing' 'SELECT clock_timestamp()'\n",
    "CHANGELOG.md": "`gone_option` is gone.\n",
    "README.md": "As in [an example](examples/once.cc).\n",
    "dev": "#!/bin/sh\n: '\n./dev test\n'\n",
}


def lines(count, text="int a;"):
    return "\n".join([text] * count) + "\n"


def header(namespace, code):
    """A header whose code begins in line 4."""
    return f"// A.\n#pragma once\nnamespace {namespace} {{\n{code}\n}}\n"


# name: (path, content, line, what the message says)
PLANTED = {
    "core includes a folder above it": ("src/core/a.cc", '#include "core/a.h"\n#include "store/b.h"\n', 2, "may not include"),
    "siblings include each other": ("src/once/a.cc", '#include "store/memory.h"\n', 1, "may not include"),
    "in angle brackets too": ("src/store/a.cc", "#include <once/a.h>\n", 1, "may not include"),
    "a store includes another": ("src/store/postgres/a.cc", '#include "store/embedded/ledger.h"\n', 1, "may not include"),
    "what stores share includes one of them": ("src/store/a.cc", '#include "store/embedded/ledger.h"\n', 1, "may not include"),
    "a circle of headers": ("src/http/parser.h", '// A.\n#pragma once\n#include "http/body.h"\n', 3, "src/http/body -> src/http/parser -> src/http/body"),
    "a circle of a header and a source": ("src/http/parser.cc", '#include "http/parser.h"\n#include "http/body.h"\n', 2, "circle"),
    "gateway includes cli": ("src/gateway/a.cc", '#include "cli/a.h"\n', 1, "may not include"),
    "a folder without a place": ("src/extra/a.cc", '#include "core/a.h"\n', 1, "no place"),
    "a path with ..": ("src/once/a.cc", '#include "../core/a.h"\n', 1, '".."'),
    "a quoted foreign header": ("src/once/a.cc", '#include "fmt/core.h"\n', 1, "quotes are for"),
    "include/ includes src": ("include/semel/a.h", '// A.\n#pragma once\n#include "core/a.h"\n', 3, "include/ may"),
    "include/ includes another library": ("include/semel/a.h", "// A.\n#pragma once\n#include <boost/beast.hpp>\n", 3, "include/ may"),
    "an example looks inside": ("examples/a.cc", '#include "core/check.h"\n', 1, "examples use"),
    "Asio in core": ("src/core/a.cc", "#include <boost/asio/post.hpp>\n", 1, "is pure"),
    "RocksDB in webhook": ("src/webhook/a.cc", "#include <rocksdb/db.h>\n", 1, "is pure"),
    "spdlog in core": ("src/core/a.cc", "#include <spdlog/spdlog.h>\n", 1, "is pure"),
    "libpq in core": ("src/core/a.cc", "#include <libpq-fe.h>\n", 1, "is pure"),
    "hiredis in core": ("src/core/a.cc", "#include <hiredis/hiredis.h>\n", 1, "is pure"),
    "iostream in core": ("src/core/a.cc", "#include <iostream>\n", 1, "is pure"),
    "threads in core": ("src/core/a.cc", "#include <thread>\n", 1, "is pure"),
    "a mutex in policy": ("src/policy/a.cc", "#include <mutex>\n", 1, "is pure"),
    "files in config": ("src/config/a.cc", "#include <filesystem>\n", 1, "is pure"),
    "streams in reading": ("src/reading/a.cc", "#include <fstream>\n", 1, "is pure"),
    "cstdlib in core": ("src/core/a.cc", "#include <cstdlib>\n", 1, "is pure"),
    "the environment in config": ("src/config/a.cc", "auto a = std::getenv(name);\n", 1, "the environment"),
    "Beast outside http": ("src/guard/a.cc", "#include <boost/beast/core.hpp>\n", 1, "Beast lives"),
    "a file too long": ("src/core/a.cc", "// A.\n" + lines(400), 401, "401 lines"),
    "a test file too long": ("tests/core/a.cc", "// A.\n" + lines(400), 401, "401 lines"),
    "a function too long": ("src/core/a.cc", "int f(int a) {\n" + lines(70) + "}\n", 1, "f is 72 lines"),
    "a method too long": ("src/core/a.h", header("semel::core", "class A : B {\n  A() : a_{1} {\n" + lines(69) + "}\n};"), 5, "A is 71"),
    "a long constructor": ("src/store/a.cc", "namespace semel::store {\nA::A(int b) : b_(b), c_{b} {\n" + lines(69) + "}\n}\n", 2, "A::A is 71"),
    "a test too long": ("tests/core/a_test.cc", "TEST(A, B) {\n" + lines(70, "EXPECT_TRUE(a);") + "}\n", 1, "72 lines"),
    "system_clock": ("src/once/a.cc", "auto a = std::chrono::system_clock::now();\n", 1, "the real clock"),
    "steady_clock": ("include/semel/a.h", header("semel", "using C = std::chrono::steady_clock;"), 4, "the real clock"),
    "high_resolution_clock": ("src/http/a.cc", "high_resolution_clock::now();\n", 1, "the real clock"),
    "time()": ("src/once/a.cc", "auto a = std::time(nullptr);\n", 1, "the real clock"),
    "time() returned": ("src/once/a.cc", "int f() { return time(nullptr); }\n", 1, "the real clock"),
    "gettimeofday": ("src/once/a.cc", "gettimeofday(&a, nullptr);\n", 1, "the real clock"),
    "a clock's name": ("src/once/a.cc", "auto a = CLOCK_BOOTTIME;\n", 1, "the real clock"),
    "a timer": ("src/once/a.cc", "boost::asio::steady_timer a;\n", 1, "a timer"),
    "sleep_for": ("src/runtime/system_clock.cc", "std::this_thread::sleep_for(a);\n", 1, "sleeping"),
    "sleep()": ("src/store/a.cc", "::sleep(1);\n", 1, "sleeping"),
    "usleep": ("src/store/a.cc", "usleep(1);\n", 1, "sleeping"),
    "rand": ("src/once/a.cc", "int a = rand();\n", 1, "chance"),
    "srand": ("src/once/a.cc", "std::srand(1);\n", 1, "chance"),
    "random_device": ("src/once/a.cc", "std::random_device a;\n", 1, "chance"),
    "using namespace in a header": ("tests/support/a.h", "// A.\n#pragma once\nusing namespace std;\n", 3, "using namespace"),
    "no pragma once": ("src/store/a.h", "// A. #pragma once\n", 1, "#pragma once"),
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
    "a cast to a capability": ("src/gateway/a.cc", "auto* a = dynamic_cast<Reopening*>(&store);\n", 1, "a cast"),
    "a shared one": ("src/store/a.cc", "auto a = std::dynamic_pointer_cast<Sealed>(store);\n", 1, "a cast"),
    "typeid": ("include/semel/a.h", header("semel", "inline bool a() { return typeid(b) == typeid(c); }"), 4, "a cast"),
    "a secret that is compared": ("src/admin/a.cc", "int a;\nbool b = token.reveal() == given;\n", 2, "a secret"),
    "a secret on the right": ("src/admin/a.cc", "bool b = given != config->token.reveal();\n", 1, "a secret"),
    "a type defined in two folders": ("src/webhook/a.h", header("semel::webhook", "struct Batch {};"), 4, "Batch is defined in src/store/batch.h:26"),
    "one of them for this file only": ("src/webhook/a.cc", "namespace {\n\nclass Batch final : Base<int> {\n};\n}\n", 3, "src/store/batch.h:26"),
    "both for one file only": ("src/webhook/a.cc", "namespace {\nunion Local {};\n}\n", 2, "Local is defined in src/store/batch.cc:3"),
    "a type and an enum": ("src/webhook/a.cc", "enum class Batch : int { a };\n", 1, "Batch is defined"),
    "a type and an alias": ("src/webhook/a.cc", "template <class T> using Batch = std::vector<T>;\n", 1, "Batch is defined"),
    "a type and a typedef": ("src/webhook/a.cc", "typedef std::vector<int> Batch;\n", 1, "Batch is defined"),
    "a type and the alias of a nested one": ("src/webhook/a.cc", "using Local = Other::Local;\n", 1, "Local is defined"),
    "an alias of ours for a type of theirs": ("src/webhook/a.cc", "using Local = asio::ip::tcp;\n", 1, "Local is defined"),
    "a template": ("src/webhook/a.cc", "template <class T, class U>\n  requires(Small<T>)\nstruct alignas(64) Batch {};\n", 1, "Batch is defined"),
    "a public type": ("src/webhook/a.cc", "namespace semel::webhook {\nstruct Key {};\n}\n", 2, "Key is defined in include/semel/key.h:20"),
    "a nested type defined twice": ("src/webhook/a.cc", "struct semel::Key::Impl {\n};\n", 1, "Key::Impl is defined in src/store/batch.cc:6"),
    "a class with thirteen members": ("src/http/a.h", header("semel::http", "class A {\n public:\n  void a();\n\n private:\n"
        "  std::map<int, std::function<void(int)>> a_{1, 2}, b_;\n  int c_ = f(1, 2), d_[2];\n  union {\n    int u_;\n  };\n"
        + lines(8, "  int e_;") + "};"), 4, "A has 13 data members"),
    "a struct with a member function": ("src/http/a.h", header("semel::http", "struct A {\n" + lines(13, "  int e;") + "  int f() const { return 1; }\n};"), 4, "A has 13"),
    "a class without a function": ("src/http/a.h", header("semel::http", "class A {\n" + lines(13, "  int e;") + "};"), 4, "A has 13"),
    "an implementation": ("src/http/a.cc", "struct Session::Impl {\n  Impl();\n" + lines(13, "  int e;") + "};\n", 1, "Session::Impl has 13"),
    "a header in semel": ("src/store/a.h", header("semel", "int a();"), 3, "namespace semel in a header of semel::store"),
    "an alias in semel": ("src/store/a.h", header("semel", "using A = int;"), 3, "namespace semel in a header"),
    "a type that a source adds to semel": ("src/store/a.cc", "namespace semel {\nint a;\nstruct A {};\n}\n", 3, "A adds to semel"),
    "a forward declaration in semel": ("src/store/a.h", header("semel", "class A;"), 3, "namespace semel in a header"),
    "the namespace of another folder": ("src/store/a.cc", "namespace semel::core {\nint a;\n}\n", 1, "namespaces follow"),
    "that of the folder above": ("src/store/embedded/a.h", header("semel::store", "int a();"), 3, "namespaces follow"),
    "that of a folder below": ("src/store/a.h", header("semel::store::embedded", "class A;"), 3, "namespaces follow"),
    "one of a subfolder that is only for order": ("src/cli/hammer/a.h", header("semel::cli::hammer", "int a();"), 3, "namespaces follow"),
    "a namespace of its own": ("src/store/a.cc", "namespace semel::store {\nnamespace detail {\nint a;\n}\n}\n", 2, "namespaces follow"),
    "a forward declaration against the arrows": ("src/store/a.h", header("semel::gateway", "class A;"), 3, "namespaces follow"),
    "a definition in somebody else's namespace": ("src/store/a.h", header("rocksdb", "int a();"), 3, "only forward"),
    "a header outside of namespaces": ("src/store/a.h", "// A.\n#pragma once\nint a();\n", 3, "outside of any namespace"),
    "a public header in a namespace of ours": ("include/semel/a.h", header("semel::store", "int a();"), 4, "include/ declares in"),
    "a public header outside of namespaces": ("include/semel/a.h", "// A.\n#pragma once\nint a();\n", 3, "include/ declares in"),
    "a second hex table": ("src/store/a.cc", 'auto a = "0123456789ABCDEF";\n', 1, "src/core/crypto.cc:1 is the one"),
    "a second comparison of secrets": ("src/webhook/a.cc", "int a = CRYPTO_memcmp(b, c, 1);\n", 1, "src/core/crypto.cc:2 is the one"),
    "a comment on a path that is gone": ("src/once/a.cc", "int a;\n// See src/policy/batch.h.\n", 2, "src/policy/batch.h does not exist"),
    "on one named from src": ("src/once/a.cc", "// policy/batch.h: a batch\n", 1, "policy/batch.h does not exist"),
    "on a file that is gone": ("tests/once/a.cc", "/* As in\n   postgres_rows.cc. */\n", 2, "postgres_rows.cc does not exist"),
    "on a folder that is gone": ("bench/a.cc", "// All of tests/transaction/ does.\n", 1, "tests/transaction does not exist"),
    "on a decision that was not made": ("src/once/a.cc", "// docs/adr/0002 says why.\n", 1, "docs/adr/0002 does not exist"),
    "on a function that is gone": ("src/once/a.cc", "int a;  // set by run_once()\n", 1, "there is no run_once()"),
    "on a member that is gone": ("include/semel/a.h", header("semel", "// Batch::take() does this.\nint a();"), 4, "there is no Batch::take()"),
    "on a member that another class has": ("src/once/a.cc", "// Ledger::add() does this.\n", 1, "there is no Ledger::add()"),
    "on a value that is gone": ("tests/once/a.cc", "// State::running\n", 1, "there is no State::running"),
    "on a parameter that is gone": ("src/once/a.cc", "// Takes `lease_max`.\nint a(int b);\n", 1, "there is no lease_max"),
    "a document on a path that is gone": ("docs/a.md", "See\n`src/store/embedded.h`.\n", 2, "src/store/embedded.h does not exist"),
    "on a function that is gone, in prose": ("README.md", "[a](examples/once.cc)\nrun_once() runs.\n", 2, "there is no run_once()"),
    "on a function that is gone, in backticks": ("docs/a.md", "`run_once(key, action)` runs.\n", 1, "there is no run_once(key"),
    "on a function of another class": ("tests/README.md", "Then `Ledger::add()`.\n", 1, "there is no Ledger::add()"),
    "on a type that is gone": ("CONTRIBUTING.md", "A `semel::Exchange`.\n", 1, "there is no semel::Exchange"),
    "on a type that is gone, by its name": ("docs/a.md", "An `Exchange`.\n", 1, "there is no Exchange"),
    "on an option that is gone": ("docs/a.md", "Set `body_bytes_max`.\n", 1, "there is no body_bytes_max"),
    "the manual on a function that is gone": ("conf/semel.toml", "body_max = 1\n# As run_once() does.\n", 2, "there is no run_once()"),
    "a script on a path that is gone": ("tools/a.py", "a = 1  # of src/gone.cc\n", 1, "src/gone.cc does not exist"),
    "its documentation": ("tests/e2e/a.py", '"""Does what\nsrc/gone.cc does."""\n', 2, "src/gone.cc does not exist"),
    "a script on a function that is gone": ("tests/e2e/a.py", 'a = 1\n"""Does what run_once() did."""\n', 2, "there is no run_once()"),
    "the history on a path that is gone": ("CHANGELOG.md", "`src/gone.cc` is new.\n", 1, "src/gone.cc does not exist"),
}

# What only docs_test.py finds. Of the code that is quoted, too.
PLANTED_IN_DOCS = {
    "a link that leads nowhere": ("docs/a.md", "See\n[this](gone.md#part).\n", 2, "the link gone.md#part leads nowhere"),
    "a test that is gone": ("docs/a.md", "`A.Holds` and `A.Gone` hold.\n", 1, "there is no test A.Gone"),
    "a test in Python that is gone": ("docs/a.md", "`A.test_gone` holds.\n", 1, "there is no test A.test_gone"),
    "a scenario that is gone": ("docs/a.md", "`a.txt: All is well` holds.\n", 1, "there is no test a.txt: All is well"),
    "a section that no test is named for": ("docs/limits.md", "# A\n\n## B\n\nC.\n\n## Shown by\n", 3, 'about "B"'),
    "a row without a test": ("docs/limits.md", "# A\n\n## B\n\nC.\n\n## Shown by\n\n| [B](#b): c | `c` |\n", 9, "the row names no test"),
    "a row about nothing": ("docs/limits.md", "# A\n\nC.\n\n## Shown by\n\n| [B](#b): c | `A.Holds` |\n", 7, "there is no section #b"),
    "a command that is gone": ("docs/a.md", "Run\n```sh\n./dev gone\n```\n", 3, "./dev has no command gone"),
    "a quote that differs": ("docs/a.md", "<!-- verbatim: examples/once.cc -->\n```cpp\nint main() {}\n```\n", 1, "the quote differs"),
    "a quote of nothing": ("docs/a.md", "A\n<!-- verbatim: examples/gone.cc -->\n", 2, "examples/gone.cc, which does not exist"),
    "a part that differs": ("docs/a.md", "<!-- part: examples/once.cc -->\n```cpp\nint man() {}\n```\n", 1, "does not stand in"),
    "a README without the example": ("README.md", "Read examples/once.cc.\n", 1, "neither links"),
    "a path that is gone": ("docs/a.md", "`src/gone.cc`\n", 1, "src/gone.cc does not exist"),
    "a function that is gone, in a comment": ("src/once/a.cc", "// run_once()\n", 1, "there is no run_once()"),
}

# Who may include whom, written out once more.
CORE, READING, POLICY, INBOX, WEBHOOK = "core", "core reading", "core reading policy", "core reading policy inbox", \
    "core reading policy inbox webhook"
CONFIG = WEBHOOK + " config"
MIDDLE = CONFIG + " runtime once store http"
MAY_INCLUDE = {
    "core": CORE, "reading": READING, "policy": POLICY, "inbox": INBOX, "webhook": WEBHOOK, "config": CONFIG,
    "runtime": "core runtime", "once": "core runtime once", "store": "core runtime store", "http": "core runtime http",
    "guard": MIDDLE + " guard", "telemetry": MIDDLE + " telemetry",
    "gateway": MIDDLE + " guard telemetry gateway", "api": MIDDLE + " guard telemetry api",
    "admin": MIDDLE + " guard telemetry gateway api admin",
    "cli": MIDDLE + " guard telemetry gateway api admin cli",
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

    def expect_each(self, planted, findings):
        for name, (path, content, line, message) in planted.items():
            with self.subTest(name):
                self.write(path, content)
                found = findings()
                self.write(path, CLEAN[path]) if path in CLEAN else (self.root / path).unlink()
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(f"{path}:{line}: "), found[0])
                self.assertIn(message, found[0])

    def run_tidy(self, root):
        return subprocess.run([sys.executable, TIDY, root], capture_output=True, text=True, check=False)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, *arguments], check=True, capture_output=True)

    def test_a_clean_tree_gives_nothing(self):
        self.assertEqual(self.findings(), [])

    def test_each_violation_is_found_once_and_where_it_is(self):
        self.expect_each(PLANTED, self.findings)

    def test_the_documents_are_held_to_the_tree(self):
        self.assertEqual(docs.findings(self.root), [])
        self.expect_each(PLANTED_IN_DOCS, lambda: docs.findings(self.root))

    def test_the_arrows_are_those_of_the_design(self):
        for folder, others in MAY_INCLUDE.items():
            for other in MAY_INCLUDE:
                source = Source(f"src/{folder}/a.cc", f'#include "{other}/b.h"\n')
                self.assertEqual(not list(includes.check(source)), other in others.split(), f"{folder} -> {other}")

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
