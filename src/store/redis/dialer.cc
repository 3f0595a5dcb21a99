// One attempt after the other, with growing pauses; and a look at the settings every now and then.
#include "store/redis/dialer.h"

#include <algorithm>
#include <cstddef>
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
#include "store/redis/connection.h"
#include "store/redis/gate.h"
#include "store/redis/home_beats.h"
#include "store/redis/layout.h"
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
constexpr Millis jump_min{1'000};   // of the server's clock, to be told of

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

}  // namespace

RedisDialer::RedisDialer(const Clock& clock, RedisPlan plan, Shared shared, Deliver deliver)
    : clock_(clock),
      plan_(std::move(plan)),
      shared_(std::move(shared)),
      deliver_(std::move(deliver)),
      home_(clock, plan_, shared_.beats, shared_.losses, shared_.process) {}

RedisDialer::~RedisDialer() {
  {
    const std::scoped_lock lock(mutex_);
    phase_ = Phase::closing;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::unexpected<Error> RedisDialer::retire(RedisConnection& connection, Time at) {
  static_cast<void>(home_.compare_all(connection, at));  // part() does it again, when nobody is answered any more
  shared_.news.retired = true;
  return fail(Code::unavailable, "the slot of the beats has moved to another server");
}

Result<RedisLink> RedisDialer::dial(std::size_t slot) {
  Result<Admitted> admitted = connect_admitted(clock_, plan_);
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  RedisConnection& connection = admitted->connection;
  compare_clock(admitted->facts);
  watch_.host = admitted->host;
  if (home_.has_moved() || admitted->facts.leaving) return retire(connection, admitted->facts.at);
  // Before the marker is asked for: on a server that was emptied everything is lost, and that is to be told.
  const Result<FoundBeat> beat = home_.compare(connection, slot, admitted->facts.at);
  if (!beat) return std::unexpected(beat.error());
  if (beat->away) return retire(connection, admitted->facts.at);
  const Result<void> known = recognise_store(admitted->facts, plan_);
  if (!known) return std::unexpected(known.error());
  if (const Result<void> settled = shared_.losses.settle(); !settled) return std::unexpected(settled.error());
  const Result<ScriptHashes> hashes = load_scripts(clock_, connection, plan_.time_max);
  if (!hashes) return std::unexpected(hashes.error());
  if (beat->number == 0) {
    const Result<void> begun = home_.begin(connection, slot, hashes->at(static_cast<std::size_t>(Script::beat)));
    if (!begun) return std::unexpected(begun.error());
  }
  shared_.gate.open(ClaimGate::Closer::settings);
  return RedisLink{.connection = std::move(connection), .slot = slot, .hashes = *hashes};
}

void RedisDialer::want(std::size_t slot) {
  {
    const std::scoped_lock lock(mutex_);
    wanted_.push_back(slot);
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  wake_.notify_one();
}

void RedisDialer::take_leave() {
  {
    const std::scoped_lock lock(mutex_);
    if (phase_ == Phase::dialing) phase_ = Phase::parting;
  }
  wake_.notify_one();
}

// A connection that is still in use may be answered after another one has found that the home has moved. So the beats
// are compared for the last time now. A server that cannot be asked is asked again: until then nobody knows what it
// lacks.
Millis RedisDialer::part() {
  Result<Admitted> found = connect_primary(clock_, plan_);
  if (!found || !home_.compare_all(found->connection, found->facts.at)) return pause_max;
  const std::scoped_lock lock(mutex_);
  if (phase_ == Phase::parting) phase_ = Phase::parted;
  return Millis{0};
}

// What is wanted after `pause`, if anything; waits no longer than until the next look.
std::optional<std::size_t> RedisDialer::next(Millis pause) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, pause, [&] { return phase_ == Phase::closing; });
  const Millis left = std::max(watch_.next - clock_.now(), Millis{0});
  wake_.wait_for(lock, left, [&] { return phase_ == Phase::closing || phase_ == Phase::parting || !wanted_.empty(); });
  if (phase_ == Phase::closing || wanted_.empty()) return std::nullopt;
  const std::size_t slot = wanted_.front();
  wanted_.erase(wanted_.begin());
  return slot;
}

Millis RedisDialer::try_once(std::size_t slot, Millis pause) {
  Result<RedisLink> link = dial(slot);
  const bool good = link.has_value();
  if (!good && !shared_.news.retired) {
    const std::scoped_lock lock(mutex_);
    wanted_.push_back(slot);
  }
  if (shared_.gate.closed() || shared_.losses.gate().closed())
    watch_.next = std::min(watch_.next, clock_.now() + look_soon);
  deliver_(std::move(link));
  // Gateways differ by their process, so that a server that comes back is not overrun.
  return good ? Millis{0} : std::clamp(pause * 2, pause_min, pause_max) + Millis{::getpid() % 40};
}

void RedisDialer::serve() {
  Millis pause{0};
  const bool closed = shared_.gate.closed() || shared_.losses.gate().closed();
  watch_.next = clock_.now() + (closed ? look_soon : look_every);
  for (;;) {
    const std::optional<std::size_t> slot = next(pause);
    Phase phase{};
    {
      const std::scoped_lock lock(mutex_);
      phase = phase_;
    }
    if (phase == Phase::closing) return;
    if (phase == Phase::parting) pause = part();
    if (slot && !shared_.news.retired) pause = try_once(*slot, pause);
    if (clock_.now() >= watch_.next) look_again();
  }
}

// Keys live by the clock of the server, whichever it is, so nobody can be refused: only told.
void RedisDialer::compare_clock(const RedisFacts& facts) {
  if (!facts.primary) return;
  if (watch_.ahead) {
    const Millis forward = facts.ahead.least - watch_.ahead->most;
    const Millis back = watch_.ahead->least - facts.ahead.most;
    if (shared_.on_jump && std::max(forward, back) >= jump_min) shared_.on_jump(forward > back ? forward : -back);
  }
  watch_.ahead = facts.ahead;
}

// A primary that we still reach may have been replaced by those who do not reach it any more. Where a Sentinel leads is
// believed only if the server there says itself that it is the primary.
bool RedisDialer::leads_elsewhere() const {
  if (plan_.url.setup != core::RedisUrl::Setup::sentinel) return false;
  const Result<Admitted> found = connect_primary(clock_, plan_);
  return found && found->facts.primary && found->host != watch_.host;
}

// A server that cannot be asked is not judged, nor one that others have replaced: the connections that are in use
// notice it themselves.
void RedisDialer::look_again() {
  watch_.next = clock_.now() + look_every;
  if (shared_.news.retired) return;
  Result<RedisFacts> facts = fail(Code::unavailable, "not asked");
  if (watch_.connection)
    facts = facts_of(clock_, *watch_.connection, marker_name(plan_.buckets.tag(plan_.bucket)), plan_.time_max);
  if (!facts) {
    watch_.connection.reset();
    Result<Admitted> fresh = connect_primary(clock_, plan_);
    if (fresh) {
      facts = std::move(fresh->facts);
      watch_.connection = std::move(fresh->connection);
    }
  }
  const bool single = plan_.url.setup == core::RedisUrl::Setup::single;
  const bool replaced = leads_elsewhere() || (facts && !single && (!facts->primary || facts->elsewhere));
  if (facts && !replaced) compare_clock(*facts);
  if (facts && !facts->leaving && !replaced) {
    Result<void> good = admit(*facts, plan_.demands);
    if (good) good = recognise_store(*facts, plan_);
    if (good) {
      shared_.gate.open(ClaimGate::Closer::settings);
      if (watch_.connection) home_.keep(*watch_.connection);
    } else {
      shared_.gate.close(ClaimGate::Closer::settings, good.error());
    }
  }
  if (replaced || (facts && watch_.connection && home_.is_behind(*watch_.connection))) {
    shared_.news.replaced = true;
    deliver_(fail(Code::unavailable, "Redis has another primary, or has lost something"));  // wakes the driver
  }
  if (replaced) watch_.connection.reset();
  const bool settled = shared_.losses.settle().has_value();
  const bool closed = shared_.gate.closed() || shared_.losses.gate().closed();
  if (closed || !settled) watch_.next = clock_.now() + look_soon;
}

}  // namespace semel::store::redis
