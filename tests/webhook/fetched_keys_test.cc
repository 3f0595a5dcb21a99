// Providers whose keys are fetched: what they want, what they believe, and where they can not be sent.
#include "webhook/fetched_keys.h"

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/encoding.h"
#include "core/public_key.h"
#include "core/signing.h"
#include "webhook/deliveries.h"
#include "webhook/event.h"
#include "webhook/test_keys.h"

namespace semel::webhook {
namespace {

using test::builtin;
using test::lock_of;
using test::Sent;

constexpr Time in_2030{std::chrono::seconds(1'893'456'000)};

std::string judged(std::string_view name_of_provider, std::string_view secret, Sent request, Time now,
                   const std::map<std::string, std::string>& documents) {
  const Provider provider = builtin(name_of_provider);
  const Documents shelf = [&](const std::string& name) -> std::optional<std::string_view> {
    const auto found = documents.find(name);
    return found == documents.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  };
  const Judged judgement =
      judge_delivery(provider, lock_of(provider, {"another", std::string(secret)}), request.view(), now, shelf);
  if (const auto* wanted = std::get_if<Wanted>(&judgement)) {
    return (wanted->refresh ? "refresh " : "wants ") + wanted->url;
  }
  if (const auto* fault = std::get_if<SignatureFault>(&judgement)) return std::string(name(*fault));
  return "authentic";
}

std::string signed_with_rsa(std::string_view text) {
  return core::to_base64(core::sign_with_private_key(test::rsa_private_key, text).value());
}

// ---- PayPal

constexpr std::string_view paypal_certificate = "https://api.paypal.com/v1/notifications/certs/CERT-1";

Sent paypal(std::string_view url = paypal_certificate, const std::string& time = "2030-01-01T00:00:00Z") {
  const std::string body = R"({"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED","resource":{"id":"r"}})";
  const std::string text = "t-1|" + time + "|webhook-id|" + std::to_string(core::crc32(body));
  return {.fields = {{"PAYPAL-TRANSMISSION-ID", "t-1"},
                     {"PAYPAL-TRANSMISSION-TIME", time},
                     {"PAYPAL-CERT-URL", std::string(url)},
                     {"PAYPAL-AUTH-ALGO", "SHA256withRSA"},
                     {"PAYPAL-TRANSMISSION-SIG", signed_with_rsa(text)}},
          .body = body};
}

std::string paypal_verdict(const Sent& request, std::string_view secret = "webhook-id", Time now = in_2030) {
  return judged("paypal", secret, request, now,
                {{std::string(paypal_certificate), std::string(test::rsa_certificate)}});
}

// The checksum is the one that everybody means by CRC-32.
TEST(FetchedKeys, UseTheUsualChecksum) {
  EXPECT_EQ(core::crc32("123456789"), 0xcbf43926U);
  EXPECT_EQ(core::crc32(""), 0U);
}

// PayPal's certificate is wanted first, and what it signed is believed then.
TEST(FetchedKeys, JudgePayPal) {
  EXPECT_EQ(judged("paypal", "webhook-id", paypal(), in_2030, {}), "wants " + std::string(paypal_certificate));
  EXPECT_EQ(paypal_verdict(paypal()), "authentic");
  EXPECT_EQ(paypal_verdict(paypal(), "other-webhook"), "mismatch");
  const Sent late = paypal(paypal_certificate, "2130-01-01T00:00:00Z");  // after the certificate
  EXPECT_EQ(paypal_verdict(late, "webhook-id", in_2030 + std::chrono::years(100)), "mismatch");
  Sent altered = paypal();
  altered.body[8] = 'X';
  EXPECT_EQ(paypal_verdict(altered), "mismatch");
  Sent unsigned_one = paypal();
  unsigned_one.fields.pop_back();
  EXPECT_EQ(paypal_verdict(unsigned_one), "missing");
  Sent other_algorithm = paypal();
  other_algorithm.fields[3].second = "SHA1withRSA";
  EXPECT_EQ(paypal_verdict(other_algorithm), "malformed");
}

// A delivery cannot send us anywhere but to the provider.
TEST(FetchedKeys, AreFetchedFromPinnedHostsOnly) {
  for (const std::string_view url :
       {"https://evil.example/cert", "http://api.paypal.com/cert", "https://api.paypal.com.evil.example/cert",
        "https://api.paypal.com@evil.example/cert", "https://api.paypal.com/../x", "https://api.paypal.com", "",
        "file:///etc/passwd", "https://api.paypal.com/a b"}) {
    EXPECT_EQ(judged("paypal", "webhook-id", paypal(url), in_2030, {}), "malformed") << url;
  }
  for (const std::string_view url :
       {"https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-a.pem",
        "https://evil.example/SimpleNotificationService-a.pem", "http://sns.eu-west-1.amazonaws.com/x.pem",
        "https://sns.eu-west-1.amazonaws.com/other.pem", "https://sns.evil.example#.amazonaws.com/a.pem",
        "https://sns.a.b.amazonaws.com/SimpleNotificationService-a.pem",
        "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-../a.pem"}) {
    const std::string body = R"({"Type":"Notification","TopicArn":"t","SignatureVersion":"2","Signature":"AAAA",)"
                             R"("SigningCertURL":")" +
                             std::string(url) + "\"}";
    EXPECT_EQ(judged("aws-sns", "t", Sent{.body = body}, in_2030, {}), "malformed") << url;
  }
}

// PayPal signs the time of a transmission. It is not renewed for certain, so it may be as old as the last retry.
TEST(FetchedKeys, CheckTheTimeOfPayPal) {
  EXPECT_EQ(paypal_verdict(paypal(), "webhook-id", in_2030 + std::chrono::days(3)), "authentic");
  EXPECT_EQ(paypal_verdict(paypal(), "webhook-id", in_2030 + std::chrono::days(5)), "stale");
  EXPECT_EQ(paypal_verdict(paypal(), "webhook-id", in_2030 - std::chrono::days(5)), "stale");
  Sent odd = paypal();
  odd.fields[1].second = "yesterday";
  EXPECT_EQ(paypal_verdict(odd), "malformed");
}

// The checksum of a body can be had with another body, so a captured delivery is worth only its own event: its id is
// that of the transmission, which is signed, and another body under it is another request.
TEST(FetchedKeys, BindPayPalsBodyToItsTransmission) {
  const auto identity = [](const Sent& sent) {
    Sent request = sent;
    return std::get<policy::Identity>(
        identify_event(builtin("paypal"), {.space = "webhook:/h", .key_from = nullptr}, {.scheme = 0}, request.view()));
  };
  const Sent genuine = paypal();
  Sent forged = genuine;
  forged.body = R"({"id":"WH-2","event_type":"PAYMENT.SALE.COMPLETED","resource":{"id":"x"}})";
  EXPECT_EQ(identity(forged).key, identity(genuine).key);
  EXPECT_NE(identity(forged).fingerprint, identity(genuine).fingerprint);
  EXPECT_EQ(identity(genuine).fingerprint, identity(paypal()).fingerprint);
}

// Certificates of PayPal are in one folder; names that others could have at Amazon are not taken for SNS.
TEST(FetchedKeys, ArePinnedToTheirFolders) {
  EXPECT_EQ(judged("paypal", "webhook-id", paypal("https://api.paypal.com/v1/other/CERT-1"), in_2030, {}), "malformed");
  EXPECT_EQ(
      judged("paypal", "webhook-id", paypal("https://api.paypal.com/v1/notifications/certs/CERT-1?x=1"), in_2030, {}),
      "malformed");
  EXPECT_EQ(judged("paypal", "webhook-id", paypal("https://api.paypal.com/v1/notifications/certs/a/b"), in_2030, {}),
            "malformed");
  for (const std::string_view region : {"s3", "s3-eu-west-1", "s3-website-us-east-1", "S3-x", "-us-east-1", "useast"}) {
    const std::string body = R"({"Type":"Notification","TopicArn":"t","SignatureVersion":"2","Signature":"AAAA",)"
                             R"("SigningCertURL":"https://sns.)" +
                             std::string(region) + R"(.amazonaws.com/SimpleNotificationService-a.pem"})";
    EXPECT_EQ(judged("aws-sns", "t", Sent{.body = body}, in_2030, {}), "malformed") << region;
  }
}

// ---- AWS SNS

constexpr std::string_view sns_certificate =
    "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";
constexpr std::string_view topic = "arn:aws:sns:eu-west-1:1:t";

Sent sns(std::string_view version, std::string_view signature, std::string_view message = "hello") {
  return {.body = R"({"Type":"Notification","MessageId":"m-1","TopicArn":"arn:aws:sns:eu-west-1:1:t","Message":")" +
                  std::string(message) + R"(","Timestamp":"2030-01-01T00:00:00Z","SignatureVersion":")" +
                  std::string(version) + R"(","Signature":")" + std::string(signature) + R"(","SigningCertURL":")" +
                  std::string(sns_certificate) + "\"}"};
}

