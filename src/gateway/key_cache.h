// Certificates and keys of webhook providers, fetched when a delivery wants one, and tokens of their APIs. One per
// thread.
//
// Deliveries that nobody has verified yet cause fetches, so a stranger chooses what is asked for. He uses up only what
// is his. Each webhook has a number of fetches a minute, of all hosts and of each, and a few places for documents that
// have verified nothing yet. A document that has verified a delivery is known: its place is not a stranger's to take,
// and it is fetched anew before its hour is over, beside those numbers. What was just fetched is not fetched again for
// a minute. An address that gave nothing is left alone for a second, then two, up to a minute. Deliveries that want the
// same document wait for one fetch. What verifies callers of routes ([jwt]) is fetched in the same way.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/budget.h"
#include "runtime/pause.h"
#include "webhook/fetched_keys.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {

class KeyCache {
 public:
  KeyCache(Clock& clock, Executor executor) : clock_(clock), executor_(std::move(executor)), budget_(clock) {}

  // Valid until the next suspension.
  [[nodiscard]] std::optional<std::string_view> find(const std::string& name) const;
  // Also one that should have been fetched anew but could not be, for as long as it may be used at all.
  [[nodiscard]] std::optional<std::string_view> find_aged(const std::string& name) const;

  // Returns whether there is a newer document now. `webhook` pays for it.
  Task<bool> fetch(webhook::Wanted wanted, std::string webhook);

  // A delivery was verified with this document.
  void confirm(const std::string& name);

  [[nodiscard]] std::size_t size() const { return documents_.size(); }

 private:
  struct Document {
    std::string text;
    Time fetched_at;
    Time until;
    Time usable_until;  // later than `until` for what is wanted even when nobody can fetch it anew
    Time used_at;
    webhook::Wanted wanted;
    std::string webhook;
    bool known = false;
  };
  struct Rest {
    Time since;
    Millis time{0};
  };
  using Sleepers = std::vector<std::shared_ptr<runtime::Pause>>;

  [[nodiscard]] bool may_fetch(const webhook::Wanted& wanted, const std::string& webhook);
  Task<bool> fetch_now(webhook::Wanted wanted, std::string webhook);
  Task<void> renew(webhook::Wanted wanted, std::string webhook);
  void keep(webhook::Wanted wanted, std::string webhook, std::string text, Millis life);
  template <class Chosen>
  void make_room(std::size_t limit, Chosen chosen);

  Clock& clock_;
  Executor executor_;
  Budget budget_;  // of each webhook, and of each host of it
  std::unordered_map<std::string, Document> documents_;
  std::unordered_map<std::string, Rest> resting_;  // by the name of what was wanted
  std::unordered_map<std::string, Sleepers> under_way_;
};

}  // namespace semel::gateway
