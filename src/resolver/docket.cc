#include "resolver/docket.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"
#include "resolver/ruling.h"
#include <semel/clock.h>
#include <semel/store.h>

namespace semel::resolver {

void Docket::end_pass() {
  std::erase_if(entries_, [&](const auto& each) { return each.second.pass != pass_; });
  ++pass_;
}

Docket::Meeting Docket::meet(const Held& held, Time now) {
  const auto found = entries_.find(held.record.key.id);
  if (found != entries_.end() && found->second.held.record.fence == held.record.fence) {
    found->second.held = held;
    found->second.pass = pass_;
    return {.entry = &found->second, .first = false};
  }
  if (found == entries_.end() && entries_.size() >= entries_max) return {};
  DocketEntry& entry = entries_[held.record.key.id];
  entry = DocketEntry{.held = held, .next = now, .pass = pass_};
  return {.entry = &entry, .first = true};
}

void Docket::take_up(DocketEntry& entry, Millis watched, bool seen, std::uint32_t asks) const {
  entry.watch.take_up(watched, seen, asks, clock_.reading());
}

std::vector<DocketEntry*> Docket::due(Time now) {
  std::vector<DocketEntry*> found;
  DocketEntry* first = nullptr;
  bool telling = false;
  for (auto& [id, entry] : entries_) {
    if (!entry.askable) continue;
    const bool now_due = entry.next <= now;
    if (now_due) found.push_back(&entry);
    telling = telling || (now_due && !entry.fails);
    const bool open = !now_due && entry.last == RulingKind::ask_again;
    const auto rank = [](const DocketEntry& each) { return std::pair(each.fails, each.next); };
    if (open && (first == nullptr || rank(entry) < rank(*first))) first = &entry;
  }
  const bool wanted = first != nullptr && !telling && (found.empty() || !first->fails);
  if (wanted) found.insert(found.begin(), first);
  return found;
}

std::size_t Docket::watched() const {
  const auto askable = [](const auto& each) { return each.second.askable; };
  return static_cast<std::size_t>(std::ranges::count_if(entries_, askable));
}

std::size_t Docket::count(RulingKind ruling) const {
  const auto ruled = [&](const auto& each) { return each.second.askable && each.second.last == ruling; };
  return static_cast<std::size_t>(std::ranges::count_if(entries_, ruled));
}

std::vector<RuledEntry> Docket::hear(std::span<DocketEntry* const> entries, std::span<const Testimony> said,
                                     Time asked) {
  core::check(entries.size() == said.size(), "each question has an answer");
  const auto count = [&](SourceSaid what) { return std::ranges::count(said, what, &Testimony::said); };
  const auto failed = static_cast<std::size_t>(count(SourceSaid::failed));
  const bool silent = count(SourceSaid::nothing) > 0 || failed == said.size();
  if (silent) {
    clock_.lost();
  } else {
    clock_.reached(asked);
    if (failed > 0) clock_.failed_for_some();
  }
  std::vector<RuledEntry> heard;
  heard.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    DocketEntry& entry = *entries[i];
    const Record& record = entry.held.record;
    const Time found_at = record.expires_at - entry.held.left;  // by the store's clock
    Testimony its = said[i];
    entry.fails = its.said == SourceSaid::failed;
    if (entry.fails && silent) its.said = SourceSaid::nothing;
    const Doubt doubt = entry.watch.hear(its, clock_, found_at - record.claimed_at);
    entry.next = asked + entry.watch.pause(terms_, its, every_);
    ResolverRuling ruling = rule(terms_, doubt, its);
    const bool answered = its.said != SourceSaid::nothing;
    if (answered) entry.last = ruling.kind;
    heard.push_back({.entry = &entry, .ruling = std::move(ruling), .answered = answered});
  }
  return heard;
}

}  // namespace semel::resolver