std::string sns_verdict(const Sent& request, std::string_view secret = topic) {
  return judged("aws-sns", secret, request, in_2030,
                {{std::string(sns_certificate), std::string(test::rsa_certificate)}});
}

// SNS signs with SHA-1 or SHA-256, as it says; a notification of another topic is not ours.
TEST(FetchedKeys, JudgeSns) {
  const std::string text =
      "Message\nhello\nMessageId\nm-1\nTimestamp\n2030-01-01T00:00:00Z\nTopicArn\narn:aws:sns:eu-west-1:1:t\nType\n"
      "Notification\n";
  const std::string signature = signed_with_rsa(text);
  EXPECT_EQ(judged("aws-sns", topic, sns("2", signature), in_2030, {}), "wants " + std::string(sns_certificate));
  EXPECT_EQ(sns_verdict(sns("2", signature)), "authentic");
  EXPECT_EQ(sns_verdict(sns("1", test::sns_sha1_signature)), "authentic");
  EXPECT_EQ(sns_verdict(sns("1", signature)), "mismatch");
  EXPECT_EQ(sns_verdict(sns("3", signature)), "malformed");
  EXPECT_EQ(sns_verdict(sns("2", signature, "hallo")), "mismatch");
  EXPECT_EQ(sns_verdict(sns("2", signature), "arn:aws:sns:eu-west-1:1:other"), "mismatch");
  EXPECT_EQ(sns_verdict(Sent{.body = "{}"}), "missing");
}

