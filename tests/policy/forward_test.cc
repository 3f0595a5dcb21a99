// What goes upstream, with every field of a request on its way.
#include "policy/forward.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/rules.h"

namespace semel::policy {
namespace {

using test::Sent;
using Fields = std::vector<Field>;

const Hop hop{.scheme = "https", .host = "pay.example", .via = "semel"};

Fields forwarded(Sent sent, const Hop& from = hop, std::optional<std::uint64_t> attempt = 3) {
  Fields fields;
  to_upstream(sent.view(), from, "app:3000", attempt, [&](std::string_view name, std::string_view value) {
    fields.push_back({.name = std::string(name), .value = std::string(value)});
  });
  return fields;
}

// The key and whatever else is for the upstream goes on unchanged; where it came from is added.
TEST(Forward, PassesOnTheRequestAndAddsItsWay) {
  const Fields fields = forwarded({.fields = {{"Host", "pay.example"},
                                              {"Idempotency-Key", "\"k 1\""},
                                              {"traceparent", "00-1-2-01"},
                                              {"Content-Type", "text/plain"}}});
  EXPECT_EQ(fields, (Fields{{"Host", "app:3000"},
                            {"Idempotency-Key", "\"k 1\""},
                            {"traceparent", "00-1-2-01"},
                            {"Content-Type", "text/plain"},
                            {"Via", "1.1 semel"},
                            {"X-Forwarded-For", "192.0.2.7"},
                            {"X-Forwarded-Proto", "https"},
                            {"X-Forwarded-Host", "pay.example"},
                            {"Idempotency-Attempt", "3"}}));
}

// Nobody called us for a request of our own, so it says nothing of a caller.
TEST(Forward, SaysNothingOfACallerThatThereIsNot) {
  const Hop own{.scheme = {}, .host = {}, .via = "semel"};
  EXPECT_EQ(
      forwarded({.fields = {{"Idempotency-Key", "k"}}}, own),
      (Fields{{"Host", "app:3000"}, {"Idempotency-Key", "k"}, {"Via", "1.1 semel"}, {"Idempotency-Attempt", "3"}}));
}

// OPTIONS counts its hops: 0 ends here, more goes on with one less. Other methods do not.
TEST(Forward, CountsTheHopsOfOptions) {
  const auto reach = [](std::string method, std::vector<std::pair<std::string, std::string>> fields) {
    Sent sent{.method = std::move(method), .fields = std::move(fields)};
    return reach_of(sent.view());
  };
  EXPECT_EQ(reach("OPTIONS", {}), Reach::onward);
  EXPECT_EQ(reach("OPTIONS", {{"Max-Forwards", "1"}}), Reach::onward);
  EXPECT_EQ(reach("OPTIONS", {{"max-forwards", "00"}}), Reach::here);
  EXPECT_EQ(reach("GET", {{"Max-Forwards", "0"}}), Reach::onward);
  for (const std::string hops : {"", "-1", "+1", "1.0", "one", "0, 0", "0 0"}) {
    EXPECT_EQ(reach("OPTIONS", {{"Max-Forwards", hops}}), Reach::malformed) << hops;
  }
  EXPECT_EQ(reach("OPTIONS", {{"Max-Forwards", "0"}, {"Max-Forwards", "0"}}), Reach::malformed);
  const auto sent_on = [](std::string method, std::string hops) {
    return forwarded({.method = std::move(method), .fields = {{"Max-Forwards", std::move(hops)}}}).at(1);
  };
  EXPECT_EQ(sent_on("OPTIONS", "10"), (Field{"Max-Forwards", "9"}));
  EXPECT_EQ(sent_on("OPTIONS", "99999999999"), (Field{"Max-Forwards", "4294967294"}));
  EXPECT_EQ(sent_on("GET", "0"), (Field{"Max-Forwards", "0"}));
}

// Only a request that asks for a WebSocket in the one right way does so.
TEST(Forward, KnowsWhoAsksForAWebSocket) {
  const auto asks = [](std::string method, std::vector<std::pair<std::string, std::string>> fields) {
    Sent sent{.method = std::move(method), .fields = std::move(fields)};
    return asks_for_websocket(sent.view());
  };
  EXPECT_TRUE(asks("GET", {{"Connection", "keep-alive, upgrade"}, {"Upgrade", "WebSocket"}}));
  EXPECT_FALSE(asks("POST", {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}}));
  EXPECT_FALSE(asks("GET", {{"Upgrade", "websocket"}}));
  EXPECT_FALSE(asks("GET", {{"Connection", "Upgrade"}}));
  EXPECT_FALSE(asks("GET", {{"Connection", "Upgrade"}, {"Upgrade", "h2c"}}));
  EXPECT_FALSE(asks("GET", {{"Connection", "Upgrade"}, {"Upgrade", "websocket, h2c"}}));
  EXPECT_FALSE(asks("GET", {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Upgrade", "h2c"}}));
}

// What belongs to the connection, frames the message or only we may say does not go on.
TEST(Forward, DropsWhatEndsHere) {
  const Fields fields = forwarded({.fields = {{"Connection", "keep-alive, X-Hop"},
                                              {"x-hop", "1"},
                                              {"Keep-Alive", "5"},
                                              {"TE", "trailers"},
                                              {"Upgrade", "h2c"},
                                              {"Proxy-Authorization", "Basic x"},
                                              {"Content-Length", "5"},
                                              {"Transfer-Encoding", "chunked"},
                                              {"Expect", "100-continue"},
                                              {"idempotency-attempt", "999"},
                                              {"X-Bad", "a\nb"}}},
                                  hop, std::nullopt);
  EXPECT_EQ(fields, (Fields{{"Host", "app:3000"},
                            {"Via", "1.1 semel"},
                            {"X-Forwarded-For", "192.0.2.7"},
                            {"X-Forwarded-Proto", "https"},
                            {"X-Forwarded-Host", "pay.example"}}));
}

const Sent behind_a_proxy{.fields = {{"Via", "1.0 lb"},
                                     {"X-Forwarded-For", "198.51.100.1"},
                                     {"x-forwarded-for", "198.51.100.2"},
                                     {"X-Forwarded-Proto", "wss"},
                                     {"X-Forwarded-Host", "front.example"},
                                     {"Forwarded", "for=198.51.100.1"}}};

// Behind a proxy its word is kept and ours added to it.
TEST(Forward, AppendsToTheWaySoFar) {
  EXPECT_EQ(forwarded(behind_a_proxy, hop, std::nullopt),
            (Fields{{"Host", "app:3000"},
                    {"X-Forwarded-Proto", "wss"},
                    {"X-Forwarded-Host", "front.example"},
                    {"Forwarded", "for=198.51.100.1"},
                    {"Via", "1.0 lb, 1.1 semel"},
                    {"X-Forwarded-For", "198.51.100.1, 198.51.100.2, 192.0.2.7"}}));
}

// At the edge nobody's word is taken for it, but Via stays: it finds loops.
TEST(Forward, ReplacesTheWayAtTheEdge) {
  Hop edge = hop;
  edge.forwarded = Forwarded::replace;
  edge.version = "1.0";
  EXPECT_EQ(forwarded(behind_a_proxy, edge, std::nullopt), (Fields{{"Host", "app:3000"},
                                                                   {"Via", "1.0 lb, 1.0 semel"},
                                                                   {"X-Forwarded-For", "192.0.2.7"},
                                                                   {"X-Forwarded-Proto", "https"},
                                                                   {"X-Forwarded-Host", "pay.example"}}));
}

// Nor is whatever else proxies call it.
TEST(Forward, DropsEveryWordAboutTheWayAtTheEdge) {
  Hop edge = hop;
  edge.forwarded = Forwarded::replace;
  const Sent sent{.fields = {{"X-Real-IP", "198.51.100.1"},
                             {"True-Client-IP", "198.51.100.1"},
                             {"cf-connecting-ip", "198.51.100.1"},
                             {"X-Client-IP", "198.51.100.1"},
                             {"X-Cluster-Client-IP", "198.51.100.1"},
                             {"Fastly-Client-IP", "198.51.100.1"},
                             {"X-Original-Forwarded-For", "198.51.100.1"},
                             {"X-Envoy-External-Address", "198.51.100.1"},
                             {"x-forwarded-user", "root"},
                             {"X-Forwarded-Port", "1"},
                             {"X-Forwarded", "for=198.51.100.1"},
                             {"X-Forward", "kept"}}};
  EXPECT_EQ(forwarded(sent, edge, std::nullopt), (Fields{{"Host", "app:3000"},
                                                         {"X-Forward", "kept"},
                                                         {"Via", "1.1 semel"},
                                                         {"X-Forwarded-For", "192.0.2.7"},
                                                         {"X-Forwarded-Proto", "https"},
                                                         {"X-Forwarded-Host", "pay.example"}}));
}

// Connection must not take away what the request is judged by.
TEST(Forward, NoticesAFieldThatTheRequestWantsDropped) {
  Route route;
  route.key_from = expression("{header:X-Request-Id}");
  route.scope = expression("{header:X-Tenant}{header:X-User?}");
  const auto dropped = [&](std::string connection) {
    Sent sent{.fields = {{"Connection", std::move(connection)}}};
    return dropped_by_request(sent.view().fields, route);
  };
  for (const std::string name : {"Idempotency-Key", "authorization", "Host", "Content-Length", "X-Request-Id",
                                 "x-tenant", "X-User", "Cookie", "Signature"}) {
    EXPECT_EQ(dropped("close, " + name), name);
  }
  EXPECT_EQ(dropped("keep-alive, X-Other"), std::nullopt);
}

// On any request it must not take away who sent it and how it came: a proxy before us may have said so.
TEST(Forward, NoticesAFieldOfIdentityThatTheRequestWantsDropped) {
  const auto dropped = [](std::string connection) {
    Sent sent{.fields = {{"Connection", std::move(connection)}}};
    return dropped_by_request(sent.view().fields);
  };
  for (const std::string name : {"X-Forwarded-For",
                                 "x-forwarded-proto",
                                 "X-Forwarded-User",
                                 "Forwarded",
                                 "X-Real-IP",
                                 "X-Auth-User",
                                 "X-Authenticated-Email",
                                 "X-User",
                                 "X-Remote-User",
                                 "Remote-User",
                                 "X-Client-Cert",
                                 "CF-Connecting-IP",
                                 "X-Hub-Signature-256",
                                 "Stripe-Signature",
                                 "webhook-id",
                                 "Authorization",
                                 "Origin",
                                 "Client-Cert",
                                 "X-ARR-ClientCert",
                                 "Fastly-Client-IP",
                                 "X-WebAuth-User",
                                 "X-Pomerium-Claim-Email",
                                 "Tailscale-User-Login",
                                 "X-JWT-Assertion"}) {
    EXPECT_EQ(dropped("keep-alive, " + name), name);
  }
  for (const std::string name : {"close", "keep-alive", "Upgrade", "TE", "HTTP2-Settings", "X-Hop", "Trailer"}) {
    EXPECT_EQ(dropped(name), std::nullopt) << name;
  }
}

// A field that makes the upstream take another method or path than the one that was judged goes no further.
TEST(Forward, DropsWhatWouldOverrideTheRequest) {
  const Sent sent{.fields = {{"X-HTTP-Method-Override", "DELETE"},
                             {"x-http-method", "DELETE"},
                             {"X-Method-Override", "DELETE"},
                             {"X-Original-URL", "/admin"},
                             {"X-Original-URI", "/admin"},
                             {"X-Original-Method", "DELETE"},
                             {"X-Rewrite-URL", "/admin"},
                             {"X-HTTP-Path-Override", "/admin"},
                             {"X-Envoy-Original-Path", "/admin"}}};
  EXPECT_EQ(forwarded(sent, hop, std::nullopt).size(), 5U);  // Host and how it came
  Hop passing = hop;
  passing.overrides = Overrides::pass;
  EXPECT_EQ(forwarded(sent, passing, std::nullopt).size(), 14U);
}

// A gateway that meets its own name is talking to itself.
TEST(Forward, NoticesALoop) {
  const auto circles = [](std::string via) {
    Sent sent{.fields = {{"Via", std::move(via)}}};
    return goes_in_circles(sent.view().fields, "semel");
  };
  EXPECT_TRUE(circles("1.1 semel"));
  EXPECT_TRUE(circles("1.0 lb, HTTP/1.1 Semel (x), 1.1 other"));
  EXPECT_FALSE(circles("1.1 semel-edge, 1.1 lb (semel)"));
  EXPECT_FALSE(circles("semel"));
  EXPECT_FALSE(circles(""));
}

}  // namespace
}  // namespace semel::policy
