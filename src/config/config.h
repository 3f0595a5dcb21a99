// The configuration as plain values, each with its default. conf/semel.toml explains every one of them.
//
// All values have been checked: addresses, patterns and expressions are parsed, upstreams exist, secrets are resolved.
// Nothing here reads or writes anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/audit.h"
#include "config/file_place.h"
#include "core/redis_url.h"
#include "inbox/destination.h"
#include "policy/caller_token.h"
#include "policy/cors.h"
#include "policy/forward.h"
#include "policy/host.h"
#include "policy/reply.h"
#include "policy/route.h"
#include "reading/address.h"
#include "reading/address_range.h"
#include "reading/secret.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include "webhook/webhook.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::config {

enum class ClientCert : std::uint8_t { required, optional };

struct TlsFiles {
  std::string cert;
  std::string key;
  std::string client_ca;  // empty if clients are not asked for a certificate
  ClientCert client_cert = ClientCert::required;
};

struct ServerConfig {
  reading::Endpoint listen{.host = "127.0.0.1", .port = 8080};
  std::uint32_t threads = 0;
  std::string public_url;
  std::vector<policy::HostPattern> hosts;  // empty: any
  std::string name = "semel";
  std::string providers;  // a folder of the user's own provider files
  policy::Forwarded forwarded = policy::Forwarded::append;
  policy::Overrides overrides = policy::Overrides::drop;
  std::vector<std::string> methods;  // that pass beside those of HTTP
  std::string user;                  // the user to become when started as root
  std::optional<TlsFiles> tls;
  std::optional<policy::Cors> cors;  // null: nothing is said to browsers
  bool policy_document = false;      // whether /.well-known/idempotency is answered
};

// What /readyz needs to say 200.
enum class ReadyNeeds : std::uint8_t { all, store };

// A proxy that knows who its users are. Its fields are believed from these addresses, together with the secret.
struct AdminProxy {
  std::vector<reading::AddressRange> trusted;
  reading::Secret secret;
  std::string user = "X-Forwarded-User";
  std::string groups = "X-Forwarded-Groups";
  std::vector<std::string> viewer;  // the groups that have the role
  std::vector<std::string> operates;
  std::vector<std::string> admin;
};

struct AdminConfig {
  std::optional<reading::Endpoint> listen =
      reading::Endpoint{.host = "127.0.0.1", .port = 9080};  // null if there is no admin listener
  reading::Secret token;                                     // of the role admin; empty if none is asked for
  reading::Secret viewer;                                    // tokens by role; empty if there is none
  reading::Secret operates;
  reading::Secret admin;
  std::optional<AdminProxy> proxy;  // null if there is none
  ReadyNeeds ready_needs = ReadyNeeds::all;
  bool dashboard = true;
  IgnoreList redact;  // what of stored answers nobody is shown
};

// What the holder of a token may do.
struct ApiRights {
  bool claim = true;  // and renew
  bool end = true;    // complete, release, and renew
  bool get = true;
};

// Who may call the claims API. The secret itself is not kept.
struct ApiToken {
  std::string name;
  Digest secret_sha256{};
  std::vector<std::string> namespaces;  // as they are, or with `*` at the end: all that begin so
  ApiRights may;
  std::optional<std::string> scope;  // the only one that the token may name
  Millis lease_max{3'600'000};
  Millis ttl_max{30 * 86'400'000LL};
  std::optional<reading::Rate> rate;  // of items
};

struct ApiConfig {
  std::optional<reading::Endpoint> listen;  // null if there is no claims API
  std::optional<TlsFiles> tls;
  std::vector<ApiToken> tokens;
};

enum class StoreKind : std::uint8_t { embedded, memory, postgres, redis, redis_cluster };

struct StoreConfig {
  StoreKind kind = StoreKind::embedded;
  std::vector<reading::Secret> urls{
      reading::Secret("embedded:./semel-data")};  // several are shards; they may hold passwords
  std::vector<reading::Secret> encryption_keys;   // 32 bytes each, decoded
  bool read_unencrypted = false;
  std::string state_folder;  // empty if there is none
  std::uint64_t free_bytes_min = 64U << 20U;
  std::uint64_t cache_bytes = 64U << 20U;
  // Of a Redis store.
  std::uint32_t replicas = 0;
  core::RedisFsync fsync = core::RedisFsync::always;
  core::RedisOnLoss on_loss = core::RedisOnLoss::report;
};

// The folder of an embedded store.
std::string_view embedded_path(const StoreConfig& store);

