// The record format: nothing but what was written can be read.
//
// Damage is made in two ways: by flipping and cutting what encode() wrote, which the checksum must notice, and by
// writing wrong bytes under a right checksum, which the reader itself must notice.

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/codec.h"
#include "core/codec_examples.h"

namespace semel::test {
namespace {

void expect_refused(std::string_view bytes, const Record& record, std::string_view why) {
  const Result<Record> read = core::decode(bytes, record.key.id);
  ASSERT_FALSE(read.has_value()) << why;
  EXPECT_EQ(read.error().code, Code::corrupt);
  EXPECT_NE(read.error().detail.find(why), std::string::npos) << read.error().detail << " / " << why;
}

// A record cut short anywhere is refused.
TEST(Codec, RefusesEveryTruncation) {
  for (const Record& record : examples()) {
    const std::string bytes = core::encode(record);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(core::decode(std::string_view(bytes).substr(0, size), record.key.id).has_value()) << size;
    }
  }
}

// One flipped bit anywhere, the checksum included, is noticed.
TEST(Codec, RefusesEveryFlippedBit) {
  for (const Record& record : examples()) {
    std::string bytes = core::encode(record);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const auto mask = static_cast<char>(1U << (bit % 8));
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
      const Result<Record> read = core::decode(bytes, record.key.id);
      ASSERT_FALSE(read.has_value()) << bit;
      ASSERT_EQ(read.error().code, Code::corrupt);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
    }
    ASSERT_TRUE(core::decode(bytes, record.key.id).has_value());
  }
}

// A sound record that lies under another key, as a copied or misplaced one would, is refused.
TEST(Codec, RefusesTheRecordOfAnotherKey) {
  const Record record = example(Record::State::done);
  Record other = record;
  other.key.id[31] ^= 1U;
  expect_refused(core::encode(record), other, "belongs to another key");
}

// Versions that this code does not know are refused as such, so that an operator learns what to do.
TEST(Codec, RefusesOtherVersions) {
  const Record record = example(Record::State::done);
  for (const int version : {0, 2, 255}) {
    const std::string bytes = forged(record, version_at, version);
    expect_refused(bytes, record, "version is not known");
    EXPECT_FALSE(core::outline(bytes).has_value());
  }
}

// Every value of the state byte but the five that exist is refused.
TEST(Codec, RefusesUnknownStates) {
  for (int state = 0; state < 256; ++state) {
    if (state >= 1 && state <= 5) continue;
    const std::string bytes = forged(example(Record::State::unknown), state_at, state);
    expect_refused(bytes, example(Record::State::unknown), "state is not known");
    EXPECT_FALSE(core::outline(bytes).has_value());
  }
}

// Flags must be known and fit the state: a response just when done, progress just in an object, and what describes a
// response only beside one.
TEST(Codec, RefusesFlagsThatDoNotFitTheState) {
  for (const Record& record : examples()) {
    const int written = core::encode(record)[flags_at];
    for (int flags = 0; flags < 256; ++flags) {
      const bool done = record.state == Record::State::done;
      const bool object = record.state == Record::State::object;
      const int beside_doubt = object ? flags : flags & ~16;  // an earlier attempt may have ended unknown
      const bool possible = done ? beside_doubt < 8 && (flags & 1) != 0 : beside_doubt == (object ? 8 : 0);
      if (possible) continue;
      expect_refused(forged(record, flags_at, flags), record, "flags do not fit");
    }
    expect_refused(forged(record, reserved_at, 1), record, "flags do not fit");
    expect_refused(forged(record, reserved_at + 1, 128), record, "flags do not fit");
    EXPECT_TRUE(
        core::decode(forged(record, flags_at, written), record.key.id).has_value());  // the forging itself is sound
  }
}

// The state must fit what follows it: a done record called running is not read as one without an answer.
TEST(Codec, RefusesAStateThatDoesNotFitTheRest) {
  for (const Record& record : examples()) {
    const auto kind = [](Record::State state) {
      return state == Record::State::done || state == Record::State::object ? state : Record::State::running;
    };
    for (const Record::State state : {Record::State::running, Record::State::done, Record::State::unknown,
                                      Record::State::released, Record::State::object}) {
      if (kind(state) == kind(record.state)) continue;
      expect_refused(forged(record, state_at, static_cast<int>(state)), record, "flags do not fit");
    }
  }
}

// Nothing may stand between the record and its checksum, or behind it.
TEST(Codec, RefusesSurplusBytes) {
  for (const Record& record : examples()) {
    expect_refused(sealed(covered(record) + '\0'), record, "longer than its lengths say");
    expect_refused(core::encode(record) + '\0', record, "checksum does not match");
  }
}

// Lengths that reach beyond the record are refused, each of them, whatever the checksum says.
TEST(Codec, RefusesLengthsThatReachTooFar) {
  const Record record = example(Record::State::done);
  expect_refused(forged(record, head_bytes, 255), record, "shorter than its lengths say");           // namespace
  expect_refused(forged(record, field_count_at, 9), record, "shorter than its lengths say");         // fields
  expect_refused(forged(record, field_count_at + 3, 0x7f), record, "shorter than its lengths say");  // a name
  const std::size_t value_at = field_count_at + 2 + 2 + std::string_view("Location").size();
  expect_refused(forged(record, value_at + 3, 0x7f), record, "shorter than its lengths say");
  const std::size_t body_at = value_at + 4 + std::string_view("/v1/1").size();
  expect_refused(forged(record, body_at + 4, 200), record, "shorter than its lengths say");
  expect_refused(forged(record, body_at, 200), record, "lengths of its body differ");
}

// A compressed body must expand to the length that is stated, and to no more than a body may have.
TEST(Codec, RefusesABodyThatDoesNotDecompress) {
  const Record record = example(Record::State::done, std::string(5000, 'x'));
  const std::size_t body_at =
      field_count_at + 2 + 2 + std::string_view("Location").size() + 4 + std::string_view("/v1/1").size();
  expect_refused(forged(record, body_at, 0), record, "cannot be decompressed");         // another length
  expect_refused(forged(record, body_at + 3, 0x7f), record, "cannot be decompressed");  // 2 GiB
  expect_refused(forged(record, body_at + 8, 0), record, "cannot be decompressed");     // not a frame of zstd
  const Record plain = example(Record::State::done);
  expect_refused(forged(plain, flags_at, 5), plain, "cannot be decompressed");  // never was compressed
}

// Bytes that were never a record are refused without reading beyond their end.
TEST(Codec, RefusesWhatIsNoRecord) {
  const Record record = example(Record::State::running);
  expect_refused("", record, "too short");
  expect_refused("SML", record, "too short");
  expect_refused(std::string(200, '\0'), record, "not a Semel record");
  EXPECT_FALSE(core::outline("").has_value());
  EXPECT_FALSE(core::outline(std::string(200, 'x')).has_value());
  const std::string bytes = core::encode(record);
  for (std::size_t size = 0; size < 56; ++size) {
    EXPECT_FALSE(core::outline(std::string_view(bytes).substr(0, size)).has_value()) << size;
  }
}

// A record that cannot be told apart later is a mistake of the program, and is never written.
TEST(CodecDeathTest, WillNotEncodeAResponseThatIsMissingOrOutOfPlace) {
  Record done = example(Record::State::done);
  done.response = nullptr;
  EXPECT_DEATH((void)core::encode(done), "a response just when it is done");
  Record running = example(Record::State::running);
  running.response = response_with("x");
  EXPECT_DEATH((void)core::encode(running), "a response just when it is done");
}

}  // namespace
}  // namespace semel::test
