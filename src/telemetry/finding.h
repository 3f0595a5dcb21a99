// What the doctor found out about a client: what it does, how sure that is, and what to do about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/clock.h>

namespace semel::telemetry {

// The numbers are in every store.
enum class FindingKind : std::uint8_t {
  new_key_per_retry,
  body_changes,
  constant_key,
  guessable_key,
  personal_key,
  too_late,
  ignores_retry_after,
  gives_up,
  unstable_webhook_key,
};
inline constexpr std::size_t finding_kinds = 9;
std::string_view name(FindingKind kind);
// One sentence: what the client's people, or those of the route, should do.
std::string_view advice_for(FindingKind kind);

struct Finding {
  FindingKind kind{};
  bool strong = true;                // false: there may be a good reason for it
  std::string route;                 // as the configuration names it
  std::string scope;                 // the short hash; empty if it is about several
  std::string evidence;              // a sentence with numbers
  std::vector<std::string> members;  // of a body that changes: which
  std::uint64_t count = 0;
  Time first{};
  Time last{};

  // What to change in the configuration, if that would help: `ignore = ["/sent_at"]`. Else empty.
  [[nodiscard]] std::string remedy() const;
  // The same for the same client, route and kind.
  [[nodiscard]] std::string id() const;
};

std::string encode(const Finding& finding);
std::optional<Finding> decode_finding(std::string_view bytes);

// Several that are about the same, of several hours and processes, as one: the newest words, the highest count, from
// the first time to the last. The newest come first.
std::vector<Finding> merged(std::vector<Finding> findings);

}  // namespace semel::telemetry
