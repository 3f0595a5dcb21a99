#include "policy/form.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/ascii.h"

namespace semel::policy {

std::optional<std::string> form_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || !core::is_hex_digit(text[i + 1]) || !core::is_hex_digit(text[i + 2]))
        return std::nullopt;
      out.push_back(static_cast<char>(core::hex_value(text[i + 1]) * 16 + core::hex_value(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

bool is_small_form(std::string_view text) {
  if (text.ends_with('&')) text.remove_suffix(1);
  return static_cast<std::size_t>(std::ranges::count(text, '&')) < form_pairs_max;
}

std::optional<FormPairs> form_pairs(std::string_view text) {
  if (!is_small_form(text)) return std::nullopt;
  FormPairs pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = form_decoded(pair.substr(0, equals));
    auto value = form_decoded(pair.substr(std::min(pair.size(), equals + 1)));
    if (!name || !value) return std::nullopt;
    pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

}  // namespace semel::policy
