// Calls as commands. What each script expects is said in scripts.cc.
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/check.h"
#include "core/settlement.h"
#include "runtime/failpoint.h"
#include "store/call.h"
#include "store/redis/batch.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t sweep_looks = 200;              // so that no other call waits long behind a sweep
constexpr std::size_t apart_from_bytes = 16U << 10U;  // Lua copies a large answer several times
constexpr std::size_t small_bytes = 4U << 10U;        // of an answer that goes with others; its fields come on top
constexpr std::string_view body_ms = "600000";        // for which an answer waits for the end that names it

std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string_view takes_of(const Terms& terms) {
  return terms.lapsed == Terms::Lapsed::taken_over ? "1" : "0";
}

// A word: the record that was claimed, with its answer.
void append_ended(std::string& out, std::string_view claimed, std::string_view answer) {
  append_word_head(out, claimed.size() + answer.size());
  const std::size_t at = out.size();
  out.append(claimed).append(answer).append("\r\n");
  out[at + 1] = 'd';
}

// One group being written. What `entry_` says holds for all of it.
class CallWriter {
 public:
  CallWriter(std::string& out, const ScriptHashes& hashes, CallGroup group, const BatchMemory& memory)
      : out_(out),
        hashes_(hashes),
        group_(group),
        entry_(*group.front()),
        memory_(memory),
        id_(entry_.call().key.id),
        tag_(memory.buckets.tag(entry_.bucket)),
        name_(record_name(id_, tag_)),
        index_(index_name(tag_)) {}

  void operator()(const ClaimCall& request) {
    const Terms& terms = request.terms;
    if (terms.order != nullptr) return ordered(request, *terms.order);
    begin(Script::claim, 4 + (2 * group_.size()));
    word(std::to_string(terms.lease.count()));
    word(std::to_string(terms.ttl.count()));
    word(takes_of(terms));
    word(terms.only_over ? fence_bytes(*terms.only_over) : std::string());
    for (const RedisEntry* each : group_) {
      const auto& claim = std::get<ClaimCall>(each->call().request);
      word(eight_bytes(claim.terms.owner));
      word(std::string(view(claim.fingerprint.digest)).append(tail_of(each->call().key)));
    }
  }

  void operator()(const RenewCall& request) {
    const std::string fence = fence_bytes(request.fence);
    const std::string lease = std::to_string(request.lease.count());
    script(Script::renew, {name_}, {fence, lease});
  }

  void operator()(const CompleteCall& request) {
    runtime::failpoint("completion-begun");
    if (request.response == nullptr) return end(request.fence, "u");
    if (group_.size() > 1) return end_all();
    const std::string answer = answer_bytes(id_, request.fence, request.response);
    if (answer.size() < apart_from_bytes || entry_.whole) {
      begin(Script::end, 4);
      word("d");
      word("0");
      return end_one(request.fence, answer);
    }
    const std::string fence = fence_bytes(request.fence);
    // The first answer stays, so it is not written over; under the owner's name nobody else's is touched.
    const std::string body = body_name(id_, request.fence.owner, tag_);
    command(std::vector<std::string_view>{"SET", body, answer, "NX", "PX", body_ms});
    script(Script::end, {index_, name_, body}, {"d", "1", fence, ""});
  }

  void operator()(const ReleaseCall& request) { end(request.fence, "f"); }

  void operator()(const SweepCall& /*request*/) {
    const auto place = memory_.swept.find(entry_.bucket);
    const std::string begin = std::to_string(place == memory_.swept.end() ? 0 : place->second);
    const std::string looks = std::to_string(sweep_looks);
    script(Script::prune, {index_}, {begin, looks});
  }

  void operator()(const ReopenCall& /*request*/) {
    script(Script::reopen, {name_, index_}, {entry_.token, channel_name(id_, tag_)});
  }

  void operator()(const LookCall& /*request*/) { script(Script::look, {name_}, {}); }

  void operator()(const SettleCall& request) {
    const core::Settlement& by = request.settlement;
    const std::string fence = fence_bytes(by.fence);
    const std::string act = eight_bytes(by.act);
    const Fence settled{.number = by.fence.number, .owner = by.act};
    const bool done = by.verdict == core::Settlement::Verdict::done;
    const std::string answer = done ? answer_bytes(id_, settled, by.response) : std::string();
    const std::string_view verdict = done ? "d" : by.verdict == core::Settlement::Verdict::not_done ? "n" : "r";
    script(Script::settle, {name_, index_}, {fence, act, verdict, answer, channel_name(id_, tag_)});
  }

  void operator()(const AppendCall& request) {
    const std::string number = std::to_string(request.token);
    script(Script::append, {audit_name}, {number, request.text});
  }

  // These are the desk's, which has a connection of its own.
  void operator()(const FindCall& /*request*/) const { core::check(false, "a search is not part of a batch"); }
  void operator()(const ListCall& /*request*/) const { core::check(false, "a list is not part of a batch"); }
  void operator()(const AuditCall& /*request*/) const { core::check(false, "a reading is not part of a batch"); }
  void operator()(const NoteCall& /*request*/) const { core::check(false, "there is no history on Redis"); }
  void operator()(const PastCall& /*request*/) const { core::check(false, "there is no history on Redis"); }
  void operator()(const PruneCall& /*request*/) const { core::check(false, "there is no history on Redis"); }
  void operator()(const InboxCall* /*request*/) const { core::check(false, "there is no inbox on Redis"); }
  void operator()(const StepCall& /*request*/) const { core::check(false, "a step is not of Redis"); }

