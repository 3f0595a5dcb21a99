// A reply is first walked over, to see whether all of it is there, and then read: nothing is copied twice because the
// rest of it came late.
#include "store/redis/resp.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <semel/result.h>

namespace semel::store::redis {
namespace {

enum class Walk : std::uint8_t { whole, short_of_bytes, broken };

// As the server writes it: no sign but a minus, no zero in front.
bool parse_number(std::string_view line, std::int64_t& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size()) return false;
  const std::string_view digits = line.starts_with('-') ? line.substr(1) : line;
  return digits == "0" ? digits.size() == line.size() : !digits.starts_with('0');
}

// Stands before a reply, or before one that is part of it.
class RespCursor {
 public:
  RespCursor(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  // The type and the rest of the first line.
  Walk line(char& type, std::string_view& rest) {
    if (at_ >= bytes_.size()) return Walk::short_of_bytes;
    const std::size_t end = bytes_.find('\r', at_ + 1);
    if (end == std::string_view::npos || end + 1 == bytes_.size()) return Walk::short_of_bytes;
    if (bytes_[end + 1] != '\n') return Walk::broken;
    type = bytes_[at_];
    rest = bytes_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 2;
    return Walk::whole;
  }
  Walk text(std::int64_t size, std::string_view& text) {
    const auto bytes = static_cast<std::size_t>(size);
    if (bytes_.size() - at_ < bytes + 2) return Walk::short_of_bytes;
    if (bytes_.substr(at_ + bytes, 2) != "\r\n") return Walk::broken;
    text = bytes_.substr(at_, bytes);
    at_ += bytes + 2;
    return Walk::whole;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_;
};

Walk step(RespCursor& place, std::size_t depth, RespValue* value);

Walk step_items(RespCursor& place, std::int64_t count, std::size_t depth, RespValue* value) {
  if (value != nullptr) value->items.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    RespValue* const item = value == nullptr ? nullptr : &value->items.emplace_back();
    if (const Walk walk = step(place, depth + 1, item); walk != Walk::whole) return walk;
  }
  return Walk::whole;
}

// Goes over one reply and, if `value` is there, fills it in.
Walk step(RespCursor& place, std::size_t depth, RespValue* value) {
  using Kind = RespValue::Kind;
  char type = 0;
  std::string_view rest;
  if (const Walk walk = place.line(type, rest); walk != Walk::whole) return walk;
  if (type == '+' || type == '-') {
    if (rest.find('\n') != std::string_view::npos) return Walk::broken;
    if (value != nullptr) value->kind = type == '+' ? Kind::status : Kind::error;
    if (value != nullptr) value->text = rest;
    return Walk::whole;
  }
  std::int64_t number = 0;
  if (!parse_number(rest, number)) return Walk::broken;
  if (type == ':') {
    if (value != nullptr) value->kind = Kind::number;
    if (value != nullptr) value->number = number;
    return Walk::whole;
  }
  const bool is_text = type == '$';
  if ((!is_text && type != '*' && type != '>') || number < -1 || (type == '>' && number < 0)) return Walk::broken;
  if (number == -1) return Walk::whole;
  if (is_text) {
    if (number > resp_bytes_max) return Walk::broken;
    std::string_view text;
    if (const Walk walk = place.text(number, text); walk != Walk::whole) return walk;
    if (value != nullptr) value->kind = Kind::text;
    if (value != nullptr) value->text = text;
    return Walk::whole;
  }
  if (number > resp_items_max || depth >= resp_depth_max) return Walk::broken;
  if (value != nullptr) value->kind = type == '*' ? Kind::list : Kind::push;
  return step_items(place, number, depth, value);
}

void append_size(std::string& out, char type, std::size_t size) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), size);
  out += type;
  out.append(digits.data(), end).append("\r\n");
}

}  // namespace

void append_head(std::string& out, std::size_t words) {
  append_size(out, '*', words);
}

void append_word_head(std::string& out, std::size_t bytes) {
  append_size(out, '$', bytes);
}

void append_word(std::string& out, std::string_view word) {
  append_word_head(out, word.size());
  out.append(word).append("\r\n");
}

void append_command(std::string& out, std::span<const std::string_view> words) {
  append_head(out, words.size());
  for (const std::string_view word : words) append_word(out, word);
}

void RespReader::feed(std::string_view bytes) {
  if (begin_ == bytes_.size()) {
    bytes_.clear();
    begin_ = 0;
  } else if (begin_ > bytes_.size() / 2) {
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  bytes_.append(bytes);
}

Result<std::optional<RespValue>> RespReader::next() {
  RespCursor walked(bytes_, begin_);
  const Walk walk = step(walked, 0, nullptr);
  if (walk == Walk::short_of_bytes) return std::optional<RespValue>();
  if (walk == Walk::broken) return fail(Code::corrupt, "the answer is not one of a Redis server");
  RespValue value;
  RespCursor read(bytes_, begin_);
  static_cast<void>(step(read, 0, &value));
  begin_ = read.at();
  return std::optional<RespValue>(std::move(value));
}

}  // namespace semel::store::redis
