// Odd input ends here, always as a fault.
#include "webhook/signatures.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/field_view.h"
#include "policy/expression.h"
#include "policy/part_value.h"
#include "policy/request_view.h"
#include "webhook/moment.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::webhook {
namespace {

constexpr std::size_t items_max = 1'000;
constexpr std::size_t signatures_max = 100;       // one comparison each
constexpr std::size_t costly_signatures_max = 8;  // one operation with a public key each
constexpr std::size_t signature_bytes_max = 8'192;

constexpr std::array<std::string_view, signature_faults> fault_names{"missing", "malformed", "stale", "mismatch",
                                                                     "no-key"};

bool starts_with_ignoring_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && core::equal_ignoring_case(text.substr(0, start.size()), start);
}

// The lines that hold signatures. Null if they cannot be read.
std::optional<std::vector<std::string>> lines_with(const policy::Part& from, const policy::RequestView& request) {
  std::vector<std::string> lines;
  if (from.kind == policy::PartKind::header || from.kind == policy::PartKind::headers) {
    for (const FieldView& field : request.fields) {
      const bool named = from.kind == policy::PartKind::header ? core::equal_ignoring_case(field.name, from.text)
                                                               : starts_with_ignoring_case(field.name, from.text);
      if (named) lines.emplace_back(core::trimmed(field.value));
      if (lines.size() > items_max) return std::nullopt;
    }
    return lines;
  }
  const auto value = policy::value_of(from, request);
  if (!value && value.error().kind == policy::PartError::Kind::invalid) return std::nullopt;
  if (value && *value) lines.push_back(**value);
  return lines;
}

// Null if there are too many.
std::optional<std::vector<std::string_view>> items_of(const std::vector<std::string>& lines, char separator) {
  std::vector<std::string_view> items;
  for (const std::string& line : lines) {
    std::string_view rest = line;
    for (;;) {
      const std::size_t end = separator == '\0' ? std::string_view::npos : rest.find(separator);
      items.push_back(core::trimmed(rest.substr(0, end)));
      if (items.size() > items_max) return std::nullopt;
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
  }
  return items;
}

// The text between prefix and suffix. Null for another kind of item.
std::optional<std::string_view> inside(std::string_view item, const SignatureScheme& scheme) {
  if (scheme.prefix_has_key_id) {
    const std::size_t at = item.find(scheme.prefix);
    if (at == std::string_view::npos) return std::nullopt;
    item.remove_prefix(at);
  }
  if (item.size() < scheme.prefix.size() + scheme.suffix.size()) return std::nullopt;
  if (!item.starts_with(scheme.prefix) || !item.ends_with(scheme.suffix)) return std::nullopt;
  return item.substr(scheme.prefix.size(), item.size() - scheme.prefix.size() - scheme.suffix.size());
}

std::optional<std::string> decoded(std::string_view text, Encoding encoding) {
  if (text.empty() || text.size() > signature_bytes_max) return std::nullopt;
  switch (encoding) {
    case Encoding::hex:
      return core::from_hex(text);
    case Encoding::base64:
      return core::from_base64(text);
    case Encoding::base64url:
      return core::from_base64(text, core::Base64::url);
    case Encoding::text:
      return std::string(text);
  }
  return std::nullopt;
}

bool is_costly(Algorithm algorithm) {
  return algorithm == Algorithm::ed25519 || algorithm == Algorithm::ecdsa_p256_sha256;
}

// Exactly one, wherever it is.
std::optional<std::string> timestamp_of(const policy::Expression& where, const policy::RequestView& request,
                                        const std::vector<std::string_view>& items) {
  const policy::Part& part = where.parts.front();
  if (part.kind != policy::PartKind::item) {
    auto value = policy::value_of(part, request);
    return value ? *std::move(value) : std::nullopt;
  }
  std::optional<std::string> found;
  for (const std::string_view item : items) {
    if (!item.starts_with(part.text)) continue;
    if (found) return std::nullopt;
    found = std::string(item.substr(part.text.size()));
  }
  return found;
}

}  // namespace

std::string_view name(SignatureFault fault) {
  return fault_names.at(static_cast<std::size_t>(fault));
}

std::expected<Signatures, SignatureFault> find_signatures(const SignatureScheme& scheme,
                                                          const policy::RequestView& request) {
  const auto lines = lines_with(scheme.from.parts.front(), request);
  if (!lines) return std::unexpected(SignatureFault::malformed);
  if (lines->empty()) return std::unexpected(SignatureFault::missing);
  const auto items = items_of(*lines, scheme.separator);
  if (!items) return std::unexpected(SignatureFault::malformed);
  Signatures found;
  const std::size_t most = is_costly(scheme.algorithm) ? costly_signatures_max : signatures_max;
  std::size_t candidates = 0;
  for (const std::string_view item : *items) {
    const auto text = inside(item, scheme);
    if (!text) continue;
    if (++candidates > most) return std::unexpected(SignatureFault::malformed);
    if (auto bytes = decoded(*text, scheme.encoding)) found.decoded.push_back(*std::move(bytes));
  }
  if (found.decoded.empty()) return std::unexpected(SignatureFault::malformed);
  if (scheme.timestamp) {
    auto timestamp = timestamp_of(*scheme.timestamp, request, *items);
    if (!timestamp) return std::unexpected(SignatureFault::malformed);
    found.timestamp = *std::move(timestamp);
  }
  return found;
}

std::expected<void, SignatureFault> check_moment(std::string_view text, MomentForm form, Millis tolerance, Time now) {
  const auto moment = parse_moment(text, form);
  if (!moment) return std::unexpected(SignatureFault::malformed);
  if (tolerance > Millis{0} && std::chrono::abs(now - *moment) > tolerance) {
    return std::unexpected(SignatureFault::stale);
  }
  return {};
}

std::expected<void, SignatureFault> check_age(const SignatureScheme& scheme, std::string_view timestamp,
                                              Millis tolerance, Time now) {
  if (!scheme.timestamp) return {};
  return check_moment(timestamp, scheme.timestamp_form, tolerance, now);
}

}  // namespace semel::webhook
