// Fuzzes the reader of Idempotency-Key fields.
//
// A text has exactly one quoted spelling and at most one bare one. So whatever is accepted must be, but for the spaces
// around it, one of the two spellings of what was read; and both spellings of any text must be read as that text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include <semel/key.h>

namespace {

using semel::core::check;

std::string quoted(std::string_view text) {
  std::string spelled = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') spelled += '\\';
    spelled += c;
  }
  return spelled + '"';
}

bool is_bare(std::string_view text) {
  return text.find_first_of(" \",;\\") == std::string_view::npos;
}

std::string_view without_spaces_around(std::string_view line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  while (line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

std::optional<std::string> parse(std::vector<std::string_view> lines) {
  const semel::Result<std::string> text = semel::parse_key_text(lines);
  if (text) return *text;
  check(text.error().code == semel::Code::invalid, "a refusal is the sender's fault");
  return std::nullopt;
}

void check_line(std::string_view line) {
  const std::optional<std::string> text = parse({line});
  if (!text) return;
  check(!text->empty() && text->size() <= semel::key_text_bytes_max, "a key fits");
  check(std::ranges::all_of(*text, [](char c) { return c >= ' ' && c <= '~'; }), "a key is printable");
  const std::string_view value = without_spaces_around(line);
  check(value == quoted(*text) || (value == *text && is_bare(*text)), "a key is spelled in one of two ways");
}

void check_text(std::string text) {
  for (char& c : text) c = static_cast<char>(' ' + static_cast<unsigned char>(c) % 95);
  const bool fits = !text.empty() && text.size() <= semel::key_text_bytes_max;
  const std::optional<std::string> expected = fits ? std::optional(text) : std::nullopt;
  check(parse({quoted(text)}) == expected, "a quoted text is read as it is");
  if (is_bare(text)) check(parse({text}) == expected, "so is a bare one");
  if (!fits) return;
  const std::string_view space = std::string_view(text).substr(0, semel::space_bytes_max);
  const semel::Key key = semel::make_key(space, text, text).value();
  check(key != semel::make_key(space, text + "x", text).value(), "the scope is part of a key");
  check(key != semel::make_key(space, text.substr(1), text).value(), "all of it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  check_line(line);
  check_text(std::string(line));
  check(!parse({line, line}) && !parse({}), "there is exactly one line");
  return 0;
}
