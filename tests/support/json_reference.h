// A second, slow and simple reading of JSON, to hold the canonicaliser to.
//
// Shares no code with src/core: recursive descent into a tree, names in a map of decoded code points, numbers as a run
// of digits and an exponent. Two documents are the same if their trees are equal. It refuses what the canonicaliser
// must refuse: duplicate names, invalid UTF-8, lone surrogates, depth over 64, exponents beyond 9,999.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel::test {

// `digits` times ten to the power of `exponent`; no zeros at either end of `digits`, which are empty for zero.
struct Decimal {
  bool negative = false;
  std::string digits{};
  long exponent = 0;

  friend bool operator==(const Decimal&, const Decimal&) = default;
};

enum class JsonType { null, no, yes, number, string, array, object };

struct Json {
  JsonType type = JsonType::null;
  Decimal number{};
  std::u32string string{};
  std::vector<Json> elements{};
  std::map<std::u32string, Json> members{};

  friend bool operator==(const Json&, const Json&) = default;
};

class JsonReference {
 public:
  explicit JsonReference(std::string_view text) : rest_(text) {}

  std::optional<Json> document() {
    space();
    std::optional<Json> json = value(0);
    space();
    return rest_.empty() ? std::move(json) : std::nullopt;
  }

 private:
  using Maybe = std::optional<Json>;

  char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  Maybe value(int depth) {
    if (skip("null")) return Json{.type = JsonType::null};
    if (skip("true")) return Json{.type = JsonType::yes};
    if (skip("false")) return Json{.type = JsonType::no};
    if (skip("\"")) {
      auto text = string();
      if (!text) return std::nullopt;
      return Json{.type = JsonType::string, .string = *std::move(text)};
    }
    if (next() == '[' || next() == '{') return depth == 64 ? std::nullopt : container(depth + 1);
    return number();
  }

  Maybe container(int depth) {
    const bool object = skip("{");
    if (!object) skip("[");
    const std::string_view close = object ? "}" : "]";
    Json json{.type = object ? JsonType::object : JsonType::array};
    space();
    if (skip(close)) return json;
    do {
      if (!(object ? member(json, depth) : element(json, depth))) return std::nullopt;
      space();
    } while (skip(","));
    if (!skip(close)) return std::nullopt;
    return json;
  }

  bool element(Json& array, int depth) {
    space();
    Maybe inner = value(depth);
    if (inner) array.elements.push_back(*std::move(inner));
    return inner.has_value();
  }

  bool member(Json& object, int depth) {
    space();
    if (!skip("\"")) return false;
    auto name = string();
    space();
    if (!name || !skip(":")) return false;
    space();
    Maybe inner = value(depth);
    return inner && object.members.emplace(*std::move(name), *std::move(inner)).second;
  }

  Maybe number() {
    Decimal decimal{.negative = skip("-")};
    std::string whole = digits();
    if (whole.empty() || (whole.size() > 1 && whole[0] == '0')) return std::nullopt;
    std::string fraction;
    if (skip(".") && (fraction = digits()).empty()) return std::nullopt;
    long exponent = 0;
    if (skip("e") || skip("E")) {
      const bool minus = skip("-");
      if (!minus) skip("+");
      std::string power = digits();
      if (power.empty()) return std::nullopt;
      power.erase(0, power.find_first_not_of('0'));
      exponent = power.empty() ? 0 : power.size() > 12 ? 1'000'000'000'000 : std::stol(power);
      if (minus) exponent = -exponent;
    }
    decimal.digits = whole + fraction;
    decimal.exponent = exponent - static_cast<long>(fraction.size());
    while (!decimal.digits.empty() && decimal.digits.back() == '0') decimal.digits.pop_back(), ++decimal.exponent;
    decimal.digits.erase(0, decimal.digits.find_first_not_of('0'));
    if (decimal.digits.empty()) decimal.exponent = 0;
    if (decimal.exponent > 9'999 || decimal.exponent < -9'999) return std::nullopt;
    return Json{.type = JsonType::number, .number = std::move(decimal)};
  }

