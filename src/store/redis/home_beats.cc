// Beats follow their slot: over a failover, and to another server while the slot moves.
#include "store/redis/home_beats.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/redis/beats.h"
#include "store/redis/cluster_map.h"
#include "store/redis/connection.h"
#include "store/redis/layout.h"
#include "store/redis/losses.h"
#include "store/redis/options.h"
#include "store/redis/resp.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr const char* life_s = "604800";

std::uint64_t number_in(const RespValue& reply) {
  std::uint64_t number = 0;
  std::from_chars(reply.text.data(), reply.text.data() + reply.text.size(), number);
  return number;
}

}  // namespace

std::string HomeBeats::name(std::size_t slot) const {
  return beat_name(process_, slot, plan_.buckets.tag(plan_.bucket));
}

bool HomeBeats::has_moved() {
  if (plan_.cluster == nullptr) return false;
  std::vector<std::string> family = plan_.cluster->family(plan_.buckets.slot(plan_.bucket));
  if (family.empty()) return false;
  if (!family_.empty() && std::ranges::find(family_, family.front()) == family_.end()) return true;
  for (std::string& each : family) {
    if (std::ranges::find(family_, each) == family_.end()) family_.push_back(std::move(each));
  }
  return false;
}

// While its slot moves, a beat is on one of two servers.
Result<FoundBeat> HomeBeats::read(RedisConnection& connection, std::size_t slot) {
  Result<RespValue> reply = connection.ask(clock_, {"GET", name(slot)}, plan_.time_max);
  if (!reply) return std::unexpected(std::move(reply.error()));
  const std::optional<Redirection> detour = redirection_in(*reply);
  const bool away = detour && detour->asking;
  if (away) {
    Result<RedisConnection> other = RedisConnection::open(clock_, plan_.url, detour->host, plan_.time_max);
    if (!other) return std::unexpected(std::move(other.error()));
    std::string commands;
    append_command(commands, {"ASKING"});
    append_command(commands, {"GET", name(slot)});
    Result<std::vector<RespValue>> both = other->ask(clock_, commands, 2, plan_.time_max);
    if (!both) return std::unexpected(std::move(both.error()));
    reply = std::move(both->back());
  }
  if (reply->is_error()) return std::unexpected(refusal_of(*reply));
  return FoundBeat{.number = number_in(*reply), .away = away};
}

Result<FoundBeat> HomeBeats::compare(RedisConnection& connection, std::size_t slot, Time at) {
  Result<FoundBeat> found = read(connection, slot);
  if (!found) return found;
  const std::optional<RedisLoss> lost = book_.resume(slot, found->number, clock_.now());
  if (lost) losses_.add(*lost, process_, at);
  return found;
}

// What is acknowledged while the server is asked is not compared.
bool HomeBeats::is_behind(RedisConnection& connection) {
  for (std::size_t slot = 0; slot < book_.slots(); ++slot) {
    const std::uint64_t acknowledged = book_.acknowledged(slot);
    const Result<FoundBeat> found = read(connection, slot);
    if (found && found->number < acknowledged) return true;
  }
  return false;
}

Result<void> HomeBeats::compare_all(RedisConnection& connection, Time at) {
  for (std::size_t slot = 0; slot < book_.slots(); ++slot) {
    const Result<FoundBeat> compared = compare(connection, slot, at);
    if (!compared) return std::unexpected(compared.error());
  }
  return {};
}

Result<void> HomeBeats::begin(RedisConnection& connection, std::size_t slot, const std::string& script) {
  const std::string number = std::to_string(book_.next(slot).number);
  const Result<RespValue> reply = connection.ask(clock_, {"EVALSHA", script, "1", name(slot), number}, plan_.time_max);
  if (!reply) return std::unexpected(reply.error());
  if (reply->is_error()) return std::unexpected(refusal_of(*reply));
  return {};
}

void HomeBeats::keep(RedisConnection& connection) {
  std::string commands;
  for (std::size_t slot = 0; slot < book_.slots(); ++slot) append_command(commands, {"EXPIRE", name(slot), life_s});
  static_cast<void>(connection.ask(clock_, commands, book_.slots(), plan_.time_max));
}

}  // namespace semel::store::redis
