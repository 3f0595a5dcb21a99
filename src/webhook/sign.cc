// One scheme after the other is tried; each step adds what the scheme needs.
#include "webhook/sign.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "core/crypto.h"
#include "core/encoding.h"
#include "core/field_view.h"
#include "core/sha256.h"
#include "core/signing.h"
#include "policy/expression.h"
#include "policy/json_items.h"
#include "policy/part_value.h"
#include "policy/reply.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/authenticate.h"
#include "webhook/coverage.h"
#include "webhook/event_batch.h"
#include "webhook/moment.h"
#include "webhook/provider.h"
#include "webhook/signed_text.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::webhook {
namespace {

constexpr std::string_view hole = "{signature}";

// A delivery as the rules see it; valid as long as the delivery is.
struct AsRequest {
  explicit AsRequest(const SignedDelivery& delivery) {
    for (const Field& field : delivery.fields) fields.push_back({.name = field.name, .value = field.value});
    request.method = delivery.method;
    request.fields = fields;
    request.body = delivery.body;
    policy::set_target(request, delivery.target);
  }
  std::vector<FieldView> fields;
  policy::RequestView request;
};

std::string form_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = core::is_letter(c) || core::is_digit(c) || c == '-' || c == '.' || c == '_';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

void add_query(std::string& target, std::string_view name, std::string_view value) {
  target += target.find('?') == std::string::npos ? '?' : '&';
  target += form_encoded(name) + "=" + form_encoded(value);
}

void add_if_missing(SignedDelivery& delivery, const std::string& name, std::string_view value) {
  const auto named = [&](const Field& field) { return core::equal_ignoring_case(field.name, name); };
  if (std::ranges::none_of(delivery.fields, named))
    delivery.fields.push_back({.name = name, .value = std::string(value)});
}

void add_ids(SignedDelivery& delivery, const policy::Expression& expression, std::string_view id) {
  for (const policy::Part& part : expression.parts) {
    if (part.kind == policy::PartKind::header && !part.optional) add_if_missing(delivery, part.text, id);
  }
}

std::string moment_text(Time now, MomentForm form) {
  if (form == MomentForm::rfc3339) return policy::rfc3339(now);
  const auto millis = now.time_since_epoch();
  if (form == MomentForm::millis) return std::to_string(millis.count());
  return std::to_string(std::chrono::floor<std::chrono::seconds>(millis).count());
}

// The timestamp that is signed: one that we add, or one that the body must have.
Result<std::string> add_timestamp(const SignatureScheme& scheme, SignedDelivery& delivery, Time now) {
  if (!scheme.timestamp) return std::string{};
  const policy::Part& part = scheme.timestamp->parts.front();
  std::string text = moment_text(now, scheme.timestamp_form);
  if (part.kind == policy::PartKind::item) return text;
  if (part.kind == policy::PartKind::header) add_if_missing(delivery, part.text, text);
  const AsRequest seen(delivery);
  auto value = policy::value_of(part, seen.request);
  if (!value || !*value) return fail(Code::invalid, fmt::format("{} must be in the body", policy::part_text(part)));
  return **std::move(value);
}

std::string encoded(std::string_view bytes, Encoding encoding) {
  switch (encoding) {
    case Encoding::hex:
      return core::to_hex(bytes);
    case Encoding::base64:
      return core::to_base64(bytes);
    case Encoding::base64url:
      return core::to_base64(bytes, core::Base64::url);
    case Encoding::text:
      break;
  }
  return std::string(bytes);
}

struct Signer {
  const SignatureScheme& scheme;
  const SignOrder& order;
  std::optional<SecretKey> key;

  [[nodiscard]] Result<std::string> sign(std::string_view text) const {
    const bool public_key = scheme.algorithm == Algorithm::ed25519 || scheme.algorithm == Algorithm::ecdsa_p256_sha256;
    if (public_key) {
      const auto signature = core::sign_with_private_key(order.secret, text);
      if (!signature) return fail(Code::invalid, "the private key (PEM) cannot be read");
      return encoded(*signature, scheme.encoding);
    }
    if (!key) return fail(Code::invalid, "the secret does not have the form of this provider's secrets");
    if (scheme.algorithm == Algorithm::token) return encoded(key->bytes, scheme.encoding);
    const core::HmacHash hash = scheme.algorithm == Algorithm::hmac_sha1     ? core::HmacHash::sha1
                                : scheme.algorithm == Algorithm::hmac_sha512 ? core::HmacHash::sha512
                                                                             : core::HmacHash::sha256;
    return encoded(core::hmac(hash, key->bytes, text), scheme.encoding);
  }

