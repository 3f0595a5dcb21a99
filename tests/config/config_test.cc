// What is made of a configuration that is right, and what is said about one that is unwise.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "reading/document.h"
#include "support/rules.h"

namespace semel::config {
namespace {

using test::config;
using test::FakeResolver;
using test::issues;
using test::least;

// Everything the general tables can say arrives in the configuration.
TEST(Config, HoldsWhatTheFileSays) {
  const Config made =
      config(std::string(least) +
             "[server]\nlisten = '[::1]:81'\nthreads = 3\npublic_url = 'https://pay.example/x'\n"
             "hosts = ['pay.example', '*.shop.example:8443']\n"
             "name = 'edge'\nforwarded = 'replace'\noverrides = 'pass'\ntls = { cert = 'c.pem', key = 'k.pem' }\n"
             "[admin]\nlisten = '0.0.0.0:9'\ntoken = 'env:TOKEN'\n"
             "[store]\nurl = 'embedded:/var/lib/semel'\nfree_bytes_min = '1GiB'\ncache_bytes = 0\n"
             "[limits]\nbody_bytes = 2000\nwaiters = 5\nheader_timeout = '1s'\n"
             "[log]\nlevel = 'debug'\nrequests = false\n"
             "[reply]\nproblem_base = 'https://e.example/p/'\nreplayed_header = 'X-Replay'\ndocs_url = "
             "''\nerror_member = true\n");
  EXPECT_EQ(made.server.listen, (reading::Endpoint{.host = "::1", .port = 81}));
  EXPECT_EQ(made.server.threads, 3U);
  EXPECT_EQ(made.server.public_url, "https://pay.example/x");
  ASSERT_EQ(made.server.hosts.size(), 2U);
  EXPECT_EQ(made.server.hosts.at(1).host, ".shop.example");
  EXPECT_EQ(made.server.name, "edge");
  EXPECT_EQ(made.server.forwarded, policy::Forwarded::replace);
  EXPECT_EQ(made.server.overrides, policy::Overrides::pass);
  EXPECT_EQ(made.server.tls.value().key, "k.pem");
  EXPECT_EQ(made.admin.listen, (reading::Endpoint{.host = "0.0.0.0", .port = 9}));
  EXPECT_EQ(made.admin.token.reveal(), "token from the environment");
  EXPECT_EQ(made.store.kind, StoreKind::embedded);
  EXPECT_EQ(embedded_path(made.store), "/var/lib/semel");
  EXPECT_EQ(made.store.free_bytes_min, 1U << 30U);
  EXPECT_EQ(made.store.cache_bytes, 0U);
  EXPECT_EQ(made.limits.body_bytes, 2000U);
  EXPECT_EQ(made.limits.waiters, 5U);
  EXPECT_EQ(made.limits.header_timeout, Millis{1'000});
  EXPECT_EQ(made.log.level, LogLevel::debug);
  EXPECT_FALSE(made.log.requests);
  EXPECT_EQ(made.reply.problem_base, "https://e.example/p/");
  EXPECT_EQ(made.reply.replayed_header, "X-Replay");
  EXPECT_EQ(made.reply.docs_url, "");
  EXPECT_TRUE(made.reply.error_member);
}

// Stores are known by the beginning of their address, which may itself be a secret.
TEST(Config, KnowsStoresByTheirAddress) {
  const auto kind = [](std::string_view url) {
    return config(std::string(least) + "[store]\nurl = " + std::string(url)).store;
  };
  EXPECT_EQ(kind("'memory:'").kind, StoreKind::memory);
  EXPECT_EQ(kind("'postgres://h/d'").kind, StoreKind::postgres);
  EXPECT_EQ(kind("'postgresql://h/d'").kind, StoreKind::postgres);
  EXPECT_EQ(kind("'redis://h'").kind, StoreKind::redis);
  EXPECT_EQ(kind("'redis+sentinel://a,b/main'").kind, StoreKind::redis);
  EXPECT_EQ(kind("'redis:///run/s'\nreplicas = 2").replicas, 2U);
  EXPECT_EQ(kind("'redis://h'\nfsync = 'everysec'").fsync, core::RedisFsync::everysec);
  EXPECT_EQ(kind("'redis://h'\non_loss = 'stop'").on_loss, core::RedisOnLoss::stop);
  EXPECT_EQ(kind("'rediss://h'").kind, StoreKind::redis);
  EXPECT_EQ(kind("'redis+cluster://a,b'").kind, StoreKind::redis_cluster);
  EXPECT_EQ(kind("['postgres://a/d', 'postgres://b/d']").urls.size(), 2U);
  EXPECT_EQ(kind("'postgres://h/d'\nstate_folder = '/var/lib/semel'").state_folder, "/var/lib/semel");
  FakeResolver resolver;
  resolver.variables["DATABASE_URL"] = "postgres://u:p@h/d";
  const auto parsed = parse_config(std::string(least) + "[store]\nurl = 'env:DATABASE_URL'", "f", resolver);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->config.store.urls.front().reveal(), "postgres://u:p@h/d");
  EXPECT_TRUE(parsed->warnings.empty());
}

// Keys for encryption are decoded, the first and all others.
TEST(Config, DecodesEncryptionKeys) {
  FakeResolver resolver;
  resolver.variables["K"] = "00ff" + std::string(60, 'A');
  const auto parsed = parse_config(std::string(least) + "[store]\nencryption_keys = ['env:K', 'env:K']", "f", resolver);
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->config.store.encryption_keys.size(), 2U);
  const std::string& key = parsed->config.store.encryption_keys.front().reveal();
  EXPECT_EQ(key, std::string("\0\xff", 2) + std::string(30, '\xaa'));
}

// Of a secret's file only the line end that an editor adds is taken away.
TEST(Config, TakesSecretsFromFiles) {
  FakeResolver resolver;
  resolver.files["/t"] = " a\r\n";
  resolver.files["/empty"] = "\n";
  const auto parsed = parse_config(std::string(least) + "[admin]\ntoken = 'file:/t'", "f", resolver);
  EXPECT_EQ(parsed.value().config.admin.token.reveal(), " a");
  EXPECT_EQ(test::texts(parse_config(std::string(least) + "[admin]\ntoken = 'file:/empty'", "f", resolver).error(),
                        reading::Severity::error),
            std::vector<std::string>{"f:9:9: error: token is empty"});
}

// The admin listener can be switched off.
TEST(Config, MayHaveNoAdminListener) {
  EXPECT_EQ(config(std::string(least) + "[admin]\nlisten = ''").admin.listen, std::nullopt);
}

// Port 0 is chosen by the system, so two of them do not clash.
TEST(Config, LetsTheSystemChoosePorts) {
  const Config made = config(std::string(least) + "[server]\nlisten = '127.0.0.1:0'\n[admin]\nlisten = '127.0.0.1:0'");
  EXPECT_EQ(made.server.listen, made.admin.listen);
}

// Warnings about the whole file.
TEST(ConfigWarnings, NameWhatIsUnwise) {
  struct Case {
    std::string_view lines;
    std::vector<std::string> warnings;
  };
  const std::vector<Case> cases{
      {"", {}},
      {"[admin]\ntoken = 'secret'",
       {"f:9:9: warning: token is written in the file, where others can copy it; use env:NAME or file:PATH"}},
      {"[store]\nurl = 'memory:'",
       {"f:9:7: warning: memory: forgets every key when the process ends, so requests may run again; for tests only"}},
      {"[store]\nfree_bytes_min = '16MiB'",
       {"f:9:18: warning: free_bytes_min is below 64MiB: the engine may need more than that for its own files, and a "
        "full "
        "disk stops the store"}},
      {"[store]\nurl = 'postgres://u:p@h/d'", {"f:9:7: warning: url holds a password; use env:NAME or file:PATH"}},
      {"[store]\nurl = 'postgres://u@h/d:x@y'", {}},
      {"[upstream.b]\nurl = 'http://h'", {"f:8:1: warning: [upstream.b] is not used"}},
      {"[upstream.b]\nurl = 'http://h'\nca = 'x.pem'",
       {"f:8:1: warning: [upstream.b] is not used", "f:10:6: warning: ca has no effect: none of the URLs is https://"}},
      {"[upstream.b]\nurl = 'https://h'\nverify = false",
       {"f:8:1: warning: [upstream.b] is not used",
        "f:10:10: warning: verify = false: any server at this address is trusted, and can read and alter everything"}},
      {"[server]\ntls = { cert = 'c', key = 'k', client_cert = 'optional' }",
       {"f:9:46: warning: client_cert has no effect without client_ca"}},
      {"[server]\ntls = { cert = 'c', key = 'k', client_ca = 'a' }\n[[route]]\npath = '/w'\nupstream = 'app'\n"
       "scope = '{client_cert:subject}'",
       {}},
      {"[[route]]\npath = '/w'\nupstream = 'app'\nttl = '30s'\nlease = '10s'",
       {"f:8:1: warning: ttl (30s) is not longer than the timeout of [upstream.app] (30s), so the key of a slow "
        "request has "
        "expired when its retry comes",
        "f:11:7: warning: ttl is under 24h, which clients of such APIs expect; a later retry runs again"}},
      {"[store]\nstate_folder = '/var/lib/semel'",
       {"f:9:16: warning: state_folder has no effect: it is for a PostgreSQL store"}},
      {"[store]\nread_unencrypted = true",
       {"f:9:20: warning: read_unencrypted has no effect: there are no encryption_keys"}},
      {"[[route]]\npath = '/v1/a'\nupstream = 'app'",
       {"f:8:1: warning: this route is never reached: the route \"/v1/*\" in line 3 takes all its paths first"}},
      {"[[route]]\npath = '/v1'\nupstream = 'app'", {}},
      {"[[webhook]]\npath = '/v1/*'\nupstream = 'app'\nprovider = 'stripe'\nsecrets = ['env:TOKEN']",
       {"f:3:1: warning: this route is never reached: the webhook \"/v1/*\" in line 8 takes all its paths first"}},
  };
  for (const Case& each : cases) {
    const std::string text = std::string(least) + std::string(each.lines);
    EXPECT_EQ(issues(text, reading::Severity::error), std::vector<std::string>{}) << each.lines;
    EXPECT_EQ(issues(text, reading::Severity::warning), each.warnings) << each.lines;
  }
}

// Errors come with the warnings, so that one run of `semel check` shows everything.
TEST(ConfigWarnings, AreReportedBesideErrors) {
  const std::string text = std::string(least) + "[store]\nurl = 'memory:'\nx = 1";
  EXPECT_EQ(issues(text, reading::Severity::error).size(), 1U);
  EXPECT_EQ(issues(text, reading::Severity::warning).size(), 1U);
}

// A command line needs no file: everything is guarded, a key is optional, callers without credentials share a scope.
TEST(DefaultConfig, GuardsEverythingInFrontOfOneUpstream) {
  const Config made = default_config("http://127.0.0.1:3000/").value();
  ASSERT_EQ(made.routes.size(), 1U);
  EXPECT_EQ(made.routes.front().path.text, "/*");
  EXPECT_EQ(made.routes.front().methods, (std::vector<std::string>{"POST", "PATCH"}));
  EXPECT_EQ(made.routes.front().key, KeyMode::optional);
  EXPECT_EQ(made.routes.front().scope.text, "{header:Authorization?}");
  EXPECT_EQ(made.routes.front().key_from.text, "{header:Idempotency-Key}");
  EXPECT_EQ(made.routes.front().target.store_body_max, 1U << 20U);
  EXPECT_EQ(made.upstreams.at(0).urls.at(0),
            (reading::Url{.secure = false, .authority = {"127.0.0.1", 3000}, .path = ""}));
  EXPECT_EQ(made.upstreams.at(0).host, HostSource::client);
  EXPECT_EQ(embedded_path(made.store), "./semel-data");
  EXPECT_EQ(default_config("https://api.example").value().upstreams.at(0).host, HostSource::upstream);
}

// A URL that cannot be an upstream's is refused in words.
TEST(DefaultConfig, RefusesOtherUrls) {
  EXPECT_EQ(default_config("localhost").error().detail, "\"localhost\": a URL begins with http:// or https://");
  EXPECT_EQ(default_config("http://h/base").error().detail,
            "\"http://h/base\": requests keep their own path, so none can be added");
}

// Trees that are only deep are refused before anything recurses into them, also where strings hide the dots.
TEST(Document, RefusesDeepTrees) {
  const std::string deep = "a" + std::string(50'000, '.');
  for (const std::string& text : {"[" + deep + "]", "x = { a = \"\"\"\n\"\"\", " + deep + " = 1 }", "'''\n''' " + deep,
                                  "\"\\\"\" " + deep, "# \"\n" + deep}) {
    const auto parsed = reading::parse_document(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().message, "tables are nested too deeply");
  }
  EXPECT_TRUE(reading::parse_document("x = \"" + std::string(100, '.') + "\" # " + std::string(100, '.')));
  EXPECT_TRUE(reading::parse_document("x = '''\n" + std::string(100, '.') + "'''\n"));
}

// Letters of every alphabet are what they are in strings, keys and comments, and count as one column each.
TEST(Document, ReadsEveryAlphabet) {
  const std::string letters = "\u00e9\u00df\u07ff\u0800\u304b\u3042\ud7ff\ufffd\U0001f600\U0010ffff";
  const auto parsed = reading::parse_document("# " + letters + "\n'" + letters + "' = \"" + letters +
                                              "\\u00e9\"\nx = '" + letters + "' y");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().at, (reading::Position{.line = 3, .column = 18}));
  const auto whole = reading::parse_document("\xef\xbb\xbf'" + letters + "' = \"" + letters + "\\u00e9\"");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->children.front().name, letters);
  EXPECT_EQ(whole->children.front().text, letters + "\u00e9");
}

// Anywhere else they are a syntax error, which names them.
TEST(Document, RefusesLettersOutsideOfStrings) {
  for (const std::string text : {"\n\u00e9 = 1", "\na = \u304b", "\na\u00e9 = 1", "\n[\u00e9]", "\na = 0\"\u00e9\""}) {
    const auto parsed = reading::parse_document(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().at.line, 2U) << parsed.error().message;
  }
  EXPECT_NE(reading::parse_document("\u00e9 = 1").error().message.find("'\u00e9'"), std::string::npos);
}

// What is no text at all is refused where it begins.
TEST(Document, RefusesWhatIsNotUtf8) {
  const auto parsed = reading::parse_document("a = 1\nb = \"\u00e9\xff\"");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().at, (reading::Position{.line = 2, .column = 7}));
  EXPECT_EQ(parsed.error().message, "the file is not UTF-8");
  EXPECT_EQ(reading::parse_document("a = \"\U000f0000\"").error().message,
            "characters for private use are not used here");
  EXPECT_EQ(reading::parse_document("a = \"\\U000F00e9\"").error().message,
            "characters for private use are not used here");
}

// Input that toml++ has assertions against is an error like any other.
TEST(Document, ReportsWhatTomlplusplusDoesNotExpect) {
  const auto parsed = reading::parse_document("a = 1\n[ = 1");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().at.line, 2U);
}

}  // namespace
}  // namespace semel::config
