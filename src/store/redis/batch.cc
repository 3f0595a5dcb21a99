// What goes together, and whether its answers may be told.
#include "store/redis/batch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/call.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"
#include "store/waiting.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t calls_max = 512;
constexpr std::size_t body_bytes_max = 4U << 20U;  // of a batch; a single call may be larger
constexpr std::size_t large_bytes = 256U << 10U;
constexpr std::size_t latest_max = 10'000;
constexpr std::size_t claimed_max = 20'000;

std::size_t body_bytes(const StoreCall& call) {
  const auto* complete = std::get_if<CompleteCall>(&call.request);
  return complete == nullptr || complete->response == nullptr ? 0 : complete->response->body.size();
}

// The number that was there before the beat: if it is our last one, so is everything before it.
std::optional<std::uint64_t> number_before(const RespValue& reply) {
  if (reply.kind != RespValue::Kind::text) return std::nullopt;
  std::uint64_t found = 0;
  std::from_chars(reply.text.data(), reply.text.data() + reply.text.size(), found);
  return found;
}

}  // namespace

bool is_impatient(const RedisEntry& entry) {
  const auto& request = entry.call().request;
  return std::holds_alternative<ClaimCall>(request) || std::holds_alternative<SweepCall>(request) ||
         std::holds_alternative<LookCall>(request);
}

void BatchMemory::remember(const Key& object, const Digest& event) {
  if (latest.size() >= latest_max) latest.clear();
  latest.insert_or_assign(object, event);
}

void BatchMemory::remember(std::uint64_t owner, std::string value) {
  if (claimed.size() >= claimed_max) claimed.clear();
  claimed.insert_or_assign(owner, std::move(value));
}

const std::string* BatchMemory::find(const Fence& fence) const {
  const auto found = claimed.find(fence.owner);
  if (found == claimed.end() || number_at(found->second, 8) != fence.number) return nullptr;
  return &found->second;
}

CallBatch::CallBatch(RedisQueue& queue, BatchMemory& memory) : memory_(memory) {
  while (!queue.empty() && entries_.size() < calls_max) {
    const std::size_t bytes = body_bytes(queue.front().call());
    if (!entries_.empty() && body_bytes_ + bytes > body_bytes_max) break;
    body_bytes_ += bytes;
    entries_.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  form_groups();
}

// A call joins the last group of its kind, if it may. The calls of a batch come from callers that do not wait for each
// other, so their order is nobody's.
void CallBatch::form_groups() {
  std::array<std::optional<std::size_t>, std::variant_size_v<decltype(StoreCall::request)>> last;
  for (RedisEntry& entry : entries_) {
    const bool sociable = memory_.buckets.count() == 1 && is_sociable(entry);
    std::optional<std::size_t>& at = last.at(entry.call().request.index());
    if (sociable && at && may_join(entry, *groups_[*at].entries.front())) {
      groups_[*at].entries.push_back(&entry);
      continue;
    }
    if (sociable) at = groups_.size();
    groups_.push_back({.entries = {&entry}});
  }
}

std::string CallBatch::encode(const ScriptHashes& hashes, const Ending& ending) {
  std::string out;
  for (Group& group : groups_) {
    group.replies = append_calls(out, hashes, group.entries, memory_);
    replies_ += group.replies;
  }
  const std::string& beat = hashes.at(static_cast<std::size_t>(Script::beat));
  append_command(out, {"EVALSHA", beat, "1", ending.beat_name, std::to_string(ending.beat.number)});
  ++replies_;
  if (ending.replicas == 0) return out;
  append_command(out, {"WAIT", std::to_string(ending.replicas), std::to_string(ending.patience.count())});
  ++replies_;
  return out;
}

bool CallBatch::is_large() const {
  return body_bytes_ > large_bytes;
}

Time CallBatch::deadline() const {
  Time last{};
  for (const RedisEntry& entry : entries_) {
    if (entry.waiting != nullptr) last = std::max(last, entry.deadline);
  }
  return last;
}

std::vector<Waiting> CallBatch::give_up(const Error& error) {
  std::vector<Waiting> told;
  for (RedisEntry& entry : entries_) {
    if (entry.waiting == nullptr || !is_impatient(entry)) continue;
    refuse(entry.call(), error);
    told.push_back(std::move(*entry.waiting));
    entry.waiting.reset();
  }
  return told;
}

std::vector<RedisEntry> CallBatch::take() {
  std::erase_if(entries_, [](const RedisEntry& entry) { return entry.waiting == nullptr; });
  return std::move(entries_);
}

CallBatch::Outcome CallBatch::read(std::vector<RespValue>& replies, const Ending& ending) {
  Outcome outcome;
  const std::size_t beat_at = replies_ - (ending.replicas == 0 ? 1 : 2);
  const std::optional<std::uint64_t> before = number_before(replies[beat_at]);
  if (before != ending.beat.before) {
    outcome.verdict = Verdict::reconnect;
    outcome.found = before;
  } else if (ending.replicas != 0 && (replies.back().kind != RespValue::Kind::number ||
                                      replies.back().number < static_cast<std::int64_t>(ending.replicas))) {
    outcome.verdict = replies.back().is_error() ? Verdict::reconnect : Verdict::not_yet;
  }
  if (outcome.verdict != Verdict::told) {
    outcome.again = take();
    return outcome;
  }
  std::span<RespValue> rest(replies);
  for (const Group& group : groups_) {
    const std::span<RespValue> own = rest.first(group.replies);
    rest = rest.subspan(group.replies);
    const bool list = own.size() == 1 && own.front().items.size() == group.entries.size();
    for (std::size_t i = 0; i < group.entries.size(); ++i) {
      RedisEntry& entry = *group.entries[i];
      if (entry.waiting == nullptr) continue;
      const std::span<RespValue> said = list ? std::span(own.front().items).subspan(i, 1) : own;
      sort_out(entry, read_call(entry, said, memory_, outcome.trouble), outcome);
    }
  }
  return outcome;
}

void CallBatch::sort_out(RedisEntry& entry, Fate fate, Outcome& outcome) {
  if (fate == Fate::reconnect) outcome.verdict = Verdict::reconnect;
  if (fate == Fate::missed) ++outcome.effects;
  if (fate == Fate::again || fate == Fate::reconnect) {
    outcome.again.push_back(std::move(entry));
  } else if (fate == Fate::later || fate == Fate::elsewhere) {
    (fate == Fate::later ? outcome.later : outcome.elsewhere).push_back(std::move(entry));
  } else {
    outcome.answered.push_back(std::move(*entry.waiting));
  }
}

}  // namespace semel::store::redis