  [[nodiscard]] Result<std::string> sign(const policy::RequestView& request, std::string_view timestamp) const {
    const std::vector<std::string> urls = url_candidates(order.public_url, request.target);
    const auto text = render_signed(scheme.signed_text, request, {.timestamp = timestamp, .url = urls.front()});
    if (!text) return fail(Code::invalid, text.error().detail);
    return sign(*text);
  }
};

// Replaces `{signature}` in the body, or in each item of a batch, by the signature.
Result<void> sign_inside(const Signer& signer, const Provider& provider, SignedDelivery& delivery,
                         std::string_view timestamp) {
  std::vector<std::string> items{delivery.body};
  if (signer.scheme.per_item && provider.event.items) {
    const auto found = policy::json_items(delivery.body, *provider.event.items, batch_items_max);
    if (!found) return fail(Code::invalid, "the body has no list of items");
    items.assign(found->begin(), found->end());
  }
  for (const std::string& item : items) {
    AsRequest seen(delivery);
    seen.request.body = item;
    const Result<std::string> signature = signer.sign(seen.request, timestamp);
    if (!signature) return std::unexpected(signature.error());
    const std::size_t at = delivery.body.find(hole);
    if (at == std::string::npos) return fail(Code::invalid, "say with {signature} where it goes in the body");
    delivery.body.replace(at, hole.size(), *signature);
  }
  return {};
}

std::string item_text(const SignatureScheme& scheme, const Signer& signer, std::string_view signature,
                      std::string_view timestamp) {
  std::string text;
  if (scheme.timestamp && scheme.timestamp->is_single(policy::PartKind::item)) {
    text = scheme.timestamp->parts.front().text + std::string(timestamp) + scheme.separator;
  }
  if (scheme.prefix_has_key_id && signer.key) text += signer.key->id;
  return text + scheme.prefix + std::string(signature) + scheme.suffix;
}

// The JSON as the one part of a form.
void wrap(SignedDelivery& delivery, const std::string& name) {
  const std::string boundary = core::to_hex(core::sha256(delivery.body));
  for (Field& field : delivery.fields) {
    if (core::equal_ignoring_case(field.name, "Content-Type"))
      field.value = "multipart/form-data; boundary=" + boundary;
  }
  delivery.body = fmt::format("--{0}\r\nContent-Disposition: form-data; name=\"{1}\"\r\n\r\n{2}\r\n--{0}--\r\n",
                              boundary, name, delivery.body);
}

Result<SignedDelivery> sign_with(const Provider& provider, const SignatureScheme& scheme, const SignOrder& order) {
  SignedDelivery delivery{.target = order.target, .fields = order.fields, .body = order.body};
  if (scheme.algorithm == Algorithm::none) return delivery;
  if (fetches_keys(scheme.algorithm)) {
    return fail(Code::invalid, "only the provider has the key that its deliveries are signed with");
  }
  const policy::Part& from = scheme.from.parts.front();
  const bool in_form = from.kind == policy::PartKind::form;
  add_if_missing(delivery, "Content-Type", in_form ? "application/x-www-form-urlencoded" : order.content_type);
  const Result<std::string> timestamp = add_timestamp(scheme, delivery, order.now);
  if (!timestamp) return std::unexpected(timestamp.error());
  add_ids(delivery, scheme.signed_text, order.id);
  const std::vector<policy::Expression>& ids = ids_of(provider, scheme);
  if (!ids.empty()) add_ids(delivery, ids.front(), order.id);
  if (scheme.body_hash && !scheme.body_hash->parts.front().optional) {
    const Digest digest = core::sha256(delivery.body);
    add_query(delivery.target, scheme.body_hash->parts.front().text, core::to_hex(digest));
  }
  if (in_form && scheme.signed_text.is_single(policy::PartKind::form)) {
    delivery.body = scheme.signed_text.parts.front().text + "=" + form_encoded(delivery.body);
  }
  const Signer signer{
      .scheme = scheme, .order = order, .key = make_secret_key(reading::Secret(order.secret), scheme.key)};
  if (from.kind == policy::PartKind::json) {
    const Result<void> done = sign_inside(signer, provider, delivery, *timestamp);
    if (!done) return std::unexpected(done.error());
    if (!provider.json_part.empty()) wrap(delivery, provider.json_part);
    return delivery;
  }
  Result<std::string> signature;
  {
    const AsRequest seen(delivery);
    signature = signer.sign(seen.request, *timestamp);
  }
  if (!signature) return std::unexpected(signature.error());
  const std::string item = item_text(scheme, signer, *signature, *timestamp);
  if (from.kind == policy::PartKind::query) {
    add_query(delivery.target, from.text, item);
  } else if (in_form) {
    delivery.body += "&" + from.text + "=" + form_encoded(item);
  } else {
    delivery.fields.push_back({.name = from.text + (from.kind == policy::PartKind::headers ? "1" : ""), .value = item});
  }
  return delivery;
}

}  // namespace

Result<SignedDelivery> sign_delivery(const Provider& provider, const SignOrder& order) {
  Result<SignedDelivery> made = fail(Code::invalid, "the provider has no signatures");
  for (const SignatureScheme& scheme : provider.schemes) {
    made = sign_with(provider, scheme, order);
    if (made) break;
  }
  return made;
}

}  // namespace semel::webhook
