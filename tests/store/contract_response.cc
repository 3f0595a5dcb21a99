// A stored response comes back byte for byte (G3), from this store and from the one that is opened after it.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "store/contract.h"

namespace semel::test {
namespace {

constexpr std::size_t mebibyte = 1U << 20U;

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  return bytes;
}

std::string noise(std::size_t size) {
  std::mt19937_64 random(20'260'101);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() & 0xffU);
  return bytes;
}

std::string repetition(std::size_t size) {
  std::string text;
  while (text.size() < size) text += R"({"id":4711,"state":"paid","amount":"12.50"},)";
  text.resize(size);
  return text;
}

struct Sample {
  std::string name;
  Response response;
};

std::vector<Field> many_fields() {
  std::vector<Field> fields{{"Set-Thing", "a"},  {"set-thing", "b"}, {"Set-Thing", "a"},  {"X-Empty", ""},
                            {"X-Empty", ""},     {"X-Spaces", "  "}, {"X-Comma", "a, b"}, {"X-Colon", ": :"},
                            {"Location", "/1?"}, {"x", every_byte()}};
  for (int i = 0; i < 200; ++i) fields.push_back({"X-Field-" + std::to_string(i % 50), std::to_string(i)});
  fields.push_back({"X-Long", repetition(20'000)});
  return fields;
}

std::vector<Sample> samples() {
  std::vector<Sample> samples;
  for (const int status : {100, 200, 201, 202, 204, 301, 304, 400, 404, 422, 500, 503, 599, 999}) {
    samples.push_back({"status " + std::to_string(status),
                       {.status = static_cast<std::uint16_t>(status), .fields = {}, .body = "x"}});
  }
  samples.push_back({"empty body", {.status = 204, .fields = {{"Location", "/1"}}, .body = ""}});
  samples.push_back({"nothing at all", {.status = 200, .fields = {}, .body = ""}});
  samples.push_back({"many fields in order", {.status = 200, .fields = many_fields(), .body = "x"}});
  samples.push_back({"every byte", {.status = 200, .fields = {}, .body = every_byte()}});
  samples.push_back({"one zero byte", {.status = 200, .fields = {}, .body = std::string(1, '\0')}});
  samples.push_back({"body that compresses", {.status = 200, .fields = {}, .body = repetition(mebibyte)}});
  samples.push_back({"body that does not", {.status = 200, .fields = {}, .body = noise(mebibyte)}});
  samples.push_back({"tombstone", {.status = 201, .fields = {{"Location", "/big"}}, .body = "", .body_kept = false}});
  for (const std::size_t size : {1U, 63U, 64U, 255U, 256U, 4'095U, 4'096U, 65'535U, 65'536U}) {
    samples.push_back({"body of " + std::to_string(size), {.status = 200, .fields = {}, .body = noise(size)}});
  }
  return samples;
}

void expect_same(const SharedResponse& found, const Response& expected, const std::string& name) {
  ASSERT_NE(found, nullptr) << name;
  EXPECT_EQ(found->status, expected.status) << name;
  EXPECT_TRUE(found->fields == expected.fields) << name;
  EXPECT_TRUE(found->body == expected.body) << name;  // not EXPECT_EQ: a mebibyte of noise helps nobody
  EXPECT_EQ(found->body_kept, expected.body_kept) << name;
}

// Status, fields in their order with their repetitions, and every byte of the body come back, each time they are asked.
TEST_P(StoreContract, GivesResponsesBackByteForByte) {
  std::vector<std::pair<Key, Sample>> kept;
  for (Sample& sample : samples()) {
    const Key key = fresh_key();
    const Granted granted = take(key);
    ASSERT_EQ(said(complete(key, granted.fence, std::make_shared<const Response>(sample.response))), "ok");
    kept.emplace_back(key, std::move(sample));
  }
  for (int time = 0; time < 2; ++time) {
    for (const auto& [key, sample] : kept) {
      const Held held = look(key);
      EXPECT_EQ(held.record.state, Record::State::done);
      expect_same(held.record.response, sample.response, sample.name);
    }
  }
}

// What was kept does not live in this process: after closing and opening, every byte is still the same.
TEST_P(ReopenContract, GivesResponsesBackByteForByteAfterReopening) {
  std::vector<std::pair<Key, Sample>> kept;
  for (Sample& sample : samples()) {
    const Key key = fresh_key();
    const Granted granted = take(key);
    ASSERT_EQ(said(complete(key, granted.fence, std::make_shared<const Response>(sample.response))), "ok");
    kept.emplace_back(key, std::move(sample));
  }
  reopen();
  for (const auto& [key, sample] : kept) expect_same(look(key).record.response, sample.response, sample.name);
}

}  // namespace
}  // namespace semel::test
