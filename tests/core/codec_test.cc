// The record format: what is written can be read, today as ever. codec_damage_test.cc is about what must not be read.

#include "core/codec.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/codec_examples.h"

namespace semel::test {
namespace {

rc::Gen<Digest> any_digest() {
  return rc::gen::container<Digest>(rc::gen::arbitrary<std::uint8_t>());
}

Time any_time() {
  return Time{Millis{*rc::gen::arbitrary<std::int64_t>()}};
}

std::string any_body() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return std::string(static_cast<std::size_t>(*rc::gen::inRange(4000, 20'000)), *rc::gen::arbitrary<char>());
    case 1:
      return *rc::gen::resize(8000, rc::gen::arbitrary<std::string>());
    default:
      return *rc::gen::arbitrary<std::string>();
  }
}

SharedResponse any_response() {
  auto response = std::make_shared<Response>();
  response->status = *rc::gen::arbitrary<std::uint16_t>();
  response->body = any_body();
  response->body_kept = *rc::gen::arbitrary<bool>();
  const int fields = *rc::gen::inRange(0, 6);
  for (int i = 0; i < fields; ++i) {
    response->fields.push_back({*rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>()});
  }
  return response;
}

Record any_record() {
  Record record;
  record.state = *rc::gen::element(Record::State::running, Record::State::done, Record::State::unknown,
                                   Record::State::released, Record::State::object);
  record.key.id = *any_digest();
  record.key.scope = *rc::gen::container<ScopeDigest>(rc::gen::arbitrary<std::uint8_t>());
  record.key.space = *rc::gen::resize(static_cast<int>(space_bytes_max), rc::gen::arbitrary<std::string>());
  record.fence = {.number = *rc::gen::arbitrary<std::uint64_t>(), .owner = *rc::gen::arbitrary<std::uint64_t>()};
  record.fingerprint.digest = *any_digest();
  record.claimed_at = any_time();
  record.lease_until = any_time();
  record.expires_at = any_time();
  if (record.state == Record::State::done) record.response = any_response();
  if (record.state == Record::State::object) {
    Record::Progress progress{.newest = *rc::gen::arbitrary<std::string>(),
                              .stamp = *rc::gen::arbitrary<std::string>(),
                              .event = *any_digest(),
                              .fence = {.number = *rc::gen::arbitrary<std::uint64_t>(), .owner = 1},
                              .company = *rc::gen::arbitrary<std::uint64_t>()};
    record.progress = std::make_shared<const Record::Progress>(std::move(progress));
  }
  return record;
}

// Whatever can be stored comes back as it was: every state, tombstones, compressed and incompressible bodies.
TEST(Codec, RoundTripsAnyRecord) {
  EXPECT_TRUE(rc::check([] {
    const Record record = any_record();
    const Result<Record> read = core::decode(core::encode(record), record.key.id);
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == record);
  }));
}

// An expiry pass that only glances sees the same state and expiry as one that decodes.
TEST(Codec, GlanceAgreesWithDecode) {
  EXPECT_TRUE(rc::check([] {
    const Record record = any_record();
    const std::optional<core::RecordOutline> seen = core::outline(core::encode(record));
    RC_ASSERT(seen.has_value());
    RC_ASSERT(seen->state == record.state);
    RC_ASSERT(seen->expires_at == record.expires_at);
  }));
}

// The ends of the ranges are stored like any other number.
TEST(Codec, RoundTripsTheLargestNumbers) {
  Record record = example(Record::State::running);
  record.fence = {.number = std::numeric_limits<std::uint64_t>::max(),
                  .owner = std::numeric_limits<std::uint64_t>::max()};
  record.claimed_at = Time{Millis{std::numeric_limits<std::int64_t>::min()}};
  record.expires_at = Time{Millis{std::numeric_limits<std::int64_t>::max()}};
  record.key.space = std::string(255, 's');
  const Result<Record> read = core::decode(core::encode(record), record.key.id);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, record);
}

// A tombstone stays one, and a response with an empty body does not become one.
TEST(Codec, TellsATombstoneFromAnEmptyBody) {
  for (const bool kept : {false, true}) {
    Record record = example(Record::State::done);
    record.response = response_with("", kept);
    const Result<Record> read = core::decode(core::encode(record), record.key.id);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->response->body_kept, kept);
    EXPECT_EQ(read->response->fields, record.response->fields);
  }
}

// A large body that compresses well takes little room; a small one is stored as it is.
TEST(Codec, CompressesLargeBodiesOnly) {
  EXPECT_LT(core::encode(example(Record::State::done, std::string(100'000, 'x'))).size(), 1000U);
  EXPECT_NE(core::encode(example(Record::State::done, std::string(1000, 'x'))).find(std::string(1000, 'x')),
            std::string::npos);
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<std::uint8_t>(byte);
    text += digits[value >> 4U];
    text += digits[value & 15U];
  }
  return text;
}

std::string unhex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// The bytes of version 1, written out. Records on disk must stay readable, so these may never change.
// clang-format off
constexpr std::string_view golden_running =
    "534d4c0101000000"  // magic, version, state, flags
    "03000000000000008877665544332211"  // fence
    "0068e5cf8b01000030dde5cf8b01000000c40bd58b010000"  // claimed, leased until, expires
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  // id
    "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"  // fingerprint
    "404142434445464748494a4b4c4d4e4f"  // scope
    "03617069"  // namespace
    "3f0d2128fe7bd699";  // checksum
constexpr std::string_view golden_done =
    "534d4c0102010000"  // magic, version, state, flags
    "03000000000000008877665544332211"  // fence
    "0068e5cf8b01000030dde5cf8b01000000c40bd58b010000"  // claimed, leased until, expires
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  // id
    "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"  // fingerprint
    "404142434445464748494a4b4c4d4e4f"  // scope
    "03617069"  // namespace
    "c9000100"  // status, number of fields
    "08004c6f636174696f6e050000002f76312f31"  // Location: /v1/1
    "08000000080000007b226964223a317d"  // body
    "f5d84ec5215cce6e";  // checksum
constexpr std::string_view golden_object =
    "534d4c0105080000"  // magic, version, state, flags
    "03000000000000008877665544332211"  // fence
    "0068e5cf8b01000030dde5cf8b01000000c40bd58b010000"  // claimed, leased until, expires
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"  // id
    "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"  // fingerprint
    "404142434445464748494a4b4c4d4e4f"  // scope
    "03617069"  // namespace
    "7777777777777777777777777777777777777777777777777777777777777777"  // event
    "05000000000000000600000000000000"  // fence of its claim
    "0700000000000000"  // company
    "0200343102003432"  // newest and last stamp
    "9d6fe67ff8344d77";  // checksum
// clang-format on

TEST(Codec, WritesVersionOneAsItAlwaysHas) {
  EXPECT_EQ(hex(core::encode(example(Record::State::running))), golden_running);
  EXPECT_EQ(hex(core::encode(example(Record::State::done))), golden_done);
  EXPECT_EQ(hex(core::encode(example(Record::State::object))), golden_object);
}

// What version 1 wrote is read today: the comparison above alone would let reader and writer drift together.
TEST(Codec, ReadsVersionOneAsItAlwaysHas) {
  const std::pair<Record::State, std::string_view> written[] = {{Record::State::running, golden_running},
                                                                {Record::State::done, golden_done},
                                                                {Record::State::object, golden_object}};
  for (const auto& [state, bytes] : written) {
    const Record record = example(state);
    const Result<Record> read = core::decode(unhex(bytes), record.key.id);
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(*read, record);
  }
}

}  // namespace
}  // namespace semel::test
