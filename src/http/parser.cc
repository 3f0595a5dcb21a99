// Beast calls back while it parses; the callbacks fill the Head or note which bytes are the body.
// Beast asserts that the last chunk never comes in pieces, which is for the sender to decide; without the assertions
// its code is right in that case, too (tests/fuzz/fuzz_request.cc).
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

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

template <bool is_request>
Parser<is_request>::Parser(Head& head, ParserLimits limits) : head_(head), limits_(limits) {
  head_.clear();
  this->header_limit(limits.head_bytes);
  this->body_limit(boost::none);  // bodies are bounded where they are kept, not where they pass through
}

template <bool is_request>
Try<std::size_t> Parser<is_request>::read_head(std::string_view bytes) {
  Code error;
  std::size_t consumed = 0;
  while (!this->is_header_done()) {
    const std::size_t size = this->put(boost::asio::buffer(bytes.substr(consumed)), error);
    consumed += size;
    if (error == beast::http::error::need_more) break;
    if (error == beast::http::error::header_limit) {
      return failed(is_request && !target_seen_ ? Failure::long_target : Failure::too_large);
    }
    if (error) return failed(Failure::malformed);
  }
  if (!this->is_header_done()) return consumed;
  if (!sealed_) {
    sealed_ = true;
    if (is_folded(bytes.substr(0, consumed))) return failed(Failure::malformed);
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

template <bool is_request>
Try<typename Parser<is_request>::Piece> Parser<is_request>::read_body(std::string_view bytes) {
  Piece piece;
  while (!this->is_done() && piece.data.empty()) {
    Code error;
    data_ = {};
    const std::size_t size = this->put(boost::asio::buffer(bytes.substr(piece.consumed)), error);
    piece.consumed += size;
    piece.data = data_;
    if (error == beast::http::error::need_more || (!error && size == 0 && data_.empty())) {
      // What is left is the line of a chunk without its end; it must not have ended in another way.
      if (has_bare_line_feed(bytes.substr(piece.consumed))) return failed(Failure::malformed);
      break;
    }
    if (error) return failed(Failure::malformed);
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
  if (sealed_) return;  // a trailer: discarded, so that it can never pass for a field that was checked
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
