// Questions to a server that is connected, and what follows from the answers. docs/redis.md has the table of promises.
#include "store/redis/server.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/connection.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

// The value behind `name:` in the text of INFO.
std::string_view info(std::string_view text, std::string_view name) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find("\r\n", at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) return line.substr(name.size() + 1);
    at = end + 2;
  }
  return {};
}

std::uint64_t whole(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void read_settings(const RespValue& reply, RedisFacts& facts) {
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    const std::string& value = reply.items[i + 1].text;
    if (reply.items[i].text == "appendfsync") facts.fsync = value;
    if (reply.items[i].text == "no-appendfsync-on-rewrite") facts.skips_fsync = value == "yes";
  }
}

std::unexpected<Error> refused(std::string_view why) {
  return fail(Code::unavailable, "Redis is refused: " + std::string(why));
}

Result<void> admit_log(const RedisFacts& facts, core::RedisFsync wanted) {
  if (wanted == core::RedisFsync::unknown) return {};
  if (!facts.keeps_log) {
    return refused("its append-only file is off, so a restart forgets keys; set appendonly yes");
  }
  if (facts.fsync.empty()) {
    return refused(
        "it does not tell how it syncs (CONFIG GET appendfsync); allow +config|get, or set store.fsync = \"unknown\"");
  }
  const std::string_view name = wanted == core::RedisFsync::always ? "always" : "everysec";
  const bool good = facts.fsync == name || facts.fsync == "always";
  if (!good) {
    return refused("appendfsync is " + facts.fsync + " and store.fsync says " + std::string(name) +
                   "; change one of them, and see docs/redis.md for what each promises");
  }
  if (facts.skips_fsync && facts.fsync == "always") {
    return refused("no-appendfsync-on-rewrite is yes, so it does not sync while it rewrites its log; set it to no");
  }
  return {};
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t mib = 1U << 20U;
  return bytes < mib * 1024 * 10 ? std::to_string(bytes / mib) + " MiB" : std::to_string(bytes / mib / 1024) + " GiB";
}

}  // namespace

Result<RedisFacts> facts_of(const Clock& clock, RedisConnection& connection, const std::string& marker,
                            Millis time_max) {
  std::string commands;
  append_command(commands, {"INFO"});  // naming sections is of 7.0, and older versions are to be told so
  append_command(commands, {"ROLE"});
  append_command(commands, {"GET", marker});
  append_command(commands, {"GET", identity_name});
  append_command(commands, {"TIME"});
  append_command(commands, {"CONFIG", "GET", "*append*fsync*"});
  const Time begun = clock.now();
  const Result<std::vector<RespValue>> replies = connection.ask(clock, commands, 6, time_max);
  const Time ended = clock.now();
  if (!replies) return std::unexpected(replies.error());
  const RespValue& role = replies->at(1);
  const std::string_view text = replies->at(0).text;
  RedisFacts facts;
  facts.version = info(text, "redis_version");
  facts.cluster = info(text, "cluster_enabled") == "1";
  facts.leaving = replies->at(2).is_error("ASK ");
  facts.elsewhere = replies->at(2).is_error("MOVED ") || replies->at(2).is_error("CLUSTERDOWN");
  for (std::size_t i = 0; i < 5; ++i) {  // CONFIG may be forbidden, and the identity lies in one place of a cluster
    const RespValue& reply = replies->at(i);
    const bool elsewhere = reply.is_error("MOVED ") || reply.is_error("ASK ") || reply.is_error("CLUSTERDOWN");
    if (reply.is_error() && !elsewhere) return std::unexpected(refusal_of(reply));
  }
  facts.primary = !role.items.empty() && role.items.front().text == "master";
  facts.replicas = whole(info(text, "connected_slaves"));
  facts.keeps_log = info(text, "aof_enabled") == "1";
  facts.policy = info(text, "maxmemory_policy");
  facts.memory_max = whole(info(text, "maxmemory"));
  facts.memory_used = whole(info(text, "used_memory"));
  if (!replies->at(2).is_error()) facts.marker = replies->at(2).text;
  const RespValue& names = replies->at(3);
  if (!names.is_error()) facts.identity = names.text.substr(0, names.text.find(' '));
  const std::vector<RespValue>& time = replies->at(4).items;
  if (time.size() != 2) return fail(Code::unavailable, "Redis does not tell the time");
  facts.at = Time{Millis{static_cast<Millis::rep>((whole(time[0].text) * 1'000) + (whole(time[1].text) / 1'000))}};
  facts.ahead = {.least = facts.at - ended, .most = facts.at - begun};
  read_settings(replies->at(5), facts);
  return facts;
}