struct LimitsConfig {
  std::uint64_t body_bytes = 1U << 20U;
  std::uint64_t target_bytes = 8U << 10U;
  std::uint64_t header_bytes = 64U << 10U;
  std::uint64_t header_line_bytes = 8U << 10U;
  std::uint32_t header_fields = 100;
  std::uint64_t store_body_max = 1U << 20U;
  std::uint64_t replay_cache_bytes = 64U << 20U;
  std::uint32_t connections = 10'000;
  std::uint32_t connections_per_ip = 0;
  std::uint32_t waiters = 10'000;
  std::uint32_t keys_per_scope = 0;          // 0: no limit
  std::uint64_t stored_bytes_per_scope = 0;  // 0: no limit
  std::optional<reading::Rate> claims_per_scope;
  Millis header_timeout{10'000};
  Millis body_timeout{30'000};
  std::uint64_t body_rate_min = 256;  // per second; 0: no limit
  Millis idle_timeout{60'000};
  Millis store_timeout{5'000};
  Millis drain_notice{0};
  Millis drain_timeout{30'000};
  Millis tunnel_timeout{3'600'000};
};

enum class LogLevel : std::uint8_t { error, warning, info, debug };

struct LogConfig {
  LogLevel level = LogLevel::info;
  bool requests = true;

  // Whether a request of this level gets a line.
  [[nodiscard]] bool takes(LogLevel line) const { return requests && line <= level; }
};

// Which Host field the upstream sees.
enum class HostSource : std::uint8_t { client, upstream };

// How the upstream compares paths: as the most lenient servers do, or byte by byte.
enum class PathReading : std::uint8_t { lenient, exact };

struct UpstreamConfig {
  std::string name;
  std::vector<reading::Url> urls;  // without a path
  Millis timeout{30'000};
  Millis connect_timeout{5'000};
  Millis idle_timeout{4'000};
  std::uint32_t connections = 256;
  HostSource host = HostSource::client;
  PathReading paths = PathReading::lenient;
  std::string ca;
  std::string cert;  // ours, and its key, for an upstream that asks for one
  std::string key;
  bool verify = true;
};

// Of all webhooks with an inbox.
struct InboxConfig {
  Millis retain_done{3 * 86'400'000LL};   // bodies of events that have ended well
  Millis retain_dead{30 * 86'400'000LL};  // and of all others
  std::uint64_t bytes_max = 20ULL << 30U;
  Millis node_beat{5'000};  // of gateways that share an inbox
};

// A database of the user's own in which programs ask for effects (semel.send).
struct OutboxConfig {
  std::string name = "app";
  reading::Secret database;
  Millis poll_busy{5};
  Millis poll_idle{250};
  bool doorbell = false;
  std::vector<std::string> deliver;  // names of destinations
  Millis ttl{30 * 86'400'000LL};
  std::uint32_t depth_max = 1'000'000;

  friend bool operator==(const OutboxConfig&, const OutboxConfig&) = default;
};

enum class ResolverAsk : std::uint8_t { sql, probe };
enum class ResolverDecides : std::uint8_t { suggest, apply };

// What settles the unknown keys of a route.
struct ResolverConfig {
  std::size_t route = 0;  // in Config::routes
  ResolverAsk ask = ResolverAsk::sql;
  reading::Secret database;  // of "sql": an address as libpq takes it
  std::string query;
  reading::Secret authorization;  // of "probe": the Authorization field that it sends; empty if none
  Millis certain_after{0};
  ResolverDecides decide = ResolverDecides::suggest;
  Millis every{30'000};
  Millis kept_for{7 * 86'400'000LL};
  Millis timeout{5'000};
  std::uint32_t concurrency = 8;  // of "probe"
  FilePlace query_at;

  friend bool operator==(const ResolverConfig&, const ResolverConfig&) = default;
};

struct Config {
  ServerConfig server;
  AdminConfig admin;
  ApiConfig api;
  StoreConfig store;
  LimitsConfig limits;
  LogConfig log;
  policy::ReplyConfig reply;
  std::optional<policy::TokenRules> jwt;  // null: no token is looked at
  InboxConfig inbox;
  std::vector<UpstreamConfig> upstreams;
  std::vector<inbox::Destination> destinations;  // those of the file, then one for each webhook that has none
  std::vector<policy::Route> routes;
  std::vector<std::optional<inbox::InboxRules>> route_intakes;  // one for each route; none: it has no inbox
  std::vector<webhook::Webhook> webhooks;
  std::vector<OutboxConfig> outboxes;
  std::vector<AuditConfig> audits;
  std::vector<ResolverConfig> resolvers;
  std::vector<reading::KeyUse> settings;  // every option with its value, as the dashboard shows it; no secrets
};

// The configuration of `semel serve --upstream URL`: every POST and PATCH guarded, the key optional, one scope per
// Authorization field (and one for requests without), the embedded store in ./semel-data. Code::invalid: it is not a
// URL of an upstream.
Result<Config> default_config(std::string_view upstream_url);

}  // namespace semel::config
