// Requests to keys: which are guarded, which pass, which are refused and how.
#include "policy/identify.h"

#include <string>
#include <string_view>
#include <variant>

#include <gtest/gtest.h>

#include "support/rules.h"

namespace semel::policy {
namespace {

using test::Sent;

Route route(std::string_view key_from = "{header:Idempotency-Key}", std::string_view scope = "{header:Authorization}") {
  Route made;
  made.key_from = expression(key_from);
  made.scope = expression(scope);
  return made;
}

Sent sent() {
  return {.fields = {{"Idempotency-Key", "k"}, {"Authorization", "Bearer a"}, {"Content-Type", "application/json"}},
          .body = "{}"};
}

Identity identity(const Route& by, Sent request) {
  auto identified = identify(by, request.view());
  if (const auto* refusal = std::get_if<Refusal>(&identified)) ADD_FAILURE() << refusal->detail;
  return std::get<Identity>(identified);
}

Refusal refusal(const Route& by, Sent request) {
  return std::get<Refusal>(identify(by, request.view()));
}

// The identity is (namespace, scope, text), and the fingerprint is the request's.
TEST(Identify, GivesKeyAndFingerprint) {
  const Identity got = identity(route(), sent());
  EXPECT_EQ(got.key, make_key("default", "Bearer a", "k").value());
  EXPECT_EQ(got.key_text, "k");
  EXPECT_EQ(got.fingerprint, fingerprint({.method = "POST", .target = "/v1/payments", .body = "{}"}, BodyForm::json));
}

// What is written in two ways is one request only if the body says that it is JSON; everything else is bytes.
TEST(Identify, ComparesJsonOnlyWhereItSaysSo) {
  const auto same = [](std::string type) {
    Sent hundred = sent();
    hundred.fields[2].second = type;
    hundred.body = "100";
    Sent short_form = hundred;
    short_form.body = "1e2";
    return identity(route(), hundred).fingerprint == identity(route(), short_form).fingerprint;
  };
  for (const std::string type : {"application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json",
                                 "text/json", "application/problem+JSON ;x=y"}) {
    EXPECT_TRUE(same(type)) << type;
  }
  for (const std::string type : {"text/plain", "application/x-www-form-urlencoded", "application/octet-stream",
                                 "application/jsonl", "json", "+json", "", "application/json, text/plain"}) {
    EXPECT_FALSE(same(type)) << type;
  }
  Sent none = sent();
  none.fields.pop_back();
  none.body = "100";
  Sent twice = sent();
  twice.fields.emplace_back("Content-Type", "text/plain");
  twice.body = "100";
  const Fingerprint bytes = fingerprint({.method = "POST", .target = "/v1/payments", .body = "100"}, BodyForm::raw);
  EXPECT_EQ(identity(route(), none).fingerprint, bytes);
  EXPECT_EQ(identity(route(), twice).fingerprint, bytes);
}

// A quoted and a bare key are one key, whatever the header is called.
TEST(Identify, ReadsAHeaderByTheSyntaxOfKeys) {
  Sent quoted = sent();
  quoted.fields.emplace_back("X-Request-Id", "\"k\"");
  EXPECT_EQ(identity(route("{header:x-request-id}"), quoted).key, identity(route(), sent()).key);
}

// Namespaces, scopes and routes' fingerprints keep keys apart as configured.
TEST(Identify, KeepsScopesAndNamespacesApart) {
  Sent other = sent();
  other.fields[1].second = "Bearer b";
  EXPECT_FALSE(identity(route(), other).key == identity(route(), sent()).key);
  Route elsewhere = route();
  elsewhere.space = "pay";
  EXPECT_FALSE(identity(elsewhere, sent()).key == identity(route(), sent()).key);
  Route ignoring = route();
  ignoring.ignore = IgnoreList::parse({"/at"}).value();
  Sent first = sent();
  Sent second = sent();
  first.body = R"({"at":1})";
  second.body = R"({"at":2})";
  EXPECT_EQ(identity(ignoring, first).fingerprint, identity(ignoring, second).fingerprint);
  EXPECT_NE(identity(route(), first).fingerprint, identity(route(), second).fingerprint);
}

// Without a key the route decides: refuse, or let it pass unguarded.
TEST(Identify, AsksForAKeyOnlyWhereOneIsRequired) {
  Sent keyless = sent();
  keyless.fields.erase(keyless.fields.begin());
  EXPECT_EQ(refusal(route(), keyless).problem.type, ProblemType::key_missing);
  EXPECT_EQ(refusal(route(), keyless).problem.status, 400);
  Route optional = route();
  optional.key = KeyMode::optional;
  EXPECT_TRUE(std::holds_alternative<Keyless>(identify(optional, keyless.view())));
}

// A key that is there but malformed is refused, optional or not.
TEST(Identify, RefusesMalformedKeys) {
  Route optional = route();
  optional.key = KeyMode::optional;
  for (const std::string value : {"", "\"\"", "a b", "a,b", "\"a\";x=1", "\xe9"}) {
    Sent request = sent();
    request.fields[0].second = value;
    EXPECT_EQ(refusal(optional, request).problem.type, ProblemType::key_invalid) << value;
  }
  Sent twice = sent();
  twice.fields.emplace_back("idempotency-key", "k");
  EXPECT_EQ(refusal(optional, twice).problem.type, ProblemType::key_invalid);
}

// A caller who cannot be told from others is refused, and told which part is missing.
TEST(Identify, NeedsAScope) {
  Sent anonymous = sent();
  anonymous.fields.erase(anonymous.fields.begin() + 1);
  const Refusal refused = refusal(route(), anonymous);
  EXPECT_EQ(refused.problem.type, ProblemType::scope_missing);
  EXPECT_EQ(refused.problem.status, 401);
  EXPECT_NE(refused.detail.find("{header:Authorization} is missing from the request."), std::string::npos);
  Sent twice = sent();
  twice.fields.emplace_back("Authorization", "Bearer b");
  EXPECT_EQ(refusal(route(), twice).problem.type, ProblemType::scope_missing);
  EXPECT_EQ(identity(route("{header:Idempotency-Key}", ""), anonymous).key, make_key("default", "", "k").value());
}

// One part that is not a header is held to the same rules as a key in a header.
TEST(Identify, TakesAKeyFromOnePart) {
  Sent request = sent();
  request.body = R"({"id":"k"})";
  EXPECT_EQ(identity(route("{json:/id}"), request).key, identity(route(), sent()).key);
  for (const std::string body : {R"({"id":"\u00e9"})", R"({"id":"a\nb"})", R"({"id":""})", R"({"id":1,"id":1})"}) {
    request.body = body;
    EXPECT_EQ(refusal(route("{json:/id}"), request).problem.type, ProblemType::key_invalid) << body;
  }
  request.body = "{\"id\":\"" + std::string(256, 'a') + "\"}";
  EXPECT_EQ(refusal(route("{json:/id}"), request).problem.type, ProblemType::key_invalid);
  for (const std::string body : {"{}", R"({"id":null})", "not json"}) {
    request.body = body;
    EXPECT_EQ(refusal(route("{json:/id}"), request).problem.type, ProblemType::key_missing) << body;
  }
}

// Several parts are hashed, so they may be long, and nobody can send the hash as a key of their own.
TEST(Identify, HashesAKeyOfSeveralParts) {
  const Route composed = route("{json:/a}:{json:/b}");
  Sent one = sent();
  Sent two = sent();
  one.body = R"({"a":"x:","b":"y"})";
  two.body = R"({"a":"x","b":":y"})";
  EXPECT_FALSE(identity(composed, one).key == identity(composed, two).key);
  EXPECT_EQ(identity(composed, one).key, identity(composed, one).key);
  one.body = "{\"a\":\"" + std::string(1000, 'a') + "\",\"b\":\"\xc3\xa9\"}";
  const Identity got = identity(composed, one);
  EXPECT_EQ(got.key_text.size(), 65U);
  EXPECT_EQ(got.key_text.front(), '\x01');
  one.body = R"({"a":"x"})";
  EXPECT_EQ(refusal(composed, one).problem.type, ProblemType::key_missing);
}

// Nothing of the request is repeated to whoever reads the refusal.
TEST(Identify, RepeatsNothingOfTheRequest) {
  Sent request = sent();
  request.fields[0].second = "hunter2 hunter2";
  EXPECT_EQ(refusal(route(), request).detail.find("hunter2"), std::string::npos);
  request = sent();
  request.fields.emplace_back("Authorization", "hunter2");
  EXPECT_EQ(refusal(route(), request).detail.find("hunter2"), std::string::npos);
}

// A claim is as good as any part, once the token counts; before that nobody is known, wherever the claim stands.
TEST(Identify, TakesClaimsOfAVerifiedToken) {
  const auto with = [](std::string_view key_from, std::string_view scope, std::string_view claims,
                       std::string_view fault) {
    Sent request = sent();
    RequestView view = request.view();
    view.claims = claims;
    view.no_claims = fault;
    return identify(route(key_from, scope), view);
  };
  const std::string_view key = "{header:Idempotency-Key}";
  const std::string_view claims = R"({"sub":"ann","org":{"id":7},"list":[1]})";
  const auto scope_of = [&](std::string_view scope) { return std::get<Identity>(with(key, scope, claims, "")).key; };
  EXPECT_EQ(scope_of("{jwt:sub}"), make_key("default", "ann", "k").value());
  EXPECT_EQ(scope_of("{jwt:/org/id}"), make_key("default", "7", "k").value());
  EXPECT_NE(scope_of("{jwt:/org/none?}"), scope_of("{jwt:sub}"));
  for (const std::string_view scope : {"{jwt:none}", "{jwt:org}", "{jwt:list}", "{jwt:/sub/x}"}) {
    EXPECT_EQ(std::get<Refusal>(with(key, scope, claims, "")).problem.type, ProblemType::scope_missing) << scope;
  }
  EXPECT_EQ(std::get<Refusal>(with(key, "{jwt:sub}", "", "the token has expired")).detail,
            std::string(Problem::of(ProblemType::scope_missing).detail()) +
                " {jwt:sub} is not known: the token has expired.");
  EXPECT_TRUE(std::holds_alternative<Refusal>(with(key, "{jwt:sub}", "", "")));
  EXPECT_TRUE(std::holds_alternative<Identity>(with(key, "{jwt:sub?}", "", "")));
  EXPECT_TRUE(std::holds_alternative<Refusal>(with(key, "{jwt:sub?}", "", "the token has expired")));
  const Identified of_key = with("{header:Idempotency-Key}{jwt:sub}", "", "", "the token has expired");
  EXPECT_EQ(std::get<Refusal>(of_key).problem.type, ProblemType::scope_missing) << "401, not 400";
  EXPECT_TRUE(needs_token(route(key, "{jwt:sub}")));
  EXPECT_FALSE(needs_token(route()));
}

}  // namespace
}  // namespace semel::policy
