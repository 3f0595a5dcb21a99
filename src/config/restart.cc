// A list of all options that are read once. What is not here is taken over by a reload.
#include "config/restart.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"

namespace semel::config {
namespace {

// Collects the names of what differs.
class Differences {
 public:
  template <class T>
  Differences& at(std::string_view name, const T& running, const T& next) {
    if (running != next) names_.emplace_back(name);
    return *this;
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> changed_for_restart(const Config& running, const Config& next) {
  Differences found;
  found.at("server.listen", running.server.listen, next.server.listen)
      .at("server.threads", running.server.threads, next.server.threads)
      .at("server.user", running.server.user, next.server.user)
      .at("admin.listen", running.admin.listen, next.admin.listen)
      .at("api.listen", running.api.listen, next.api.listen);
  found.at("outbox", running.outboxes, next.outboxes);
  const StoreConfig& store = running.store;
  found.at("store.url", store.urls, next.store.urls)
      .at("store.encryption_keys", store.encryption_keys, next.store.encryption_keys)
      .at("store.read_unencrypted", store.read_unencrypted, next.store.read_unencrypted)
      .at("store.state_folder", store.state_folder, next.store.state_folder)
      .at("store.free_bytes_min", store.free_bytes_min, next.store.free_bytes_min)
      .at("store.cache_bytes", store.cache_bytes, next.store.cache_bytes)
      .at("store.replicas", store.replicas, next.store.replicas)
      .at("store.fsync", store.fsync, next.store.fsync)
      .at("store.on_loss", store.on_loss, next.store.on_loss);
  const LimitsConfig& limits = running.limits;
  found.at("limits.target_bytes", limits.target_bytes, next.limits.target_bytes)
      .at("limits.header_bytes", limits.header_bytes, next.limits.header_bytes)
      .at("limits.header_line_bytes", limits.header_line_bytes, next.limits.header_line_bytes)
      .at("limits.header_fields", limits.header_fields, next.limits.header_fields)
      .at("limits.replay_cache_bytes", limits.replay_cache_bytes, next.limits.replay_cache_bytes)
      .at("limits.connections", limits.connections, next.limits.connections)
      .at("limits.connections_per_ip", limits.connections_per_ip, next.limits.connections_per_ip)
      .at("limits.waiters", limits.waiters, next.limits.waiters)
      .at("limits.header_timeout", limits.header_timeout, next.limits.header_timeout)
      .at("limits.body_timeout", limits.body_timeout, next.limits.body_timeout)
      .at("limits.body_rate_min", limits.body_rate_min, next.limits.body_rate_min)
      .at("limits.idle_timeout", limits.idle_timeout, next.limits.idle_timeout);
  found.at("resolver", running.resolvers, next.resolvers);
  const bool on_a_server = store.kind != StoreKind::embedded && store.kind != StoreKind::memory;
  if (on_a_server) found.at("limits.store_timeout", limits.store_timeout, next.limits.store_timeout);
  if (on_a_server) found.at("inbox.node_beat", running.inbox.node_beat, next.inbox.node_beat);
  found.at("audit", running.audits, next.audits);
  return found.take();
}

}  // namespace semel::config
