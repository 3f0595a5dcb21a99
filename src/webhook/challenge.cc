// The alphabets have no colon and no brace, so that no token is JSON or a signed text with a time in it.
#include "webhook/challenge.h"

#include <algorithm>
#include <string_view>

#include "core/ascii.h"
#include "webhook/provider.h"

namespace semel::webhook {

bool is_allowed(std::string_view token, const Handshake& handshake) {
  const auto plain = [](char c) {
    return core::is_letter(c) || core::is_digit(c) || std::string_view("._~+/=-").find(c) != std::string_view::npos;
  };
  if (token.empty() || token.size() > handshake.token_bytes_max) return false;
  switch (handshake.letters) {
    case TokenLetters::plain:
      return std::ranges::all_of(token, plain);
    case TokenLetters::hex:
      return std::ranges::all_of(token, core::is_hex_digit);
    case TokenLetters::digits:
      return std::ranges::all_of(token, core::is_digit);
  }
  return false;
}

bool is_signed_for_strangers(const Provider& provider, std::string_view text) {
  return std::ranges::any_of(provider.handshakes, [&](const Handshake& handshake) {
    return handshake.hmac.has_value() && is_allowed(text, handshake);
  });
}

}  // namespace semel::webhook
