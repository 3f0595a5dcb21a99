// Deliveries that we sign ourselves are those that the providers' libraries made.
#include "webhook/sign.h"

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "policy/form.h"
#include "support/places.h"
#include "webhook/deliveries.h"
#include "webhook/provider_table.h"
#include "webhook/test_keys.h"

namespace semel::webhook {
namespace {

using test::builtin;
using test::lock_of;
using test::Recorded;
using test::recorded_deliveries;
using test::Sent;

bool has_public_key(const Provider& provider) {
  const Algorithm algorithm = provider.schemes.front().algorithm;
  return algorithm == Algorithm::ed25519 || algorithm == Algorithm::ecdsa_p256_sha256;
}

// What one would order to get the recorded delivery: its body without the signature that stands in it.
SignOrder order_of(const Recorded& recorded) {
  SignOrder order{.secret = recorded.secret,
                  .id = "msg_1",
                  .public_url = std::string(test::public_url),
                  .target = recorded.request.target,
                  .body = recorded.request.body,
                  .fields = {},
                  .now = recorded.now - Millis{2'000}};
  for (const auto& [name, value] : recorded.request.fields) {
    if (name.ends_with("-id") || name.ends_with("-Id")) order.fields.push_back({.name = name, .value = value});
    if (name == "Content-Type") order.content_type = value;
    if (name == "Twitch-Eventsub-Message-Timestamp") order.fields.push_back({.name = name, .value = value});
  }
  if (recorded.provider == "braintree") order.body = policy::form_pairs(order.body).value().at(1).second;
  if (recorded.provider == "dropbox-sign") {
    order.body = order.body.substr(order.body.find('{'), order.body.rfind('}') + 1 - order.body.find('{'));
  }
  const std::size_t at = order.body.find(recorded.signature);
  if (at != std::string::npos) order.body.replace(at, recorded.signature.size(), "{signature}");
  if (recorded.provider == "event-grid") order.target = "/hook";
  if (recorded.title == "twilio (json)") order.target = "/hooks/twilio";
  return order;
}

Sent sent(const SignedDelivery& delivery) {
  Sent request{.method = delivery.method, .target = delivery.target, .fields = {}, .body = delivery.body};
  for (const Field& field : delivery.fields) request.fields.emplace_back(field.name, field.value);
  return request;
}

// For every provider with a shared secret: what we sign is authentic, and has the very signature that was recorded.
TEST(Sign, MakesTheRecordedDeliveries) {
  std::size_t same = 0;
  for (const Recorded& each : recorded_deliveries()) {
    const Provider provider = builtin(each.provider);
    if (has_public_key(provider) || each.secret.starts_with("whpk_")) continue;
    const Result<SignedDelivery> delivery = sign_delivery(provider, order_of(each));
    ASSERT_TRUE(delivery) << each.title << ": " << delivery.error().detail;
    Sent request = sent(*delivery);
    EXPECT_EQ(test::verdict(provider, lock_of(provider, {each.secret}), request, each.now), "authentic") << each.title;
    std::string all = delivery->target + delivery->body;
    for (const Field& field : delivery->fields) all += field.value;
    if (all.find(each.signature) != std::string::npos) ++same;
  }
  EXPECT_GE(same, 40U);
}

// With a private key, too: Ed25519 gives the signature that is recorded.
TEST(Sign, SignsWithAPrivateKey) {
  for (const Recorded& each : recorded_deliveries()) {
    if (each.title != "discord") continue;
    SignOrder order = order_of(each);
    order.secret = test::ed25519_key;
    const Result<SignedDelivery> delivery = sign_delivery(builtin("discord"), order);
    ASSERT_TRUE(delivery) << delivery.error().detail;
    EXPECT_EQ(delivery->fields.back().value, each.signature);
  }
  const Result<SignedDelivery> no_key = sign_delivery(builtin("discord"), {.secret = "not a key", .body = "{}"});
  ASSERT_FALSE(no_key);
  EXPECT_EQ(no_key.error().detail, "the private key (PEM) cannot be read");
}

// What cannot be signed is explained.
TEST(Sign, SaysWhyItCannot) {
  const Result<SignedDelivery> no_hex = sign_delivery(builtin("adyen"), {.secret = "xyz", .body = "{}"});
  ASSERT_FALSE(no_hex);
  EXPECT_EQ(no_hex.error().detail, "the body has no list of items");
  const Result<SignedDelivery> no_time = sign_delivery(builtin("linear"), {.secret = "s", .body = "{}"});
  ASSERT_FALSE(no_time);
  EXPECT_EQ(no_time.error().detail, "{json:/webhookTimestamp} must be in the body");
}

// The table in the documents is the one that the files make.
TEST(ProviderTable, IsTheOneInTheDocuments) {
  std::ifstream file(test::in_tree("docs/providers.md"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), provider_markdown())
      << "semel providers list --markdown > docs/providers.md";
  EXPECT_NE(provider_list().find("stripe"), std::string::npos);
}

}  // namespace
}  // namespace semel::webhook
