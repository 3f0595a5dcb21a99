// Routes and webhooks in the configuration: their errors, their warnings, and what is made of them.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/rules.h"

namespace semel::config {
namespace {

using test::config;
using test::issues;
using test::least;

struct Case {
  std::string_view line;  // the twelfth
  std::vector<std::string> issues;
};

// Five lines that cause one warning of their own in no case: a second route, then the line of the test.
std::string with_route(std::string_view line) {
  return std::string(least) + "[[route]]\npath = \"/w/*\"\nupstream = \"app\"\n\n" + std::string(line) + "\n";
}
std::string with_webhook(std::string_view line) {
  return std::string(least) + "[[webhook]]\npath = '/h'\nupstream = 'app'\nprovider = 'stripe'\n" + std::string(line) +
         "\n";
}

// The keys of a route, one by one.
TEST(RouteErrors, NameBadValues) {
  const std::vector<Case> cases{
      {"methods = [\"POST\", \"psot\"]",
       {"f:12:21: error: methods: \"psot\" is none of \"POST\", \"PATCH\", \"PUT\", \"DELETE\" (did you mean "
        "\"POST\"?)"}},
      {"methods = [\"GET\"]",
       {"f:12:13: error: methods: GET has no effect to repeat, so it is not guarded; it passes through"}},
      {"methods = []", {"f:12:11: error: methods is empty; to guard nothing write key = \"off\""}},
      {"key = \"optionall\"",
       {"f:12:8: error: key: \"optionall\" is none of \"required\", \"optional\", \"off\" (did you mean "
        "\"optional\"?)"}},
      {"key_from = \"{headr:X}\"",
       {"f:12:14: error: key_from: there is no part {headr}; there are header:, cookie:, query:, json:, path, method, "
        "ip, client_cert: and jwt: "
        "(did you mean \"{header:X}\"?)"}},
      {"key_from = \"\\u007bheader\"", {"f:12:12: error: key_from: this `{` is never closed"}},
      {"scope = \"\xc3\xa9\xc3\xa9{ip\"", {"f:12:12: error: scope: this `{` is never closed"}},
      {"namespace = 'a:b'", {"f:12:14: error: namespace: must be 1 to 64 letters, digits, dots, - and _"}},
      {"fingerprint = 'xml'", {"f:12:16: error: fingerprint: \"xml\" is none of \"json\", \"raw\""}},
      {"ignore = [\"/a\", \"b\"]",
       {"f:12:18: error: ignore: \"b\" is not a JSON pointer (RFC 6901) to a member (did you mean \"/b\"?)"}},
      {"ignore = [\"\"]", {"f:12:12: error: ignore: \"\" is not a JSON pointer (RFC 6901) to a member"}},
      {"ttl = '10ms'", {"f:12:8: error: ttl: must be from 1s to 3650d"}},
      {"lease = '1ms'", {"f:12:10: error: lease: must be from 100ms to 1d"}},
      {"lease = 30", {"f:12:9: error: lease needs a unit: ms, s, m, h or d (did you mean \"30s\"?)"}},
      {"in_flight = 'block'", {"f:12:14: error: in_flight: \"block\" is none of \"conflict\", \"wait\""}},
      {"wait_max = '2h'", {"f:12:13: error: wait_max: must be from 1ms to 1h"}},
      {"on_unknown = 'held'",
       {"f:12:15: error: on_unknown: \"held\" is none of \"hold\", \"retry\", \"probe\" (did you mean \"hold\"?)"}},
      {"on_unknown = 'probe'", {"f:12:14: error: on_unknown = \"probe\" needs `probe`, the target to ask"}},
      {"probe = 'v1'", {"f:12:10: error: probe: a target begins with a slash (did you mean \"/v1\"?)"}},
      {"keep = { '5XX' = 'release' }",
       {"f:12:10: error: keep: \"5XX\" is not a status from 200 to 599 or a class such as \"5xx\" (did you mean "
        "\"5xx\"?)"}},
      {"keep = { 199 = 'release', 6xx = 'store' }",
       {"f:12:10: error: keep: \"199\" is not a status from 200 to 599 or a class such as \"5xx\"",
        "f:12:27: error: keep: \"6xx\" is not a status from 200 to 599 or a class such as \"5xx\""}},
      {"keep = { 404 = 'stored' }",
       {"f:12:17: error: keep: \"stored\" is none of \"store\", \"release\", \"unknown\" (did you mean \"store\"?)"}},
      {"keep = { 404 = true }", {"f:12:16: error: keep must be a string, not true or false"}},
      {"replay_fields = ['A B']", {"f:12:19: error: replay_fields: \"A B\" is not the name of a field"}},
      {"replay_fields = ['keep-alive']",
       {"f:12:19: error: replay_fields: keep-alive belongs to one connection and cannot be replayed"}},
      {"replay_fields = ['Content-Length']",
       {"f:12:19: error: replay_fields: Content-Length belongs to one connection and cannot be replayed"}},
      {"replay_fields = ['ETag']", {"f:12:19: error: replay_fields: ETag is replayed anyway; leave it out"}},
      {"store_body_max = '2GiB'", {"f:12:19: error: store_body_max: must be from 0 to 1GiB"}},
      {"on_store_down = 'open'", {"f:12:18: error: on_store_down: \"open\" is none of \"refuse\", \"forward\""}},
      {"mode = 'observed'",
       {"f:12:9: error: mode: \"observed\" is none of \"enforce\", \"observe\" (did you mean \"observe\"?)"}},
  };
  for (const Case& each : cases)
    EXPECT_EQ(issues(with_route(each.line), reading::Severity::error), each.issues) << each.line;
}

// What must hold between the keys of a route.
TEST(RouteErrors, NameKeysThatContradictEachOther) {
  const std::vector<Case> cases{
      {"ttl = '10s'\nlease = '11s'",
       {"f:13:9: error: lease is longer than ttl: the key would expire while its request runs"}},
      {"ttl = '29s'", {}},  // the default is shorter then
      {"ttl = '5s'\nin_flight = 'wait'", {}},
      {"ttl = '40s'\nin_flight = 'wait'\nwait_max = '41s'", {"f:14:12: error: wait_max is longer than ttl"}},
      {"fingerprint = 'raw'\nignore = ['/a']", {"f:13:10: error: ignore needs fingerprint = \"json\""}},
      {"key_from = '{header:X?}'",
       {"f:12:12: error: key_from needs a header, cookie, query or json part without `?`: otherwise requests that have "
        "none of it would all share one key"}},
      {"key_from = 'k{path}{ip}'",
       {"f:12:12: error: key_from needs a header, cookie, query or json part without `?`: otherwise requests that have "
        "none of it would all share one key"}},
      {"key_from = '{header:A}{header:B}'\non_unknown = 'probe'\nprobe = '/{key}'",
       {"f:14:9: error: {key} in a probe needs a key_from of one part: of several, only a hash is kept"}},
  };
  for (const Case& each : cases)
    EXPECT_EQ(issues(with_route(each.line), reading::Severity::error), each.issues) << each.line;
}

// A value that is wrong already causes no second error about what it would have meant.
TEST(RouteErrors, DoNotFollowFromOtherErrors) {
  EXPECT_EQ(issues(with_route("ttl = '10s'\nlease = 'x'"), reading::Severity::error).size(), 1U);
  EXPECT_EQ(issues(with_route("on_unknown = 'probe'\nprobe = 'x'"), reading::Severity::error).size(), 1U);
}

// A route or webhook without what it cannot do without.
TEST(RouteErrors, NameWhatIsMissing) {
  EXPECT_EQ(issues(std::string(least) + "[[route]]\n", reading::Severity::error),
            (std::vector<std::string>{"f:8:1: error: route needs `path`", "f:8:1: error: route needs `upstream`"}));
  EXPECT_EQ(issues(std::string(least) + "[[webhook]]\n", reading::Severity::error),
            (std::vector<std::string>{"f:8:1: error: webhook needs `path`", "f:8:1: error: webhook needs `provider`",
                                      "f:8:1: error: webhook needs `secrets`: without one, anybody can send events",
                                      "f:8:1: error: webhook needs `upstream`"}));
}

// The paths of routes and webhooks.
TEST(RouteErrors, NameBadPaths) {
  constexpr auto regular =
      "f:9:9: error: path: a path is no regular expression; `*` stands for one segment, and `/*` at the end for all "
      "that "
      "follows";
  const std::vector<Case> cases{
      {"v1", {"f:9:9: error: path: a path begins with a slash (did you mean \"/v1\"?)"}},
      {"/a?b", {"f:9:11: error: path: a route is found by path only; leave out what follows"}},
      {"/a b", {"f:9:11: error: path: a path holds only visible ASCII; encode the rest (%XX)"}},
      {"/a*", {"f:9:11: error: path: `*` stands for a whole segment, between two slashes or at the end"}},
      {"/**/b", {"f:9:10: error: path: `*` stands for a whole segment, between two slashes or at the end"}},
      {"/v1/**",
       {"f:9:13: error: path: `*` stands for a whole segment, between two slashes or at the end (did you mean "
        "\"/v1/*\"?)"}},
      {"/v1/:id/refund",
       {"f:9:13: error: path: a segment that may be anything is written `*` (did you mean \"/v1/*/refund\"?)"}},
      {"/v1/{id}/{what}",
       {"f:9:13: error: path: a segment that may be anything is written `*` (did you mean \"/v1/*/*\"?)"}},
      {"/v1/<int:id>",
       {"f:9:13: error: path: a segment that may be anything is written `*` (did you mean \"/v1/*\"?)"}},
      {"/v1/.*/x", {regular}},
      {"/v1/(a|b)", {regular}},
      {"/v1/a$", {regular}},
      {"^/v1/.*$", {regular}},
      {"/v1/(?:a)", {regular}},
      {"/v1/(\\\\d+)", {std::string(regular).replace(4, 1, "8")}},  // behind an escape, the place is that of the string
      {"/v1/items:cancel", {}},
      {"/v1/$batch", {}},
      {"/a/../b", {"f:9:9: error: path: a path with a `..` segment is never guarded"}},
      {"/a%2Fb", {"f:9:9: error: path: a path with an encoded slash is never guarded"}}};
  for (const Case& each : cases) {
    const std::string text =
        std::string(least) + "[[route]]\npath = \"" + std::string(each.line) + "\"\nupstream = \"app\"\n";
    EXPECT_EQ(issues(text, reading::Severity::error), each.issues) << each.line;
  }
}

// The keys of a webhook, in shape.
TEST(WebhookErrors, NameBadValues) {
  const std::vector<Case> cases{
      {"secrets = ['env:NO']", {"f:12:12: error: secrets: the environment has no variable \"NO\""}},
      {"secrets = ['env:TOKEN']\ndelivery = 'queue'",
       {"f:13:13: error: delivery: \"queue\" is none of \"forward\", \"inbox\""}},
      {"secrets = ['env:TOKEN']\nordered = 1", {"f:13:11: error: ordered must be true or false, not a whole number"}},
      {"secrets = ['env:TOKEN']\nrate_limit = '200'",
       {"f:13:15: error: rate_limit: \"200\" is not a rate; write a whole number and /s, /m or /h, such as \"200/s\""}},
      {"secrets = ['env:TOKEN']\nrate_limit = '0/s'",
       {"f:13:15: error: rate_limit: a rate of 0 would refuse everything"}},
      {"secrets = ['env:TOKEN']\ntolerance = 'x'",
       {"f:13:14: error: tolerance: \"x\" is not a duration; write a whole number and ms, s, m, h or d, such as "
        "\"30s\""}},
      {"secrets = ['env:TOKEN']\nkey_from = '{json:id}'",
       {"f:13:19: error: key_from: \"id\" is not a JSON pointer (RFC 6901) (did you mean \"{json:/id}\"?)"}},
      {"secrets = ['env:TOKEN']\non_unknown = 'probe'",
       {"f:13:14: error: only a webhook with delivery = \"inbox\" can be probed; use \"retry\" or \"hold\" (did you "
        "mean \"retry\"?)"}},
      {"secrets = ['env:TOKEN']\nttl = '1s'\nlease = '2s'",
       {"f:14:9: error: lease is longer than ttl: the key would expire while its request runs"}},
  };
  for (const Case& each : cases)
    EXPECT_EQ(issues(with_webhook(each.line), reading::Severity::error), each.issues) << each.line;
  EXPECT_EQ(issues(std::string(least) + "[[webhook]]\npath = '/" + std::string(56, 'a') +
                       "'\nprovider = 'S'\nupstream = 'app'\nsecrets = ['env:TOKEN']",
                   reading::Severity::error),
            (std::vector<std::string>{
                "f:9:8: error: the path of a webhook is at most 56 bytes long: it is its namespace",
                "f:10:13: error: provider: the name of a provider is lower-case letters, digits, - and _ (did you mean "
                "\"s\"?)"}));
}

// A webhook whose provider, secrets and options do not go together.
TEST(WebhookErrors, NameWhatTheProviderDoesNotTake) {
  const auto webhook = [](std::string_view provider, std::string_view rest) {
    return std::string(least) + "[[webhook]]\npath = '/h'\nupstream = 'app'\nprovider = '" + std::string(provider) +
           "'\n" + std::string(rest) + "\n";
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(issues(webhook("stripe", "secrets = []"), reading::Severity::error),
            (Lines{"f:12:11: error: secrets is empty, so every delivery would be refused"}));
  EXPECT_EQ(issues(webhook("strype", "secrets = ['env:TOKEN']"), reading::Severity::error),
            (Lines{"f:11:12: error: there is no provider \"strype\" (did you mean \"stripe\"?)"}));
  EXPECT_EQ(issues(webhook("square", "secrets = ['env:TOKEN']"), reading::Severity::error),
            (Lines{"f:11:12: error: square signs the address that it calls: set public_url in [server]"}));
  EXPECT_EQ(issues(webhook("adyen", "secrets = ['00ff', 'env:TOKEN']"), reading::Severity::error),
            (Lines{"f:12:11: error: number 2 of secrets does not have the form of a key of adyen"}));
  EXPECT_EQ(issues(webhook("github", "secrets = ['env:TOKEN']\ntolerance = '5m'"), reading::Severity::error),
            (Lines{"f:13:13: error: github signs no time, so a tolerance would do nothing"}));
  EXPECT_EQ(issues(webhook("gitlab", "secrets = ['env:TOKEN']\ntolerance = '5m'"), reading::Severity::error), Lines{});
  EXPECT_EQ(issues(webhook("github", "secrets = ['env:TOKEN']\nordered = true"), reading::Severity::error),
            (Lines{"f:13:11: error: github does not tell the order of its events"}));
}

// A handshake that needs a token which is not there is warned about.
TEST(WebhookWarnings, NameAHandshakeThatCannotSucceed) {
  const std::string meta =
      std::string(least) + "[[webhook]]\npath = '/h'\nupstream = 'app'\nprovider = 'meta'\nsecrets = ['env:TOKEN']\n";
  EXPECT_EQ(issues(meta, reading::Severity::warning),
            (std::vector<std::string>{"f:11:12: warning: meta sends a token in its handshake, which fails without "
                                      "`verify_token`"}));
  EXPECT_EQ(issues(meta + "verify_token = 'env:TOKEN'\n", reading::Severity::warning), std::vector<std::string>{});
}

// A file of one's own needs no rebuild, comes before what is built in, and is explained at its own lines.
TEST(WebhookConfig, TakesProvidersFromTheUsersFolder) {
  const std::string text = std::string(least) +
                           "[server]\nproviders = '/own'\n[[webhook]]\npath = '/h'\nupstream = 'app'\n"
                           "provider = 'acme'\nsecrets = ['env:TOKEN']\n";
  test::FakeResolver resolver;
  resolver.files["/own/acme.toml"] =
      "title = 'Acme'\nttl = '9d'\n[[signature]]\nfrom = '{header:S}'\nsigns = '{body}'\n[event]\nid = '{json:/n}'\n";
  const auto loaded = parse_config(text, "f", resolver);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.webhooks.at(0).rules.title, "Acme");
  EXPECT_EQ(loaded->config.webhooks.at(0).target.policy.ttl, Millis{9 * 86'400'000LL});
  resolver.files["/own/acme.toml"] += "odd = '{json:/n}'\n";
  const auto broken = parse_config(text, "f", resolver);
  ASSERT_FALSE(broken);
  EXPECT_EQ(test::texts(broken.error(), reading::Severity::error),
            (std::vector<std::string>{"/own/acme.toml:8:1: error: event has no key `odd`",
                                      "f:13:12: error: the provider's file /own/acme.toml has errors"}));
  resolver.files.erase("/own/acme.toml");
  const auto absent = parse_config(text, "f", resolver);
  ASSERT_FALSE(absent);
  EXPECT_EQ(test::texts(absent.error(), reading::Severity::error),
            (std::vector<std::string>{"f:13:12: error: there is no provider \"acme\", and no /own/acme.toml"}));
}

// What is allowed but unwise is said, and does not stop the gateway.
TEST(RouteWarnings, NameWhatIsUnwise) {
  const std::vector<Case> cases{
      {"", {}},
      {"ttl = '1h'",
       {"f:12:7: warning: ttl is under 24h, which clients of such APIs expect; a later retry runs again"}},
      {"lease = '1s'", {}},
      {"scope = ''",
       {"f:12:9: warning: scope is the same for every caller: anyone who knows a key and its request gets the answer"}},
      {"scope = 'us{path}'",
       {"f:12:9: warning: scope is the same for every caller: anyone who knows a key and its request gets the answer"}},
      {"scope = '{json:/tenant}'",
       {"f:12:9: warning: scope comes from something that callers choose freely, so one tenant can ask for another's "
        "answers; use what authenticates them"}},
      {"scope = '{ip}'",
       {"f:12:9: warning: scope is the address of the connection; callers behind one proxy or NAT share it"}},
      {"key = 'off'\nscope = ''", {}},
      {"on_unknown = 'retry'",
       {"f:12:14: warning: on_unknown = \"retry\" runs a request again that may have taken effect"}},
      {"on_unknown = 'probe'\nprobe = '/p?key={key}'", {}},
      {"probe = '/p'",
       {"f:12:9: warning: probe is used by semel keys resolve --from-probe alone, unless on_unknown = \"probe\" or a "
        "[[resolver]] asks by it"}},
      {"wait_max = '5s'", {"f:12:12: warning: wait_max has no effect unless in_flight = \"wait\""}},
      {"fingerprint = 'raw'",
       {"f:12:15: warning: fingerprint = \"raw\": a retry that writes the same JSON in another way is refused (422)"}},
      {"on_store_down = 'forward'",
       {"f:12:17: warning: on_store_down = \"forward\": while the store is down, retries have their effect again"}},
      {"mode = 'observe'", {"f:12:8: warning: mode = \"observe\" only counts; nothing is guarded on this route"}},
      {"keep = { 2xx = 'release' }",
       {"f:12:8: warning: keep releases a success, so a retry has its effect a second time"}},
      {"keep = { 5xx = 'release' }",
       {"f:12:8: warning: keep releases 502 or 504, which may come after the effect; a retry may have it a second "
        "time"}},
      {"keep = { 5xx = 'release', 502 = 'unknown', 504 = 'unknown' }", {}},
  };
  for (const Case& each : cases)
    EXPECT_EQ(issues(with_route(each.line), reading::Severity::warning), each.issues) << each.line;
}

// PayPal has an API that can be asked; the others have none.
TEST(WebhookConfig, TakesCredentialsOfPayPalsApi) {
  const auto webhook = [](std::string_view provider, std::string_view credentials) {
    return std::string(test::least) + "[[webhook]]\npath = '/w'\nprovider = '" + std::string(provider) +
           "'\nsecrets = ['env:TOKEN']\nupstream = 'app'\napi_credentials = '" + std::string(credentials) + "'\n";
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(issues(webhook("paypal", "client|s3"), reading::Severity::error), Lines{});
  EXPECT_EQ(issues(webhook("paypal", "client"), reading::Severity::error),
            (Lines{"f:13:19: error: api_credentials are CLIENT_ID|SECRET"}));
  EXPECT_EQ(issues(webhook("stripe", "env:TOKEN"), reading::Severity::warning),
            (Lines{"f:13:19: warning: api_credentials has no effect: stripe has no API that could be asked"}));
}

// The same for webhooks.
TEST(WebhookWarnings, NameWhatIsUnwise) {
  const std::vector<Case> cases{
      {"secrets = ['env:TOKEN']", {}},
      {"secrets = ['whsec_1']",
       {"f:12:12: warning: secrets is written in the file, where others can copy it; use env:NAME or file:PATH"}},
      {"secrets = ['env:TOKEN']\nttl = '1h'",
       {"f:13:7: warning: ttl is 1h, but stripe repeats an event for 3d: a late one would be delivered again"}},
      {"secrets = ['env:TOKEN']\nttl = '3d'", {}},
      {"secrets = ['env:TOKEN']\nttl = '3d'\ntolerance = '2d'",
       {"f:13:7: warning: ttl is 3d, but a signature may count for 4d: who captures a delivery could send it again"}},
      {"secrets = ['env:TOKEN']\nkey_from = '{header:Stripe-Signature}'",
       {"f:13:12: warning: {header:Stripe-Signature} changes with each attempt, so every retry would look new"}},
      {"secrets = ['env:TOKEN']\non_unknown = 'hold'",
       {"f:13:14: warning: on_unknown = \"hold\": an event whose delivery was cut off waits for an operator"}},
  };
  for (const Case& each : cases)
    EXPECT_EQ(issues(with_webhook(each.line), reading::Severity::warning), each.issues) << each.line;
}

// Everything a route can say arrives in the route.
TEST(RouteConfig, HoldsWhatTheFileSays) {
  const Config made = config(
      "[upstream.a]\nurl = 'http://a'\n[upstream.b]\nurl = ['http://b:81', 'https://c']\n"
      "[[route]]\npath = '/v1/*/x'\nmethods = ['PUT']\nupstream = 'b'\nkey = 'optional'\nkey_from = '{json:/id}'\n"
      "scope = '{cookie:s}'\nnamespace = 'pay'\nfingerprint = 'json'\nignore = ['/sent_at']\nttl = '2d'\nlease = '5s'\n"
      "in_flight = 'wait'\nwait_max = '3s'\non_unknown = 'probe'\nprobe = '/p/{key}'\nkeep = { 404 = 'release' }\n"
      "replay_fields = ['Set-Cookie']\nstore_body_max = '2KiB'\non_store_down = 'forward'\nmode = 'observe'\n"
      "[[route]]\npath = '/*'\nupstream = 'a'\n");
  ASSERT_EQ(made.routes.size(), 2U);
  const policy::Route& route = made.routes.front();
  EXPECT_EQ(route.path.text, "/v1/*/x");
  EXPECT_EQ(route.methods, std::vector<std::string>{"PUT"});
  EXPECT_EQ(made.upstreams.at(route.target.upstream).name, "b");
  EXPECT_EQ(made.upstreams.at(route.target.upstream).urls.at(1),
            (reading::Url{.secure = true, .authority = {"c", 443}, .path = ""}));
  EXPECT_EQ(route.key, KeyMode::optional);
  EXPECT_EQ(route.key_from.text, "{json:/id}");
  EXPECT_EQ(route.scope.text, "{cookie:s}");
  EXPECT_EQ(route.space, "pay");
  EXPECT_EQ(route.ignore.paths(), (std::vector<std::vector<std::string>>{{"sent_at"}}));
  EXPECT_EQ(route.target.policy.ttl, Millis{172'800'000});
  EXPECT_EQ(route.target.policy.lease, Millis{5'000});
  EXPECT_EQ(route.target.policy.in_flight, Policy::InFlight::wait);
  EXPECT_EQ(route.target.policy.wait_max, Millis{3'000});
  EXPECT_EQ(route.target.policy.on_unknown, Policy::OnUnknown::probe);
  EXPECT_EQ(route.probe.value().text, "/p/{key}");
  EXPECT_EQ(route.target.keep.find(404), Verdict::release);
  EXPECT_EQ(route.target.replay_fields, std::vector<std::string>{"Set-Cookie"});
  EXPECT_EQ(route.target.store_body_max, 2048U);
  EXPECT_EQ(route.target.on_store_down, policy::OnStoreDown::forward);
  EXPECT_EQ(route.mode, policy::Mode::observe);
  EXPECT_EQ(made.routes.at(1).target.store_body_max, made.limits.store_body_max);
  EXPECT_EQ(made.upstreams.at(made.routes.at(1).target.upstream).name, "a");
}

// Everything a webhook can say arrives in the webhook, which has a namespace of its own.
TEST(WebhookConfig, HoldsWhatTheFileSays) {
  const Config made = config(with_webhook(
      "secrets = ['env:TOKEN', 'file:/run/token']\ndelivery = 'inbox'\nordered = true\nrate_limit = '200/s'\n"
      "tolerance = '10m'\nkey_from = '{json:/id}'\nttl = '30d'\nlease = '1m'\non_unknown = 'hold'\n"));
  const webhook::Webhook& webhook = made.webhooks.at(0);
  EXPECT_EQ(webhook.provider, "stripe");
  ASSERT_EQ(webhook.secrets.size(), 2U);
  EXPECT_EQ(webhook.secrets[0].reveal(), "token from the environment");
  EXPECT_EQ(webhook.secrets[1].reveal(), "token from a file");
  EXPECT_EQ(webhook.delivery, webhook::Delivery::inbox);
  EXPECT_TRUE(webhook.ordered);
  EXPECT_EQ(webhook.rate_limit, (reading::Rate{.count = 200, .per = Millis{1'000}}));
  EXPECT_EQ(webhook.tolerance, Millis{600'000});
  EXPECT_EQ(webhook.event_key.value().text, "{json:/id}");
  EXPECT_EQ(webhook.target.policy.ttl, Millis{30 * 86'400'000LL});
  EXPECT_EQ(webhook.target.policy.on_unknown, Policy::OnUnknown::hold);
  EXPECT_EQ(webhook.space, "webhook:/h");
  const Config plain = config(with_webhook("secrets = ['env:TOKEN']"));
  EXPECT_EQ(plain.webhooks.at(0).target.policy.on_unknown, Policy::OnUnknown::retry);
  EXPECT_EQ(plain.webhooks.at(0).target.policy.ttl, Millis{7 * 86'400'000LL});
  EXPECT_EQ(plain.webhooks.at(0).rate_limit, std::nullopt);
}

}  // namespace
}  // namespace semel::config
