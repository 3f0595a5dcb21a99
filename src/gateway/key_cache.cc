// Who may fetch, then the fetch, then where its document is kept.
#include "gateway/key_cache.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "gateway/budget.h"
#include "http/failure.h"
#include "http/fetch.h"
#include "runtime/pause.h"
#include "webhook/fetched_keys.h"
#include "webhook/inquiry.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {
namespace {

constexpr Millis kept_for{3'600'000};
constexpr Millis renewed_after{2'700'000};
constexpr Millis minute{60'000};
constexpr Millis first_rest{1'000};
constexpr Millis wait_max{15'000};  // longer than a fetch takes
constexpr std::size_t fetches_a_minute = 30;
constexpr std::size_t fetches_a_minute_of_host = 10;
constexpr std::size_t strangers_max = 8;  // documents that have verified nothing, of each webhook
constexpr std::size_t known_max = 64;
constexpr std::size_t document_bytes_max = 64U << 10U;

std::string_view host_of(std::string_view url) {
  const std::size_t start = url.find("://");
  if (start == std::string_view::npos) return url;
  url.remove_prefix(start + 3);
  return url.substr(0, url.find('/'));
}

// Zero for a document that is not what was wanted.
Millis life_of(const webhook::Wanted& wanted, std::string_view text) {
  if (wanted.authorization.empty()) return kept_for;
  const auto token = webhook::read_access_token(text);
  return token ? std::min(token->life, kept_for) : Millis{0};
}

template <class Table, class Over>
void forget_if(Table& table, Over over) {
  for (auto at = table.begin(); at != table.end();) at = over(*at) ? table.erase(at) : std::next(at);
}

}  // namespace

std::optional<std::string_view> KeyCache::find(const std::string& name) const {
  const auto found = documents_.find(name);
  if (found == documents_.end() || clock_.now() >= found->second.until) return std::nullopt;
  return found->second.text;
}

std::optional<std::string_view> KeyCache::find_aged(const std::string& name) const {
  const auto found = documents_.find(name);
  if (found == documents_.end() || clock_.now() >= found->second.usable_until) return std::nullopt;
  return found->second.text;
}

bool KeyCache::may_fetch(const webhook::Wanted& wanted, const std::string& webhook) {
  const Time now = clock_.now();
  const auto resting = resting_.find(wanted.kept_as());
  if (resting != resting_.end() && now < resting->second.since + resting->second.time) return false;
  const auto found = documents_.find(wanted.kept_as());
  if (found != documents_.end() && now < std::min(found->second.fetched_at + minute, found->second.until)) return false;
  if (found != documents_.end() && found->second.known) return true;
  const Share of_host{.account = webhook + "\n" + std::string(host_of(wanted.url)), .limit = fetches_a_minute_of_host};
  return budget_.pay({.account = webhook, .limit = fetches_a_minute}, of_host);
}

// Forgets the one that was used least recently among the chosen, if there are as many of them as there may be.
template <class Chosen>
void KeyCache::make_room(std::size_t limit, Chosen chosen) {
  std::size_t count = 0;
  auto oldest = documents_.end();
  for (auto each = documents_.begin(); each != documents_.end(); ++each) {
    if (!chosen(each->second)) continue;
    ++count;
    if (oldest == documents_.end() || each->second.used_at < oldest->second.used_at) oldest = each;
  }
  if (count >= limit) documents_.erase(oldest);
}

void KeyCache::keep(webhook::Wanted wanted, std::string webhook, std::string text, Millis life) {
  const std::string name = wanted.kept_as();
  const auto found = documents_.find(name);
  const bool known = found != documents_.end() && found->second.known;
  if (found == documents_.end()) {
    make_room(strangers_max, [&](const Document& each) { return !each.known && each.webhook == webhook; });
  }
  const Time now = clock_.now();
  documents_[name] = Document{.text = std::move(text),
                              .fetched_at = now,
                              .until = now + life,
                              .usable_until = now + std::max(life, wanted.usable_for),
                              .used_at = now,
                              .wanted = std::move(wanted),
                              .webhook = std::move(webhook),
                              .known = known};
}

Task<bool> KeyCache::fetch_now(webhook::Wanted wanted, std::string webhook) {
  const std::string name = wanted.kept_as();
  under_way_.try_emplace(name);
  http::FetchOrder order{.url = wanted.url, .body = wanted.body, .authorization = wanted.authorization};
  http::Try<std::string> text = co_await http::fetch(std::move(order), &clock_, executor_);
  const Millis life = text && text->size() <= document_bytes_max ? life_of(wanted, *text) : Millis{0};
  const bool fetched = life > Millis{0};
  const Time now = clock_.now();
  forget_if(resting_, [&](const auto& each) { return now >= each.second.since + 2 * minute; });
  if (fetched) {
    resting_.erase(name);
    keep(std::move(wanted), std::move(webhook), *std::move(text), life);
  } else {
    Rest& rest = resting_[name];
    rest = Rest{.since = now, .time = std::clamp(2 * rest.time, first_rest, minute)};
  }
  for (const auto& sleeper : under_way_.extract(name).mapped()) sleeper->ring();
  co_return fetched;
}

Task<bool> KeyCache::fetch(webhook::Wanted wanted, std::string webhook) {
  const auto under_way = under_way_.find(wanted.kept_as());
  if (under_way != under_way_.end()) {
    const auto pause = std::make_shared<runtime::Pause>(clock_);
    under_way->second.push_back(pause);
    co_await pause->wait(wait_max);
    const auto found = documents_.find(wanted.kept_as());
    co_return found != documents_.end() && clock_.now() < found->second.fetched_at + minute;
  }
  if (!may_fetch(wanted, webhook)) co_return false;
  const bool fetched = co_await fetch_now(std::move(wanted), std::move(webhook));
  co_return fetched;
}

Task<void> KeyCache::renew(webhook::Wanted wanted, std::string webhook) {
  co_await fetch(std::move(wanted), std::move(webhook));
}

void KeyCache::confirm(const std::string& name) {
  const auto found = documents_.find(name);
  if (found == documents_.end()) return;
  if (!found->second.known) make_room(known_max, [](const Document& each) { return each.known; });
  Document& document = found->second;
  document.known = true;
  document.used_at = clock_.now();
  if (document.used_at < document.fetched_at + renewed_after || under_way_.contains(name)) return;
  boost::asio::co_spawn(executor_, renew(document.wanted, document.webhook), boost::asio::detached);
}

}  // namespace semel::gateway
