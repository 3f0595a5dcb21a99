// The boundary, then part by part; every way out but the last line is a refusal.
#include "policy/multipart.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ascii.h"
#include "policy/request_view.h"

namespace semel::policy {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t boundary_bytes_max = 70;
constexpr std::size_t name_bytes_max = 100;

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool is_plain(char c) {
  return core::is_letter(c) || core::is_digit(c) || std::string_view("-_.'()+,:=?/").find(c) != std::string_view::npos;
}

// Without the quotes, if it is in quotes. Null if the rest of it could be read in two ways.
std::optional<std::string_view> unquoted(std::string_view value) {
  if (value.starts_with('"') != value.ends_with('"') || value == "\"") return std::nullopt;
  if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
  return value.find_first_of("\"\\;\r\n") == std::string_view::npos ? std::optional(value) : std::nullopt;
}

// Of `multipart/form-data; boundary=...`, with no other parameter.
std::optional<std::string_view> boundary_of(const RequestView& request) {
  if (!core::equal_ignoring_case(media_type_of(request), "multipart/form-data")) return std::nullopt;
  const std::string_view field = lines_of(request.fields, "Content-Type").front();
  const std::string_view parameter = core::trimmed(field.substr(std::min(field.find(';'), field.size() - 1) + 1));
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  if (!core::equal_ignoring_case(parameter.substr(0, equals), "boundary") || equals == parameter.size()) {
    return std::nullopt;
  }
  const auto boundary = unquoted(parameter.substr(equals + 1));
  if (!boundary || boundary->empty() || boundary->size() > boundary_bytes_max) return std::nullopt;
  return std::ranges::all_of(*boundary, is_plain) ? boundary : std::nullopt;
}

// What follows `form-data`: `; name="a"`, perhaps with `; filename="b"`.
bool read_disposition(std::string_view value, FormPart& part) {
  if (!part.name.empty() || !take(value, "form-data")) return false;
  while (!value.empty()) {
    if (!take(value, ";")) return false;
    value = core::trimmed(value);
    const std::size_t equals = std::min(value.find('='), value.size());
    const std::string_view word = value.substr(0, equals);
    value.remove_prefix(std::min(equals + 1, value.size()));
    const std::size_t quote = value.starts_with('"') ? value.find('"', 1) : std::string_view::npos;
    if (quote == std::string_view::npos) return false;
    const std::string_view text = value.substr(1, quote - 1);
    value.remove_prefix(quote + 1);
    if (text.find('\\') != std::string_view::npos) return false;
    if (word == "name" && part.name.empty() && !text.empty() && text.size() <= name_bytes_max &&
        std::ranges::all_of(text, is_plain)) {
      part.name = text;
    } else if (word == "filename" && !part.is_file) {
      part.is_file = true;
    } else {
      return false;
    }
  }
  return !part.name.empty();
}

bool is_harmless(std::string_view name, std::string_view value) {
  if (core::equal_ignoring_case(name, "Content-Length")) return std::ranges::all_of(value, core::is_digit);
  if (core::equal_ignoring_case(name, "Content-Transfer-Encoding")) {
    constexpr std::array<std::string_view, 3> as_it_is{"binary", "8bit", "7bit"};
    return std::ranges::find(as_it_is, core::to_lower(value)) != as_it_is.end();
  }
  constexpr std::string_view nested = "multipart/";
  return core::equal_ignoring_case(name, "Content-Type") &&
         !core::equal_ignoring_case(value.substr(0, nested.size()), nested);
}

// The lines between a boundary and the empty line behind them.
bool read_head(std::string_view head, FormPart& part) {
  std::vector<std::string> seen;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find(line_end), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + line_end.size(), head.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos ||
        line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return false;
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = core::trimmed(line.substr(colon + 1));
    seen.push_back(core::to_lower(name));
    if (std::ranges::count(seen, seen.back()) > 1) return false;
    const bool disposition = seen.back() == "content-disposition";
    if (disposition ? !read_disposition(value, part) : !is_harmless(name, value)) return false;
  }
  return !part.name.empty();
}

// Takes a part from the front of `rest`, up to the end of the delimiter behind it.
std::optional<FormPart> take_part(std::string_view& rest, std::string_view delimiter) {
  const std::size_t head = rest.substr(0, part_head_bytes_max).find("\r\n\r\n");
  FormPart part;
  if (head == std::string_view::npos || !read_head(rest.substr(0, head), part)) return std::nullopt;
  rest.remove_prefix(head + 2 * line_end.size());
  // A boundary that does not begin a line, or is not behind a whole line end, is one to some programs.
  const std::string_view boundary = delimiter.substr(line_end.size());
  const std::size_t at = rest.find(boundary);
  if (at == std::string_view::npos || !rest.substr(0, at).ends_with(line_end)) return std::nullopt;
  part.content = rest.substr(0, at - line_end.size());
  rest.remove_prefix(at + boundary.size());
  return part;
}

}  // namespace

std::optional<std::vector<FormPart>> multipart_form(const RequestView& request) {
  const auto boundary = boundary_of(request);
  if (!boundary) return std::nullopt;
  const std::string delimiter = std::string("\r\n--").append(*boundary);
  std::string_view rest = request.body;
  std::vector<FormPart> parts;
  if (!take(rest, std::string_view(delimiter).substr(line_end.size()))) return std::nullopt;
  while (take(rest, line_end)) {
    const auto part = take_part(rest, delimiter);
    if (!part || parts.size() == form_parts_max) return std::nullopt;
    if (std::ranges::find(parts, part->name, &FormPart::name) != parts.end()) return std::nullopt;
    parts.push_back(*part);
  }
  // Behind the last delimiter: two hyphens and, at most, the end of the line. A longer line that only begins with the
  // boundary ends here, too.
  if (!take(rest, "--") || !(rest.empty() || rest == line_end)) return std::nullopt;
  return parts;
}

}  // namespace semel::policy
