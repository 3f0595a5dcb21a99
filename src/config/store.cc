// [store] and [limits].
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "core/redis_url.h"
#include "reading/document.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/secret.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::config {

bool holds_password(std::string_view url) {
  const std::size_t begin = url.find("//");
  if (begin == std::string_view::npos) return false;
  const std::string_view authority = url.substr(begin + 2, url.find('/', begin + 2) - begin - 2);
  const std::size_t user_end = authority.rfind('@');
  return user_end != std::string_view::npos && authority.substr(0, user_end).find(':') != std::string_view::npos;
}

namespace {

using Scheme = std::pair<std::string_view, StoreKind>;
constexpr std::array schemes{
    Scheme{"embedded:", StoreKind::embedded},       Scheme{"memory:", StoreKind::memory},
    Scheme{"postgres://", StoreKind::postgres},     Scheme{"postgresql://", StoreKind::postgres},
    Scheme{"redis://", StoreKind::redis},           Scheme{"rediss://", StoreKind::redis},
    Scheme{"redis+sentinel://", StoreKind::redis},  Scheme{"redis+cluster://", StoreKind::redis_cluster},
    Scheme{"rediss+sentinel://", StoreKind::redis}, Scheme{"rediss+cluster://", StoreKind::redis_cluster}};

const Scheme* scheme_of(std::string_view url) {
  const auto* const found = std::ranges::find_if(schemes, [&](const Scheme& s) { return url.starts_with(s.first); });
  return found == schemes.end() ? nullptr : found;
}

// What is wrong with an address of a store. Never repeats the address, since it may hold a password.
std::string_view fault_of_url(std::string_view url) {
  const Scheme* const scheme = scheme_of(url);
  if (scheme == nullptr) {
    return "url must begin with embedded:, memory:, postgres://, redis:// or redis+cluster://";
  }
  const std::string_view rest = url.substr(scheme->first.size());
  if (scheme->second == StoreKind::memory) return rest.empty() ? "" : "memory: takes nothing after it";
  if (rest.empty()) {
    return scheme->second == StoreKind::embedded ? "url names no folder after embedded:"
                                                 : "url names no server after its //";
  }
  return {};
}

// The same of one that only its own parser knows.
std::string fault_of_redis(std::string_view url, StoreKind kind) {
  if (kind != StoreKind::redis && kind != StoreKind::redis_cluster) return {};
  const Result<core::RedisUrl> parsed = core::parse_redis_url(url);
  return parsed ? std::string() : "url: " + parsed.error().detail;
}

std::string suggested_scheme(std::string_view url) {
  std::vector<std::string_view> names;
  names.reserve(schemes.size());
  for (const Scheme& scheme : schemes) names.push_back(scheme.first);
  const std::size_t end = std::min(url.find(':'), url.size());
  const std::string_view written = url.substr(0, url.substr(end).starts_with("://") ? end + 3 : end + 1);
  return std::string(reading::nearest(written, names).value_or(std::string_view{}));
}

// Returns the kind of the store at `value` and adds its address to `urls`.
std::optional<StoreKind> read_url(reading::TableReader& table, const reading::Node& value,
                                  std::vector<reading::Secret>& urls) {
  auto url = reading::resolve(table, "url", value, reading::Literal::fine);
  if (!url) return std::nullopt;
  const std::string& text = url->reveal();
  if (const std::string_view fault = fault_of_url(text); !fault.empty()) {
    table.reject("url", value.at, fault, scheme_of(text) == nullptr ? suggested_scheme(text) : std::string{});
    return std::nullopt;
  }
  if (const std::string fault = fault_of_redis(text, scheme_of(text)->second); !fault.empty()) {
    table.reject("url", value.at, fault);
    return std::nullopt;
  }
  if (value.text == text && holds_password(text)) {
    table.reading().report.warning(value.at, "url holds a password; use env:NAME or file:PATH");
  }
  const StoreKind kind = scheme_of(text)->second;
  urls.push_back(std::move(*url));
  return kind;
}

void read_urls(reading::TableReader& table, StoreConfig& store) {
  const std::string before = reading::toml_string(store.urls.front().reveal());
  const reading::Node* const value = table.find("url");
  std::vector<reading::Secret> urls;
  std::optional<StoreKind> kind;
  for (const reading::Node* item : reading::one_or_more(table, "url", value)) {
    const auto found = read_url(table, *item, urls);
    if (!found) continue;
    if (kind && *kind != *found) table.reject("url", item->at, "all addresses of a store are of one kind");
    kind = found;
  }
  if (urls.size() > 1 && kind != StoreKind::postgres && table.good("url")) {
    table.reject("url", value->at, "only a PostgreSQL store has several addresses (shards)");
  }
  if (kind && table.good("url")) {
    store.kind = *kind;
    store.urls = std::move(urls);
  }
  const bool open = store.kind == StoreKind::embedded || store.kind == StoreKind::memory;
  table.record("url", before, open ? reading::toml_string(store.urls.front().reveal()) : "[secret]");
  if (store.kind == StoreKind::memory) {
    table.warn("url", "memory: forgets every key when the process ends, so requests may run again; for tests only");
  }
}

std::optional<reading::Secret> decoded_key(const std::string& text) {
  if (text.size() != 64 || !std::ranges::all_of(text, core::is_hex_digit)) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(core::hex_value(text[i]) * 16 + core::hex_value(text[i + 1])));
  }
  return reading::Secret(std::move(bytes));
}

