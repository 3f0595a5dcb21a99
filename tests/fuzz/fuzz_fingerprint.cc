// A collision oracle for fingerprints: two bodies from one input, and an independent opinion on whether they are equal.
//
// The input is two documents with a zero byte between them. They are compared with each other; then, if the first is
// JSON, with another spelling of itself, in which the bytes of the second make every choice, and with a document that
// differs from it in one place. Bodies without a canonical form are equal only byte by byte.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/check.h"
#include "support/json_maker.h"
#include "support/json_reference.h"
#include "support/json_speller.h"
#include <semel/fingerprint.h>

namespace {

using semel::core::check;
using semel::test::Chance;
using semel::test::Json;
using semel::test::JsonSpeller;

semel::Fingerprint of(std::string_view body) {
  return semel::fingerprint({.method = "POST", .target = "/", .body = body}, semel::BodyForm::json);
}

bool are_equal(std::string_view left, std::string_view right) {
  const std::optional<Json> left_json = semel::test::reference_json(left);
  const std::optional<Json> right_json = semel::test::reference_json(right);
  if (left_json && right_json) return *left_json == *right_json;
  return !left_json && !right_json && left == right;
}

// When the bytes are used up, the highest number, which ends every "once more?".
Chance from_bytes(std::string_view bytes) {
  return [bytes](std::uint32_t below) mutable -> std::uint32_t {
    if (bytes.empty()) return below - 1;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return byte % below;
  };
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = std::min(input.find('\0'), input.size());
  const std::string_view left = input.substr(0, middle);
  const std::string_view right = input.substr(std::min(middle + 1, input.size()));
  check((of(left) == of(right)) == are_equal(left, right), "fingerprints are equal exactly if the bodies are");

  std::optional<Json> json = semel::test::reference_json(left);
  if (!json) return 0;
  Chance chance = from_bytes(right);
  check(of(left) == of(JsonSpeller(chance).spell(*json)), "another spelling is the same body");
  const Json before = *json;
  semel::test::change_something(*json, chance);
  if (semel::test::reference_json(JsonSpeller(chance).spell(*json)) != json) return 0;  // an exponent left the bounds
  check(*json != before && of(left) != of(JsonSpeller(chance).spell(*json)), "a changed document is another body");
  return 0;
}
