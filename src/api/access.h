// Who calls, and what that token may reach. Pure, but for the buckets of its rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "policy/token_bucket.h"
#include <semel/clock.h>

namespace semel::api {

enum class ApiCall : std::uint8_t { claim, renew, complete, release, get };
inline constexpr std::size_t api_calls = 5;

// The token whose secret is in `authorization` (the value of that field). Null if there is none. Every token is
// compared, as SHA-256 and in constant time, so that the time tells nothing.
const config::ApiToken* token_of(const config::ApiConfig& api, std::string_view authorization);

bool may(const config::ApiToken& token, ApiCall call);
bool reaches(const config::ApiToken& token, std::string_view space);

// How much each token has used of its rate. Shared by all threads.
class Rates {
 public:
  // Takes `items`. Nothing: go on. Otherwise how long to wait.
  std::optional<Millis> take(const config::ApiToken& token, std::size_t items, Time now);

 private:
  std::mutex mutex_;
  std::map<std::string, policy::TokenBucket, std::less<>> buckets_;  // by the token's name
};

}  // namespace semel::api
