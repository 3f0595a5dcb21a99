// Schemes are tried in the order of the provider's file. Of several faults, the one of the scheme that got furthest is
// reported.
#include "webhook/authenticate.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/crypto.h"
#include "core/encoding.h"
#include "core/sha256.h"
#include "policy/expression.h"
#include "policy/json_items.h"
#include "policy/part_value.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/challenge.h"
#include "webhook/opened.h"
#include "webhook/provider.h"
#include "webhook/signatures.h"
#include "webhook/signed_text.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::webhook {
namespace {

struct SecretMatch {
  std::size_t secret = 0;
  std::vector<std::string> texts;  // that are signed
};
using Matched = std::expected<SecretMatch, SignatureFault>;

constexpr std::size_t items_max = 10'000;

bool any_equal(const std::vector<std::string>& signatures, std::string_view tag) {
  bool equal = false;
  for (const std::string& signature : signatures) equal |= core::equal_in_constant_time(signature, tag);
  return equal;
}

core::HmacHash hash_of(Algorithm algorithm) {
  if (algorithm == Algorithm::hmac_sha1) return core::HmacHash::sha1;
  return algorithm == Algorithm::hmac_sha512 ? core::HmacHash::sha512 : core::HmacHash::sha256;
}

bool matches(const SignatureScheme& scheme, const SecretKey& key, const std::vector<std::string>& signatures,
             std::string_view text) {
  const auto verified = [&](auto verify) {
    return std::ranges::any_of(signatures,
                               [&](const std::string& signature) { return verify(key.bytes, text, signature); });
  };
  switch (scheme.algorithm) {
    case Algorithm::hmac_sha1:
    case Algorithm::hmac_sha256:
    case Algorithm::hmac_sha512:
      return any_equal(signatures, core::hmac(hash_of(scheme.algorithm), key.bytes, text));
    case Algorithm::ed25519:
      return verified(core::verify_ed25519);
    case Algorithm::ecdsa_p256_sha256:
      return verified(core::verify_ecdsa_p256_sha256);
    case Algorithm::token:
      return any_equal(signatures, key.bytes);
    case Algorithm::none:
    case Algorithm::paypal:
    case Algorithm::aws_sns:
    case Algorithm::jwt:
    case Algorithm::plaid:
      break;
  }
  core::check(false, "every algorithm that verifies something by itself has a case");
  return false;
}

// A hash that may be absent must be right where it is present.
bool has_body_hash(const policy::Expression& where, const policy::RequestView& request) {
  const auto written = policy::value_of(where.parts.front(), request);
  if (!written) return false;
  const std::optional<std::string>& text = *written;
  if (!text) return true;
  // In an address it stands last, as it is added there: before it may be what a stranger had signed as part of a form.
  const policy::Part& part = where.parts.front();
  if (part.kind == policy::PartKind::query && !request.query.ends_with(part.text + "=" + *text)) return false;
  const auto claimed = core::from_hex(*text);
  const Digest digest = core::sha256(request.body);
  return claimed &&
         core::equal_in_constant_time(*claimed, {reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// One request, or one element of a batch that carries its own signature.
Matched match(const Provider& provider, std::size_t number, const Lock& lock, const policy::RequestView& request,
              Time now) {
  const SignatureScheme& scheme = provider.schemes[number];
  const std::vector<std::optional<SecretKey>>& keys = lock.keys[number];
  const auto signatures = find_signatures(scheme, request);
  if (!signatures) return std::unexpected(signatures.error());
  const auto aged = check_age(scheme, signatures->timestamp, lock.tolerance.value_or(scheme.tolerance), now);
  if (!aged) return std::unexpected(aged.error());
  if (scheme.body_hash && !has_body_hash(*scheme.body_hash, request)) return std::unexpected(SignatureFault::mismatch);
  std::vector<std::string> urls{std::string{}};
  if (scheme.signed_text.has(policy::PartKind::url)) urls = url_candidates(lock.public_url, request.target);
  for (const std::string& url : urls) {
    auto text = render_signed(scheme.signed_text, request, {.timestamp = signatures->timestamp, .url = url});
    if (!text || is_signed_for_strangers(provider, *text)) return std::unexpected(SignatureFault::malformed);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::optional<SecretKey>& key = keys[i];
      if (!key || !matches(scheme, *key, signatures->decoded, *text)) continue;
      SecretMatch match{.secret = i, .texts = {}};
      match.texts.push_back(*std::move(text));
      return match;
    }
  }
  return std::unexpected(SignatureFault::mismatch);
}

// Every element must be signed; returns the first one's secret.
Matched match_items(const Provider& provider, std::size_t number, const Lock& lock, const policy::RequestView& request,
                    Time now) {
  const auto& pointer = core::present(provider.event.items, "a batch has a place for its elements");
  const auto items = policy::json_items(request.body, pointer, items_max);
  if (!items || items->empty() || items->size() > items_max) return std::unexpected(SignatureFault::malformed);
  std::optional<SecretMatch> all;
  policy::RequestView element = request;
  for (const std::string_view item : *items) {
    element.body = item;
    Matched matched = match(provider, number, lock, element, now);
    if (!matched) return matched;
    if (all) {
      all->texts.push_back(std::move(matched->texts.front()));
    } else {
      all = *std::move(matched);
    }
  }
  return std::move(core::present(all, "there is an element"));
}

}  // namespace

std::optional<SecretKey> make_secret_key(const reading::Secret& secret, KeyForm form) {
  constexpr std::string_view whsec = "whsec_";
  constexpr std::string_view whpk = "whpk_";
  std::string_view text = secret.reveal();
  const auto key = [](std::optional<std::string> bytes) -> std::optional<SecretKey> {
    if (!bytes || bytes->empty()) return std::nullopt;
    return SecretKey{.bytes = *std::move(bytes), .id = {}};
  };
  switch (form) {
    case KeyForm::raw:
      return key(std::string(text));
    case KeyForm::hex:
      return key(core::from_hex(text));
    case KeyForm::base64:
      return key(core::from_base64(text));
    case KeyForm::whsec:
      if (text.starts_with(whsec)) text.remove_prefix(whsec.size());
      return key(core::from_base64(text));
    case KeyForm::whpk:
      if (!text.starts_with(whpk)) return std::nullopt;
      return key(core::from_base64(text.substr(whpk.size())));
    case KeyForm::id_sha1:
    case KeyForm::id_raw: {
      const std::size_t bar = text.find('|');
      if (bar == std::string_view::npos || bar + 1 == text.size()) return std::nullopt;
      const std::string_view rest = text.substr(bar + 1);
      return SecretKey{.bytes = form == KeyForm::id_raw ? std::string(rest) : core::sha1(rest),
                       .id = std::string(text.substr(0, bar))};
    }
  }
  return std::nullopt;
}

Lock make_lock(const Provider& provider, std::span<const reading::Secret> secrets, std::string_view public_url,
               std::optional<Millis> tolerance) {
  Lock lock{.keys = {}, .public_url = std::string(public_url), .tolerance = tolerance};
  for (const SignatureScheme& scheme : provider.schemes) {
    auto& keys = lock.keys.emplace_back();
    for (const reading::Secret& secret : secrets) keys.push_back(make_secret_key(secret, scheme.key));
  }
  return lock;
}

std::expected<Authentic, SignatureFault> authenticate(const Provider& provider, const Lock& lock,
                                                      const policy::RequestView& unopened, Time now) {
  const policy::RequestView request = opened(provider, unopened);
  SignatureFault furthest = SignatureFault::missing;
  for (std::size_t i = 0; i < provider.schemes.size(); ++i) {
    const SignatureScheme& scheme = provider.schemes[i];
    if (scheme.algorithm == Algorithm::none) return Authentic{.scheme = i};
    if (fetches_keys(scheme.algorithm)) continue;
    const bool per_item = scheme.per_item && provider.event.items;
    Matched matched = per_item ? match_items(provider, i, lock, request, now) : match(provider, i, lock, request, now);
    if (matched) {
      return Authentic{.scheme = i, .secret = matched->secret, .signed_texts = std::move(matched->texts)};
    }
    furthest = std::max(furthest, matched.error());
  }
  return std::unexpected(furthest);
}

std::optional<std::string> text_to_sign(const SignatureScheme& scheme, const Lock& lock,
                                        const policy::RequestView& request) {
  const auto found = find_signatures(scheme, request);
  const std::string timestamp = found ? found->timestamp : std::string{};
  const std::string url = url_candidates(lock.public_url, request.target).front();
  auto text = render_signed(scheme.signed_text, request, {.timestamp = timestamp, .url = url});
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

}  // namespace semel::webhook
