// What goes together, and whether its answers may be told.
#include "store/redis/batch.h"

#include <algorithm>
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
#include "store/redis/resp.h"
#include "store/redis/scripts.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t calls_max = 512;
constexpr std::size_t body_bytes_max = 4U << 20U;  // of a batch; a single call may be larger
constexpr std::size_t latest_max = 10'000;

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

void BatchMemory::remember(const Key& object, const Digest& event) {
  if (latest.size() >= latest_max) latest.clear();
  latest.insert_or_assign(object, event);
}

CallBatch::CallBatch(RedisQueue& queue, BatchMemory& memory) : memory_(memory) {
  std::size_t bytes = 0;
  while (!queue.empty() && entries_.size() < calls_max) {
    bytes += body_bytes(queue.front().call());
    if (!entries_.empty() && bytes > body_bytes_max) return;
    entries_.push_back(std::move(queue.front()));
    queue.pop_front();
  }
}

std::string CallBatch::encode(const ScriptHashes& hashes, const Ending& ending) {
  std::string out;
  for (const RedisEntry& entry : entries_) {
    counts_.push_back(append_call(out, hashes, entry, memory_));
    replies_ += counts_.back();
  }
  const std::string& beat = hashes.at(static_cast<std::size_t>(Script::beat));
  append_command(out, {"EVALSHA", beat, "1", ending.beat_name, std::to_string(ending.beat.number)});
  ++replies_;
  if (ending.replicas == 0) return out;
  append_command(out, {"WAIT", std::to_string(ending.replicas), std::to_string(ending.patience.count())});
  ++replies_;
  return out;
}

Time CallBatch::deadline() const {
  return std::ranges::max_element(entries_, {}, &RedisEntry::deadline)->deadline;
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
  std::size_t at = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    RedisEntry& entry = entries_[i];
    const Fate fate = read_call(entry, std::span(replies).subspan(at, counts_[i]), memory_, outcome.trouble);
    at += counts_[i];
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
  return outcome;
}

}  // namespace semel::store::redis
