// Heads of messages, and the check that nothing in a field can end its line early.
#include "http/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/beast/http/status.hpp>

#include "core/eight_bytes.h"

namespace semel::http {
namespace {

using std::string_view_literals::operator""sv;

bool name_is_sound(std::string_view name) {
  return !name.empty() && !core::any_byte(name, [](core::EightBytes eight) {
    return eight.below('!') | eight.equal_to(':') | eight.equal_to(0x7f) | eight.not_ascii();
  });
}

bool value_is_sound(std::string_view value) {
  return !core::any_byte(
      value, [](core::EightBytes eight) { return eight.equal_to('\r') | eight.equal_to('\n') | eight.equal_to('\0'); });
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
  const std::size_t at = out_->size();
  const std::size_t size = at + name.size() + value.size() + 4;
  out_->resize_and_overwrite(size, [&](char* bytes, std::size_t /*size*/) {
    char* to = std::ranges::copy(name, bytes + at).out;
    to = std::ranges::copy(": "sv, to).out;
    to = std::ranges::copy(value, to).out;
    std::ranges::copy("\r\n"sv, to);
    return size;
  });
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
