// Beast calls back while it parses; the callbacks fill the Head or note which bytes are the body.
//
// Beast asserts that the last chunk never comes in pieces. But that depends on the sender. Without the assertions
// Beast's code handles that case correctly, too (tests/fuzz/fuzz_request.cc).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/failure.h"
#include "http/head.h"
#define BOOST_DISABLE_ASSERTS
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include "http/parser.h"
#include "http/strict.h"

namespace semel::http {
namespace {

namespace beast = boost::beast;

constexpr std::size_t extension_bytes_max = 4'096;  // of all chunks of a message; they mean nothing to us
constexpr std::ptrdiff_t size_digits_max = 16;      // of a chunk
// Whether Beast counts the request line depends on the pieces in which it comes. We count all of a head, and Beast must
// not refuse one before we do.
constexpr std::uint32_t limit_slack = 16;

bool is_control(char c) {
  return c != '\t' && (static_cast<unsigned char>(c) < ' ' || c == '\x7f');
}

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

template <bool is_request>
Parser<is_request>::Parser(Head& head, ParserLimits limits) : head_(head), limits_(limits) {
  head_.clear();
  this->header_limit(limits.head_bytes + limit_slack);
  this->body_limit(boost::none);  // a body is limited where it is kept, not where it passes through
}

template <bool is_request>
Try<std::size_t> Parser<is_request>::read_head(std::string_view bytes) {
  Code error;
  std::size_t consumed = 0;
  while (!this->is_header_done()) {
    const std::size_t size = this->put(boost::asio::buffer(bytes.substr(consumed)), error);
    // Beast joins folded lines. The bytes that it has taken end with a whole field.
    if (is_folded(bytes.substr(consumed, size))) return failed(Failure::malformed);
    consumed += size;
    if (error == beast::http::error::need_more) break;
    if (error == beast::http::error::header_limit) return failed(over_limit(bytes));
    if (error) return failed(Failure::malformed);
  }
  head_size_ += consumed;
  const std::size_t unended = this->is_header_done() ? 0 : bytes.size() - consumed;
  if (head_size_ + unended > limits_.head_bytes) return failed(over_limit(bytes));
  if (!this->is_header_done()) return consumed;
  if (!sealed_) {
    sealed_ = true;
    head_.set_keep_alive(this->keep_alive());
    if (this->chunked()) {
      head_.set_framing(Framing::chunked, 0);
    } else if (const auto length = this->content_length()) {
      head_.set_framing(Framing::length, *length);
    } else if (this->need_eof() && !this->is_done()) {
      head_.set_framing(Framing::until_close, 0);
    }
    if (!is_request && coding_of(head_) != Coding::plain) return failed(Failure::malformed);
  }
  return consumed;
}

// Tells which limit `bytes` is over. Until Beast has reported the target, the bytes begin with it: Beast may have
// waited for the end of the head.
template <bool is_request>
Failure Parser<is_request>::over_limit(std::string_view bytes) const {
  if (!is_request || target_seen_) return Failure::too_large;
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const std::size_t method = line.find(' ');
  if (method == std::string_view::npos) return Failure::too_large;
  const std::string_view target = line.substr(method + 1);
  const std::size_t size = std::min(target.find(' '), target.size());
  return size > limits_.target_bytes ? Failure::long_target : Failure::too_large;
}

template <bool is_request>
Try<typename Parser<is_request>::Piece> Parser<is_request>::read_body(std::string_view bytes) {
  Piece piece;
  while (!this->is_done() && piece.data.empty()) {
    Code error;
    data_ = {};
    line_ = bytes.data() + piece.consumed;
    const std::size_t size = this->put(boost::asio::buffer(bytes.substr(piece.consumed)), error);
    piece.consumed += size;
    piece.data = data_;
    if (error == beast::http::error::need_more || (!error && size == 0 && data_.empty())) {
      // The rest is the line of a chunk, or trailers, whose end has not come yet. They must not contain a bare line
      // feed, and must not grow without limit.
      const std::string_view left = bytes.substr(piece.consumed);
      if (has_bare_line_feed(left) || left.size() >= limits_.head_bytes) return failed(Failure::malformed);
      break;
    }
    if (error || (trailers_ && is_folded({line_, size}))) return failed(Failure::malformed);
    if (data_.empty() && size > limits_.head_bytes) return failed(Failure::malformed);
  }
  return piece;
}

template <bool is_request>
Try<void> Parser<is_request>::read_end() {
  Code error;
  if (!this->got_some()) return failed(Failure::closed);
  this->put_eof(error);
  if (error) return failed(Failure::malformed);
  return {};
}

template <bool is_request>
void Parser<is_request>::on_request_impl(beast::http::verb /*verb*/, Text method, Text target, int version,
                                         Code& error) {
  if (target.size() > limits_.target_bytes) {
    error = beast::http::error::header_limit;
    return;
  }
  target_seen_ = true;
  head_.set_request(view(method), view(target));
  head_.set_version(static_cast<unsigned>(version));
}

template <bool is_request>
void Parser<is_request>::on_response_impl(int code, Text /*reason*/, int version, Code& /*error*/) {
  head_.set_status(static_cast<std::uint16_t>(code));
  head_.set_version(static_cast<unsigned>(version));
}

template <bool is_request>
void Parser<is_request>::on_field_impl(beast::http::field /*field*/, Text name, Text value, Code& error) {
  if (sealed_) {  // a trailer: dropped, so that it can never be taken for a field that was checked
    trailers_ = true;
    return;
  }
  if (++fields_ > limits_.fields || name.size() + value.size() > limits_.line_bytes) {
    error = beast::http::error::header_limit;
    return;
  }
  head_.add(view(name), view(value));
}

template <bool is_request>
void Parser<is_request>::on_header_impl(Code& /*error*/) {}

template <bool is_request>
void Parser<is_request>::on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/, Code& /*error*/) {}

template <bool is_request>
std::size_t Parser<is_request>::on_body_impl(Text data, Code& /*error*/) {
  data_ = view(data);
  return data.size();
}

template <bool is_request>
void Parser<is_request>::on_chunk_header_impl(std::uint64_t /*size*/, Text extensions, Code& error) {
  const char* const digits = *line_ == '\r' ? line_ + 2 : line_;  // behind the end of the chunk before
  if (extensions.data() - digits > size_digits_max) error = beast::http::error::bad_chunk;
  if (!extensions.empty() && extensions.front() != ';') error = beast::http::error::bad_chunk;  // a space
  // Beast does not look into quotes, where another parser may see the end of a line.
  if (std::ranges::any_of(extensions, is_control)) error = beast::http::error::bad_chunk_extension;
  extension_bytes_ += extensions.size();
  if (extension_bytes_ > extension_bytes_max) error = beast::http::error::bad_chunk_extension;
}

template <bool is_request>
std::size_t Parser<is_request>::on_chunk_body_impl(std::uint64_t /*remain*/, Text data, Code& /*error*/) {
  data_ = view(data);
  return data.size();
}

template <bool is_request>
void Parser<is_request>::on_finish_impl(Code& /*error*/) {}

template class Parser<true>;
template class Parser<false>;

}  // namespace semel::http