  // Only the large answer of the record.
  void fetch(const Record& record) {
    const std::string body = body_name(record.key.id, record.fence.owner, tag_);
    command(std::vector<std::string_view>{"GET", body});
  }

  [[nodiscard]] std::size_t replies() const { return replies_; }

 private:
  void ordered(const ClaimCall& request, const Order& order) {
    const Terms& terms = request.terms;
    const std::string owner = eight_bytes(terms.owner);
    const std::string lease = std::to_string(terms.lease.count());
    const std::string ttl = std::to_string(terms.ttl.count());
    const std::string over = terms.only_over ? fence_bytes(*terms.only_over) : std::string();
    const std::string tail = tail_of(entry_.call().key);
    const auto latest = memory_.latest.find(order.object);
    const bool guessed = latest != memory_.latest.end();
    const std::string other = guessed ? record_name(latest->second, tag_) : name_;
    const std::string company = eight_bytes(order.company);
    const std::string object = record_name(order.object.id, tag_);
    script(Script::ordered, {name_, index_, object, other},
           {view(request.fingerprint.digest), owner, lease, ttl, takes_of(terms), over, tail, order.stamp, company,
            view(id_), guessed ? view(latest->second) : std::string_view()});
  }

  void end(const Fence& fence, std::string_view state) {
    const std::string bytes = fence_bytes(fence);
    script(Script::end, {index_, name_}, {state, "0", bytes, ""});
  }

  void end_all() {
    begin(Script::end, 2 + (2 * group_.size()));
    word("d");
    word("0");
    for (const RedisEntry* each : group_) {
      const auto& complete = std::get<CompleteCall>(each->call().request);
      end_one(complete.fence, answer_bytes(each->call().key.id, complete.fence, complete.response));
    }
  }

  void end_one(const Fence& fence, std::string_view answer) {
    const std::string* const claimed = memory_.find(fence);
    if (claimed == nullptr) {
      word(fence_bytes(fence));
      return word(answer);
    }
    word(*claimed);
    append_ended(out_, *claimed, answer);
  }

  // A script for the whole group, up to its keys.
  void begin(Script which, std::size_t arguments) {
    if (entry_.asking) append_command(out_, {"ASKING"});
    replies_ += entry_.asking ? 2 : 1;
    append_head(out_, 4 + group_.size() + arguments);
    word("EVALSHA");
    word(hashes_.at(static_cast<std::size_t>(which)));
    word(std::to_string(1 + group_.size()));
    word(index_);
    word(name_);
    for (const RedisEntry* each : group_.subspan(1)) word(record_name(each->call().key.id, tag_));
  }
  void word(std::string_view text) { append_word(out_, text); }

  void script(Script which, std::initializer_list<std::string_view> keys, std::span<const std::string_view> arguments) {
    const std::string count = std::to_string(keys.size());
    std::vector<std::string_view> words{"EVALSHA", hashes_.at(static_cast<std::size_t>(which)), count};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    command(words);
  }
  void script(Script which, std::initializer_list<std::string_view> keys,
              std::initializer_list<std::string_view> arguments) {
    script(which, keys, std::span(arguments.begin(), arguments.size()));
  }

  // A server that is being given a slot answers only to those that say so.
  void command(std::span<const std::string_view> words) {
    if (entry_.asking) append_command(out_, {"ASKING"});
    append_command(out_, words);
    replies_ += entry_.asking ? 2 : 1;
  }

  std::string& out_;
  const ScriptHashes& hashes_;
  const CallGroup group_;
  const RedisEntry& entry_;
  const BatchMemory& memory_;
  const Digest& id_;
  const std::string& tag_;
  const std::string name_;
  const std::string index_;
  std::size_t replies_ = 0;
};

}  // namespace

bool is_sociable(const RedisEntry& entry) {
  if (entry.fetching || entry.asking || entry.whole) return false;
  if (const auto* claim = std::get_if<ClaimCall>(&entry.call().request)) {
    return claim->terms.order == nullptr && !claim->terms.only_over;
  }
  const auto* complete = std::get_if<CompleteCall>(&entry.call().request);
  return complete != nullptr && complete->response != nullptr && complete->response->body.size() < small_bytes;
}

bool may_join(const RedisEntry& entry, const RedisEntry& other) {
  const auto* claim = std::get_if<ClaimCall>(&entry.call().request);
  if (claim == nullptr) return true;
  const Terms& theirs = std::get<ClaimCall>(other.call().request).terms;
  return claim->terms.lease == theirs.lease && claim->terms.ttl == theirs.ttl && claim->terms.lapsed == theirs.lapsed;
}

std::size_t append_calls(std::string& out, const ScriptHashes& hashes, CallGroup group, const BatchMemory& memory) {
  CallWriter writer(out, hashes, group, memory);
  const RedisEntry& entry = *group.front();
  if (entry.fetching) {
    writer.fetch(entry.fetching->value.record);
  } else {
    std::visit(writer, entry.call().request);
  }
  return writer.replies();
}

}  // namespace semel::store::redis
