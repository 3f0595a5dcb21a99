// Heads of messages, and the check that nothing in a field can end its line early.
#include "http/writer.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/beast/http/status.hpp>

#include "core/append.h"
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

// The digits of a number, for as long as this lives.
class Digits {
 public:
  Digits(std::uint64_t value, int base)
      : end_(std::to_chars(digits_.data(), digits_.data() + digits_.size(), value, base).ptr) {}
  [[nodiscard]] std::string_view text() const { return {digits_.data(), end_}; }

 private:
  std::array<char, 24> digits_;
  const char* end_;
};

}  // namespace

HeadWriter HeadWriter::response(std::string& out, std::uint16_t status) {
  const auto reason = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  const Digits digits(status, 10);
  core::append_all(out, "HTTP/1.1 "sv, digits.text(), ' ', std::string_view(reason.data(), reason.size()), '\r', '\n');
  return HeadWriter(out);
}

HeadWriter HeadWriter::request(std::string& out, std::string_view method, std::string_view target) {
  core::append_all(out, method, ' ', target, " HTTP/1.1\r\n"sv);
  return HeadWriter(out);
}

HeadWriter& HeadWriter::field(std::string_view name, std::string_view value) {
  if (name_is_sound(name) && value_is_sound(value)) {
    core::append_all(*out_, name, ':', ' ', value, '\r', '\n');
  } else {
    sound_ = false;
  }
  return *this;
}

HeadWriter& HeadWriter::length(std::uint64_t bytes) {
  const Digits digits(bytes, 10);
  core::append_all(*out_, "Content-Length: "sv, digits.text(), '\r', '\n');
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
  const Digits digits(size, 16);
  core::append_all(out, digits.text(), '\r', '\n');
}

}  // namespace semel::http
