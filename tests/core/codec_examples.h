// Records to encode, and ways to forge them: for the tests of the record format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/codec.h"

namespace semel::test {

inline constexpr std::size_t version_at = 3;
inline constexpr std::size_t state_at = 4;
inline constexpr std::size_t flags_at = 5;
inline constexpr std::size_t reserved_at = 6;
inline constexpr std::size_t head_bytes = 128;  // up to the length of the namespace
inline constexpr std::size_t checksum_bytes = 8;
inline constexpr std::size_t response_at = head_bytes + 1 + 3;  // behind the namespace "api" of example()
inline constexpr std::size_t field_count_at = response_at + 2;

inline SharedResponse response_with(std::string body, bool kept = true) {
  return std::make_shared<const Response>(
      Response{.status = 201, .fields = {{"Location", "/v1/1"}}, .body = std::move(body), .body_kept = kept});
}

inline Record example(Record::State state, std::string body = "{\"id\":1}") {
  Record record{.key = {},
                .state = state,
                .fence = {.number = 3, .owner = 0x1122334455667788ULL},
                .fingerprint = {},
                .claimed_at = Time{Millis{1'700'000'000'000}},
                .lease_until = Time{Millis{1'700'000'030'000}},
                .expires_at = Time{Millis{1'700'086'400'000}},
                .response = nullptr};
  for (std::size_t i = 0; i < 32; ++i) {
    record.key.id[i] = static_cast<std::uint8_t>(i);
    record.fingerprint.digest[i] = static_cast<std::uint8_t>(0xa0 + i);
  }
  for (std::size_t i = 0; i < 16; ++i) record.key.scope[i] = static_cast<std::uint8_t>(0x40 + i);
  record.key.space = "api";
  if (state == Record::State::done) record.response = response_with(std::move(body));
  if (state == Record::State::object) {
    Record::Progress progress{.newest = "41", .stamp = "42", .fence = {.number = 5, .owner = 6}, .company = 7};
    progress.event.fill(0x77);
    record.progress = std::make_shared<const Record::Progress>(std::move(progress));
  }
  return record;
}

inline std::vector<Record> examples() {
  return {example(Record::State::running), example(Record::State::done),
          example(Record::State::unknown), example(Record::State::released),
          example(Record::State::object),  example(Record::State::done, std::string(5000, 'x'))};
}

inline std::string sealed(std::string covered) {
  const std::uint64_t sum = XXH3_64bits(covered.data(), covered.size());
  std::array<char, checksum_bytes> raw;
  std::memcpy(raw.data(), &sum, raw.size());
  return covered.append(raw.data(), raw.size());
}

inline std::string covered(const Record& record) {
  std::string bytes = core::encode(record);
  bytes.resize(bytes.size() - checksum_bytes);
  return bytes;
}

// `record` with one byte written over, under a checksum that is right again.
inline std::string forged(const Record& record, std::size_t at, int value) {
  std::string bytes = covered(record);
  bytes.at(at) = static_cast<char>(value);
  return sealed(std::move(bytes));
}

}  // namespace semel::test
