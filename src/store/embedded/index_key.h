// Keys of the indexes by time: tag ‖ time ‖ id. Compared as bytes, they are in the order of time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include <rocksdb/slice.h>

#include "store/embedded/ledger.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store::embedded {

class IndexKey {
 public:
  static constexpr std::size_t bytes = 1 + sizeof(std::uint64_t) + sizeof(Digest);

  static constexpr char expiry = 'e';     // when a record expires
  static constexpr char unsettled = 'u';  // when a record was claimed that is unknown or runs for long

  IndexKey(char tag, const Expiry& entry) {
    bytes_[0] = tag;
    std::uint64_t time = static_cast<std::uint64_t>(entry.at.time_since_epoch().count()) ^ sign;
    for (std::size_t i = sizeof(time); i > 0; --i, time >>= 8U) bytes_[i] = static_cast<char>(time & 0xFFU);
    std::memcpy(bytes_.data() + 1 + sizeof(time), entry.id.data(), entry.id.size());
  }

  [[nodiscard]] rocksdb::Slice slice() const { return {bytes_.data(), bytes_.size()}; }

  // None if `key` is not one of these.
  static std::optional<Expiry> parse(char tag, const rocksdb::Slice& key) {
    if (key.size() != bytes || key[0] != tag) return std::nullopt;
    std::uint64_t time = 0;
    for (std::size_t i = 1; i <= sizeof(time); ++i) time = (time << 8U) | static_cast<std::uint8_t>(key[i]);
    Expiry entry{.at = Time{Millis{static_cast<std::int64_t>(time ^ sign)}}, .id = {}};
    std::memcpy(entry.id.data(), key.data() + 1 + sizeof(time), entry.id.size());
    return entry;
  }

 private:
  static constexpr std::uint64_t sign = std::uint64_t{1} << 63U;  // so that times before 1970 come first

  std::array<char, bytes> bytes_{};
};

}  // namespace semel::store::embedded
