// A chunked body, against a second decoder that knows nothing but RFC 9112 §7.1: whatever the parser takes, both end at
// the same byte with the same body, in whatever pieces it comes.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/check.h"
#include "fuzz/reading.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/writer.h"

namespace {

using semel::core::check;
using semel::fuzz::Reading;
using semel::http::Head;
using semel::http::RequestParser;

constexpr std::string_view opening = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

struct Decoded {
  std::string body;
  std::size_t size = 0;
};

// The next line without its end; nothing if it has none, or is broken by a bare CR or LF.
std::optional<std::string_view> next_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  if (line.find_first_of("\r\n") != std::string_view::npos) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> size_of(std::string_view line) {
  const std::string_view digits = line.substr(0, line.find_first_not_of("0123456789abcdefABCDEF"));
  if (digits.empty() || digits.size() > 16) return std::nullopt;
  if (digits.size() < line.size() && line[digits.size()] != ';') return std::nullopt;
  return std::stoull(std::string(digits), nullptr, 16);
}

std::optional<Decoded> decode(std::string_view input) {
  std::string_view rest = input;
  Decoded decoded;
  for (;;) {
    const auto line = next_line(rest);
    const auto size = line ? size_of(*line) : std::nullopt;
    if (!size) return std::nullopt;
    if (*size == 0) break;
    if (*size > rest.size()) return std::nullopt;
    decoded.body.append(rest.substr(0, *size));
    rest.remove_prefix(*size);
    if (!rest.starts_with("\r\n")) return std::nullopt;
    rest.remove_prefix(2);
  }
  for (auto line = next_line(rest); !line || !line->empty(); line = next_line(rest)) {
    if (!line || line->front() == ' ' || line->front() == '\t') return std::nullopt;
    if (line->find(':') == std::string_view::npos) return std::nullopt;
  }
  decoded.size = input.size() - rest.size();
  return decoded;
}

void write_anew(const std::string& body) {
  std::string out(opening);
  if (!body.empty()) {
    semel::http::append_chunk_start(out, body.size());
    out.append(body).append(semel::http::chunk_end);
  }
  out.append(semel::http::last_chunk);
  semel::http::Head head;
  const Reading again = semel::fuzz::read<semel::http::RequestParser>(head, out, 7);
  check(again.done && again.body == body && again.size == out.size(), "what is written can be read again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view chunks(reinterpret_cast<const char*>(data), size);
  const std::string input = std::string(opening).append(chunks);
  semel::http::Head head;
  const Reading reading = semel::fuzz::read_in_pieces<semel::http::RequestParser>(head, input, 2 + size % 13);
  if (!reading.done) return 0;
  const std::optional<Decoded> expected = decode(chunks);
  check(expected.has_value(), "nothing is taken that is not a chunked body");
  check(reading.body == expected->body, "the body is the same");
  check(reading.size == opening.size() + expected->size, "and ends at the same byte");
  write_anew(reading.body);
  return 0;
}
