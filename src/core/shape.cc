// The one place where a request is hashed, for its fingerprint and for its shape.
#include "core/shape.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <xxhash.h>

#include "core/json/canonical.h"
#include "core/sha256.h"
#include <semel/fingerprint.h>

namespace semel::core {
namespace {

constexpr unsigned method_from = 48;
constexpr unsigned target_from = 24;
constexpr std::uint64_t target_mask = 0xff'ffff;
constexpr std::uint64_t body_mask = 0xff'fffe;

std::uint64_t hash(std::string_view text, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

Print made(const Request& request, std::string_view body_form, std::string_view body) {
  const std::uint64_t shape = hash(request.method) << method_from |
                              (hash(request.target) & target_mask) << target_from |
                              (hash(body, body_form.size()) & body_mask) | 1U;
  return {.fingerprint = {sha256_parts("semel fingerprint v1", {request.method, request.target, body_form, body})},
          .shape = {shape}};
}

}  // namespace

Print print(const Request& request, BodyForm form, const IgnoreList& ignore) {
  if (form == BodyForm::json) {
    if (const std::optional<std::string> canonical = json::canonical_json(request.body, ignore)) {
      return made(request, "json", *canonical);
    }
  }
  return made(request, "raw", request.body);
}

std::string_view differing(Shape first, Shape second) {
  static constexpr std::array<std::string_view, 8> names{
      "", "method", "target", "method, target", "body", "method, body", "target, body", "method, target, body"};
  if (first.bits == 0 || second.bits == 0) return {};
  const std::uint64_t other = first.bits ^ second.bits;
  const std::size_t method = (other >> method_from) != 0 ? 1 : 0;
  const std::size_t target = (other >> target_from & target_mask) != 0 ? 2 : 0;
  const std::size_t body = (other & body_mask) != 0 ? 4 : 0;
  return names.at(method + target + body);
}

}  // namespace semel::core
