// One function per algorithm with code of its own; each asks for its document, then judges.
#include "webhook/fetched_keys.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "core/crypto.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "core/public_key.h"
#include "core/sha256.h"
#include "policy/json_scalar.h"
#include "policy/jwt.h"
#include "policy/request_view.h"
#include "webhook/authenticate.h"
#include "webhook/moment.h"
#include "webhook/provider.h"
#include "webhook/signatures.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::webhook {
namespace {

constexpr Millis clock_slack{60'000};
constexpr std::size_t url_bytes_max = 1'024;

struct Case {
  const SignatureScheme& scheme;
  const std::vector<std::optional<SecretKey>>& keys;
  const policy::RequestView& request;
  Time now;
  const Documents& documents;
  std::size_t number;  // of the scheme
  Millis tolerance;
};

std::optional<std::string> field(const policy::RequestView& request, std::string_view name) {
  const auto lines = policy::lines_of(request.fields, name);
  if (lines.size() != 1) return std::nullopt;
  return std::string(lines.front());
}

std::optional<std::string> member(const policy::RequestView& request, std::string_view name) {
  const std::vector<std::string> pointer{std::string(name)};
  auto value = policy::json_scalar(request.body, pointer);
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

// Null counts as left out. What is there twice, or is no text, is not: it must not go to the handler unsigned.
bool is_left_out(const policy::RequestView& request, std::string_view name) {
  const std::vector<std::string> pointer{std::string(name)};
  const policy::JsonPresence kind = policy::json_presence(request.body, pointer);
  return kind == policy::JsonPresence::absent || kind == policy::JsonPresence::null;
}

// Whether a delivery may send us to this address: it begins as the provider's file says, and the rest is plain.
bool is_pinned(std::string_view url, const SignatureScheme& scheme) {
  const auto plain = [](char c) { return c > ' ' && c <= '~' && c != '\\' && c != '#' && c != '@'; };
  if (url.size() > url_bytes_max || !std::ranges::all_of(url, plain) || url.find("..") != std::string_view::npos) {
    return false;
  }
  return std::ranges::any_of(
      scheme.keys, [&](const std::string& start) { return url.size() > start.size() && url.starts_with(start); });
}

// The same for a file that is directly in a folder of the list.
bool is_pinned_name(std::string_view url, const SignatureScheme& scheme) {
  const auto in_name = [](char c) {
    return core::is_letter(c) || core::is_digit(c) || c == '-' || c == '_' || c == '.';
  };
  const std::string_view name = url.substr(url.rfind('/') + 1);
  const bool in_folder = std::ranges::find(scheme.keys, url.substr(0, url.size() - name.size())) != scheme.keys.end();
  return in_folder && is_pinned(url, scheme) && std::ranges::all_of(name, in_name);
}

// PayPal signs a checksum of the body, which anybody can match with another body: see providers/paypal.toml.
Judged judge_paypal(const Case& one) {
  const auto id = field(one.request, "PAYPAL-TRANSMISSION-ID");
  const auto time = field(one.request, "PAYPAL-TRANSMISSION-TIME");
  const auto url = field(one.request, "PAYPAL-CERT-URL");
  const auto written = field(one.request, "PAYPAL-TRANSMISSION-SIG");
  if (!written) return SignatureFault::missing;
  const auto signature = core::from_base64(*written);
  if (!id || !time || !url || !signature || field(one.request, "PAYPAL-AUTH-ALGO") != "SHA256withRSA") {
    return SignatureFault::malformed;
  }
  if (!is_pinned_name(*url, one.scheme)) return SignatureFault::malformed;
  const auto fresh = check_moment(*time, MomentForm::rfc3339, one.tolerance, one.now);
  if (!fresh) return fresh.error();
  const auto certificate = one.documents(*url);
  if (!certificate) return Wanted{.url = *url};
  for (std::size_t i = 0; i < one.keys.size(); ++i) {
    const std::optional<SecretKey>& key = one.keys[i];
    if (!key) continue;
    const std::string text = fmt::format("{}|{}|{}|{}", *id, *time, key->bytes, core::crc32(one.request.body));
    if (core::verify_by_certificate(*certificate, one.now, core::RsaHash::sha256, text, *signature)) {
      return Authentic{.scheme = one.number, .secret = i, .signed_texts = {}, .document = *url};
    }
  }
  return SignatureFault::mismatch;
}

// Such as eu-west-1. Other names before amazonaws.com can be had by anybody, as those of S3's.
bool is_region(std::string_view name) {
  const auto in_region = [](char c) { return (c >= 'a' && c <= 'z') || core::is_digit(c) || c == '-'; };
  if (name.size() < 4 || name.starts_with("s3") || !std::ranges::all_of(name, in_region)) return false;
  return !core::is_digit(name.front()) && name.front() != '-' && name.find('-') != std::string_view::npos &&
         core::is_digit(name.back());
}

// The rest of an address at `sns.REGION.amazonaws.com`, which a list of beginnings cannot express. Null if it is
// another address.
std::optional<std::string_view> behind_sns(std::string_view url) {
  constexpr std::string_view start = "https://sns.";
  constexpr std::array<std::string_view, 2> domains{".amazonaws.com/", ".amazonaws.com.cn/"};
  if (!url.starts_with(start) || url.size() > url_bytes_max) return std::nullopt;
  url.remove_prefix(start.size());
  const std::size_t dot = std::min(url.find('.'), url.size());
  if (!is_region(url.substr(0, dot))) return std::nullopt;
  url.remove_prefix(dot);
  for (const std::string_view domain : domains) {
    if (url.starts_with(domain)) return url.substr(domain.size());
  }
  return std::nullopt;
}

bool is_sns_certificate(std::string_view url, const SignatureScheme& scheme) {
  if (is_pinned(url, scheme)) return true;
  constexpr std::string_view start = "SimpleNotificationService-";
  constexpr std::string_view end = ".pem";
  std::string_view file = behind_sns(url).value_or("");
  if (!file.starts_with(start) || !file.ends_with(end) || file.size() <= start.size() + end.size()) return false;
  file.remove_prefix(start.size());
  file.remove_suffix(end.size());
  return std::ranges::all_of(file, [](char c) { return core::is_letter(c) || core::is_digit(c); });
}

bool is_sns_confirmation(std::string_view url, const SignatureScheme& scheme) {
  constexpr std::string_view plain = "?&=%:._~-/";
  const auto in_address = [&](char c) {
    return core::is_letter(c) || core::is_digit(c) || plain.find(c) != std::string_view::npos;
  };
  if (!std::ranges::all_of(url, in_address)) return false;
  return is_pinned(url, scheme) || behind_sns(url).value_or("").starts_with("?Action=ConfirmSubscription&");
}

// What SNS signs: names and values in lines, of those members that are present. Null if one is missing, or has a line
// end: only the message may, or a line of it could pass for a name.
std::optional<std::string> sns_text(const policy::RequestView& request, std::string_view type) {
  constexpr std::array<std::string_view, 6> of_notification{"Message",   "MessageId", "Subject",
                                                            "Timestamp", "TopicArn",  "Type"};
  constexpr std::array<std::string_view, 7> of_confirmation{"Message", "MessageId", "SubscribeURL", "Timestamp",
                                                            "Token",   "TopicArn",  "Type"};
  std::string text;
  const auto add = [&](std::string_view name) {
    const auto value = member(request, name);
    if (value && name != "Message" && value->find('\n') != std::string::npos) return false;
    if (value) text.append(name).append("\n").append(*value).append("\n");
    return value.has_value() || (name == "Subject" && is_left_out(request, name));
  };
  const bool whole =
      type == "Notification" ? std::ranges::all_of(of_notification, add) : std::ranges::all_of(of_confirmation, add);
  return whole ? std::optional(text) : std::nullopt;
}

Judged judge_sns(const Case& one) {
  const auto written = member(one.request, "Signature");
  if (!written) return SignatureFault::missing;
  const auto signature = core::from_base64(*written);
  const auto url = member(one.request, "SigningCertURL");
  const auto type = member(one.request, "Type");
  const auto topic = member(one.request, "TopicArn");
  const auto version = member(one.request, "SignatureVersion");
  const bool known = version == "1" || version == "2";
  if (!signature || !url || !type || !topic || !known || !is_sns_certificate(*url, one.scheme))
    return SignatureFault::malformed;
  const auto ours =
      std::ranges::find_if(one.keys, [&](const std::optional<SecretKey>& key) { return key && key->bytes == *topic; });
  if (ours == one.keys.end()) return SignatureFault::mismatch;  // whoever signed it: nothing is fetched for it
  const auto text = sns_text(one.request, *type);
  if (!text) return SignatureFault::malformed;
  const auto fresh =
      check_moment(member(one.request, "Timestamp").value_or(""), MomentForm::rfc3339, one.tolerance, one.now);
  if (!fresh) return fresh.error();
  const auto certificate = one.documents(*url);
  if (!certificate) return Wanted{.url = *url};
  const core::RsaHash hash = version == "1" ? core::RsaHash::sha1 : core::RsaHash::sha256;
  if (!core::verify_by_certificate(*certificate, one.now, hash, *text, *signature)) return SignatureFault::mismatch;
  const auto secret = static_cast<std::size_t>(ours - one.keys.begin());
  return Authentic{.scheme = one.number, .secret = secret, .signed_texts = {}, .document = *url};
}

std::optional<Time> time_claim(const policy::Token& token, std::string_view name) {
  const auto text = policy::claim_of(token, name);
  return text ? parse_moment(*text, MomentForm::seconds) : std::nullopt;
}

// Where the key of a token is: in a set that is the same for all, or in a document of its own.
Wanted key_document(const SignatureScheme& scheme, const policy::Token& token, const SecretKey& secret) {
  Wanted wanted{.url = scheme.keys.front()};
  if (scheme.algorithm == Algorithm::plaid) {
    wanted.name = wanted.url + "#" + token.key_id;
    core::json::JsonWriter(wanted.body)
        .begin_object()
        .text("client_id", secret.id)
        .text("secret", secret.bytes)
        .text("key_id", token.key_id)
        .end_object();
  }
  return wanted;
}

bool has_claims(const Case& one, const policy::Token& token, const SecretKey& secret) {
  if (one.scheme.algorithm == Algorithm::plaid) {
    const auto hash = policy::claim_of(token, "request_body_sha256");
    const auto bytes = hash ? core::from_hex(*hash) : std::nullopt;
    const Digest digest = core::sha256(one.request.body);
    return bytes && core::equal_in_constant_time(*bytes, {reinterpret_cast<const char*>(digest.data()), digest.size()});
  }
  const auto issuer = policy::claim_of(token, "iss");
  return policy::claim_of(token, "email") == secret.id && policy::claim_of(token, "email_verified") == "true" &&
         policy::claim_of(token, "aud") == secret.bytes && issuer &&
         std::ranges::find(one.scheme.issuers, *issuer) != one.scheme.issuers.end();
}

std::expected<void, SignatureFault> check_times(const Case& one, const policy::Token& token) {
  if (one.scheme.algorithm == Algorithm::plaid) {
    return check_moment(policy::claim_of(token, "iat").value_or(""), MomentForm::seconds, one.tolerance, one.now);
  }
  const auto expires = time_claim(token, "exp");
  if (!expires) return std::unexpected(SignatureFault::malformed);
  if (one.now > *expires + clock_slack) return std::unexpected(SignatureFault::stale);
  for (const std::string_view begin : {"nbf", "iat"}) {
    if (policy::has_odd_claim(token, begin)) return std::unexpected(SignatureFault::malformed);
    if (!policy::claim_of(token, begin)) continue;
    const auto begins = time_claim(token, begin);
    if (!begins) return std::unexpected(SignatureFault::malformed);
    if (one.now + clock_slack < *begins) return std::unexpected(SignatureFault::stale);
  }
  return {};
}

Judged judge_token(const Case& one) {
  const auto signatures = find_signatures(one.scheme, one.request);
  if (!signatures) return signatures.error();
  const auto token = policy::read_token(signatures->decoded.front());
  const bool known = token && (token->algorithm == "RS256" || token->algorithm == "ES256");
  if (!known || token->key_id.empty()) return SignatureFault::malformed;
  const auto fresh = check_times(one, *token);
  if (!fresh) return fresh.error();
  for (std::size_t i = 0; i < one.keys.size(); ++i) {
    const std::optional<SecretKey>& issuer = one.keys[i];
    if (!issuer) continue;
    Wanted wanted = key_document(one.scheme, *token, *issuer);
    const auto document = one.documents(wanted.kept_as());
    if (!document) return wanted;
    const auto key = policy::find_web_key(*document, token->key_id);
    if (!key) {
      wanted.refresh = true;
      return wanted;
    }
    if (policy::is_signed_by(*token, *key) && has_claims(one, *token, *issuer)) {
      return Authentic{.scheme = one.number, .secret = i, .signed_texts = {}, .document = wanted.kept_as()};
    }
  }
  return SignatureFault::mismatch;
}

Judged judge_one(const Case& one) {
  if (one.scheme.algorithm == Algorithm::paypal) return judge_paypal(one);
  if (one.scheme.algorithm == Algorithm::aws_sns) return judge_sns(one);
  return judge_token(one);
}

}  // namespace

Judged judge_delivery(const Provider& provider, const Lock& lock, const policy::RequestView& request, Time now,
                      const Documents& documents) {
  for (std::size_t i = 0; i < provider.schemes.size(); ++i) {
    const SignatureScheme& scheme = provider.schemes[i];
    if (!fetches_keys(scheme.algorithm)) continue;
    const Case one{.scheme = scheme,
                   .keys = lock.keys[i],
                   .request = request,
                   .now = now,
                   .documents = documents,
                   .number = i,
                   .tolerance = lock.tolerance.value_or(scheme.tolerance)};
    return judge_one(one);
  }
  auto authentic = authenticate(provider, lock, request, now);
  if (authentic) return *std::move(authentic);
  return authentic.error();
}

std::optional<Confirmation> confirmation_of(const SignatureScheme& scheme, const policy::RequestView& request) {
  if (scheme.algorithm != Algorithm::aws_sns) return std::nullopt;
  if (member(request, "Type") != "SubscriptionConfirmation") return std::nullopt;
  const auto url = member(request, "SubscribeURL");
  Confirmation confirmation;
  if (url && is_sns_confirmation(*url, scheme)) confirmation.url = *url;
  return confirmation;
}

}  // namespace semel::webhook
