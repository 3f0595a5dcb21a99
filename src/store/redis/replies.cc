// Replies as answers. What each letter means is said in scripts.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/transition.h"
#include "runtime/failpoint.h"
#include "store/audit_log.h"
#include "store/call.h"
#include "store/redis/batch.h"
#include "store/redis/cluster_map.h"
#include "store/redis/connection.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t body_tries_max = 5;

// What the server says when it is not, or no longer, the one to talk to; or when it lacks our scripts.
constexpr std::array<std::string_view, 6> elsewhere{"NOSCRIPT", "READONLY",  "MASTERDOWN",
                                                    "LOADING",  "UNBLOCKED", "NOAUTH"};
// What it says when it takes no writes for now.
constexpr std::array<std::string_view, 4> not_now{"MISCONF", "NOREPLICAS", "BUSY", "CLUSTERDOWN"};

template <std::size_t N>
bool is_one_of(const RespValue& reply, const std::array<std::string_view, N>& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return reply.is_error(word); });
}

Time time_in(std::string_view said, std::size_t at) {
  return Time{Millis{static_cast<Millis::rep>(number_at(said, at))}};
}

Error unreadable() {
  return {.code = Code::corrupt, .detail = "the record of the key in Redis cannot be read; the key stays blocked"};
}

Error nonsense() {
  return {.code = Code::unavailable, .detail = "Redis has answered what no script of ours answers"};
}

Fate refuse_it(RedisEntry& entry, const Error& error) {
  refuse(entry.call(), error);
  return Fate::answered;
}

// What a claim or a look is told of a record that is there as a whole.
Fate tell(RedisEntry& entry, const Record& record, Time at) {
  if (auto* look = std::get_if<LookCall>(&entry.call().request)) {
    look->answer = core::step_look(&record, at);
    return Fate::answered;
  }
  auto& request = std::get<ClaimCall>(entry.call().request);
  core::ClaimStep step = core::step_claim(&record, entry.call().key, request.fingerprint, request.terms, at);
  if (step.store) return refuse_it(entry, nonsense());  // the script has refused what our own rules would grant
  request.answer = std::move(step.answer);
  return Fate::answered;
}

Fate tell_value(RedisEntry& entry, std::string_view said) {
  if (said.size() < 10) return refuse_it(entry, nonsense());
  const Time at = time_in(said, 1);
  const std::string_view bytes = said.substr(9);
  const bool object = bytes.size() > 1 && bytes[1] == 'o';
  if (auto* look = std::get_if<LookCall>(&entry.call().request); look != nullptr && object) {
    look->answer = std::optional<Held>();
    return Fate::answered;
  }
  Result<StoredValue> value = decode_value(bytes, entry.call().key.id);
  if (!value) return refuse_it(entry, value.error());
  if (!value->apart) return tell(entry, value->record, at);
  entry.fetching = MissingAnswer{.value = *std::move(value), .at = at};
  return Fate::again;
}

// The answer that lies beside a record. If it is not there, the record has changed meanwhile.
Fate read_body(RedisEntry& entry, const RespValue& reply) {
  if (!entry.fetching) return refuse_it(entry, nonsense());
  MissingAnswer fetching = *std::move(entry.fetching);
  entry.fetching.reset();
  if (reply.kind != RespValue::Kind::text) {
    return ++entry.tries < body_tries_max ? Fate::again : refuse_it(entry, unreadable());
  }
  Record& record = fetching.value.record;
  Result<SharedResponse> response = decode_answer(reply.text, record);
  if (!response) return refuse_it(entry, response.error());
  record.response = *std::move(response);
  return tell(entry, record, fetching.at);
}

Fate tell_busy(ClaimCall& request, RedisEntry& entry, std::string_view said) {
  Digest event{};
  if (said.size() < 9 + event.size()) return refuse_it(entry, nonsense());
  std::ranges::copy(said.substr(9, event.size()), event.begin());
  Result<StoredValue> value = decode_value(said.substr(9 + event.size()), event);
  if (!value) return refuse_it(entry, value.error());
  const Millis left = value->record.lease_until - time_in(said, 1);
  request.answer = Busy{.other = Held{.record = std::move(value->record), .lease_left = left}};
  return Fate::answered;
}

// One reply to one call, of which the first letter says what it is.
class ReplyReader {
 public:
  ReplyReader(RedisEntry& entry, std::string_view said, BatchMemory& memory)
      : entry_(entry), said_(said), memory_(memory) {}

