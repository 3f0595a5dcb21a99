// Commands are grouped by server and sent together; those that are sent elsewhere go again.
#include "store/redis/asker.h"

#include <cstddef>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/poll.h>

#include "core/redis_url.h"
#include "store/redis/cluster_map.h"
#include "store/redis/connection.h"
#include "store/redis/plan.h"
#include "store/redis/primary.h"
#include "store/redis/resp.h"
#include "store/redis/server.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr int pause_ms = 20;  // while a slot moves

bool is_for_later(const RespValue& reply) {
  return reply.is_error("ASK ") || reply.is_error("TRYAGAIN") || reply.is_error("MOVED ");
}

}  // namespace

std::string BucketAsker::place_of(std::size_t bucket) const {
  if (plan_.cluster == nullptr) return {};
  const std::optional<core::RedisHost> host = plan_.cluster->owner(plan_.buckets.slot(bucket));
  return host ? host_text(*host) : std::string();
}

Result<RedisConnection*> BucketAsker::connect(std::size_t bucket) {
  const auto found = connections_.find(place_of(bucket));
  if (found != connections_.end()) return &found->second;
  RedisPlan plan = plan_;
  plan.bucket = bucket;
  Result<Admitted> admitted = connect_admitted(clock_, plan);
  if (!admitted) return std::unexpected(std::move(admitted.error()));
  if (!plan_.marker.empty()) {
    const Result<void> known = recognise(admitted->facts, plan_.marker);
    if (!known) return std::unexpected(known.error());
  }
  const auto made = connections_.insert_or_assign(place_of(bucket), std::move(admitted->connection));
  return &made.first->second;
}

// The second time a connection that has been idle, and has gone, is a new one.
Result<void> BucketAsker::ask_place(const std::vector<std::size_t>& group, const std::vector<BucketCommand>& commands,
                                    std::vector<RespValue>& replies) {
  std::string text;
  for (const std::size_t each : group) text += commands[each].text;
  Result<std::vector<RespValue>> said = fail(Code::unavailable, "not asked");
  const std::size_t bucket = commands[group.front()].bucket;
  for (int tries = 0; tries < 2; ++tries) {
    const Result<RedisConnection*> connection = connect(bucket);
    if (!connection) return std::unexpected(connection.error());
    said = (*connection)->ask(clock_, text, group.size(), plan_.time_max);
    if (said) break;
    connections_.erase(place_of(bucket));
  }
  if (!said) return std::unexpected(std::move(said.error()));
  for (std::size_t i = 0; i < group.size(); ++i) replies[group[i]] = std::move(said->at(i));
  return {};
}

Result<std::vector<RespValue>> BucketAsker::ask(const std::vector<BucketCommand>& commands) {
  std::vector<RespValue> replies(commands.size());
  std::vector<std::size_t> open(commands.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  const Time end = clock_.now() + plan_.time_max;
  while (!open.empty()) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (const std::size_t each : open) groups[place_of(commands[each].bucket)].push_back(each);
    for (const auto& [place, group] : groups) {
      Result<void> asked = ask_place(group, commands, replies);
      if (!asked) return std::unexpected(std::move(asked.error()));
    }
    open.clear();
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const std::optional<Redirection> moved = redirection_in(replies[i]);
      if (moved && !moved->asking && plan_.cluster != nullptr) plan_.cluster->move(*moved);
      if (is_for_later(replies[i]) && clock_.now() < end) {
        open.push_back(i);
      } else if (replies[i].is_error()) {
        return std::unexpected(refusal_of(replies[i]));
      }
    }
    if (!open.empty()) ::poll(nullptr, 0, pause_ms);
  }
  return replies;
}

Result<std::vector<std::size_t>> BucketAsker::primaries() {
  if (plan_.cluster == nullptr) return std::vector<std::size_t>{0};
  Result<RedisConnection*> first = connect(plan_.buckets.first());
  if (!first) return std::unexpected(std::move(first.error()));
  std::map<std::string, std::size_t> found;
  for (std::size_t bucket = 0; bucket < plan_.buckets.count(); ++bucket) {
    const std::string place = place_of(bucket);
    if (place.empty()) return fail(Code::unavailable, "Redis is refused: nobody has some slots of the cluster");
    found.emplace(place, bucket);
  }
  std::vector<std::size_t> all;
  all.reserve(found.size());
  for (const auto& [place, bucket] : found) all.push_back(bucket);
  return all;
}

}  // namespace semel::store::redis