void read_encryption_keys(reading::TableReader& table, StoreConfig& store) {
  reading::read_secrets(table, "encryption_keys", store.encryption_keys);
  for (reading::Secret& key : store.encryption_keys) {
    if (auto decoded = decoded_key(key.reveal())) {
      key = std::move(*decoded);
    } else {
      table.reject("encryption_keys", table.at("encryption_keys"),
                   "each of encryption_keys is 64 hexadecimal digits (32 bytes), as from `openssl rand -hex 32`");
    }
  }
}

constexpr std::array fsync_choices{reading::Choice<core::RedisFsync>{"always", core::RedisFsync::always},
                                   reading::Choice<core::RedisFsync>{"everysec", core::RedisFsync::everysec},
                                   reading::Choice<core::RedisFsync>{"unknown", core::RedisFsync::unknown}};
constexpr std::array loss_choices{reading::Choice<core::RedisOnLoss>{"report", core::RedisOnLoss::report},
                                  reading::Choice<core::RedisOnLoss>{"stop", core::RedisOnLoss::stop}};

// Each says what a server promises. On another store it would promise something that nobody keeps.
void read_redis(reading::TableReader& table, StoreConfig& store) {
  reading::read_count(table, "replicas", store.replicas, {.min = 0, .max = 100});
  reading::read_choice(table, "fsync", store.fsync, fsync_choices);
  reading::read_choice(table, "on_loss", store.on_loss, loss_choices);
  if (store.kind == StoreKind::redis || store.kind == StoreKind::redis_cluster || !table.good("url")) return;
  for (const std::string_view name : {"replicas", "fsync", "on_loss"}) {
    if (!table.has(name)) continue;
    table.reject(name, table.at(name), fmt::format("{} is for a Redis store, and url names another one", name));
  }
}

}  // namespace

std::string_view embedded_path(const StoreConfig& store) {
  return std::string_view(store.urls.front().reveal()).substr(std::string_view("embedded:").size());
}

