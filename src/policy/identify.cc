// The key first, from what has arrived so far; the fingerprint when the body has arrived.
#include "policy/identify.h"

#include <algorithm>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/encoding.h"
#include "core/sha256.h"
#include "core/shape.h"
#include "policy/expression.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include <semel/fingerprint.h>
#include <semel/http_request.h>
#include <semel/key.h>
#include <semel/problem.h>
#include <semel/result.h>

namespace semel::policy {
namespace {

struct NoKey {
  std::string detail;
};
struct BadKey {
  std::string detail;
};
struct NoCaller {
  std::string detail;
};
using KeyText = std::variant<std::string, NoKey, BadKey, NoCaller>;

KeyText key_of_header(const std::string& name, const RequestView& request) {
  const auto lines = lines_of(request.fields, name);
  if (lines.empty()) return NoKey{};
  auto text = parse_key_text(lines);
  if (!text) return BadKey{std::move(text).error().detail};
  return std::move(*text);
}

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

std::string hashed(std::string_view joined) {
  return '\x01' + core::to_hex(core::sha256_parts("semel composed key v1", {joined}));
}

KeyText key_of(const Expression& key_from, const RequestView& request) {
  if (key_from.is_single(PartKind::header)) return key_of_header(key_from.parts.front().text, request);
  auto joined = evaluate(key_from, request);
  if (!joined) {
    PartError& error = joined.error();
    if (error.kind == PartError::Kind::unverified) return NoCaller{std::move(error.detail)};
    if (error.kind == PartError::Kind::missing) return NoKey{std::move(error.detail)};
    return BadKey{std::move(error.detail)};
  }
  if (key_from.parts.size() > 1) return hashed(*joined);
  if (joined->size() > key_text_bytes_max || !std::ranges::all_of(*joined, is_printable)) {
    return BadKey{fmt::format("{} is not 1 to 255 printable ASCII characters.", key_from.text)};
  }
  return std::move(*joined);
}

Refusal refuse(ProblemType type, std::string_view why) {
  const Problem what = Problem::of(type);
  if (why.empty()) return {.problem = what, .detail = {}};
  return {.problem = what, .detail = fmt::format("{} {}", what.detail(), why)};
}

}  // namespace

bool needs_token(const Route& route) {
  return route.scope.has(PartKind::jwt) || route.key_from.has(PartKind::jwt);
}

bool needs_body(const Route& route) {
  const auto from_body = [](const Part& part) { return part.kind == PartKind::json; };
  return std::ranges::any_of(route.key_from.parts, from_body) || std::ranges::any_of(route.scope.parts, from_body);
}

Keyed find_key(const Route& route, const RequestView& request) {
  KeyText text = key_of(route.key_from, request);
  if (const auto* const none = std::get_if<NoKey>(&text)) {
    if (route.key == KeyMode::optional) return Keyless{};
    return refuse(ProblemType::key_missing, none->detail);
  }
  if (const auto* const bad = std::get_if<BadKey>(&text)) return refuse(ProblemType::key_invalid, bad->detail);
  if (const auto* const who = std::get_if<NoCaller>(&text)) return refuse(ProblemType::scope_missing, who->detail);
  const auto scope = evaluate(route.scope, request);
  if (!scope) return refuse(ProblemType::scope_missing, scope.error().detail);
  auto& key_text = std::get<std::string>(text);
  auto key = make_key(route.space, *scope, key_text);
  if (!key) return refuse(ProblemType::key_invalid, key.error().detail);
  return KeyOf{.key = std::move(*key), .text = std::move(key_text)};
}

Identified identify(const Route& route, const RequestView& request, Keyed keyed) {
  if (auto* const refusal = std::get_if<Refusal>(&keyed)) return std::move(*refusal);
  auto* const key_of = std::get_if<KeyOf>(&keyed);
  if (key_of == nullptr) return Keyless{};
  const Request asked{.method = request.method, .target = request.target, .body = request.body};
  // In a text, 100 and 1e2 are two texts.
  const BodyForm form = is_json(request) ? route.fingerprint : BodyForm::raw;
  const core::Print print = core::print(asked, form, route.ignore);
  return Identity{.key = std::move(key_of->key),
                  .fingerprint = print.fingerprint,
                  .key_text = std::move(key_of->text),
                  .shape = print.shape};
}

}  // namespace semel::policy
