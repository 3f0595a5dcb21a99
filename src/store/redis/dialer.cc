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
#include "store/redis/primary.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"
#include "store/redis/server.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr Millis pause_min{50};
constexpr Millis pause_max{400};  // a replica that was promoted is to be used within a second
constexpr Millis look_every{10'000};
constexpr Millis look_soon{1'000};  // while no claims are taken

Result<std::uint64_t> found_beat(const Clock& clock, RedisConnection& connection, const std::string& name,
                                 Millis time_max) {
  const Result<RespValue> reply = connection.ask(clock, {"GET", name}, time_max);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(refusal_of(*reply));
  std::uint64_t number = 0;
  std::from_chars(reply->text.data(), reply->text.data() + reply->text.size(), number);
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
  if (!known || facts.identity == plan.identity) return known;
  return fail(
      Code::unavailable,
      "Redis is refused: the identity of its keys is not the one that this gateway was started with; restart it");
}

Result<Admitted> admitted_at(const Clock& clock, const RedisPlan& plan, const core::RedisHost& host) {
  Result<RedisConnection> connection = RedisConnection::open(clock, plan.url, host, plan.time_max);
  if (!connection) return std::unexpected(std::move(connection.error()));
  Result<RedisFacts> facts = facts_of(clock, *connection, plan.time_max);
  if (!facts) return std::unexpected(std::move(facts.error()));
  const Result<void> admitted = admit(*facts, plan.demands);
  if (!admitted) return std::unexpected(admitted.error());
  return Admitted{.connection = *std::move(connection), .facts = *std::move(facts)};
}

// The beats of a gateway that has nothing to do would expire, and would be missed.
void keep_beats(const Clock& clock, RedisConnection& connection, const std::string& process, std::size_t slots,
                Millis time_max) {
  std::string commands;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    append_command(commands, {"EXPIRE", beat_name(process, slot), "604800"});
  }
  static_cast<void>(connection.ask(clock, commands, slots, time_max));
}

}  // namespace

Result<Admitted> connect_admitted(const Clock& clock, const RedisPlan& plan) {
  Result<Admitted> admitted = fail(Code::unavailable, "nobody was asked");
  for (std::size_t adviser = 0; adviser < advisers(plan.url); ++adviser) {
    const Result<core::RedisHost> host = primary_by(clock, plan.url, adviser, plan.time_max);
    if (host) {
      admitted = admitted_at(clock, plan, *host);
      if (admitted) return admitted;
    } else if (adviser == 0) {
      admitted = std::unexpected(host.error());
    }
  }
  return admitted;
}

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

Result<RedisLink> RedisDialer::dial(std::size_t slot) {
  Result<Admitted> admitted = connect_admitted(clock_, plan_);
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  // Before the marker is asked for: on a server that was emptied everything is lost, and that is to be told.
  const Result<std::uint64_t> beat =
      found_beat(clock_, admitted->connection, beat_name(shared_.process, slot), plan_.time_max);
  if (!beat) return std::unexpected(beat.error());
  const std::optional<RedisLoss> lost = shared_.beats.resume(slot, *beat, clock_.now());
  if (lost) shared_.losses.add(*lost, admitted->facts.at);
  const Result<void> known = recognise_store(admitted->facts, plan_);
  if (!known) return std::unexpected(known.error());
  if (const Result<void> settled = shared_.losses.settle(clock_, admitted->connection, plan_.time_max); !settled) {
    return std::unexpected(settled.error());
  }
  const Result<ScriptHashes> hashes = load_scripts(clock_, admitted->connection, plan_.time_max);
  if (!hashes) return std::unexpected(hashes.error());
  shared_.gate.open(ClaimGate::Closer::settings);
  return RedisLink{.connection = std::move(admitted->connection), .slot = slot, .hashes = *hashes};
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
  if (!good) {
    const std::scoped_lock lock(mutex_);
    wanted_.push_back(slot);
  }
  if (shared_.gate.closed()) look_at_ = std::min(look_at_, clock_.now() + look_soon);
  deliver_(std::move(link));
  // Gateways differ by their process, so that a server that comes back is not overrun.
  return good ? Millis{0} : std::clamp(pause * 2, pause_min, pause_max) + Millis{::getpid() % 40};
}

void RedisDialer::serve() {
  Millis pause{0};
  look_at_ = clock_.now() + (shared_.gate.closed() ? look_soon : look_every);
  for (;;) {
    const std::optional<std::size_t> slot = next(pause);
    {
      const std::scoped_lock lock(mutex_);
      if (closing_) return;
    }
    if (slot) pause = try_once(*slot, pause);
    if (clock_.now() >= look_at_) look_again();
  }
}

// A server that cannot be asked is not judged, nor one that others have replaced: the connections that are in use
// notice it themselves.
void RedisDialer::look_again() {
  if (!watching_) {
    const Result<core::RedisHost> host = primary_by(clock_, plan_.url, 0, plan_.time_max);
    Result<RedisConnection> fresh = fail(Code::unavailable, "no host");
    if (host) fresh = RedisConnection::open(clock_, plan_.url, *host, plan_.time_max);
    if (fresh) watching_ = *std::move(fresh);
  }
  if (watching_) {
    const Result<RedisFacts> facts = facts_of(clock_, *watching_, plan_.time_max);
    const bool replaced = facts && !facts->primary && plan_.url.setup != core::RedisUrl::Setup::single;
    Result<void> good;
    if (facts) good = admit(*facts, plan_.demands);
    if (facts && good) good = recognise_store(*facts, plan_);
    if (facts && good) shared_.gate.open(ClaimGate::Closer::settings);
    if (!good && !replaced) shared_.gate.close(ClaimGate::Closer::settings, good.error());
    if (facts && good) keep_beats(clock_, *watching_, shared_.process, shared_.beats.slots(), plan_.time_max);
    if (!facts || !good || !shared_.losses.settle(clock_, *watching_, plan_.time_max)) watching_.reset();
  }
  look_at_ = clock_.now() + (shared_.gate.closed() ? look_soon : look_every);
}

}  // namespace semel::store::redis