// A subject that is left out is not signed. It cannot be added, in whatever form a handler might read.
TEST(FetchedKeys, TakeNoSubjectOfSnsThatIsNotSigned) {
  const auto with = [](std::string_view member) {
    Sent request = sns("1", test::sns_sha1_signature);
    request.body.insert(1, std::string(member) + ",");
    return sns_verdict(request);
  };
  EXPECT_EQ(with(R"("Subject":null)"), "authentic");
  EXPECT_EQ(with(R"("Subject":"forged")"), "mismatch");
  EXPECT_EQ(with(R"("Subject":["forged"])"), "malformed");
  EXPECT_EQ(with(R"("Subject":{"a":"forged"})"), "malformed");
  EXPECT_EQ(with(R"("Subject":"a","Subject":"forged")"), "malformed");
  EXPECT_EQ(with(R"("Subject":null,"Subject":"forged")"), "malformed");
}

// SNS signs the time of a message, and retries for an hour.
TEST(FetchedKeys, CheckTheTimeOfSns) {
  const std::map<std::string, std::string> shelf{{std::string(sns_certificate), std::string(test::rsa_certificate)}};
  const Sent request = sns("1", test::sns_sha1_signature);
  EXPECT_EQ(judged("aws-sns", topic, request, in_2030 + std::chrono::hours(1), shelf), "authentic");
  EXPECT_EQ(judged("aws-sns", topic, request, in_2030 + std::chrono::hours(3), shelf), "stale");
  EXPECT_EQ(judged("aws-sns", topic, request, in_2030 - std::chrono::hours(3), shelf), "stale");
}

// What is signed is lines; only the message itself may have several, or a line of it could pass for a name.
TEST(FetchedKeys, TakeNoLinesInTheNamesOfSns) {
  const std::string text =
      "Message\nhello\nMessageId\nm-1\nMessageId\nm-2\nTimestamp\n2030-01-01T00:00:00Z\nTopicArn\n"
      "arn:aws:sns:eu-west-1:1:t\nType\nNotification\n";
  const auto with_id = [&](std::string_view message, std::string_view id) {
    Sent request = sns("2", signed_with_rsa(text), message);
    request.body.replace(request.body.find("m-1"), 3, id);
    return sns_verdict(request);
  };
  EXPECT_EQ(with_id("hello\\nMessageId\\nm-1", "m-2"), "authentic");
  EXPECT_EQ(with_id("hello", "m-1\\nMessageId\\nm-2"), "malformed");
}