Result<void> admit(const RedisFacts& facts, const RedisDemands& demands) {
  if (whole(facts.version) < 7) {
    return refused("version " + facts.version + " is too old; it takes Redis 7.0 or Valkey 7.2, or later");
  }
  if (facts.cluster != demands.cluster) {
    return refused(facts.cluster ? "it is part of a cluster; its address is redis+cluster://"
                                 : "it is not part of a cluster; its address is redis://");
  }
  if (!facts.primary) return refused("it is a replica; claims need the primary");
  if (facts.elsewhere) return refused("it has not, or not now, the slots that others of the cluster say it has");
  if (!facts.policy.empty() && facts.policy != "noeviction") {
    return refused("maxmemory-policy is " + facts.policy +
                   ", so keys vanish when memory runs short, and their requests run again; set it to noeviction");
  }
  Result<void> log = admit_log(facts, demands.fsync);
  if (!log) return log;
  if (facts.replicas < demands.replicas) {
    return refused("it has " + std::to_string(facts.replicas) + " replica(s), and store.replicas asks for " +
                   std::to_string(demands.replicas) + "; wait for them, or lower store.replicas");
  }
  return {};
}

Result<void> recognise(const RedisFacts& facts, const std::string& known) {
  if (facts.marker.empty()) {
    return refused(known.empty()
                       ? "it has not been prepared; run `semel migrate` once"
                       : "it is empty, or another one than before: the marker of `semel migrate` is gone, and so may "
                         "be keys. Restore it, or prepare it again if it is right that every key is forgotten");
  }
  if (!facts.marker.starts_with(std::string(marker_format) + " ")) {
    return refused("it was prepared by another version of Semel, whose format is not known here");
  }
  if (!known.empty() && facts.marker != known) {
    return refused("the address leads to another store than before, which has none of the keys");
  }
  return {};
}

std::vector<std::string> promises_of(const RedisFacts& facts, const RedisDemands& demands) {
  std::vector<std::string> all;
  if (demands.fsync == core::RedisFsync::unknown) {
    all.emplace_back("restart or power loss: not known here (store.fsync = \"unknown\"); a loss is noticed");
  } else if (facts.fsync == "always") {
    all.emplace_back("restart or power loss: nothing acknowledged is lost (appendfsync always), if the disk holds");
  } else {
    all.emplace_back("restart or power loss: up to 2 s of acknowledged calls can be lost (appendfsync everysec)");
  }
  if (facts.replicas == 0) {
    all.emplace_back("failover: there is no replica to fail over to");
  } else if (demands.replicas == 0) {
    all.emplace_back("failover: what the replica had not received is lost (store.replicas = 0)");
  } else if (demands.replicas < facts.replicas) {
    all.emplace_back("failover: a loss is possible, since the promoted replica may not be one of those that had it (" +
                     std::to_string(demands.replicas) + " of " + std::to_string(facts.replicas) + ")");
  } else {
    all.emplace_back("failover: nothing acknowledged is lost, if the promoted replica is one of the " +
                     std::to_string(facts.replicas) + " that acknowledge every call");
  }
  if (facts.memory_max == 0) {
    all.emplace_back("memory: maxmemory is 0, so the system may end Redis when memory runs out; set a limit");
  } else {
    all.emplace_back("memory: " + bytes_text(facts.memory_used) + " of " + bytes_text(facts.memory_max) +
                     " (maxmemory) are used; when it is full, new keys get 503");
  }
  return all;
}

}  // namespace semel::store::redis