void read_store(reading::Reading& reading, const reading::Node* node, StoreConfig& store) {
  reading::TableReader table(reading, node, "store");
  read_urls(table, store);
  read_encryption_keys(table, store);
  reading::read_flag(table, "read_unencrypted", store.read_unencrypted);
  if (store.read_unencrypted && store.encryption_keys.empty() && table.good("encryption_keys")) {
    table.warn("read_unencrypted", "read_unencrypted has no effect: there are no encryption_keys");
  }
  reading::read_text(table, "state_folder", store.state_folder);
  if (!store.state_folder.empty() && store.kind != StoreKind::postgres && table.good("url")) {
    table.warn("state_folder", "state_folder has no effect: it is for a PostgreSQL store");
  }
  read_redis(table, store);
  const auto usual_floor = store.free_bytes_min;
  reading::read_bytes(table, "free_bytes_min", store.free_bytes_min, {.min = 0, .max = 1024 * reading::one_gib});
  if (store.free_bytes_min < usual_floor) {
    table.warn("free_bytes_min",
               "free_bytes_min is below 64MiB: the engine may need more than that for its own files, and a "
               "full disk stops the store");
  }
  reading::read_bytes(table, "cache_bytes", store.cache_bytes, {.min = 0, .max = 1024 * reading::one_gib});
  table.finish();
}

void read_limits(reading::Reading& reading, const reading::Node* node, LimitsConfig& limits) {
  reading::TableReader table(reading, node, "limits");
  reading::read_bytes(table, "body_bytes", limits.body_bytes, {.min = 0, .max = reading::one_gib});
  reading::read_bytes(table, "target_bytes", limits.target_bytes, {.min = 64, .max = 1U << 20U});
  reading::read_bytes(table, "header_bytes", limits.header_bytes, {.min = 1024, .max = 16U << 20U});
  reading::read_bytes(table, "header_line_bytes", limits.header_line_bytes, {.min = 64, .max = 16U << 20U});
  reading::read_count(table, "header_fields", limits.header_fields, {.min = 1, .max = 10'000});
  reading::read_bytes(table, "store_body_max", limits.store_body_max, {.min = 0, .max = reading::one_gib});
  reading::read_bytes(table, "replay_cache_bytes", limits.replay_cache_bytes,
                      {.min = 0, .max = 1024 * reading::one_gib});
  reading::read_count(table, "connections", limits.connections, {.min = 1, .max = 1'000'000});
  reading::read_count(table, "connections_per_ip", limits.connections_per_ip, {.min = 0, .max = 1'000'000});
  reading::read_count(table, "waiters", limits.waiters, {.min = 0, .max = 1'000'000});
  reading::read_count(table, "keys_per_scope", limits.keys_per_scope, {.min = 0, .max = 1'000'000'000});
  reading::read_bytes(table, "stored_bytes_per_scope", limits.stored_bytes_per_scope,
                      {.min = 0, .max = 1024 * reading::one_gib});
  reading::read_optional(table, "claims_per_scope", limits.claims_per_scope, reading::parse_rate, reading::rate_text);
  const reading::Range<Millis> any_wait{.min = Millis{1}, .max = reading::one_day};
  reading::read_duration(table, "header_timeout", limits.header_timeout, any_wait);
  reading::read_duration(table, "body_timeout", limits.body_timeout, any_wait);
  reading::read_bytes(table, "body_rate_min", limits.body_rate_min, {.min = 0, .max = 16U << 20U});
  reading::read_duration(table, "idle_timeout", limits.idle_timeout, any_wait);
  reading::read_duration(table, "store_timeout", limits.store_timeout, any_wait);
  reading::read_duration(table, "drain_notice", limits.drain_notice, {.min = Millis{0}, .max = reading::one_day});
  reading::read_duration(table, "drain_timeout", limits.drain_timeout, any_wait);
  reading::read_duration(table, "tunnel_timeout", limits.tunnel_timeout, any_wait);
  if (!table.has("header_line_bytes"))
    limits.header_line_bytes = std::min(limits.header_line_bytes, limits.header_bytes);
  const bool headers = table.good("header_line_bytes") && table.good("header_bytes");
  if (headers && limits.header_line_bytes > limits.header_bytes) {
    table.reject(
        "header_line_bytes", table.at("header_line_bytes"),
        fmt::format("header_line_bytes ({}) is over {}header_bytes ({})", reading::bytes_text(limits.header_line_bytes),
                    table.has("header_bytes") ? "" : "the default ", reading::bytes_text(limits.header_bytes)));
  }
  table.finish();
}

}  // namespace semel::config
