// One attempt after the other, with growing pauses; and a look at the settings every now and then.
#include "store/redis/dialer.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "core/redis_url.h"
#include "store/redis/batch.h"
#include "store/redis/beats.h"
#include "store/redis/connection.h"
#include "store/redis/gate.h"
#include "store/redis/layout.h"
#include "store/redis/options.h"
#include "store/redis/plan.h"
#include "store/redis/primary.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"
#include "store/redis/server.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr Millis pause_min{50};
constexpr Millis pause_max{200};  // a replica that was promoted is to be used within a second
constexpr Millis look_every{10'000};
constexpr Millis look_soon{1'000};  // while no claims are taken

std::uint64_t number_in(const RespValue& reply) {
  std::uint64_t number = 0;
  std::from_chars(reply.text.data(), reply.text.data() + reply.text.size(), number);
  return number;
}

Result<ScriptHashes> load_scripts(const Clock& clock, RedisConnection& connection, Millis time_max) {
  std::string commands;
  for (const std::string& script : scripts()) append_command(commands, {"SCRIPT", "LOAD", script});
  const Result<std::vector<RespValue>> replies = connection.ask(clock, commands, script_count, time_max);
  if (!replies) return std::unexpected(replies.error());
  ScriptHashes hashes;
  for (std::size_t i = 0; i < script_count; ++i) {
    if (replies->at(i).is_error()) return std::unexpected(refusal_of(replies->at(i)));
    hashes[i] = replies->at(i).text;
  }
  return hashes;
}

Result<void> recognise_store(const RedisFacts& facts, const RedisPlan& plan) {
  Result<void> known = recognise(facts, plan.marker);
  const bool elsewhere = plan.cluster != nullptr && facts.identity.empty();
  if (!known || elsewhere || facts.identity == plan.identity) return known;
  return fail(
      Code::unavailable,
      "Redis is refused: the identity of its keys is not the one that this gateway was started with; restart it");
}

// The beats of a gateway that has nothing to do would expire, and would be missed.
void keep_beats(const Clock& clock, RedisConnection& connection, const std::string& process, std::size_t slots,
                const RedisPlan& plan) {
  std::string commands;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    append_command(commands, {"EXPIRE", beat_name(process, slot, plan.buckets.tag(plan.bucket)), "604800"});
  }
  static_cast<void>(connection.ask(clock, commands, slots, plan.time_max));
}

}  // namespace

RedisDialer::RedisDialer(const Clock& clock, RedisPlan plan, Shared shared, Deliver deliver)
    : clock_(clock), plan_(std::move(plan)), shared_(std::move(shared)), deliver_(std::move(deliver)) {}

RedisDialer::~RedisDialer() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::unexpected<Error> RedisDialer::retire() {
  shared_.retired = true;
  return fail(Code::unavailable, "the slot of the beats has moved to another server");
}

// Whether the home is on a server that is none of those that it has been on or could be promoted on.
bool RedisDialer::has_moved() {
  if (plan_.cluster == nullptr) return false;
  std::vector<std::string> family = plan_.cluster->family(plan_.buckets.slot(plan_.bucket));
  if (family.empty()) return false;
  if (!family_.empty() && std::ranges::find(family_, family.front()) == family_.end()) return true;
  for (std::string& each : family) {
    if (std::ranges::find(family_, each) == family_.end()) family_.push_back(std::move(each));
  }
  return false;
}

Result<RedisLink> RedisDialer::dial(std::size_t slot) {
  Result<Admitted> admitted = connect_admitted(clock_, plan_);
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  if (has_moved() || admitted->facts.leaving) return retire();
  RedisConnection& connection = admitted->connection;
  // Before the marker is asked for: on a server that was emptied everything is lost, and that is to be told.
  const std::string beat = beat_name(shared_.process, slot, plan_.buckets.tag(plan_.bucket));
  const Result<RespValue> reply = connection.ask(clock_, {"GET", beat}, plan_.time_max);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error("ASK ")) return retire();
  if (reply->is_error()) return std::unexpected(refusal_of(*reply));
  const std::optional<RedisLoss> lost = shared_.beats.resume(slot, number_in(*reply), clock_.now());
  if (lost) shared_.losses.add(*lost, shared_.process, admitted->facts.at);
  const Result<void> known = recognise_store(admitted->facts, plan_);
  if (!known) return std::unexpected(known.error());
  if (const Result<void> settled = shared_.losses.settle(); !settled) return std::unexpected(settled.error());
  const Result<ScriptHashes> hashes = load_scripts(clock_, connection, plan_.time_max);
  if (!hashes) return std::unexpected(hashes.error());
  if (number_in(*reply) == 0) {
    const Result<void> begun = begin_beats(connection, slot, *hashes);
    if (!begun) return std::unexpected(begun.error());
  }
  shared_.gate.open(ClaimGate::Closer::settings);
  return RedisLink{.connection = std::move(connection), .slot = slot, .hashes = *hashes};
}

