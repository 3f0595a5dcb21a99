// What of an inbox could not be read: left as it is, come back to later, and told once to those who can see to it.
//
// A memory of this process. The next one tries everything again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

class InboxUnread {
 public:
  static constexpr Millis rest{10'000};             // until it is tried again
  static constexpr std::uint32_t failures_max = 5;  // of a disk that may recover; then others do not wait for it

  static std::string name_of(const core::EventId& id) { return "event " + id.text(); }

  // Whether to go on without it: it is damaged, or has failed again and again.
  bool note(std::string_view what, const Error& error, Time now) {
    auto found = places_.find(what);
    if (found == places_.end()) {
      if (places_.size() >= places_max) places_.clear();
      found = places_.emplace(std::string(what), Place{}).first;
      news_.push_back(std::string(what) + ": " + error.detail);
    }
    found->second.again = now + rest;
    ++found->second.failures;
    found->second.lost = error.code == Code::corrupt || found->second.failures >= failures_max;
    return found->second.lost;
  }
  void could_be_read(const core::EventId& id) {
    if (!places_.empty()) places_.erase(name_of(id));
  }
  // None: it may be tried now.
  [[nodiscard]] std::optional<Time> rests_until(const core::EventId& id, Time now) const {
    const auto found = places_.empty() ? places_.end() : places_.find(name_of(id));
    return found == places_.end() || found->second.again <= now ? std::nullopt : std::optional(found->second.again);
  }
  [[nodiscard]] bool is_lost(const core::EventId& id) const {
    const auto found = places_.empty() ? places_.end() : places_.find(name_of(id));
    return found != places_.end() && found->second.lost;
  }
  // Each place once.
  std::vector<std::string> take_news() { return std::exchange(news_, {}); }

 private:
  static constexpr std::size_t places_max = 10'000;  // with one more, it begins to learn anew

  struct Place {
    Time again{};
    std::uint32_t failures = 0;
    bool lost = false;
  };

  std::map<std::string, Place, std::less<>> places_;
  std::vector<std::string> news_;
};

}  // namespace semel::store
