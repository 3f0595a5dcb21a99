// Redis' protocol (RESP2, and the push replies of RESP3) as bytes and values. No sockets here.
//
// A reader is fed what has arrived, in pieces of any size, and hands out whole replies. It refuses what no server would
// send: lengths and depths are bounded, numbers are exact, every line ends as the protocol says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::store::redis {

struct RespValue {
  enum class Kind : std::uint8_t { nothing, status, error, number, text, list, push };

  Kind kind = Kind::nothing;
  std::string text{};              // of a status, an error or a text
  std::int64_t number = 0;         // of a number
  std::vector<RespValue> items{};  // of a list or a push

  [[nodiscard]] bool is_error() const { return kind == Kind::error; }
  [[nodiscard]] bool is_error(std::string_view word) const { return is_error() && text.starts_with(word); }
  friend bool operator==(const RespValue&, const RespValue&) = default;
};

inline constexpr std::size_t resp_depth_max = 7;
inline constexpr std::int64_t resp_bytes_max = 512LL << 20U;  // of a text: as large as a value of Redis can be
inline constexpr std::int64_t resp_items_max = 1LL << 20U;    // of a list

// A command as its words, each of any bytes. One with many words can be written piece by piece: how many, then each.
void append_head(std::string& out, std::size_t words);
void append_word(std::string& out, std::string_view word);
void append_word_head(std::string& out, std::size_t bytes);  // then come so many bytes, and "\r\n"
void append_command(std::string& out, std::span<const std::string_view> words);
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_command(out, std::span(words.begin(), words.size()));
}

class RespReader {
 public:
  void feed(std::string_view bytes);
  // The next whole reply; none if more bytes are needed. Code::corrupt: this is not RESP, and nothing can be read any
  // more.
  Result<std::optional<RespValue>> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  // of what has not been handed out
};

}  // namespace semel::store::redis