// A connection without a beat would not miss it: its first batch would be taken by a server that was emptied meanwhile.
Result<void> RedisDialer::begin_beats(RedisConnection& connection, std::size_t slot, const ScriptHashes& hashes) {
  const std::string name = beat_name(shared_.process, slot, plan_.buckets.tag(plan_.bucket));
  const std::string& script = hashes.at(static_cast<std::size_t>(Script::beat));
  const std::string number = std::to_string(shared_.beats.next(slot).number);
  const Result<RespValue> reply = connection.ask(clock_, {"EVALSHA", script, "1", name, number}, plan_.time_max);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(refusal_of(*reply));
  return {};
}

void RedisDialer::want(std::size_t slot) {
  {
    const std::scoped_lock lock(mutex_);
    wanted_.push_back(slot);
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  wake_.notify_one();
}

// What is wanted after `pause`, if anything; waits no longer than until the next look.
std::optional<std::size_t> RedisDialer::next(Millis pause) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, pause, [&] { return closing_; });
  const Millis left = std::max(look_at_ - clock_.now(), Millis{0});
  wake_.wait_for(lock, left, [&] { return closing_ || !wanted_.empty(); });
  if (closing_ || wanted_.empty()) return std::nullopt;
  const std::size_t slot = wanted_.front();
  wanted_.erase(wanted_.begin());
  return slot;
}

Millis RedisDialer::try_once(std::size_t slot, Millis pause) {
  Result<RedisLink> link = dial(slot);
  const bool good = link.has_value();
  if (!good && !shared_.retired) {
    const std::scoped_lock lock(mutex_);
    wanted_.push_back(slot);
  }
  if (shared_.gate.closed() || shared_.losses.gate().closed()) look_at_ = std::min(look_at_, clock_.now() + look_soon);
  deliver_(std::move(link));
  // Gateways differ by their process, so that a server that comes back is not overrun.
  return good ? Millis{0} : std::clamp(pause * 2, pause_min, pause_max) + Millis{::getpid() % 40};
}

void RedisDialer::serve() {
  Millis pause{0};
  const bool closed = shared_.gate.closed() || shared_.losses.gate().closed();
  look_at_ = clock_.now() + (closed ? look_soon : look_every);
  for (;;) {
    const std::optional<std::size_t> slot = next(pause);
    {
      const std::scoped_lock lock(mutex_);
      if (closing_) return;
    }
    if (slot && !shared_.retired) pause = try_once(*slot, pause);
    if (clock_.now() >= look_at_) look_again();
  }
}

// A server that cannot be asked is not judged, nor one that others have replaced: the connections that are in use
// notice it themselves.
void RedisDialer::look_again() {
  look_at_ = clock_.now() + look_every;
  if (shared_.retired) return;
  Result<RedisFacts> facts = fail(Code::unavailable, "not asked");
  if (watching_) facts = facts_of(clock_, *watching_, marker_name(plan_.buckets.tag(plan_.bucket)), plan_.time_max);
  if (!facts) {
    watching_.reset();
    Result<Admitted> fresh = connect_primary(clock_, plan_);
    if (fresh) {
      facts = std::move(fresh->facts);
      watching_ = std::move(fresh->connection);
    }
  }
  const bool single = plan_.url.setup == core::RedisUrl::Setup::single;
  const bool replaced = facts && !single && (!facts->primary || facts->elsewhere);
  if (facts && !facts->leaving && !replaced) {
    Result<void> good = admit(*facts, plan_.demands);
    if (good) good = recognise_store(*facts, plan_);
    if (good) {
      shared_.gate.open(ClaimGate::Closer::settings);
      if (watching_) keep_beats(clock_, *watching_, shared_.process, shared_.beats.slots(), plan_);
    } else {
      shared_.gate.close(ClaimGate::Closer::settings, good.error());
    }
  }
  if (replaced) watching_.reset();
  const bool settled = shared_.losses.settle().has_value();
  const bool closed = shared_.gate.closed() || shared_.losses.gate().closed();
  if (closed || !settled) look_at_ = clock_.now() + look_soon;
}

}  // namespace semel::store::redis