  std::string digits() {
    const std::size_t size = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    std::string run(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return run;
  }

  // Behind the opening quote; takes the closing one.
  std::optional<std::u32string> string() {
    std::u32string text;
    while (!skip("\"")) {
      const std::optional<char32_t> unit = skip("\\") ? escape() : utf8();
      if (!unit) return std::nullopt;
      text.push_back(*unit);
    }
    return text;
  }

  std::optional<char32_t> escape() {
    static const std::map<char, char32_t> simple{{'"', U'"'},  {'\\', U'\\'}, {'/', U'/'},  {'b', U'\b'},
                                                 {'f', U'\f'}, {'n', U'\n'},  {'r', U'\r'}, {'t', U'\t'}};
    if (const auto found = simple.find(next()); !rest_.empty() && found != simple.end()) {
      rest_.remove_prefix(1);
      return found->second;
    }
    const std::optional<char32_t> first = skip("u") ? unit() : std::nullopt;
    if (!first || *first < 0xD800 || *first > 0xDFFF) return first;
    const std::optional<char32_t> second = skip("\\u") ? unit() : std::nullopt;
    if (*first > 0xDBFF || !second || *second < 0xDC00 || *second > 0xDFFF) return std::nullopt;
    return 0x10000 + ((*first & 0x3FFU) << 10U) + (*second & 0x3FFU);
  }

  std::optional<char32_t> unit() {
    const std::string hex(rest_.substr(0, 4));
    if (hex.size() < 4 || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return std::nullopt;
    rest_.remove_prefix(4);
    return static_cast<char32_t>(std::stoul(hex, nullptr, 16));
  }

  // Decodes first and judges the number that came out, where the canonicaliser judges the bytes.
  std::optional<char32_t> utf8() {
    if (rest_.empty()) return std::nullopt;
    const auto lead = static_cast<unsigned char>(next());
    const std::size_t size = lead < 0x80   ? 1
                             : lead < 0xC0 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF8 ? 4
                                           : 0;
    if (size == 0 || rest_.size() < size) return std::nullopt;
    char32_t code = size == 1 ? lead : lead & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
      const auto tail = static_cast<unsigned char>(rest_[i]);
      if ((tail & 0xC0U) != 0x80) return std::nullopt;
      code = (code << 6U) | (tail & 0x3FU);
    }
    constexpr char32_t smallest[] = {0, 0x20, 0x80, 0x800, 0x10000};  // 0x20: control characters must be escaped
    if (code < smallest[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
    rest_.remove_prefix(size);
    return code;
  }

  std::string_view rest_;
};

inline std::optional<Json> reference_json(std::string_view text) {
  return JsonReference(text).document();
}

// `json` without what the paths lead to; names in the paths are ASCII.
inline Json without(const Json& json, const std::vector<std::vector<std::string>>& paths) {
  const auto kept = [&](const std::u32string& name, const Json& inner) -> std::optional<Json> {
    std::vector<std::vector<std::string>> inside;
    for (const std::vector<std::string>& path : paths) {
      if (std::u32string(path.front().begin(), path.front().end()) != name) continue;
      if (path.size() == 1) return std::nullopt;
      inside.emplace_back(path.begin() + 1, path.end());
    }
    return without(inner, inside);
  };
  Json rest = json;
  rest.elements.clear();
  rest.members.clear();
  for (std::size_t i = 0; i < json.elements.size(); ++i) {
    const std::string index = std::to_string(i);
    if (auto inner = kept({index.begin(), index.end()}, json.elements[i])) rest.elements.push_back(*std::move(inner));
  }
  for (const auto& [name, value] : json.members) {
    if (auto inner = kept(name, value)) rest.members.emplace(name, *std::move(inner));
  }
  return rest;
}

}  // namespace semel::test
