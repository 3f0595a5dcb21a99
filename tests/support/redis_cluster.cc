// How a cluster is made, and its slots moved.
#include "support/redis_cluster.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/redis/resp.h"
#include "support/redis_server.h"
#include "support/redis_set.h"

namespace semel::test {
namespace {

constexpr std::size_t server_count = 6;

template <class Holds>
void await(const Holds& holds, const std::string& what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("it never happened: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

RedisCluster::RedisCluster(const RedisBehindTls* tls) : tls_(tls) {
  std::string create = "redis-cli --cluster create" + (tls_ == nullptr ? std::string() : tls_->for_shell());
  for (std::size_t i = 0; i < server_count; ++i) {
    ports_.push_back(free_port());
    const std::string& bus = buses_.emplace_back(std::to_string(free_port()));
    const std::string port = std::to_string(ports_.back());
    std::vector<std::string> settings{(tls_ == nullptr ? "port " : "tls-port ") + port,
                                      "bind 127.0.0.1",
                                      "cluster-enabled yes",
                                      "cluster-port " + bus,
                                      "cluster-node-timeout 1000",
                                      "repl-diskless-sync-delay 0",
                                      "cluster-config-file nodes.conf"};
    if (tls_ != nullptr) {
      settings.insert(settings.end(), {"tls-cluster yes", "tls-replication yes"});
      for (std::string& each : tls_->settings()) settings.push_back(std::move(each));
    }
    servers_.push_back(std::make_unique<RedisServer>(std::move(settings)));
    create += " 127.0.0.1:" + port;
  }
  const std::string said = shell(create + " --cluster-replicas 1 --cluster-yes 2>&1");
  const auto is_ready = [&](const auto& server) {
    return server->text({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
  };
  for (const auto& server : servers_) await([&] { return is_ready(server); }, "a cluster: " + said);
  await([&] { return primaries().size() == 3; }, "three primaries: " + said);
  for (const std::size_t primary : primaries()) {
    const auto follows = [&] {
      return servers_[primary]->text({"INFO", "replication"}).find("state=online") != std::string::npos;
    };
    await(follows, "a replica");
  }
}

RedisCluster& RedisCluster::shared() {
  static RedisCluster cluster;
  return cluster;
}

std::string RedisCluster::url() const {
  const std::string places =
      "+cluster://127.0.0.1:" + std::to_string(ports_[0]) + ",127.0.0.1:" + std::to_string(ports_[4]);
  return tls_ == nullptr ? "redis" + places : "rediss" + places + tls_->for_url();
}

std::vector<std::size_t> RedisCluster::primaries() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->pid() < 0) continue;
    const store::redis::RespValue role = servers_[i]->run({"ROLE"});
    if (!role.items.empty() && role.items.front().text == "master") found.push_back(i);
  }
  return found;
}

std::string RedisCluster::id(std::size_t server) const {
  return servers_.at(server)->text({"CLUSTER", "MYID"});
}

std::size_t RedisCluster::primary_of(std::uint16_t slot) const {
  for (const std::size_t primary : primaries()) {
    for (const store::redis::RespValue& range : servers_[primary]->run({"CLUSTER", "SLOTS"}).items) {
      const bool inside = range.items.at(0).number <= slot && slot <= range.items.at(1).number;
      if (inside && range.items.at(2).items.at(1).number == ports_[primary]) return primary;
    }
  }
  throw std::runtime_error("nobody has slot " + std::to_string(slot));
}

std::size_t RedisCluster::replica_of(std::size_t primary) const {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (servers_[i]->pid() < 0) continue;
    const store::redis::RespValue role = servers_[i]->run({"ROLE"});
    if (role.items.size() > 2 && role.items[0].text == "slave" && role.items[2].number == ports_[primary]) return i;
  }
  throw std::runtime_error("it has no replica");
}

void RedisCluster::run_everywhere(std::initializer_list<std::string_view> words) const {
  for (const std::size_t primary : primaries()) servers_[primary]->run(words);
}

void RedisCluster::move_slot(std::uint16_t slot, std::size_t to) const {
  const std::size_t from = primary_of(slot);
  const std::string number = std::to_string(slot);
  servers_.at(to)->run({"CLUSTER", "SETSLOT", number, "IMPORTING", id(from)});
  servers_.at(from)->run({"CLUSTER", "SETSLOT", number, "MIGRATING", id(to)});
  for (;;) {
    const store::redis::RespValue keys = servers_[from]->run({"CLUSTER", "GETKEYSINSLOT", number, "10"});
    if (keys.items.empty()) break;
    std::vector<std::string> words{"MIGRATE", "127.0.0.1", std::to_string(ports_.at(to)), "", "0", "5000", "KEYS"};
    for (const store::redis::RespValue& key : keys.items) words.push_back(key.text);
    servers_[from]->run_words(words);
  }
  servers_[to]->run({"CLUSTER", "SETSLOT", number, "NODE", id(to)});
  servers_[from]->run({"CLUSTER", "SETSLOT", number, "NODE", id(to)});
}

}  // namespace semel::test
