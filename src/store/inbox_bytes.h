// Values of an inbox as bytes: numbers are big-endian, every text comes after its length, a version is in front, and
// the last eight bytes are the XXH3-64 of everything before them. What the values are is in inbox_codec.h.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <xxhash.h>

#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

inline constexpr std::uint8_t inbox_value_version = 1;
inline constexpr std::size_t inbox_checksum_bytes = 8;
inline constexpr std::uint64_t inbox_sign_bit = std::uint64_t{1} << 63U;  // so that times before 1970 come first

static_assert(std::endian::native == std::endian::little);

inline void append_big(std::string& out, std::uint64_t value) {
  const std::uint64_t big = std::byteswap(value);
  std::array<char, sizeof(big)> bytes{};
  std::memcpy(bytes.data(), &big, sizeof(big));
  out.append(bytes.data(), bytes.size());
}

// Of eight bytes; what is shorter reads as zero.
inline std::uint64_t read_big(std::string_view bytes) {
  std::uint64_t big = 0;
  if (bytes.size() != sizeof(big)) return 0;
  std::memcpy(&big, bytes.data(), sizeof(big));
  return std::byteswap(big);
}

// Writes a value; finish() adds the checksum.
class ByteSink {
 public:
  ByteSink() {
    bytes_.reserve(usual_bytes);
    small(inbox_value_version);
  }

  void small(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  void number(std::uint64_t value) { append_big(bytes_, value); }
  void time(Time at) { number(static_cast<std::uint64_t>(at.time_since_epoch().count()) ^ inbox_sign_bit); }
  void raw(std::string_view text) { bytes_ += text; }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  std::string finish() {
    append_big(bytes_, XXH3_64bits(bytes_.data(), bytes_.size()));
    return std::move(bytes_);
  }

 private:
  static constexpr std::size_t usual_bytes = 320;  // of an event with one delivery, with some room

  std::string bytes_;
};

// Reads one. What is behind the end reads as zero, and whole() says so.
class ByteSource {
 public:
  explicit ByteSource(std::string_view bytes) {
    if (bytes.size() < inbox_checksum_bytes + 1) return;
    rest_ = bytes.substr(0, bytes.size() - inbox_checksum_bytes);
    sound_ = read_big(bytes.substr(rest_.size())) == XXH3_64bits(rest_.data(), rest_.size()) &&
             small() == inbox_value_version;
  }

  std::uint8_t small() {
    const std::string_view byte = raw(1);
    return byte.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(byte.front());
  }
  std::uint64_t number() { return read_big(raw(8)); }
  Time time() { return Time{Millis{static_cast<Millis::rep>(number() ^ inbox_sign_bit)}}; }
  std::string text() { return std::string(raw(number())); }
  std::string_view raw(std::size_t count) {
    if (count > rest_.size()) {
      sound_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class Bytes>
  void fill(Bytes& into) {
    const std::string_view from = raw(into.size());
    if (from.size() == into.size()) std::memcpy(into.data(), from.data(), from.size());
  }
  [[nodiscard]] bool sound() const { return sound_; }
  [[nodiscard]] bool whole() const { return sound_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool sound_ = false;
};

inline std::unexpected<Error> corrupt_value(std::string_view what) {
  return fail(Code::corrupt, "the " + std::string(what) + " cannot be read: it is damaged, or of another version");
}

template <class Bytes>
std::string_view view_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace semel::store
