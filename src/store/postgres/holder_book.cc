// Every member takes the mutex for a few instructions; nothing is waited for under it.
#include "store/postgres/holder_book.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "core/event_id.h"
#include "core/seal.h"
#include "store/identity.h"
#include "store/inbox.h"
#include <semel/clock.h>

namespace semel::store::postgres {
namespace {

constexpr Millis doubt_max{600'000};

}  // namespace

HolderBook::HolderBook(const Clock& clock, Millis alive) : clock_(clock), alive_(alive) {
  renew_number();
}

void HolderBook::renew_number() {
  const core::Salt salt = random_salt();
  std::memcpy(&holder_, salt.data(), sizeof(holder_));
  newest_ = core::EventId::make(std::max(clock_.now(), newest_.accepted_at()), holder_, sequence_);
  heard_ = Time::min();
  standing_.share = {.of = 1, .at = 1};
  for (auto& [to, leads] : standing_.leads) leads = false;
  fresh_.clear();
  taken_.clear();
  doubts_.clear();
}

// A little before the others would say so.
void HolderBook::lapse_if_late() {
  if (heard_ != Time::min() && clock_.now() - heard_ >= alive_ - alive_ / 6) renew_number();
}

core::EventId HolderBook::next_id() {
  const std::scoped_lock lock(mutex_);
  newest_ = core::EventId::make(std::max(clock_.now(), newest_.accepted_at()), holder_, ++sequence_);
  fresh_[newest_].asked = true;
  return newest_;
}

void HolderBook::accepted(const AcceptedEvent& event) {
  const std::scoped_lock lock(mutex_);
  const auto found = fresh_.find(event.id);
  if (found == fresh_.end()) return;  // this holder was taken for dead meanwhile
  found->second.asked = false;
  for (const DeliveryRecord& each : event.deliveries) {
    if (each.state == DeliveryState::running) found->second.to.insert(each.to);
  }
  if (found->second.to.empty()) fresh_.erase(found);
}

void HolderBook::refused(const core::EventId& id) {
  const std::scoped_lock lock(mutex_);
  fresh_.erase(id);
}

void HolderBook::doubted(const core::EventId& id) {
  const std::scoped_lock lock(mutex_);
  if (fresh_.contains(id)) doubts_.emplace_back(id, clock_.now());
}

std::vector<core::EventId> HolderBook::doubts() {
  const std::scoped_lock lock(mutex_);
  std::vector<core::EventId> found;
  const Time now = clock_.now();
  for (const auto& [id, since] : doubts_) {
    if (now - since < doubt_max) {
      found.push_back(id);
    } else {
      fresh_.erase(id);
    }
  }
  std::erase_if(doubts_, [&](const auto& each) { return now - each.second >= doubt_max; });
  return found;
}

void HolderBook::resolved(const core::EventId& id) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(doubts_, [&](const auto& each) { return each.first == id; });
  fresh_.erase(id);
}

void HolderBook::taken(std::uint32_t holder, const core::EventId& id, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  if (holder == holder_) taken_.emplace(id, to);
}

void HolderBook::ended(const core::EventId& id, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  if (taken_.erase({id, to}) > 0) return;
  const auto found = fresh_.find(id);
  if (found == fresh_.end()) return;
  found->second.to.erase(to);
  if (found->second.to.empty() && !found->second.asked) fresh_.erase(found);
}

bool HolderBook::may_begin(const core::EventId& id, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  lapse_if_late();
  if (!standing_.may_call(to)) return false;
  if (taken_.contains({id, to})) return true;
  const auto found = fresh_.find(id);
  return found != fresh_.end() && found->second.to.contains(to);
}

bool HolderBook::leads(const std::string& to) {
  const std::scoped_lock lock(mutex_);
  lapse_if_late();
  return standing_.may_call(to);
}

bool HolderBook::knows(const core::EventId& id) {
  const std::scoped_lock lock(mutex_);
  if (fresh_.contains(id)) return true;
  const auto first = taken_.lower_bound({id, {}});
  return first != taken_.end() && first->first == id;
}

HolderBook::Beat HolderBook::beat() {
  const std::scoped_lock lock(mutex_);
  lapse_if_late();
  const core::EventId mark = fresh_.empty() ? newest_ : fresh_.begin()->first;
  return {.holder = holder_, .mark = mark, .floor = raise_floor(), .at = clock_.now()};
}

core::EventId HolderBook::floor() {
  const std::scoped_lock lock(mutex_);
  return raise_floor();
}

// Ids of this holder only grow: what comes next is behind the time that is said here.
core::EventId HolderBook::raise_floor() {
  const auto asked = std::ranges::find_if(fresh_, [](const auto& each) { return each.second.asked; });
  if (asked != fresh_.end()) return asked->first;
  newest_ = core::EventId::make(std::max(clock_.now(), newest_.accepted_at()), holder_, sequence_);
  return newest_;
}

void HolderBook::beaten(const Beat& beat, DeliveryShare share) {
  const std::scoped_lock lock(mutex_);
  if (beat.holder != holder_) return;
  if (heard_ == Time::min()) standing_.since = clock_.now();
  heard_ = std::max(heard_, beat.at);
  standing_.share = share;
}

DeliveryShare HolderBook::share() {
  const std::scoped_lock lock(mutex_);
  const bool known = standing_.share.of == 1 || clock_.now() - standing_.since >= alive_ / 2;
  return known ? standing_.share : DeliveryShare{.of = standing_.share.of, .at = standing_.share.of};
}

void HolderBook::set_leads(std::uint32_t holder, const std::vector<std::string>& asked,
                           const std::vector<std::string>& granted) {
  const std::scoped_lock lock(mutex_);
  standing_.leads.clear();
  for (const std::string& to : asked) {
    standing_.leads[to] = holder == holder_ && std::ranges::find(granted, to) != granted.end();
  }
}

void HolderBook::died(std::uint32_t holder) {
  const std::scoped_lock lock(mutex_);
  if (holder == holder_) renew_number();
}

std::uint32_t HolderBook::holder() {
  const std::scoped_lock lock(mutex_);
  return holder_;
}

bool HolderBook::lives() {
  const std::scoped_lock lock(mutex_);
  lapse_if_late();
  return heard_ != Time::min();
}

}  // namespace semel::store::postgres
