// Secrets are compared as hashes; names of namespaces, from their beginning.
#include "api/access.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string_view>

#include "config/config.h"
#include "core/ascii.h"
#include "core/crypto.h"
#include "core/sha256.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::api {
namespace {

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

const config::ApiToken* token_of(const config::ApiConfig& api, std::string_view authorization) {
  constexpr std::string_view scheme = "Bearer";
  const std::size_t behind = authorization.find_first_not_of(' ', scheme.size());
  if (behind == std::string_view::npos || behind == scheme.size()) return nullptr;
  if (!core::equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)) return nullptr;
  const Digest given = core::sha256(authorization.substr(behind));
  const config::ApiToken* found = nullptr;
  for (const config::ApiToken& token : api.tokens) {
    if (core::equal_in_constant_time(bytes_of(given), bytes_of(token.secret_sha256))) found = &token;
  }
  return found;
}

bool may(const config::ApiToken& token, ApiCall call) {
  switch (call) {
    case ApiCall::claim:
      return token.may.claim;
    case ApiCall::renew:
      return token.may.claim || token.may.end;
    case ApiCall::complete:
    case ApiCall::release:
      return token.may.end;
    case ApiCall::get:
      break;
  }
  return token.may.get;
}

bool reaches(const config::ApiToken& token, std::string_view space) {
  return std::ranges::any_of(token.namespaces, [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) return pattern == space;
    return space.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

std::optional<Millis> Rates::take(const config::ApiToken& token, std::size_t items, Time now) {
  if (!token.rate) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  return buckets_[token.name].take(*token.rate, now, static_cast<double>(items));
}

}  // namespace semel::api
