// Heads of messages, and the check that nothing in a field can end its line early.
#include "http/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <boost/beast/http/status.hpp>

namespace semel::http {
namespace {

// Eight bytes at a time: every field of every message comes by here. Each test answers which of the bytes pass it, by
// their highest bits, and is exact about whether there is any.
constexpr std::uint64_t each = 0x0101'0101'0101'0101;
constexpr std::uint64_t highest = each * 0x80;

constexpr std::uint64_t below(std::uint64_t bytes, unsigned char limit) {
  return (bytes - each * limit) & ~bytes & highest;
}
constexpr std::uint64_t equal_to(std::uint64_t bytes, char c) {
  return below(bytes ^ each * static_cast<unsigned char>(c), 1);
}

template <class Test>
bool any_byte(std::string_view text, Test test) {
  std::uint64_t found = 0;
  while (!text.empty()) {
    std::uint64_t bytes = each * 'a';
    const std::size_t count = std::min(text.size(), sizeof(bytes));
    std::memcpy(&bytes, text.data(), count);
    found |= test(bytes);
    text.remove_prefix(count);
  }
  return found != 0;
}

bool name_is_sound(std::string_view name) {
  return !name.empty() && !any_byte(name, [](std::uint64_t bytes) {
    return below(bytes, '!') | equal_to(bytes, ':') | equal_to(bytes, 0x7f) | (bytes & highest);
  });
}

bool value_is_sound(std::string_view value) {
  return !any_byte(
      value, [](std::uint64_t bytes) { return equal_to(bytes, '\r') | equal_to(bytes, '\n') | equal_to(bytes, '\0'); });
}

void append_number(std::string& out, std::uint64_t value, int base) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  out.append(digits.data(), end);
}

}  // namespace

HeadWriter HeadWriter::response(std::string& out, std::uint16_t status) {
  out.append("HTTP/1.1 ");
  append_number(out, status, 10);
  out.push_back(' ');
  const auto reason = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  out.append(reason.data(), reason.size());
  out.append("\r\n");
  return HeadWriter(out);
}

HeadWriter HeadWriter::request(std::string& out, std::string_view method, std::string_view target) {
  out.append(method).push_back(' ');
  out.append(target).append(" HTTP/1.1\r\n");
  return HeadWriter(out);
}

HeadWriter& HeadWriter::field(std::string_view name, std::string_view value) {
  if (!name_is_sound(name) || !value_is_sound(value)) {
    sound_ = false;
    return *this;
  }
  out_->append(name).append(": ").append(value).append("\r\n");
  return *this;
}

HeadWriter& HeadWriter::length(std::uint64_t bytes) {
  out_->append("Content-Length: ");
  append_number(*out_, bytes, 10);
  out_->append("\r\n");
  return *this;
}

HeadWriter& HeadWriter::chunked() {
  out_->append("Transfer-Encoding: chunked\r\n");
  return *this;
}

HeadWriter& HeadWriter::close() {
  out_->append("Connection: close\r\n");
  return *this;
}

HeadWriter& HeadWriter::keep_alive() {
  out_->append("Connection: keep-alive\r\n");
  return *this;
}

void HeadWriter::end() {
  out_->append("\r\n");
}

void append_chunk_start(std::string& out, std::size_t size) {
  append_number(out, size, 16);
  out.append("\r\n");
}

}  // namespace semel::http
