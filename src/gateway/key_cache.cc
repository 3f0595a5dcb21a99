#include "gateway/key_cache.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/failure.h"
#include "http/fetch.h"
#include "webhook/fetched_keys.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {
namespace {

constexpr Millis kept_for{3'600'000};
constexpr Millis minute{60'000};
constexpr std::size_t fetches_a_minute = 30;
constexpr std::size_t documents_max = 100;

}  // namespace

std::optional<std::string_view> KeyCache::find(const std::string& name) const {
  const auto found = documents_.find(name);
  if (found == documents_.end() || clock_.now() >= found->second.fetched_at + kept_for) return std::nullopt;
  return found->second.text;
}

bool KeyCache::may_fetch(const webhook::Wanted& wanted) {
  const Time now = clock_.now();
  const auto found = documents_.find(wanted.kept_as());
  if (found != documents_.end() && now < found->second.fetched_at + minute) return false;
  if (now >= minute_began_ + minute) {
    minute_began_ = now;
    fetched_this_minute_ = 0;
  }
  return ++fetched_this_minute_ <= fetches_a_minute;
}

Task<bool> KeyCache::fetch(webhook::Wanted wanted) {
  if (!may_fetch(wanted)) co_return false;
  http::FetchOrder order{.url = wanted.url, .body = wanted.body};
  http::Try<std::string> text = co_await http::fetch(std::move(order), &clock_, executor_);
  if (!text) co_return false;
  if (documents_.size() >= documents_max) documents_.clear();  // nobody has that many keys: start again
  documents_[wanted.kept_as()] = Document{.text = *std::move(text), .fetched_at = clock_.now()};
  co_return true;
}

}  // namespace semel::gateway