// A subscription is confirmed only where SNS lives, whatever the request says.
TEST(FetchedKeys, ConfirmSubscriptionsAtPinnedHostsOnly) {
  const SignatureScheme scheme = test::builtin("aws-sns").schemes.front();
  const auto address = [&](std::string_view type, std::string_view url) -> std::string {
    Sent request{.body = R"({"Type":")" + std::string(type) + R"(","SubscribeURL":")" + std::string(url) + "\"}"};
    const auto asked = confirmation_of(scheme, request.view());
    return asked ? asked->url : "none";
  };
  const std::string good =
      "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:1:t&Token=2336";
  EXPECT_EQ(address("SubscriptionConfirmation", good), good);
  EXPECT_EQ(address("Notification", good), "none");
  EXPECT_EQ(address("UnsubscribeConfirmation", good), "none");
  for (const std::string_view url :
       {"https://evil.example/?Action=ConfirmSubscription&Token=1", "http://169.254.169.254/latest/meta-data", "",
        "http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=1",
        "https://sns.eu-west-1.amazonaws.com.evil.example/?Action=ConfirmSubscription&Token=1",
        "https://sns.eu-west-1.amazonaws.com@evil.example/?Action=ConfirmSubscription&Token=1",
        "https://sns.eu-west-1.amazonaws.com/?Action=DeleteTopic&TopicArn=x",
        "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&a b", "file:///etc/passwd"}) {
    EXPECT_EQ(address("SubscriptionConfirmation", url), "") << url;
  }
  const SignatureScheme other = test::builtin("stripe").schemes.front();
  Sent request{.body = R"({"Type":"SubscriptionConfirmation"})"};
  EXPECT_FALSE(confirmation_of(other, request.view()).has_value());
}

// ---- Plaid

constexpr std::string_view plaid_keys = "https://production.plaid.com/webhook_verification_key/get";
constexpr std::string_view plaid_token =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImJmYmQ1MTExLThlMzMtNDY0My04Y2VkLWIyZTY0MmE3MmYzYyIsInR5cCI6IkpXVCJ9."
    "eyJpYXQiOjE3MDAwMDAwMDAsInJlcXVlc3RfYm9keV9zaGEyNTYiOiJkMzcyM2I1Yjc4NGMwYTQyZjZhMmViNTg5YjgwYTQ2YjgzYTBjYTVjMTgw"
    "MTU3ZjM4NDkwNGU3N2ZmMDFkODRjIn0.Flhf-_q-HMngQrzfd-JdJ5jb5QQ58ZrOENkrwPcCSjTTJYn3TIl4lF1oV4_lwdO90vxhkzvPn6YWkbim"
    "ZxV54Q";
constexpr std::string_view plaid_key =
    R"({"key":{"kid":"bfbd5111-8e33-4643-8ced-b2e642a72f3c","alg":"ES256","kty":"EC","crv":"P-256",)"
    R"("x":"FW0zsFEyQcp60Kfo8-q4YacgM6c-jtH2NWAJIE0K-Xw","y":"zlZA2UZwrRgvAh3f6yQ1fxeoRYgoAUXXG2iX92JePK0"}})";
