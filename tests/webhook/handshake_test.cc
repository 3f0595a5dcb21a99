// Handshakes: the right answer to the right question, and no signature for anything that could pass for a delivery.
#include "webhook/handshake.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "webhook/deliveries.h"

namespace semel::webhook {
namespace {

using test::builtin;
using test::lock_of;
using test::Sent;

struct Asked {
  std::string provider;
  std::string secret;
  Sent request;
  Stage stage = Stage::after_signature;
};

std::optional<HandshakeAnswer> ask(Asked asked) {
  const Provider provider = builtin(asked.provider);
  return answer_handshake(provider, lock_of(provider, {asked.secret}), reading::Secret("verify me"),
                          asked.request.view(), asked.stage);
}

std::string answered(const Asked& asked) {
  const auto answer = ask(asked);
  if (!answer) return "no handshake";
  return (answer->accepted ? "" : "refused ") + std::to_string(answer->response.status) +
         (answer->accepted ? " " + answer->response.body : "");
}

Sent get(std::string_view target) {
  return {.method = "GET", .target = std::string(target)};
}
Sent form(std::string_view body) {
  return {.fields = {{"Content-Type", "application/x-www-form-urlencoded"}}, .body = std::string(body)};
}

// Each provider hears what it wants to hear.
TEST(Handshakes, AreAnsweredAsEachProviderWantsIt) {
  const auto before = Stage::before_signature;
  const std::vector<std::pair<Asked, std::string>> cases{
      {{"slack", "s", {.body = R"({"type":"url_verification","challenge":"3eZbrw1aB"})"}},
       R"(200 {"challenge":"3eZbrw1aB"})"},
      {{"zoom",
        "goldenZoomSecret",
        {.body = R"({"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}})"}},
       "200 {\"encryptedToken\":\"43526ae5e3dfda814bf02b88539913ae837aa79f1f19627651b72c98efd940ae\","
       "\"plainToken\":\"qgg8vlvZRS6UYooatFL8Aw\"}"},
      {{"braintree", "integration_public_key|integration_private_key",
        get("/h?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53"), before},
       "200 integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4"},
      {{"meta", "s", get("/h?hub.mode=subscribe&hub.verify_token=verify%20me&hub.challenge=1158201444"), before},
       "200 1158201444"},
      {{"twitch",
        "s",
        {.fields = {{"Twitch-Eventsub-Message-Type", "webhook_callback_verification"}},
         .body = R"({"challenge":"pogchamp-kappa-360noscope-vohiyo"})"}},
       "200 pogchamp-kappa-360noscope-vohiyo"},
      {{"okta", "s", {.method = "GET", .fields = {{"X-Okta-Verification-Challenge", "vc1"}}}, before},
       R"(200 {"verification":"vc1"})"},
      {{"event-grid",
        "s",
        {.fields = {{"aeg-event-type", "SubscriptionValidation"}},
         .body = R"([{"id":"1","data":{"validationCode":"512d38b6-c7b8"}}])"}},
       R"(200 {"validationResponse":"512d38b6-c7b8"})"},
      {{"discord", "00", {.body = R"({"type":1,"id":"5"})"}}, R"(200 {"type":1})"},
      {{"discord", "00", {.body = R"({"type":0})"}}, "204 "},
      {{"dropbox", "s", get("/h?challenge=abc123"), before}, "200 abc123"},
      {{"x", "secret", get("/h?crc_token=token"), before},
       R"(200 {"response_token":"sha256=6UERDj0r/oJiHw4+FDRzDXMF0QbF9oyHFl0LJ6RhGko="})"},
      {{"intercom", "s", {.method = "HEAD"}, before}, "200 "},
      {{"woocommerce", "s", form("webhook_id=12"), before}, "200 "},
  };
  for (const auto& [asked, expected] : cases) EXPECT_EQ(answered(asked), expected) << asked.provider;
}

// The origin that wants to send is let, as CloudEvents say.
TEST(Handshakes, AllowTheOriginOfCloudEvents) {
  const auto answer = ask({"cloudevents",
                           "s",
                           {.method = "OPTIONS", .fields = {{"WebHook-Request-Origin", "events.example.com"}}},
                           Stage::before_signature});
  ASSERT_TRUE(answer && answer->accepted);
  const Field allowed{.name = "WebHook-Allowed-Origin", .value = "events.example.com"};
  EXPECT_EQ(std::ranges::count(answer->response.fields, allowed), 1);
}

// Nothing is signed that could be a delivery, and nothing is echoed that could be a page.
TEST(Handshakes, SignNothingThatCouldBeADelivery) {
  const auto zoom = [](std::string_view token) {
    return Asked{
        "zoom",
        "s",
        {.body = R"({"event":"endpoint.url_validation","payload":{"plainToken":")" + std::string(token) + "\"}}"}};
  };
  EXPECT_EQ(answered(zoom("v0:1700000000:{}")), "refused 400");
  EXPECT_EQ(answered(zoom("")), "refused 400");
  EXPECT_EQ(answered(zoom(std::string(257, 'a'))), "refused 400");
  const auto crc = [](std::string_view token) {
    return Asked{"x", "s", get("/h?crc_token=" + std::string(token)), Stage::before_signature};
  };
  EXPECT_EQ(answered(crc("%7B%22a%22%3A1%7D")), "refused 400");
  EXPECT_EQ(answered(crc("<script>")), "refused 400");
  EXPECT_EQ(answered({"braintree", "a|b", get("/h?bt_challenge=payload"), Stage::before_signature}), "refused 400");
  EXPECT_EQ(answered({"dropbox", "s", get("/h?challenge=%3Cscript%3E"), Stage::before_signature}), "refused 400");
}

