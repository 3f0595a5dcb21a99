#include "inbox/destination.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/ascii.h"
#include "core/crypto.h"
#include "core/encoding.h"
#include "inbox/event_view.h"
#include "reading/fault.h"
#include "reading/secret.h"
#include <semel/clock.h>

namespace semel::inbox {
namespace {

void append_encoded(std::string& out, std::string_view value) {
  for (const char c : value) {
    const bool plain = core::is_letter(c) || core::is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    out += '%';
    out += core::hex_digits[byte >> 4U];
    out += core::hex_digits[byte & 15U];
  }
}

bool fits_target(char c) {
  return c > ' ' && c <= '~' && c != '"' && c != '<' && c != '>' && c != '#' && c != '}';
}

std::string key_bytes(const reading::Secret& secret) {
  constexpr std::string_view prefix = "whsec_";
  const std::string& text = secret.reveal();
  if (!text.starts_with(prefix)) return text;
  return core::from_base64(std::string_view(text).substr(prefix.size())).value_or(text);
}

}  // namespace

reading::Parsed<HandlerTarget> HandlerTarget::parse(std::string_view text) {
  HandlerTarget target;
  target.text_ = std::string(text);
  if (text.empty()) return target;
  if (!text.starts_with('/')) return reading::fault("must begin with a slash", "/" + std::string(text));
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '{') {
      const std::size_t end = text.find('}', at);
      if (end == std::string_view::npos) return reading::fault("a brace is not closed", {}, at);
      auto part = parse_event_part(text.substr(at, end + 1 - at));
      if (!part) return reading::fault(part.error().message, part.error().suggestion, at);
      target.pieces_.emplace_back(*std::move(part));
      at = end + 1;
      continue;
    }
    const std::size_t end = std::min(text.find('{', at), text.size());
    for (std::size_t i = at; i < end; ++i) {
      if (!fits_target(text[i])) return reading::fault("has a character that a target cannot have", {}, i);
    }
    target.pieces_.emplace_back(std::string(text.substr(at, end - at)));
    at = end;
  }
  return target;
}

std::optional<std::string> HandlerTarget::render(const EventView& event) const {
  if (pieces_.empty()) return std::string(event.request.target);
  std::string out;
  for (const auto& piece : pieces_) {
    if (const auto* literal = std::get_if<std::string>(&piece)) {
      out += *literal;
      continue;
    }
    const std::optional<std::string> value = std::get<EventPart>(piece).value_in(event);
    if (!value) return std::nullopt;
    append_encoded(out, *value);
  }
  return out;
}

AttemptSignature sign_attempt(const reading::Secret& secret, std::string_view id, std::string_view body, Time now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  AttemptSignature made{.id = std::string(id), .timestamp = std::to_string(seconds), .signature = {}};
  const std::string text = made.id + "." + made.timestamp + "." + std::string(body);
  made.signature = "v1," + core::to_base64(core::hmac(core::HmacHash::sha256, key_bytes(secret), text));
  return made;
}

}  // namespace semel::inbox