constexpr Time plaid_time{std::chrono::seconds(1'700'000'002)};

Sent plaid(std::string_view token = plaid_token) {
  return {.fields = {{"Plaid-Verification", std::string(token)}},
          .body = R"({"webhook_type":"TRANSACTIONS","webhook_code":"SYNC_UPDATES_AVAILABLE","item_id":"it_1",)"
                  R"("environment":"production"})"};
}

std::string plaid_verdict(const Sent& request, Time now = plaid_time) {
  const std::string kept_as = std::string(plaid_keys) + "#bfbd5111-8e33-4643-8ced-b2e642a72f3c";
  return judged("plaid", "client|secret", request, now, {{kept_as, std::string(plaid_key)}});
}

// Plaid's key is asked for by its name, with our credentials; a token that jose made is believed.
TEST(FetchedKeys, JudgePlaid) {
  const Provider provider = builtin("plaid");
  Sent request = plaid();
  const Judged first = judge_delivery(provider, lock_of(provider, {"client|secret"}), request.view(), plaid_time,
                                      [](const std::string&) { return std::nullopt; });
  const Wanted wanted = std::get<Wanted>(first);
  EXPECT_EQ(wanted.url, plaid_keys);
  EXPECT_EQ(wanted.body, R"({"client_id":"client","secret":"secret","key_id":"bfbd5111-8e33-4643-8ced-b2e642a72f3c"})");
  EXPECT_EQ(plaid_verdict(plaid()), "authentic");
  Sent altered = plaid();
  altered.body[20] = 'X';
  EXPECT_EQ(plaid_verdict(altered), "mismatch");
  EXPECT_EQ(plaid_verdict(plaid(), plaid_time + std::chrono::seconds(299)), "stale");
  EXPECT_EQ(plaid_verdict(plaid(), plaid_time - std::chrono::seconds(303)), "stale");
  std::string forged(plaid_token);
  forged[forged.size() - 10] = forged[forged.size() - 10] == 'A' ? 'B' : 'A';
  EXPECT_EQ(plaid_verdict(plaid(forged)), "mismatch");
}

// ---- Google Pub/Sub

constexpr std::string_view google_keys = "https://www.googleapis.com/oauth2/v3/certs";
constexpr std::string_view google_claims =
    R"({"iss":"https://accounts.google.com","aud":"https://hooks.example.com/push","email":"push@p.iam",)"
    R"("email_verified":true,"exp":1893456600})";

std::string token(std::string_view head, std::string_view claims) {
  const std::string text = core::to_base64(head, core::Base64::url) + "." + core::to_base64(claims, core::Base64::url);
  return text + "." +
         core::to_base64(core::sign_with_private_key(test::rsa_private_key, text).value(), core::Base64::url);
}

std::string google_verdict(const std::string& bearer, std::string_view key_id = "k1", Time now = in_2030) {
  const std::string keys = R"({"keys":[{"kid":"k0","kty":"RSA","n":"AQAB","e":"AQAB"},{"kid":")" + std::string(key_id) +
                           R"(","kty":"RSA","alg":"RS256","e":"AQAB","n":")" + std::string(test::rsa_modulus) + "\"}]}";
  return judged("google-pubsub", "push@p.iam|https://hooks.example.com/push",
                Sent{.fields = {{"Authorization", "Bearer " + bearer}}, .body = "{}"}, now,
                {{std::string(google_keys), keys}});
}

// A token is for one audience, of one account, of Google, and not for ever; only the key that it names signs it.
TEST(FetchedKeys, JudgeGoogleTokens) {
  constexpr std::string_view head = R"({"alg":"RS256","kid":"k1","typ":"JWT"})";
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string claims(google_claims);
    claims.replace(claims.find(from), from.size(), to);
    return google_verdict(token(head, claims));
  };
  EXPECT_EQ(google_verdict(token(head, google_claims)), "authentic");
  EXPECT_EQ(google_verdict(token(head, google_claims), "k2"), "refresh " + std::string(google_keys));
  EXPECT_EQ(google_verdict(token(head, google_claims), "k1", in_2030 + std::chrono::minutes(12)), "stale");
  EXPECT_EQ(with("push@p.iam", "evil@p.iam"), "mismatch");
  EXPECT_EQ(with("hooks.example.com", "other.example.com"), "mismatch");
  EXPECT_EQ(with("accounts.google.com", "accounts.evil.com"), "mismatch");
  EXPECT_EQ(with("true", "false"), "mismatch");
  EXPECT_EQ(with("\"exp\"", "\"xxx\""), "malformed");
  EXPECT_EQ(with("\"exp\"", "\"iat\":1893456000,\"exp\""), "authentic");
  EXPECT_EQ(with("\"exp\"", "\"iat\":1893456300,\"exp\""), "stale");
  EXPECT_EQ(with("\"exp\"", "\"nbf\":1893456300,\"exp\""), "stale");
  EXPECT_EQ(with("\"exp\"", "\"nbf\":\"soon\",\"exp\""), "malformed");
  EXPECT_EQ(with("\"exp\"", "\"nbf\":[1893456300],\"exp\""), "malformed");
  EXPECT_EQ(with("\"exp\"", "\"iat\":1,\"iat\":1893456300,\"exp\""), "malformed");
  EXPECT_EQ(google_verdict(token(R"({"alg":"none","kid":"k1"})", google_claims)), "malformed");
  EXPECT_EQ(google_verdict(token(R"({"alg":"HS256","kid":"k1"})", google_claims)), "malformed");
  EXPECT_EQ(google_verdict(token(R"({"alg":"ES256","kid":"k1"})", google_claims)), "mismatch");
  EXPECT_EQ(google_verdict(token(R"({"alg":"RS256","kid":"k0"})", google_claims)), "mismatch");
  for (const std::string_view odd : {"", ".", "..", "a.b.c", "a.b.c.d", "e30.e30.e30"}) {
    EXPECT_EQ(google_verdict(std::string(odd)), "malformed") << odd;
  }
}

// Their events have keys, too.
TEST(FetchedKeys, ComeWithEventsThatHaveKeys) {
  const auto key_of = [](std::string_view provider, std::string_view body) {
    Sent request{.fields = {{"PAYPAL-TRANSMISSION-ID", "t-1"}}, .body = std::string(body)};
    const policy::Identified found =
        identify_event(builtin(provider), {.space = "webhook:/h", .key_from = nullptr}, {.scheme = 0}, request.view());
    return std::holds_alternative<policy::Identity>(found);
  };
  EXPECT_TRUE(key_of("paypal", R"({"id":"WH-1"})"));
  EXPECT_TRUE(key_of("aws-sns", R"({"MessageId":"m"})"));
  EXPECT_TRUE(key_of("google-pubsub", R"({"subscription":"s","message":{"messageId":"1"}})"));
  EXPECT_FALSE(key_of("plaid", "{}"));
}

}  // namespace
}  // namespace semel::webhook