  Fate operator()(ClaimCall& request) {
    const SharedOrder& order = request.terms.order;
    switch (letter()) {
      case 'g':
        if (said_.size() != 17) return refuse_it(entry_, nonsense());
        tell_granted(request);
        if (order != nullptr) memory_.remember(order->object, entry_.call().key.id);
        runtime::failpoint("claim-written");
        return Fate::missed;
      case 'h':
        return tell_value(entry_, said_);
      case 'b':
        return tell_busy(request, entry_, said_);
      case 's':
        request.answer = Superseded{};
        return Fate::answered;
      case 'l':
        return guess_again(order);
      case 'x':
        return refuse_it(entry_, memory_full());
      default:
        return refuse_it(entry_, letter() == 'c' ? unreadable() : nonsense());
    }
  }
  Fate operator()(RenewCall& request) { return holder(request.answer); }
  Fate operator()(CompleteCall& request) { return ended(request.answer, request.fence); }
  Fate operator()(ReleaseCall& request) { return ended(request.answer, request.fence); }
  Fate operator()(SettleCall& request) { return holder(request.answer); }
  Fate operator()(SweepCall& request) {
    std::size_t& next = memory_.swept[entry_.bucket];
    next = 0;
    std::from_chars(said_.data(), said_.data() + said_.size(), next);
    request.answer = std::size_t{0};
    return Fate::answered;
  }
  Fate operator()(ReopenCall& request) {
    if (letter() != 'o' && letter() != 'n') return refuse_it(entry_, letter() == 'c' ? unreadable() : nonsense());
    request.answer = letter() == 'o';
    return letter() == 'o' ? Fate::missed : Fate::answered;
  }
  Fate operator()(LookCall& request) {
    if (letter() == 'h') return tell_value(entry_, said_);
    if (letter() != 'n') return refuse_it(entry_, nonsense());
    request.answer = std::optional<Held>();
    return Fate::answered;
  }
  Fate operator()(AppendCall& request) {
    if (letter() == 'o') request.answer = AuditEntry{};
    if (letter() == 'm') request.answer = fail(Code::fenced, "another entry came first");
    if (letter() != 'o' && letter() != 'm') return refuse_it(entry_, nonsense());
    return letter() == 'o' ? Fate::missed : Fate::answered;
  }
  template <class Other>
  Fate operator()(Other& /*request*/) {
    return refuse_it(entry_, nonsense());
  }

 private:
  [[nodiscard]] char letter() const { return said_.empty() ? '\0' : said_.front(); }

  // The record of a first attempt is known here to the byte. If its lease outlives it, its
  // end changes when the key expires.
  void tell_granted(ClaimCall& request) {
    const Granted granted{.fence = {.number = number_at(said_, 1), .owner = request.terms.owner},
                          .expires_at = time_in(said_, 9)};
    const Terms& terms = request.terms;
    const Key& key = entry_.call().key;
    if (granted.fence.number == 1 && terms.lease <= terms.ttl) {
      memory_.remember(granted.fence.owner, claimed_value(key, request.fingerprint, granted, terms));
    }
    request.answer = granted;
  }

  Fate ended(Result<void>& answer, const Fence& fence) {
    const Fate fate = holder(answer);
    if (fate != Fate::again) memory_.claimed.erase(fence.owner);
    return fate;
  }

  Fate holder(Result<void>& answer) {
    if (letter() == 'm') return Fate::again;  // its large answer has vanished meanwhile
    if (letter() == 'c') return refuse_it(entry_, unreadable());
    if (letter() == 'f') return refuse_it(entry_, {.code = Code::fenced, .detail = fenced_text(said_.back())});
    if (letter() != 'o') return refuse_it(entry_, nonsense());
    answer = Result<void>();
    return Fate::missed;
  }

  Fate guess_again(const SharedOrder& order) {
    if (order == nullptr) return refuse_it(entry_, nonsense());
    Digest event{};
    if (said_.size() != 1 + event.size()) {
      memory_.latest.erase(order->object);
      return Fate::again;
    }
    std::ranges::copy(said_.substr(1), event.begin());
    memory_.remember(order->object, event);
    return Fate::again;
  }

  RedisEntry& entry_;
  std::string_view said_;
  BatchMemory& memory_;
};

Fate read_one(RedisEntry& entry, const RespValue& reply, BatchMemory& memory) {
  if (reply.kind != RespValue::Kind::text) return refuse_it(entry, nonsense());
  return std::visit(ReplyReader(entry, reply.text, memory), entry.call().request);
}

}  // namespace

Fate read_call(RedisEntry& entry, std::span<RespValue> all, BatchMemory& memory, std::optional<Error>& trouble) {
  // Every second one answers ASKING.
  std::vector<RespValue> asked;
  for (std::size_t i = 1; entry.asking && i < all.size(); i += 2) asked.push_back(std::move(all[i]));
  const std::span<RespValue> replies = entry.asking ? std::span(asked) : all;
  for (const RespValue& each : replies) {
    if (each.is_error("TRYAGAIN")) return Fate::later;
    entry.detour = redirection_in(each);
    if (entry.detour) return Fate::elsewhere;
  }
  if (replies.size() == 2 && replies.front().is_error("OOM")) {
    entry.whole = true;
    return Fate::again;
  }
  const RespValue& reply = replies.back();
  for (const RespValue& each : replies) {
    if (is_one_of(each, elsewhere)) return Fate::reconnect;
    if (!is_one_of(each, not_now)) continue;
    trouble = refusal_of(each);
    return is_impatient(entry) ? refuse_it(entry, *trouble) : Fate::again;
  }
  if (reply.is_error()) return refuse_it(entry, refusal_of(reply));
  if (entry.fetching) return read_body(entry, reply);
  if (reply.kind == RespValue::Kind::list && reply.items.size() == 1)
    return read_one(entry, reply.items.front(), memory);
  return read_one(entry, reply, memory);
}

}  // namespace semel::store::redis
