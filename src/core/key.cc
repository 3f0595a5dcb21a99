// Reading a key is strict, since two programs that read one field differently would disagree on what is a retry; the
// refusals are long, since their reader has to fix a client.
#include <algorithm>
#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "core/sha256.h"
#include <semel/key.h>
#include <semel/result.h>

namespace semel {
namespace {

// What every refusal ends with. The key itself is never repeated: it may be a secret, and it may hold control bytes.
constexpr std::string_view good_key =
    " Send one line with 1 to 255 visible ASCII characters, such as a UUID: "
    "Idempotency-Key: \"6f3c2e1a-8d54-4b7e-9c11-0a5f2d7b3e90\".";

std::unexpected<Error> refuse(std::string_view what) {
  return fail(Code::invalid, std::string(what).append(good_key));
}

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

// HTTP has removed the white space around a field value, and structured fields allow spaces but no tabs around an item.
std::string_view without_spaces_around(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(' ') - first + 1);
}

// `value` begins with a quote and is printable ASCII.
Result<std::string> quoted_text(std::string_view value) {
  std::string text;
  for (std::size_t i = 1; i < value.size(); ++i) {
    if (value[i] == '"') {
      if (i + 1 == value.size()) return text;
      if (value[i + 1] == ';') return refuse("The key is followed by parameters (`;`), which would not be part of it.");
      return refuse("There is text after the closing quote of the key.");
    }
    if (value[i] == '\\') {
      ++i;
      if (i < value.size() && value[i] != '"' && value[i] != '\\') {
        return refuse("Inside a quoted key a backslash may stand only before a quote or another backslash.");
      }
      if (i == value.size()) break;
    }
    text.push_back(value[i]);
  }
  return refuse("The key opens with a quote that is never closed.");
}

// `value` is printable ASCII and not empty.
Result<std::string> bare_text(std::string_view value) {
  const std::size_t odd = value.find_first_of(" \",;\\");
  if (odd == std::string_view::npos) return std::string(value);
  switch (value[odd]) {
    case ',':
      return refuse("The key looks like a list (`,`); quote it if the comma is part of it.");
    case ';':
      return refuse("The key looks as if it had parameters (`;`); quote it if the semicolon is part of it.");
    case ' ':
      return refuse("The key has a space in it; quote it if the space is part of it.");
    default:
      return refuse("A key with a quote or a backslash in it must be quoted, with a backslash before each of them.");
  }
}

}  // namespace

Result<std::string> parse_key_text(std::span<const std::string_view> lines) {
  if (lines.empty()) return refuse("There is no Idempotency-Key field.");
  if (lines.size() > 1) return refuse("There are several Idempotency-Key lines, and they may differ.");
  const std::string_view value = without_spaces_around(lines.front());
  if (value.empty()) return refuse("The key is empty.");
  if (!std::ranges::all_of(value, is_printable)) {
    return refuse("The key holds a control character, a tab or a byte outside ASCII.");
  }
  Result<std::string> text = value.front() == '"' ? quoted_text(value) : bare_text(value);
  if (text && text->empty()) return refuse("The key is empty between its quotes.");
  if (text && text->size() > key_text_bytes_max) return refuse("The key is longer than 255 bytes.");
  return text;
}

Result<Key> make_key(std::string_view space, std::string_view scope, std::string_view text) {
  if (space.empty()) return fail(Code::invalid, "The namespace of a key is empty; name one, such as \"api\".");
  if (space.size() > space_bytes_max) return fail(Code::invalid, "The namespace of a key is longer than 64 bytes.");
  if (text.empty()) return refuse("The key is empty.");
  if (text.size() > key_text_bytes_max) return refuse("The key is longer than 255 bytes.");

  Key key{.id = core::sha256_parts("semel key v1", {space, scope, text}), .scope = {}, .space = std::string(space)};
  const Digest scope_digest = core::sha256_parts("semel scope v1", {scope});
  std::copy_n(scope_digest.begin(), key.scope.size(), key.scope.begin());
  return key;
}

}  // namespace semel
