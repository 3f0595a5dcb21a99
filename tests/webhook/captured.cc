// Signed with the code of `semel sign`, and by hand where keys are fetched.
#include "webhook/captured.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/public_key.h"
#include "core/signing.h"
#include "policy/expression.h"
#include "webhook/coverage.h"
#include "webhook/deliveries.h"
#include "webhook/provider.h"
#include "webhook/sign.h"
#include "webhook/test_keys.h"

namespace semel::test {
namespace {

using policy::Expression;
using policy::Part;
using policy::PartKind;
using webhook::Algorithm;
using webhook::KeyForm;
using webhook::Provider;
using webhook::SignatureScheme;

constexpr Time moment{std::chrono::seconds(1'700'000'000)};

struct Secrets {
  std::string ours;    // in the configuration
  std::string theirs;  // what signs
};

Secrets secrets_for(const SignatureScheme& scheme) {
  if (scheme.algorithm == Algorithm::ecdsa_p256_sha256) return {std::string(p256_public_key), std::string(p256_key)};
  if (scheme.algorithm == Algorithm::ed25519) {
    const auto bytes = core::from_hex(ed25519_public_key).value();
    const bool whpk = scheme.key == KeyForm::whpk;
    return {whpk ? "whpk_" + core::to_base64(bytes) : std::string(ed25519_public_key), std::string(ed25519_key)};
  }
  std::string secret = "golden-secret";
  if (scheme.key == KeyForm::hex) secret = std::string(64, 'a');
  if (scheme.key == KeyForm::whsec) secret = "whsec_Z29sZGVuLXN0YW5kYXJkLXdlYmhvb2tzLTI0YitrZXk=";
  if (scheme.key == KeyForm::id_sha1 || scheme.key == KeyForm::id_raw) secret = "name|golden-secret";
  return {secret, secret};
}

// A tree of objects, from the pointers to its leaves. A list is an object whose first name is a number.
std::string json_object(const std::map<std::string, std::string>& leaves) {
  std::map<std::string, std::map<std::string, std::string>> members;
  for (const auto& [pointer, value] : leaves) {
    const std::size_t slash = std::min(pointer.find('/', 1), pointer.size());
    members[pointer.substr(1, slash - 1)][pointer.substr(slash)] = value;
  }
  std::string out;
  for (const auto& [name, inside] : members) {
    const bool leaf = inside.size() == 1 && inside.begin()->first.empty();
    out += (out.empty() ? "" : ",") + ("\"" + name + "\":");
    out += leaf ? "\"" + inside.begin()->second + "\"" : json_object(inside);
  }
  return "{" + out + "}";
}

std::string with_line_end_removed(std::string text) {
  std::erase(text, '\n');
  return text;
}

struct Making {
  Provider provider;
  SignatureScheme scheme;
  std::size_t alternative = 0;  // of the ids
  unsigned seed = 0;
  bool form = false;
  std::map<std::string, std::string> values{};
  std::map<std::string, std::string> headers{};

  [[nodiscard]] std::string some(std::string_view what) const {
    std::string letters;
    for (const char c : what) {
      if (core::is_letter(c)) letters.push_back(c);
    }
    return letters + "_" + std::to_string(seed);
  }
  void add(const Part& part, const std::string& value) {
    if (part.kind == PartKind::json) values["/" + part.text.substr(1)] = value;
    if (part.kind == PartKind::header) headers[part.text] = value;
  }
  void add(const std::optional<Expression>& expression) {
    if (!expression) return;
    for (const Part& part : expression->parts) add(part, some(part.text));
  }
};

std::string moment_of(webhook::MomentForm form) {
  if (form == webhook::MomentForm::rfc3339) return "2023-11-14T22:13:20Z";
  return form == webhook::MomentForm::millis ? "1700000000000" : "1700000000";
}

const std::vector<Expression>& ids_of(const Making& making) {
  return webhook::ids_of(making.provider, making.scheme);
}

// What the delivery has to say, so that the id of this number names its event.
void fill(Making& making) {
  const webhook::EventRules& event = making.provider.event;
  making.add(event.type);
  making.add(event.object);
  for (std::size_t i = 0; i < ids_of(making).size(); ++i) {
    for (const Part& part : ids_of(making)[i].parts) {
      if (i != making.alternative) making.values.erase(part.text);
    }
  }
  if (making.alternative < ids_of(making).size()) making.add(ids_of(making)[making.alternative]);
  making.add(making.scheme.signed_text);
  if (making.scheme.timestamp) {
    making.add(making.scheme.timestamp->parts.front(), moment_of(making.scheme.timestamp_form));
  }
  if (making.scheme.from.is_single(PartKind::json)) making.add(making.scheme.from.parts.front(), "{signature}");
  if (event.order) {
    const bool number = event.order_form == core::OrderForm::number;
    making.add(event.order->parts.front(), number ? "1700000000" : "2023-11-14T22:13:20Z");
  }
  // An item separator in the middle of a value, where the values are joined with one.
  if (making.scheme.per_item) making.values["/NotificationRequestItem/merchantReference"] += ":1";
  making.values["/unsigned"] = making.some("other");
  making.values["/when"] = moment_of(making.scheme.timestamp_form);  // another time, which is as fresh
}

std::string body_of(const Making& making) {
  const std::string number = std::to_string(making.seed);
  if (making.scheme.from.is_single(PartKind::form)) return with_line_end_removed("PG5vdGlmaWNhdGlvbj4K" + number);
  if (making.scheme.signed_text.has(PartKind::whole_form)) {
    return "MessageSid=SM" + number + "&MessageStatus=sent&To=%2B18005551212";
  }
  if (making.form) return "token=x&trigger_id=" + number + "&text=hello";
  return json_body(making.values, making.provider);
}

Captured made(Making making) {
  fill(making);
  const Secrets secrets = secrets_for(making.scheme);
  const bool form = making.form || making.scheme.signed_text.has(PartKind::whole_form);
  webhook::SignOrder order{.secret = secrets.theirs,
                           .id = making.some("id"),
                           .public_url = std::string(public_url),
                           .target = "/hook?foo=1",
                           .content_type = form ? "application/x-www-form-urlencoded" : "application/json",
                           .body = body_of(making),
                           .fields = {},
                           .now = moment};
  for (const auto& [name, value] : making.headers) order.fields.push_back({.name = name, .value = value});
  Provider one = making.provider;
  one.schemes = {making.scheme};
  const Result<webhook::SignedDelivery> delivery = sign_delivery(one, order);
  Captured captured{.title = making.provider.name + " " + making.scheme.from.text + " " +
                             std::to_string(making.alternative) + (making.form ? " (form)" : ""),
                    .provider = making.provider,
                    .secret = secrets.ours,
                    .request = {},
                    .now = moment};
  if (!delivery) {
    ADD_FAILURE() << captured.title << ": " << delivery.error().detail;
    return captured;
  }
  captured.request = {.method = delivery->method, .target = delivery->target, .fields = {}, .body = delivery->body};
  for (const Field& field : delivery->fields) {
    const bool meant = making.headers.contains(field.name) || field.name == "Content-Type" ||
                       field.name.starts_with(making.scheme.from.parts.front().text);
    if (meant) captured.request.fields.emplace_back(field.name, field.value);
  }
  if (!form && making.scheme.from.parts.front().kind != PartKind::form) captured.values = making.values;
  return captured;
}

std::string base64url(std::string_view text) {
  return core::to_base64(text, core::Base64::url);
}

std::string signed_with_rsa(std::string_view text) {
  return core::sign_with_private_key(rsa_private_key, text).value();
}

Captured paypal(unsigned seed) {
  const std::string number = std::to_string(seed);
  const std::string url = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-5a29e601";
  const std::string body = R"({"id":"WH-)" + number + R"(","event_type":"PAYMENT.SALE.COMPLETED",)" +
                           R"("create_time":"2030-01-01T00:00:00Z","resource":{"id":"r"}})";
  const std::string text = "t-" + number + "|2030-01-01T00:00:00Z|webhook-id|" + std::to_string(core::crc32(body));
  return {.title = "paypal",
          .provider = builtin("paypal"),
          .secret = "webhook-id",
          .request = {.target = "/hook?foo=1",
                      .fields = {{"PAYPAL-TRANSMISSION-ID", "t-" + number},
                                 {"PAYPAL-TRANSMISSION-TIME", "2030-01-01T00:00:00Z"},
                                 {"PAYPAL-CERT-URL", url},
                                 {"PAYPAL-AUTH-ALGO", "SHA256withRSA"},
                                 {"PAYPAL-TRANSMISSION-SIG", core::to_base64(signed_with_rsa(text))}},
                      .body = body},
          .now = Time(std::chrono::seconds(1'893'456'000)),
          .documents = {{url, std::string(rsa_certificate)}}};
}

Captured sns(unsigned seed) {
  const std::string number = std::to_string(seed);
  const std::string url = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";
  const std::string topic = "arn:aws:sns:eu-west-1:1:t";
  const std::string text = "Message\nhello\nMessageId\nm-" + number + "\nTimestamp\n2030-01-01T00:00:00Z\nTopicArn\n" +
                           topic + "\nType\nNotification\n";
  const std::string body = R"({"Type":"Notification","MessageId":"m-)" + number + R"(","TopicArn":")" + topic +
                           R"(","Message":"hello","Timestamp":"2030-01-01T00:00:00Z","SignatureVersion":"2",)" +
                           R"("Signature":")" + core::to_base64(signed_with_rsa(text)) + R"(","SigningCertURL":")" +
                           url + "\"}";
  return {.title = "aws-sns",
          .provider = builtin("aws-sns"),
          .secret = topic,
          .request = {.target = "/hook?foo=1", .fields = {{"x-amz-sns-message-id", "m-" + number}}, .body = body},
          .now = Time(std::chrono::seconds(1'893'456'000)),
          .documents = {{url, std::string(rsa_certificate)}}};
}

Captured google(unsigned seed) {
  const std::string number = std::to_string(seed);
  const std::string text =
      base64url(R"({"alg":"RS256","kid":"k1","typ":"JWT"})") + "." +
      base64url(R"({"iss":"https://accounts.google.com","aud":"https://hooks.example.com/push","email":"push@p.iam",)"
                R"("email_verified":true,"iat":1893455900,"exp":1893456600})");
  return {.title = "google-pubsub",
          .provider = builtin("google-pubsub"),
          .secret = "push@p.iam|https://hooks.example.com/push",
          .request = {.target = "/hook?foo=1",
                      .fields = {{"Authorization", "Bearer " + text + "." + base64url(signed_with_rsa(text))}},
                      .body = R"({"subscription":"s","message":{"messageId":")" + number + "\"}}"},
          .now = Time(std::chrono::seconds(1'893'456'000)),
          .documents = {{"https://www.googleapis.com/oauth2/v3/certs",
                         R"({"keys":[{"kid":"k1","kty":"RSA","alg":"RS256","e":"AQAB","n":")" +
                             std::string(rsa_modulus) + "\"}]}"}}};
}

}  // namespace

std::string json_body(const std::map<std::string, std::string>& values, const Provider& provider) {
  std::string body = json_object(values);
  if (!provider.event.items) return body;
  body = "[" + body + "]";
  for (auto name = provider.event.items->rbegin(); name != provider.event.items->rend(); ++name) {
    body = "{\"" + *name + "\":" + body + "}";
  }
  return body;
}

std::vector<Captured> captured_deliveries(unsigned seed) {
  std::vector<Captured> all;
  for (const webhook::ProviderFile& file : webhook::builtin_providers()) {
    const Provider provider = builtin(file.name);
    for (const SignatureScheme& scheme : provider.schemes) {
      if (fetches_keys(scheme.algorithm)) continue;
      Making making{.provider = provider, .scheme = scheme, .seed = seed};
      const std::size_t ways = std::max<std::size_t>(1, ids_of(making).size());
      for (making.alternative = 0; making.alternative < ways; ++making.alternative) all.push_back(made(making));
      making.form = scheme.signed_text.has(PartKind::body) && !provider.event.items;
      if (making.form && !scheme.timestamp) all.push_back(made(making));
      if (making.form && scheme.timestamp && !scheme.timestamp->is_single(PartKind::json)) all.push_back(made(making));
    }
  }
  all.push_back(paypal(seed));
  all.push_back(sns(seed));
  all.push_back(google(seed));
  return all;
}

}  // namespace semel::test