// What a stranger gets signed in a handshake is no delivery, at any provider that signs what it is asked to.
TEST(Handshakes, GiveNoSignatureThatADeliveryCouldCarry) {
  const Time now{std::chrono::seconds(1'700'000'000)};
  for (int i = 0; i < 300; ++i) {
    const std::string token = std::to_string(1'000'000 + i);  // a JSON document, hexadecimal, plain letters
    const auto x = ask({"x", "secret", get("/h?crc_token=" + token), Stage::before_signature});
    ASSERT_TRUE(x && x->accepted);
    constexpr std::string_view begin = R"({"response_token":")";
    const std::string tag = x->response.body.substr(begin.size(), x->response.body.size() - begin.size() - 2);
    Sent forged{.fields = {{"x-twitter-webhooks-signature", tag}}, .body = token};
    EXPECT_NE(test::verdict(builtin("x"), lock_of(builtin("x"), {"secret"}), forged, now), "authentic") << token;
    const auto braintree = ask({"braintree", "a|b", get("/h?bt_challenge=" + token), Stage::before_signature});
    ASSERT_TRUE(braintree && braintree->accepted);
    forged = form("bt_payload=" + token + "&bt_signature=" + braintree->response.body);
    EXPECT_NE(test::verdict(builtin("braintree"), lock_of(builtin("braintree"), {"a|b"}), forged, now), "authentic");
  }
}

// Whoever does not know the verify token learns nothing, and without one in the configuration nobody does.
TEST(Handshakes, CompareTheVerifyToken) {
  const std::string target = "/h?hub.mode=subscribe&hub.challenge=1&hub.verify_token=";
  EXPECT_EQ(answered({"meta", "s", get(target + "other"), Stage::before_signature}), "refused 401");
  EXPECT_EQ(answered({"meta", "s", get(target), Stage::before_signature}), "refused 401");
  const Provider provider = builtin("meta");
  Sent request = get(target + "x");
  const auto answer =
      answer_handshake(provider, lock_of(provider, {"s"}), reading::Secret(), request.view(), Stage::before_signature);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->accepted);
}

// A handshake that must be signed is not answered before its signature was verified, and an event is no handshake.
TEST(Handshakes, AreToldFromEvents) {
  const Sent challenge{.body = R"({"type":"url_verification","challenge":"c"})"};
  EXPECT_EQ(answered({"slack", "s", challenge, Stage::before_signature}), "no handshake");
  EXPECT_EQ(answered({"slack", "s", {.body = R"({"type":"event_callback","event_id":"1"})"}}), "no handshake");
  EXPECT_EQ(answered({"stripe", "s", get("/h"), Stage::before_signature}), "no handshake");
  EXPECT_EQ(answered({"meta", "s", get("/h?hub.mode=unsubscribe"), Stage::before_signature}), "no handshake");
  // Discord's events have the type of its other ping.
  EXPECT_EQ(answered({"discord", "00", {.body = R"({"version":1,"type":1,"event":{"type":"ENTITLEMENT_CREATE"}})"}}),
            "no handshake");
  EXPECT_EQ(answered({"discord", "00", {.body = R"({"type":1,"event":{"type":"A","type":"B"}})"}}), "no handshake");
}

}  // namespace
}  // namespace semel::webhook
