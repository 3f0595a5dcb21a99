// The configuration as plain values, each with its default. conf/semel.toml explains every one of them.
//
// What stands here has been checked: addresses, patterns and expressions are parsed, upstreams exist, secrets are
// resolved. Nothing here reads or writes anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/address.h"
#include "policy/authenticate.h"
#include "policy/expression.h"
#include "policy/host.h"
#include "policy/keep.h"
#include "policy/pattern.h"
#include "policy/provider.h"
#include "policy/reply.h"
#include "policy/secret.h"
#include "policy/units.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/http_request.h>
#include <semel/once.h>
#include <semel/result.h>

namespace semel {

enum class ClientCert : std::uint8_t { required, optional };

struct TlsFiles {
  std::string cert;
  std::string key;
  std::string client_ca;  // empty: clients are not asked for a certificate
  ClientCert client_cert = ClientCert::required;
};

// What becomes of the X-Forwarded-* fields that a request brings along.
enum class Forwarded : std::uint8_t { append, replace };

struct ServerConfig {
  Endpoint listen{.host = "127.0.0.1", .port = 8080};
  std::uint32_t threads = 0;
  std::string public_url;
  std::vector<HostPattern> hosts;  // empty: any
  std::string name = "semel";
  std::string providers;  // a folder of the user's own provider files
  Forwarded forwarded = Forwarded::append;
  std::string user;  // whom to become when started as root
  std::optional<TlsFiles> tls;
};

struct AdminConfig {
  std::optional<Endpoint> listen = Endpoint{.host = "127.0.0.1", .port = 9080};  // nothing: no admin listener
  Secret token;                                                                  // empty: none is asked for
};

enum class StoreKind : std::uint8_t { embedded, memory, postgres, redis, redis_cluster };

struct StoreConfig {
  StoreKind kind = StoreKind::embedded;
  std::vector<Secret> urls{Secret("embedded:./semel-data")};  // several: shards; they may hold passwords
  std::vector<Secret> encryption_keys;                        // 32 bytes each, decoded
  bool read_unencrypted = false;
  std::uint64_t free_bytes_min = 64U << 20U;
  std::uint64_t cache_bytes = 64U << 20U;
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
  std::optional<Rate> claims_per_scope;
  Millis header_timeout{10'000};
  Millis body_timeout{30'000};
  std::uint64_t body_rate_min = 256;  // per second; 0: no limit
  Millis idle_timeout{60'000};
  Millis store_timeout{5'000};
  Millis drain_timeout{30'000};
  Millis tunnel_timeout{3'600'000};
};

enum class LogLevel : std::uint8_t { error, warning, info, debug };

struct LogConfig {
  LogLevel level = LogLevel::info;
  bool requests = true;

  // Whether there is to be a line for a request that matters so much.
  [[nodiscard]] bool takes(LogLevel line) const { return requests && line <= level; }
};

// Which Host field the upstream sees.
enum class HostSource : std::uint8_t { client, upstream };

struct UpstreamConfig {
  std::string name;
  std::vector<Url> urls;  // without a path
  Millis timeout{30'000};
  Millis connect_timeout{5'000};
  Millis idle_timeout{4'000};
  std::uint32_t connections = 256;
  HostSource host = HostSource::client;
  std::string ca;
  std::string cert;  // ours, and its key, for an upstream that asks who we are
  std::string key;
  bool verify = true;
};

enum class Mode : std::uint8_t { enforce, observe };
enum class OnStoreDown : std::uint8_t { refuse, forward };

struct Route {
  Pattern path;
  std::vector<std::string> methods{"POST", "PATCH"};
  std::size_t upstream = 0;  // in Config::upstreams
  KeyMode key = KeyMode::required;
  Expression key_from = expression("{header:Idempotency-Key}");
  Expression scope = expression("{header:Authorization}");
  std::string space = "default";
  BodyForm fingerprint = BodyForm::json;
  IgnoreList ignore;
  Policy policy;
  std::optional<Expression> probe;
  KeepRules keep;
  std::vector<std::string> replay_fields;
  std::uint64_t store_body_max = 0;  // that of the limits unless the route has its own
  OnStoreDown on_store_down = OnStoreDown::refuse;
  Mode mode = Mode::enforce;
};

enum class Delivery : std::uint8_t { forward, inbox };

// A route whose requests are events of one provider: its file says who sent one and which it is, so what a route says
// of keys and scopes has no meaning here. The namespace is its own. Only a success is kept: a handler that fails gets
// the event again when the provider sends it again.
struct Webhook : Route {
  Pattern plain_path;  // as the most obliging of servers reads it; see plainest()
  std::string provider;
  Provider rules;  // what the provider's file says
  std::vector<Secret> secrets;
  Secret verify_token;
  Lock lock;                            // made of the rules and the secrets
  std::optional<Expression> event_key;  // nothing: as the provider's file says
  Delivery delivery = Delivery::forward;
  bool ordered = false;
  bool confirm_subscriptions = false;
  std::optional<Rate> rate_limit;
  std::optional<Rate> rate_limit_per_ip;
  std::optional<Millis> tolerance;  // nothing: as the provider's file says
};

struct Config {
  ServerConfig server;
  AdminConfig admin;
  StoreConfig store;
  LimitsConfig limits;
  LogConfig log;
  ReplyConfig reply;
  std::vector<UpstreamConfig> upstreams;
  std::vector<Route> routes;
  std::vector<Webhook> webhooks;
};

// What `semel serve --upstream URL` runs with: every POST and PATCH guarded, the key optional, one scope per
// Authorization field (and one for requests without), the embedded store in ./semel-data.
// Code::invalid: not a URL of an upstream.
Result<Config> default_config(std::string_view upstream_url);

}  // namespace semel
