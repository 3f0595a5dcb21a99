// What PayPal's API is asked, and what its answers mean.
#include "webhook/inquiry.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "policy/json_scalar.h"
#include "support/rules.h"
#include "webhook/deliveries.h"
#include "webhook/provider.h"

namespace semel::webhook {
namespace {

using test::Sent;

constexpr std::string_view live = "https://api.paypal.com/v1/notifications/certs/CERT-1";

std::optional<Inquiry> inquiry(std::string_view body, std::string_view certificate = live) {
  const Provider provider = test::builtin("paypal");
  Sent request{.fields = {{"PAYPAL-TRANSMISSION-ID", "t-\"1"}, {"PAYPAL-CERT-URL", std::string(certificate)}},
               .body = std::string(body)};
  const Authentic authentic{.scheme = 0, .secret = 0, .signed_texts = {}, .document = std::string(certificate)};
  return inquiry_about(provider, test::lock_of(provider, {"webhook-id"}), authentic, {.bytes = "s3", .id = "client"},
                       request.view());
}

// The API is the one of the place that the certificate came from: tests are asked about where tests are sent from.
TEST(Inquiries, GoWhereTheDeliveryIsFrom) {
  EXPECT_EQ(inquiry("{}").value().url, "https://api-m.paypal.com/v1/notifications/verify-webhook-signature");
  EXPECT_EQ(inquiry("{}").value().token.url, "https://api-m.paypal.com/v1/oauth2/token");
  EXPECT_EQ(inquiry("{}").value().token.authorization, "Basic Y2xpZW50OnMz");
  EXPECT_EQ(inquiry("{}", "https://api.sandbox.paypal.com/v1/notifications/certs/C").value().url,
            "https://api-m.sandbox.paypal.com/v1/notifications/verify-webhook-signature");
  EXPECT_FALSE(inquiry("{}", "https://elsewhere.example/certs/C"));
}

// Whatever a delivery holds, the question is one JSON object in which it is one value.
TEST(Inquiries, AreNotWrittenByTheDelivery) {
  const Inquiry asked = inquiry(R"({"id":"WH-1", "webhook_id":"other"})").value();
  EXPECT_TRUE(policy::is_json(asked.body)) << asked.body;
  EXPECT_NE(asked.body.find(R"("transmission_id":"t-\"1")"), std::string::npos) << asked.body;
  EXPECT_NE(asked.body.find(R"("webhook_id":"webhook-id",)"), std::string::npos) << asked.body;
  EXPECT_TRUE(asked.body.ends_with(R"("webhook_event":{"id":"WH-1", "webhook_id":"other"}})")) << asked.body;
  for (const std::string_view body : {R"({},"webhook_id":"other")", "", "}", "not JSON", R"({"a":1}})"}) {
    EXPECT_FALSE(inquiry(body)) << body;
  }
}

// A token is not used to its end; anything else is no token.
TEST(Inquiries, ReadTokens) {
  EXPECT_EQ(read_access_token(R"({"access_token":"a","expires_in":32400})").value().text, "a");
  EXPECT_EQ(read_access_token(R"({"access_token":"a","expires_in":32400})").value().life, Millis{32'340'000});
  EXPECT_EQ(read_access_token(R"({"access_token":"a","expires_in":61})").value().life, Millis{30'500});
  for (const std::string_view odd :
       {R"({"access_token":"a","expires_in":0})", R"({"access_token":"a"})", R"({"expires_in":600})", "{}", "",
        R"({"access_token":"","expires_in":600})", R"({"access_token":"a\r\nX: b","expires_in":600})",
        R"({"access_token":"a","expires_in":-1})", R"({"access_token":"a","expires_in":1e9})",
        R"({"access_token":"a","expires_in":99999999999999999999})"}) {
    EXPECT_FALSE(read_access_token(odd)) << odd;
  }
}

// Only the two words of PayPal say something.
TEST(Inquiries, ReadVerdicts) {
  EXPECT_EQ(read_verdict(R"({"verification_status":"SUCCESS"})"), true);
  EXPECT_EQ(read_verdict(R"({"verification_status":"FAILURE"})"), false);
  for (const std::string_view odd : {"", "{}", "SUCCESS", R"({"verification_status":"success"})",
                                     R"({"verification_status":"FAILURE","verification_status":"SUCCESS"})",
                                     R"([{"verification_status":"SUCCESS"}])"}) {
    EXPECT_EQ(read_verdict(odd), std::nullopt) << odd;
  }
}

}  // namespace
}  // namespace semel::webhook
