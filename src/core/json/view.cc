// Finding the end of a value needs only brackets and quotes, since the text has been checked.
#include "core/json/view.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/ascii.h"
#include "core/function_ref.h"

namespace semel::core::json {
namespace {

std::size_t behind_space(std::string_view text, std::size_t at) {
  const std::size_t found = text.find_first_not_of(" \t\r\n", at);
  return found == std::string_view::npos ? text.size() : found;
}

// `at` is an opening quote; returns the place behind the closing one.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : text.size();
}

std::size_t behind_container(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    at = text.find_first_of("{}[]\"", at);
    if (at == std::string_view::npos) return text.size();
    if (text[at] == '"') {
      at = behind_string(text, at);
      continue;
    }
    const bool opens = text[at] == '{' || text[at] == '[';
    ++at;
    if (opens) ++depth;
    if (!opens && --depth == 0) return at;
  }
  return text.size();
}

std::size_t behind_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return text.size();
  if (text[at] == '"') return behind_string(text, at);
  if (text[at] == '{' || text[at] == '[') return behind_container(text, at);
  const std::size_t end = text.find_first_of(",]} \t\r\n", at);
  return end == std::string_view::npos ? text.size() : end;
}

// The four digits of `\uXXXX`.
std::uint32_t unit_at(std::string_view text, std::size_t at) {
  std::uint32_t unit = 0;
  for (const char c : text.substr(at, 4)) unit = (unit << 4U) | (is_hex_digit(c) ? hex_value(c) : 0U);
  return unit;
}

void append_character(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0U | (code >> 6U));
  } else if (code < 0x10000) {
    put(0xe0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3fU));
  } else {
    put(0xf0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3fU));
    put(0x80U | ((code >> 6U) & 0x3fU));
  }
  put(0x80U | (code & 0x3fU));
}

char escaped(char letter) {
  constexpr std::string_view letters = "bfnrt";
  constexpr std::string_view meant = "\b\f\n\r\t";
  const std::size_t found = letters.find(letter);
  return found == std::string_view::npos ? letter : meant[found];
}

// `inside` stands between the quotes.
std::string decoded(std::string_view inside) {
  std::string out;
  out.reserve(inside.size());
  for (std::size_t at = 0; at < inside.size(); ++at) {
    if (inside[at] != '\\' || at + 1 == inside.size()) {
      out.push_back(inside[at]);
      continue;
    }
    ++at;
    if (inside[at] != 'u') {
      out.push_back(escaped(inside[at]));
      continue;
    }
    std::uint32_t code = unit_at(inside, at + 1);
    at += 4;
    if (code >= 0xd800 && code < 0xdc00 && at + 6 < inside.size()) {
      code = 0x10000 + ((code - 0xd800) << 10U) + (unit_at(inside, at + 3) - 0xdc00);
      at += 6;
    }
    append_character(out, code);
  }
  return out;
}

std::string_view between_quotes(std::string_view raw) {
  return raw.size() < 2 ? std::string_view() : raw.substr(1, raw.size() - 2);
}

}  // namespace

JsonView::JsonView(std::string_view text) {
  const std::size_t begin = behind_space(text, 0);
  raw_ = text.substr(begin, behind_value(text, begin) - begin);
}

JsonView::Kind JsonView::kind() const {
  switch (raw_.empty() ? 'n' : raw_.front()) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    default:
      return Kind::number;
  }
}

std::string JsonView::text() const {
  const std::string_view inside = between_quotes(raw_);
  return inside.contains('\\') ? decoded(inside) : std::string(inside);
}

std::optional<std::int64_t> JsonView::whole() const {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(raw_.data(), raw_.data() + raw_.size(), number);
  if (error != std::errc() || end != raw_.data() + raw_.size()) return std::nullopt;
  return number;
}

void JsonView::members(FunctionRef<bool(std::string_view, JsonView)> take) const {
  std::size_t at = behind_space(raw_, 1);
  while (at < raw_.size() && raw_[at] == '"') {
    const std::size_t end = behind_string(raw_, at);
    const std::string_view inside = between_quotes(raw_.substr(at, end - at));
    const std::string name = inside.contains('\\') ? decoded(inside) : std::string();
    const JsonView value(raw_.substr(behind_space(raw_, behind_space(raw_, end) + 1)));
    if (!take(name.empty() ? inside : std::string_view(name), value)) return;
    at = behind_space(raw_, static_cast<std::size_t>(value.raw_.data() - raw_.data()) + value.raw_.size());
    if (at >= raw_.size() || raw_[at] != ',') return;
    at = behind_space(raw_, at + 1);
  }
}

void JsonView::elements(FunctionRef<bool(JsonView)> take) const {
  std::size_t at = behind_space(raw_, 1);
  while (at < raw_.size() && raw_[at] != ']') {
    const JsonView value(raw_.substr(at));
    if (value.raw_.empty() || !take(value)) return;
    at = behind_space(raw_, static_cast<std::size_t>(value.raw_.data() - raw_.data()) + value.raw_.size());
    if (at >= raw_.size() || raw_[at] != ',') return;
    at = behind_space(raw_, at + 1);
  }
}

}  // namespace semel::core::json
