// Slots as ranges of CLUSTER SLOTS, corrected one by one by what servers say.
#include "store/redis/cluster_map.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/redis_url.h"
#include "store/redis/buckets.h"
#include "store/redis/resp.h"
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr std::size_t shards_max = 4'096;

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// [address, port, id, …]
std::optional<core::RedisHost> host_in(const RespValue& item, const core::RedisHost& asked) {
  if (item.items.size() < 2 || item.items[1].number <= 0 || item.items[1].number > 65'535) return std::nullopt;
  core::RedisHost host{.host = item.items[0].text, .port = static_cast<std::uint16_t>(item.items[1].number)};
  if (host.host.empty() || host.host == "?") host.host = asked.host;
  return host;
}

}  // namespace

std::string host_text(const core::RedisHost& host) {
  return host.host + ":" + std::to_string(host.port);
}

std::optional<Redirection> redirection_in(const RespValue& reply) {
  const bool asking = reply.is_error("ASK ");
  if (!asking && !reply.is_error("MOVED ")) return std::nullopt;
  std::string_view rest = reply.text;
  rest.remove_prefix(rest.find(' ') + 1);
  const std::size_t blank = std::min(rest.find(' '), rest.size());
  const std::string_view place = rest.substr(std::min(blank + 1, rest.size()));
  const std::size_t colon = place.rfind(':');
  Redirection found;
  found.asking = asking;
  if (colon == std::string_view::npos || !read_number(rest.substr(0, blank), found.slot) ||
      !read_number(place.substr(colon + 1), found.host.port) || found.slot >= slot_count) {
    return std::nullopt;
  }
  found.host.host = place.substr(0, colon);
  return found;
}

std::vector<core::RedisHost> ClusterMap::advisers() {
  const std::scoped_lock lock(mutex_);
  std::vector<core::RedisHost> all;
  const auto add = [&](const core::RedisHost& host) {
    if (std::ranges::find(all, host) == all.end()) all.push_back(host);
  };
  for (const Shard& shard : shards_) std::ranges::for_each(shard.hosts, add);
  if (!all.empty()) std::ranges::rotate(all, all.begin() + static_cast<std::ptrdiff_t>(turn_++ % all.size()));
  std::ranges::for_each(seeds_, add);
  return all;
}

Result<void> ClusterMap::learn(const RespValue& reply, const core::RedisHost& asked) {
  if (reply.is_error()) {
    return fail(Code::unavailable, reply.text.find("cluster support disabled") == std::string::npos
                                       ? "Redis: " + reply.text
                                       : "Redis is refused: it is not part of a cluster; its address is redis://");
  }
  std::vector<Shard> shards;
  std::array<std::uint16_t, slot_count> slots{};
  for (const RespValue& range : reply.items) {
    if (range.items.size() < 3 || shards.size() >= shards_max) return fail(Code::unavailable, "CLUSTER SLOTS is odd");
    Shard shard;
    for (std::size_t i = 2; i < range.items.size(); ++i) {
      const std::optional<core::RedisHost> host = host_in(range.items[i], asked);
      if (host) shard.hosts.push_back(*host);
    }
    const std::int64_t begin = range.items[0].number;
    const std::int64_t end = range.items[1].number;
    if (shard.hosts.empty() || begin < 0 || end < begin || end >= static_cast<std::int64_t>(slot_count)) continue;
    shards.push_back(std::move(shard));
    for (std::int64_t slot = begin; slot <= end; ++slot) {
      slots[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(shards.size());
    }
  }
  if (shards.empty()) return fail(Code::unavailable, "Redis is refused: no server of the cluster has slots");
  const std::scoped_lock lock(mutex_);
  const auto same = [](const Shard& a, const Shard& b) { return a.hosts == b.hosts; };
  if (slots == slots_ && std::ranges::equal(shards, shards_, same)) return {};
  shards_ = std::move(shards);
  slots_ = slots;
  ++version_;
  return {};
}

void ClusterMap::move(const Redirection& moved) {
  const std::scoped_lock lock(mutex_);
  std::uint16_t& now = slots_.at(moved.slot);
  if (moved.host.host.empty() || (now != 0 && shards_.at(now - 1U).hosts.front() == moved.host)) return;
  const auto found = std::ranges::find_if(shards_, [&](const Shard& each) { return each.hosts.front() == moved.host; });
  if (found == shards_.end() && shards_.size() >= shards_max) return;
  now = static_cast<std::uint16_t>(found - shards_.begin() + 1);
  if (found == shards_.end()) shards_.push_back({.hosts = {moved.host}});
  ++version_;
}

std::optional<core::RedisHost> ClusterMap::owner(std::uint16_t slot) const {
  const std::scoped_lock lock(mutex_);
  const std::uint16_t number = slots_.at(slot);
  if (number == 0) return std::nullopt;
  return shards_.at(number - 1U).hosts.front();
}

std::vector<std::string> ClusterMap::family(std::uint16_t slot) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> all;
  const std::uint16_t number = slots_.at(slot);
  if (number == 0) return all;
  for (const core::RedisHost& host : shards_.at(number - 1U).hosts) all.push_back(host_text(host));
  return all;
}

std::uint64_t ClusterMap::version() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

}  // namespace semel::store::redis
