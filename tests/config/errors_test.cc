// Every error message of the configuration, at its line and column.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/rules.h"

namespace semel::config {
namespace {

using test::issues;
using test::least;

struct Case {
  std::string_view lines;  // behind the seven of `least`
  std::vector<std::string> errors;
};

std::vector<std::string> errors_behind_least(std::string_view lines) {
  return issues(std::string(least) + std::string(lines), reading::Severity::error);
}

void expect_errors(const std::vector<Case>& cases) {
  for (const Case& each : cases) EXPECT_EQ(errors_behind_least(each.lines), each.errors) << each.lines;
}

// What every case starts from has no errors of its own.
TEST(ConfigErrors, AreNoneInTheLeastFile) {
  EXPECT_EQ(errors_behind_least(""), std::vector<std::string>{});
}

// TOML that cannot be read is reported where reading stopped.
TEST(ConfigErrors, NameSyntaxErrorsWithTheirPlace) {
  const auto unclosed = errors_behind_least("[server]\nlisten = \"127.0.0.1:1\n");
  ASSERT_EQ(unclosed.size(), 1U);
  EXPECT_TRUE(unclosed.front().starts_with("f:9:22: error: ")) << unclosed.front();
  const auto twice = errors_behind_least("[server]\nthreads = 1\nthreads = 2\n");
  ASSERT_EQ(twice.size(), 1U);
  EXPECT_TRUE(twice.front().starts_with("f:10:")) << twice.front();
  EXPECT_EQ(errors_behind_least("x" + std::string(40, '.') + "\n"),
            std::vector<std::string>{"f:8:34: error: tables are nested too deeply"});
}

// In words that say what to write.
TEST(ConfigErrors, NameCommonMistakesInTheSyntax) {
  expect_errors({
      {"[server]\nlisten = \"127.0.0.1:1\n", {"f:9:22: error: this string is not closed on its line"}},
      {"[server]\nlisten = 127.0.0.1:1\n",
       {"f:9:12: error: this is neither a number nor a date; a text stands in quotes, such as \"24h\" or "
        "\"127.0.0.1:8080\""}},
      {"[limits]\nbody_timeout = 24h\n",
       {"f:9:18: error: this is neither a number nor a date; a text stands in quotes, such as \"24h\" or "
        "\"127.0.0.1:8080\""}},
      {"[server]\nuser = semel\n",
       {"f:9:8: error: this is no value; a text stands in straight quotes (\"like this\"); yes and no are true and "
        "false"}},
      {"[server]\nlisten: 'x'\n", {"f:9:7: error: a key and its value are joined by =, not by a colon"}},
      {"[server]\nuser = \"a\\d\"\n",
       {"f:9:11: error: in double quotes a backslash begins an escape; write the text in single quotes, or \\\\ for a "
        "backslash"}},
      {"[server]\nthreads = 1,\n",
       {"f:9:12: error: the line goes on behind its value; each key stands on a line of its own, without a comma"}},
      {"[server]\nthreads = 1\nthreads = 2\n", {"f:10:11: error: this key is here for the second time"}},
      {"[server]\n[server]\n", {"f:9:1: error: this table is here for the second time"}},
      {"[[route]\n",
       {"f:8:9: error: these brackets do not close; a table has one pair ([store]), one of several has two "
        "([[route]])"}},
      {"[store]\nencryption_keys = ['a'\n", {"f:9:24: error: this list is not closed; a ] is missing"}},
      {"[store]\nencryption_keys = ['a'\nurl = 'x'\n",
       {"f:10:1: error: the values of a list are separated by commas, and a ] ends it"}},
  });
}

// Statuses of problems: by name, within the range of refusals.
TEST(ConfigErrors, NameBadStatuses) {
  expect_errors({
      {"[reply]\nstatus = 'stripe'", {}},
      {"[reply]\nstatus = { key-reused = 400, 'in-flight' = 425 }", {}},
      {"[reply]\nstatus = 'strip'", {"f:9:10: error: status: there is no set \"strip\" (did you mean \"stripe\"?)"}},
      {"[reply]\nstatus = { key-reusd = 400 }",
       {"f:9:12: error: there is no problem \"key-reusd\" (did you mean \"key-reused\"?)"}},
      {"[reply]\nstatus = { key-reused = 200 }", {"f:9:25: error: a refusal has a status from 400 to 599"}},
      {"[reply]\nstatus = 400", {"f:9:10: error: status must be a table, not a whole number"}},
  });
}

// Unknown keys and tables are errors, with the name that was probably meant.
TEST(ConfigErrors, NameUnknownKeys) {
  expect_errors({
      {"[server]\nlissten = 1", {"f:9:1: error: server has no key `lissten` (did you mean \"listen\"?)"}},
      {"[server]\n  colour = 1", {"f:9:3: error: server has no key `colour`"}},
      {"[serverr]\n", {"f:8:2: error: the file has no key `serverr` (did you mean \"server\"?)"}},
      {"[server.tls]\ncert = 'c'\nkey = 'k'\nca = 'a'", {"f:11:1: error: server.tls has no key `ca`"}},
      {"[reply]\nreplay_header = 'X'",
       {"f:9:1: error: reply has no key `replay_header` (did you mean \"replayed_header\"?)"}},
      {"[[route]]\npath = '/w'\nupstream = 'app'\nonunknown = 'hold'",
       {"f:11:1: error: route has no key `onunknown` (did you mean \"on_unknown\"?)"}},
  });
}

// A value of the wrong type says what it is and what it should be.
TEST(ConfigErrors, NameWrongTypes) {
  expect_errors({
      {"[server]\nlisten = 8080", {"f:9:10: error: listen must be a string, not a whole number"}},
      {"[server]\nthreads = 1.5", {"f:9:11: error: threads must be a whole number, not a number with a fraction"}},
      {"[server]\ntls = true", {"f:9:7: error: server.tls must be a table, not true or false"}},
      {"[log]\nrequests = \"yes\"", {"f:9:12: error: requests must be true or false, not a string"}},
      {"[store]\nurl = 2020-01-01", {"f:9:7: error: url must be a string, not a date or time"}},
      {"[store]\nencryption_keys = 'k'", {"f:9:19: error: encryption_keys must be a list, not a string"}},
      {"[limits]\nbody_bytes = true", {"f:9:14: error: body_bytes must be a string, not true or false"}},
      {"[[limits]]\n", {"f:8:1: error: limits must be a table, not a list"}},
      {"[[route]]\npath = '/w'\nupstream = 'app'\nmethods = 'POST'",
       {"f:11:11: error: methods must be a list, not a string"}},
      {"[[route]]\npath = '/w'\nupstream = 'app'\nmethods = [1]",
       {"f:11:12: error: methods must be a string, not a whole number"}},
      {"[[route]]\npath = '/w'\nupstream = 'app'\nkeep = 'all'", {"f:11:8: error: keep must be a table, not a string"}},
      {"[webhook]\npath = '/w'", {"f:8:1: error: webhook is a list of tables (did you mean \"[[webhook]]\"?)"}},
  });
  EXPECT_EQ(issues("upstream = 1\nroute = [1]\n", reading::Severity::error),
            (std::vector<std::string>{"f:1:12: error: upstream must be a table, not a whole number",
                                      "f:2:10: error: route must be a table, not a whole number"}));
}

// [server], [admin], [log], [reply]
TEST(ConfigErrors, NameBadServerValues) {
  expect_errors({
      {"[server]\nlisten = \"host:99999\"",
       {"f:9:16: error: listen: \"99999\" is not a port; write a number from 0 to 65535"}},
      {"[server]\nlisten = \"::1:80\"",
       {"f:9:11: error: listen: an IPv6 address is written in brackets (did you mean \"[::1]:80\"?)"}},
      {"[server]\nthreads = 2000", {"f:9:11: error: threads must be from 0 to 1024"}},
      {"[server]\npublic_url = \"https://h?x\"",
       {"f:9:24: error: public_url: a URL here has no user, query, fragment, white space or backslash"}},
      {"[server]\nhosts = [\"a b\", \"https://h\", \"*\"]",
       {"f:9:11: error: hosts: \"a b\" is neither a name, `*.` and a name, nor an address",
        "f:9:18: error: hosts: a host is not a URL (did you mean \"h\"?)",
        "f:9:31: error: hosts: \"*\" is neither a name, `*.` and a name, nor an address"}},
      {"[server]\nname = \"a b\"", {"f:9:9: error: name: must be a name of letters, digits and - . _ ~"}},
      {"[server]\nforwarded = 'add'", {"f:9:14: error: forwarded: \"add\" is none of \"append\", \"replace\""}},
      {"[server]\ntls = { key = '' }",
       {"f:9:7: error: server.tls needs `cert`", "f:9:16: error: key: is empty; name a file"}},
      {"[server]\ntls = { cert = 'c', key = 'k', client_ca = 'a', client_cert = 'maybe' }",
       {"f:9:64: error: client_cert: \"maybe\" is none of \"required\", \"optional\""}},
      {"[server]\nmethods = ['PROPFIND', 'get', 'TRACE', 'A B']",
       {"f:9:25: error: methods: get passes in capital letters, and in no others; leave it out",
        "f:9:32: error: methods: CONNECT and TRACE never pass",
        "f:9:41: error: methods: \"A B\" is not the name of a method"}},
      {"[upstream.b]\nurl = 'http://h'\npaths = 'strict'",
       {"f:10:10: error: paths: \"strict\" is none of \"lenient\", \"exact\""}},
      {"[[route]]\npath = '/w'\nupstream = 'app'\nkey_from = '{header:A}{header:B}'\nrevalidate = '/me?k={key}'",
       {"f:12:14: error: {key} in a revalidate needs a key_from of one part: of several, only a hash is kept"}},
      {"[[route]]\npath = '/w'\nupstream = 'app'\nscope = '{client_cert:subject}'",
       {"f:8:1: error: {client_cert:subject} needs server.tls with client_ca"}},
      {"[admin]\nlisten = '0.0.0.0:1'",
       {"f:9:10: error: admin.listen can be reached from outside, so admin.token is needed: anyone who connects could "
        "let keys run again"}},
      {"[admin]\nlisten = '127.0.0.1:8080'", {"f:9:10: error: server.listen and admin.listen are the same address"}},
      {"[server]\nlisten = '127.0.0.1:9080'", {"f:9:10: error: server.listen and admin.listen are the same address"}},
      {"[log]\nlevel = 'inof'",
       {"f:9:10: error: level: \"inof\" is none of \"error\", \"warning\", \"info\", \"debug\" (did you mean "
        "\"info\"?)"}},
      {"[reply]\nproblem_base = 'a b'", {"f:9:18: error: problem_base: is not part of a URI"}},
      {"[reply]\nproblem_base = 'problems/'",
       {"f:9:17: error: problem_base: must begin as a URI does, such as \"urn:\" or \"https:\""}},
      {"[reply]\nreplayed_header = 'A B'", {"f:9:20: error: replayed_header: is not the name of a field"}},
      {"[reply]\nreplayed_header = 'connection'",
       {"f:9:20: error: replayed_header: is a field with a meaning of its own in HTTP"}},
      {"[reply]\ndocs_url = 'docs'",
       {"f:9:13: error: docs_url: must be a URL that begins with https:// or http://, or empty"}},
  });
}

// Secrets that cannot be had are reported where they are named; nothing of them is shown.
TEST(ConfigErrors, NameSecretsThatCannotBeHad) {
  expect_errors({
      {"[admin]\ntoken = \"env:NO_SUCH\"", {"f:9:9: error: token: the environment has no variable \"NO_SUCH\""}},
      {"[admin]\ntoken = \"file:/no/such\"", {"f:9:9: error: token: cannot read \"/no/such\": no such file"}},
      {"[admin]\ntoken = \"\"", {"f:9:9: error: token is empty"}},
      {"[admin]\ntoken = 5", {"f:9:9: error: token must be a string, not a whole number"}},
      {"[store]\nencryption_keys = ['env:TOKEN']",
       {"f:9:19: error: each of encryption_keys is 64 hexadecimal digits (32 bytes), as from `openssl rand -hex 32`"}},
  });
}

// [store] and [limits]
TEST(ConfigErrors, NameBadStoresAndLimits) {
  expect_errors({
      {"[store]\nurl = 'postgre://u:hunter2@h/d'",
       {"f:9:7: error: url must begin with embedded:, memory:, postgres://, redis:// or redis+cluster:// (did you mean "
        "\"postgres://\"?)"}},
      {"[store]\nurl = 'embeded:./x'",
       {"f:9:7: error: url must begin with embedded:, memory:, postgres://, redis:// or redis+cluster:// (did you mean "
        "\"embedded:\"?)"}},
      {"[store]\nurl = 'embedded:'", {"f:9:7: error: url names no folder after embedded:"}},
      {"[store]\nurl = 'redis://'", {"f:9:7: error: url names no server after its //"}},
      {"[store]\nurl = 'memory:x'", {"f:9:7: error: memory: takes nothing after it"}},
      {"[store]\nurl = []", {"f:9:7: error: url is an empty list"}},
      {"[store]\nurl = ['postgres://a', 'redis://b']", {"f:9:24: error: all addresses of a store are of one kind"}},
      {"[store]\nurl = ['redis://a', 'redis://b']",
       {"f:9:7: error: only a PostgreSQL store has several addresses (shards)"}},
      {"[store]\nurl = 'redis://h:x'", {"f:9:7: error: url: a port is 1 to 65535"}},
      {"[store]\nreplicas = 1\nfsync = 'everysec'\non_loss = 'stop'",
       {"f:9:12: error: replicas is for a Redis store, and url names another one",
        "f:10:9: error: fsync is for a Redis store, and url names another one",
        "f:11:11: error: on_loss is for a Redis store, and url names another one"}},
      {"[limits]\nheader_bytes = 10", {"f:9:16: error: header_bytes: must be from 1KiB to 16MiB"}},
      {"[limits]\nclaims_per_scope = '5'",
       {"f:9:21: error: claims_per_scope: \"5\" is not a rate; write a whole number and /s, /m or /h, such as "
        "\"200/s\""}},
      {"[limits]\nwaiters = -1", {"f:9:11: error: waiters must be from 0 to 1000000"}},
      {"[limits]\nbody_bytes = -1", {"f:9:14: error: body_bytes: must be from 0 to 1GiB"}},
      {"[limits]\nbody_bytes = '1MB'",
       {"f:9:15: error: body_bytes: \"1MB\" is not a size; write a number of bytes, or one with B, KiB, MiB or GiB, "
        "such as "
        "\"1MiB\" (did you mean \"1MiB\"?)"}},
      {"[limits]\nidle_timeout = 60",
       {"f:9:16: error: idle_timeout needs a unit: ms, s, m, h or d (did you mean \"60s\"?)"}},
      {"[limits]\nidle_timeout = '2d'", {"f:9:17: error: idle_timeout: must be from 1ms to 1d"}},
      {"[limits]\nheader_line_bytes = '65KiB'",
       {"f:9:21: error: header_line_bytes (65KiB) is over the default header_bytes (64KiB)"}},
      {"[limits]\nheader_line_bytes = '3KiB'\nheader_bytes = '2KiB'",
       {"f:9:21: error: header_line_bytes (3KiB) is over header_bytes (2KiB)"}},
      {"[limits]\nheader_bytes = '1KiB'", {}},  // the default of header_line_bytes is smaller then
  });
}

// [upstream.NAME]
TEST(ConfigErrors, NameBadUpstreams) {
  expect_errors({
      {"[upstream.b]\n", {"f:8:1: error: upstream.* needs `url`"}},
      {"[upstream.b]\nurl = 'https://h'\ncert = 'c.pem'",
       {"f:10:8: error: cert and key go together: the certificate, and the key that it is for"}},
      {"[upstream.b]\nurl = 'https://h'\nkey = 'k.pem'",
       {"f:10:7: error: cert and key go together: the certificate, and the key that it is for"}},
      {"[upstream.'b c']\nurl = 'http://h'",
       {"f:8:11: error: the name of an upstream is 1 to 64 letters, digits, dots, - and _"}},
      {"[upstream.b]\nurl = ['http://h', 'h:80']",
       {"f:9:21: error: url: a URL begins with http:// or https:// (did you mean \"http://h:80\"?)"}},
      {"[upstream.b]\nurl = 'http://h/base'",
       {"f:9:7: error: url has a path; requests keep their own, so it cannot be added (did you mean \"http://h\"?)"}},
      {"[upstream.b]\nurl = 'http://h'\ntimeout = '0s'", {"f:10:12: error: timeout: must be from 1ms to 1d"}},
      {"[upstream.b]\nurl = 'http://h'\nconnect_timeout = '31s'",
       {"f:10:19: error: connect_timeout (31s) is longer than the default timeout (30s)"}},
      {"[upstream.b]\nurl = 'http://h'\nconnect_timeout = '4s'\ntimeout = '3s'",
       {"f:10:19: error: connect_timeout (4s) is longer than timeout (3s)"}},
      {"[upstream.b]\nurl = 'http://h'\ntimeout = '3s'", {}},  // the default of connect_timeout is smaller then
      {"[upstream.b]\nurl = 'http://h'\nhost = 'me'",
       {"f:10:9: error: host: \"me\" is none of \"client\", \"upstream\""}},
      {"[upstream]\nurl = 'http://h'",
       {"f:9:1: error: `url` is directly in [upstream]; give the upstream a name (did you mean "
        "\"[upstream.app]\"?)"}},
  });
}

// All of a file is checked, whatever else is wrong with it, and reported in its order.
TEST(ConfigErrors, ComeAllAtOnceInTheOrderOfTheFile) {
  const auto found = issues(
      "[[route]]\n"
      "path = \"v1\"\n"
      "ttl = \"soon\"\n"
      "upstream = \"ap\"\n"
      "[server]\n"
      "threads = \"many\"\n"
      "colour = 1\n"
      "[upstream.app]\n"
      "url = \"nowhere\"\n",
      reading::Severity::error);
  EXPECT_EQ(
      found,
      (std::vector<std::string>{
          "f:2:9: error: path: a path begins with a slash (did you mean \"/v1\"?)",
          "f:3:8: error: ttl: \"soon\" is not a duration; write a whole number and ms, s, m, h or d, such as \"30s\"",
          "f:4:12: error: there is no [upstream.ap] (did you mean \"app\"?)",
          "f:6:11: error: threads must be a whole number, not a string", "f:7:1: error: server has no key `colour`",
          "f:9:8: error: url: a URL begins with http:// or https:// (did you mean \"http://nowhere\"?)"}));
}

// What a file says is repeated without its control characters: messages go to terminals.
TEST(ConfigErrors, RepeatNoControlCharacters) {
  EXPECT_EQ(errors_behind_least("[log]\nlevel = \"a\\u001b[2J\""),
            std::vector<std::string>{
                "f:9:9: error: level: \"a\\x1b[2J\" is none of \"error\", \"warning\", \"info\", \"debug\""});
  EXPECT_EQ(errors_behind_least("[upstream.b]\nurl = 'http://h'\nca = \"a\\tb\""),
            std::vector<std::string>{"f:10:6: error: ca: holds control characters"});
}

// A file that nobody wrote by hand is refused before it is read.
TEST(ConfigErrors, IncludeAFileThatIsTooLarge) {
  EXPECT_EQ(issues(std::string((4U << 20U) + 1, '\n'), reading::Severity::error),
            std::vector<std::string>{"f:1:1: error: the file is over 4MiB"});
}

// What is listed is verified, and what verifies is listed: a table that refuses everybody, or believes anybody, is
// none.
TEST(ConfigErrors, NameWhatIsWrongWithTokens) {
  const std::string secret = "secret = '" + std::string(32, 's') + "'\n";
  expect_errors({
      {"[jwt]\nkeys = 'https://a/k'\n", {"f:8:1: error: jwt needs `algorithms`"}},
      {"[jwt]\nkeys = 'https://a/k'\nalgorithms = []\n",
       {"f:10:14: error: algorithms is empty, so every token would be refused"}},
      {"[jwt]\nkeys = 'https://a/k'\nalgorithms = ['none']\n",
       {"f:10:16: error: algorithms: none signs nothing, so anybody could be anybody"}},
      {"[jwt]\nkeys = 'https://a/k'\nalgorithms = ['RS265']\n",
       {"f:10:16: error: algorithms: \"RS265\" is none of \"RS256\", \"ES256\", \"EdDSA\", \"HS256\", \"HS512\" (did "
        "you "
        "mean \"RS256\"?)"}},
      {"[jwt]\nkeys = 'https://a/k'\nalgorithms = ['HS256']\n",
       {"f:9:8: error: keys verify RS256, ES256 and EdDSA, which `algorithms` does not list",
        "f:10:14: error: HS256 and HS512 are verified with a shared `secret`"}},
      {"[jwt]\nalgorithms = ['HS256']\nsecret = 'short'\n",
       {"f:10:10: error: secret is shorter than 32 bytes, so it could be found by trying"}},
      {"[jwt]\nkeys = 'http://a/k'\nalgorithms = ['RS256']\n",
       {"f:9:8: error: keys: over http:// anybody on the way could put in keys of his own; use https://"}},
      {"[jwt]\nkeys = 'none.json'\nalgorithms = ['RS256']\n",
       {"f:9:8: error: keys: cannot read \"none.json\": no such file"}},
      {"[jwt]\nkeys = '/run/token'\nalgorithms = ['RS256']\n",
       {"f:9:8: error: keys: \"/run/token\" is not a JSON web key set with a key for `algorithms`"}},
      {"[jwt]\nkeys = 'https://a/k'\nalgorithms = ['RS256']\nfrom = '{query:token}'\n",
       {"f:11:9: error: from: must be one header or one cookie (did you mean \"{header:Authorization}\"?)"}},
      {"[jwt]\nkeys = 'https://a/k'\nalgorithms = ['RS256']\nleeway = '1h'\n",
       {"f:11:11: error: leeway: must be from 0s to 5m"}},
  });
  EXPECT_EQ(errors_behind_least("[[route]]\npath = '/x'\nupstream = 'app'\nscope = '{jwt:sub}'\n"),
            std::vector<std::string>{"f:8:1: error: {jwt:...} needs a table [jwt] that says how tokens are verified"});
  EXPECT_EQ(errors_behind_least("[jwt]\nalgorithms = ['HS256']\n" + secret), std::vector<std::string>{});
}

// An origin that no browser would send, or an answer that every browser refuses, is a mistake.
TEST(ConfigErrors, NameWhatIsWrongWithOrigins) {
  expect_errors({
      {"[server]\ncors = {}\n", {"f:9:8: error: server.cors needs `origins`"}},
      {"[server]\ncors = { origins = [] }\n", {"f:9:20: error: origins is empty, so cors would say nothing"}},
      {"[server]\ncors = { origins = ['https://a.example/'] }\n",
       {"f:9:22: error: origins: is more than an origin: a path is not part of one (did you mean "
        "\"https://a.example\"?)"}},
      {"[server]\ncors = { origins = ['*', 'https://a.example'] }\n",
       {"f:9:20: error: \"*\" is all origins; it stands alone"}},
      {"[server]\ncors = { origins = ['*'], credentials = true }\n",
       {"f:9:41: error: credentials need origins that are written out: browsers refuse \"*\" with them"}},
  });
}

// In a pipeline there are no secrets. Everything else is still checked, and nothing is made up in their place.
TEST(ConfigErrors, AreNoneForSecretsThatMayBeMissing) {
  class Pipeline : public test::FakeResolver {
   public:
    [[nodiscard]] bool may_lack_secrets() const override { return true; }
  };
  const std::string text =
      std::string(least) +
      "[admin]\nlisten = '0.0.0.0:9'\ntokens = { viewer = 'env:NONE' }\n"
      "[store]\nurl = 'env:NONE'\nencryption_keys = ['file:/none']\n"
      "[api]\nlisten = '127.0.0.1:8090'\n[[api.token]]\nname = 'w'\nsecret = 'env:NONE'\n"
      "namespaces = ['*']\n[jwt]\nalgorithms = ['HS256']\nsecret = 'env:NONE'\n"
      "[[webhook]]\npath = '/hooks'\nprovider = 'stripe'\nsecrets = ['env:NONE']\nupstream = 'app'\n";
  const Pipeline pipeline;
  const auto passed = parse_config(text, "f", pipeline);
  if (!passed) {
    for (const reading::Issue& issue : passed.error()) ADD_FAILURE() << reading::to_text(issue);
  }
  const auto wrong = parse_config(text + "lease = 'soon'\n", "f", pipeline);
  ASSERT_FALSE(wrong);
  const std::vector<std::string> errors = test::texts(wrong.error(), reading::Severity::error);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors.front().find("lease"), std::string::npos) << errors.front();
  EXPECT_FALSE(parse_config(text, "f", test::FakeResolver()));
}

}  // namespace
}  // namespace semel::config
