// [[signature]] of a provider's file: one way of signing.
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policy/expression.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "webhook/moment.h"
#include "webhook/provider.h"
#include "webhook/provider_sections.h"
#include <semel/clock.h>

namespace semel::webhook {
namespace {

constexpr std::array algorithm_choices{reading::Choice<Algorithm>{"hmac-sha256", Algorithm::hmac_sha256},
                                       reading::Choice<Algorithm>{"hmac-sha1", Algorithm::hmac_sha1},
                                       reading::Choice<Algorithm>{"hmac-sha512", Algorithm::hmac_sha512},
                                       reading::Choice<Algorithm>{"ed25519", Algorithm::ed25519},
                                       reading::Choice<Algorithm>{"ecdsa-p256-sha256", Algorithm::ecdsa_p256_sha256},
                                       reading::Choice<Algorithm>{"token", Algorithm::token},
                                       reading::Choice<Algorithm>{"none", Algorithm::none},
                                       reading::Choice<Algorithm>{"paypal", Algorithm::paypal},
                                       reading::Choice<Algorithm>{"aws-sns", Algorithm::aws_sns},
                                       reading::Choice<Algorithm>{"jwt", Algorithm::jwt},
                                       reading::Choice<Algorithm>{"plaid", Algorithm::plaid}};
constexpr std::array key_choices{
    reading::Choice<KeyForm>{"raw", KeyForm::raw},       reading::Choice<KeyForm>{"hex", KeyForm::hex},
    reading::Choice<KeyForm>{"base64", KeyForm::base64}, reading::Choice<KeyForm>{"whsec", KeyForm::whsec},
    reading::Choice<KeyForm>{"whpk", KeyForm::whpk},     reading::Choice<KeyForm>{"id|sha1", KeyForm::id_sha1},
    reading::Choice<KeyForm>{"id|raw", KeyForm::id_raw}};
constexpr std::array encoding_choices{
    reading::Choice<Encoding>{"hex", Encoding::hex}, reading::Choice<Encoding>{"base64", Encoding::base64},
    reading::Choice<Encoding>{"base64url", Encoding::base64url}, reading::Choice<Encoding>{"text", Encoding::text}};
constexpr std::array moment_choices{reading::Choice<MomentForm>{"s", MomentForm::seconds},
                                    reading::Choice<MomentForm>{"ms", MomentForm::millis},
                                    reading::Choice<MomentForm>{"rfc3339", MomentForm::rfc3339}};
constexpr Millis tolerance_max{7 * 86'400'000LL};

void read_source(reading::TableReader& table, policy::Expression& into) {
  std::optional<policy::Expression> from;
  read_expression(table, "from", policy::ExpressionUse::signature, from);
  if (!from) return;
  if (from->parts.size() != 1 || from->parts.front().kind == policy::PartKind::literal) {
    table.reject("from", table.at("from"), "from is one part, such as {header:X-Signature}");
    return;
  }
  into = *std::move(from);
}

void read_separator(reading::TableReader& table, char& into) {
  std::string text;
  reading::read_text(table, "separator", text);
  if (text.size() > 1) {
    table.reject("separator", table.at("separator"),
                 "separator is one character, or \"\" where there is one signature");
  }
  into = text.size() == 1 ? text.front() : '\0';
}

// `v1={}`: the text around a signature. `{key_id}`, at the very beginning, is the name of our secret.
void read_item(reading::TableReader& table, SignatureScheme& scheme) {
  constexpr std::string_view hole = "{}";
  constexpr std::string_view key_id = "{key_id}";
  std::string item(hole);
  reading::read_text(table, "item", item);
  std::string_view text = item;
  scheme.prefix_has_key_id = text.starts_with(key_id);
  if (scheme.prefix_has_key_id) text.remove_prefix(key_id.size());
  const std::size_t at = text.find(hole);
  if (at == std::string_view::npos) {
    table.reject("item", table.at("item"), "item shows with {} where to find the signature, such as \"v1={}\"");
    return;
  }
  scheme.prefix = text.substr(0, at);
  scheme.suffix = text.substr(at + hole.size());
  if ((scheme.prefix + scheme.suffix).find_first_of("{}") != std::string::npos) {
    table.reject("item", table.at("item"), "item has one {}, and {key_id} only at its beginning");
  }
}

reading::Parsed<void> check_address(const std::string& text) {
  const bool address = text.starts_with("https://") || text.starts_with("http://127.0.0.1:");
  if (address && text.find('/', text.find("://") + 3) != std::string::npos) return {};
  return reading::fault("must begin with https://, then a host and a slash");
}

bool has_public_key(Algorithm algorithm) {
  return algorithm == Algorithm::ed25519 || algorithm == Algorithm::ecdsa_p256_sha256;
}

void check_needs(reading::TableReader& table, const SignatureScheme& scheme) {
  const bool fetches = fetches_keys(scheme.algorithm);
  const bool signs = !fetches && scheme.algorithm != Algorithm::token && scheme.algorithm != Algorithm::none;
  const bool own_place = scheme.algorithm == Algorithm::paypal || scheme.algorithm == Algorithm::aws_sns;
  if (fetches && scheme.keys.empty() && scheme.algorithm != Algorithm::aws_sns) {
    table.reject("keys", table.at("keys"), "signature needs `keys`: where its keys are fetched");
  }
  if (!scheme.api.empty() && (scheme.algorithm != Algorithm::paypal || scheme.api.size() != scheme.keys.size())) {
    table.reject("api", table.at("api"), "api is for PayPal, and has one address for each of `keys`");
  }
  if (!own_place && scheme.algorithm != Algorithm::none && !table.has("from")) {
    table.reject("from", table.at("from"), "signature needs `from`: where to find the signature");
  }
  if (signs && !table.has("signs")) {
    table.reject("signs", table.at("signs"), "signature needs `signs`: the bytes that are signed");
  }
  if (!signs && table.has("signs")) {
    table.reject("signs", table.at("signs"), "nothing is signed with this algorithm");
  }
  if (has_public_key(scheme.algorithm) && (scheme.key == KeyForm::raw || scheme.key == KeyForm::id_sha1)) {
    table.reject("key", table.at("key"), "a public key is bytes: say how they are written (hex, base64, whpk)");
  }
  if (signs && scheme.encoding == Encoding::text) {
    table.reject("encoding", table.at("encoding"), "a signature is bytes: hex, base64 or base64url");
  }
}

void check_time(reading::TableReader& table, const SignatureScheme& scheme) {
  if (scheme.signed_text.has(policy::PartKind::timestamp) && !scheme.timestamp) {
    table.reject("signs", table.at("signs"), "signs has {timestamp}, so `timestamp` must say where to find it");
  }
  if (scheme.tolerance > Millis{0} && !has_time(scheme)) {
    table.reject("tolerance", table.at("tolerance"), "tolerance needs `timestamp`: where to find the time");
  }
  if (scheme.timestamp && scheme.timestamp->is_single(policy::PartKind::item) && scheme.separator == '\0') {
    table.reject("timestamp", table.at("timestamp"), "{item:} needs a `separator`: without one there are no items");
  }
}

}  // namespace

void read_signature(reading::Reading& reading, const reading::Node& node, Provider& provider) {
  reading::TableReader table(reading, &node, "signature");
  SignatureScheme scheme;
  reading::read_choice(table, "algorithm", scheme.algorithm, algorithm_choices);
  reading::read_choice(table, "key", scheme.key, key_choices);
  read_source(table, scheme.from);
  read_separator(table, scheme.separator);
  read_item(table, scheme);
  const bool as_text = scheme.algorithm == Algorithm::token || fetches_keys(scheme.algorithm);
  scheme.encoding = as_text ? Encoding::text : Encoding::hex;
  reading::read_choice(table, "encoding", scheme.encoding, encoding_choices);
  std::optional<policy::Expression> signed_text;
  read_expression(table, "signs", policy::ExpressionUse::signed_text, signed_text);
  if (signed_text) scheme.signed_text = *std::move(signed_text);
  read_expression(table, "body_hash", policy::ExpressionUse::event, scheme.body_hash);
  if (scheme.body_hash && scheme.body_hash->parts.size() != 1) {
    table.reject("body_hash", table.at("body_hash"), "body_hash is one part, such as {query:sha256}");
  }
  bool claimed = false;
  reading::read_flag(table, "signs_id", claimed);  // check_claims() compares it
  reading::read_flag(table, "per_item", scheme.per_item);
  reading::read_list(table, "keys", scheme.keys, check_address);
  reading::read_list(table, "api", scheme.api, check_address);
  reading::read_list(table, "issuers", scheme.issuers, [](const std::string&) -> reading::Parsed<void> { return {}; });
  read_expression(table, "timestamp", policy::ExpressionUse::timestamp, scheme.timestamp);
  if (scheme.timestamp && scheme.timestamp->parts.size() != 1) {
    table.reject("timestamp", table.at("timestamp"), "timestamp is one part, such as {header:X-Timestamp}");
  }
  reading::read_choice(table, "timestamp_form", scheme.timestamp_form, moment_choices);
  reading::read_duration(table, "tolerance", scheme.tolerance, {.min = Millis{0}, .max = tolerance_max});
  check_needs(table, scheme);
  if (table.good("signs") && table.good("timestamp")) check_time(table, scheme);
  if (table.has("id")) read_ids(table, {scheme}, scheme.id);
  table.finish();
  provider.schemes.push_back(std::move(scheme));
}

}  // namespace semel::webhook
