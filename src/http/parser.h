// Boost.Beast's incremental parser, filling a Head and handing out the body piece by piece without copying it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <boost/beast/http/basic_parser.hpp>

#include "http/failure.h"
#include "http/head.h"

namespace semel::http {

struct ParserLimits {
  std::uint32_t head_bytes = 65'536;
  std::size_t target_bytes = 65'536;
  std::size_t line_bytes = 65'536;  // of one field, name and value
  std::size_t fields = 65'535;
};

// Reads one message. For the next message make a new one.
template <bool is_request>
class Parser : private boost::beast::http::basic_parser<is_request> {
 public:
  Parser(Head& head, ParserLimits limits);

  // For the answer to HEAD, which may have the fields of a body but has no body.
  void expect_no_body() { this->skip(true); }

  // Returns how many of `bytes` have been taken. The caller offers the rest again, with more behind it.
  // Failure::too_large, long_target: over the limits.
  Try<std::size_t> read_head(std::string_view bytes);

  // Returns the next piece of the body in `bytes`. Nothing consumed and not done(): it needs more bytes.
  struct Piece {
    std::size_t consumed = 0;
    std::string_view data;
  };
  Try<Piece> read_body(std::string_view bytes);
  // The peer has closed. Fails if the message is not complete.
  Try<void> read_end();

  [[nodiscard]] bool started() const { return this->got_some(); }
  [[nodiscard]] bool head_done() const { return this->is_header_done(); }
  [[nodiscard]] bool done() const { return this->is_done(); }

 private:
  using Base = boost::beast::http::basic_parser<is_request>;
  using Text = boost::beast::string_view;
  using Code = boost::beast::error_code;

  [[nodiscard]] Failure over_limit(std::string_view bytes) const;

  void on_request_impl(boost::beast::http::verb verb, Text method, Text target, int version, Code& error) override;
  void on_response_impl(int code, Text reason, int version, Code& error) override;
  void on_field_impl(boost::beast::http::field field, Text name, Text value, Code& error) override;
  void on_header_impl(Code& error) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Code& error) override;
  std::size_t on_body_impl(Text data, Code& error) override;
  void on_chunk_header_impl(std::uint64_t size, Text extensions, Code& error) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, Text data, Code& error) override;
  void on_finish_impl(Code& error) override;

  Head& head_;
  const ParserLimits limits_;
  std::string_view data_;
  const char* line_ = nullptr;  // where the line of a chunk begins that is being parsed
  std::size_t head_size_ = 0;
  std::size_t fields_ = 0;
  bool target_seen_ = false;
  std::size_t extension_bytes_ = 0;
  bool sealed_ = false;
  bool trailers_ = false;
};

extern template class Parser<true>;
extern template class Parser<false>;

using RequestParser = Parser<true>;
using ResponseParser = Parser<false>;

}  // namespace semel::http
