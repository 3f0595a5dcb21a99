// Part by part; a header that may hold what ends it is refused.
#include "webhook/signed_text.h"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.h"
#include "policy/expression.h"
#include "policy/form.h"
#include "policy/json_scalar.h"
#include "policy/part_value.h"
#include "policy/request_view.h"

namespace semel::webhook {
namespace {

// Names in order, each followed by its value. A name that occurs several times has its different values in order.
std::optional<std::string> whole_form(const policy::RequestView& request) {
  if (request.body.empty()) return std::string{};
  auto pairs = policy::is_form(request) ? policy::form_pairs(request.body) : std::nullopt;
  if (!pairs) return std::nullopt;
  std::ranges::sort(*pairs);
  const auto repeated = std::ranges::unique(*pairs);
  pairs->erase(repeated.begin(), repeated.end());
  std::string text;
  for (const auto& [name, value] : *pairs) text.append(name).append(value);
  return text;
}

// Of an id. No time of RFC 3339 is written with these alone, and no JSON.
bool is_plain(char c) {
  return core::is_letter(c) || core::is_digit(c) || c == '-' || c == '_' || c == '.';
}

// Whether a header may hold what ends it: `a.b` and `c` would be signed like `a` and `b.c`. If a time ends it, it could
// reach over that time to another one in the body.
bool runs_over(const policy::Expression& expression, std::size_t at, std::string_view value) {
  const bool is_header = expression.parts[at].kind == policy::PartKind::header;
  if (!is_header || at + 1 == expression.parts.size()) return false;
  const policy::Part& next = expression.parts[at + 1];
  if (next.kind == policy::PartKind::timestamp) return !std::ranges::all_of(value, is_plain);
  return next.kind == policy::PartKind::literal && value.find(next.text) != std::string_view::npos;
}

// Whether a member that may be left out is an object or a list. It would be signed as if it were not there.
bool is_nested(const policy::Part& part, const policy::RequestView& request) {
  return part.kind == policy::PartKind::json &&
         policy::json_presence(json_of(request), part.pointer) == policy::JsonPresence::nested;
}

policy::PartError unsigned_value(const policy::Part& part) {
  return {.kind = policy::PartError::Kind::invalid,
          .part = policy::part_text(part),
          .detail = "A member that is signed as a text is an object or a list."};
}

policy::PartError ambiguous(const policy::Part& part) {
  return {.kind = policy::PartError::Kind::invalid,
          .part = policy::part_text(part),
          .detail = "A header holds what separates it from the rest of the signed text."};
}

}  // namespace

std::expected<std::string, policy::PartError> render_signed(const policy::Expression& expression,
                                                            const policy::RequestView& request,
                                                            const SignedContext& context) {
  std::string text;
  text.reserve(request.body.size() + 128);
  for (std::size_t i = 0; i < expression.parts.size(); ++i) {
    const policy::Part& part = expression.parts[i];
    if (part.kind == policy::PartKind::body) {
      text.append(request.body);
    } else if (part.kind == policy::PartKind::timestamp) {
      text.append(context.timestamp);
    } else if (part.kind == policy::PartKind::url) {
      text.append(context.url);
    } else if (part.kind == policy::PartKind::whole_form) {
      const auto form = whole_form(request);
      if (!form) {
        return std::unexpected(policy::PartError{.kind = policy::PartError::Kind::missing,
                                                 .part = policy::part_text(part),
                                                 .detail = "The body is not a form."});
      }
      text.append(*form);
    } else {
      auto value = policy::value_of(part, request);
      if (!value) return std::unexpected(std::move(value).error());
      if (*value && runs_over(expression, i, **value)) return std::unexpected(ambiguous(part));
      if (!*value && is_nested(part, request)) return std::unexpected(unsigned_value(part));
      text.append(value->value_or(""));
    }
  }
  return text;
}

std::vector<std::string> url_candidates(std::string_view public_url, std::string_view target) {
  if (public_url.ends_with('/')) public_url.remove_suffix(1);
  const std::size_t scheme = public_url.find("://");
  std::vector<std::string> urls{std::string(public_url).append(target)};
  if (scheme == std::string_view::npos) return urls;
  const std::size_t host = scheme + 3;
  const std::size_t path = std::min(public_url.find('/', host), public_url.size());
  const std::string_view authority = public_url.substr(host, path - host);
  const std::string_view port = public_url.starts_with("https:") ? ":443" : ":80";
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
  std::string other(public_url.substr(0, host));
  if (has_port) {
    other.append(authority.substr(0, colon));
  } else {
    other.append(authority).append(port);
  }
  urls.push_back(other.append(public_url.substr(path)).append(target));
  return urls;
}

}  // namespace semel::webhook
