#include "store/redis/primary.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "core/redis_url.h"
#include "store/redis/connection.h"
#include "store/redis/resp.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

constexpr Millis adviser_max{500};  // so that one that is away does not hold up the others

// Sentinels often have no password where the servers have one, and take it amiss if they are sent one.
Result<RespValue> ask_sentinel(const Clock& clock, const core::RedisUrl& url, const core::RedisHost& host,
                               Millis time_max) {
  core::RedisUrl sentinel = url;
  sentinel.database = 0;
  Result<RespValue> said = fail(Code::unavailable, "not asked");
  for (const bool named : {false, true}) {
    sentinel.user = named ? url.user : std::string();
    sentinel.password = named ? url.password : std::string();
    Result<RedisConnection> connection = RedisConnection::open(clock, sentinel, host, time_max);
    if (!connection) return std::unexpected(std::move(connection.error()));
    said = connection->ask(clock, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", url.name}, time_max);
    const bool again = said && (said->is_error("NOAUTH") || said->is_error("NOPERM")) && !url.password.empty();
    if (!again) break;
  }
  return said;
}

}  // namespace

std::size_t advisers(const core::RedisUrl& url) {
  return url.setup == core::RedisUrl::Setup::sentinel ? url.hosts.size() : 1;
}

Result<core::RedisHost> primary_by(const Clock& clock, const core::RedisUrl& url, std::size_t adviser,
                                   Millis time_max) {
  if (url.setup != core::RedisUrl::Setup::sentinel) {
    return url.hosts.empty() ? core::RedisHost{} : url.hosts.front();
  }
  const Result<RespValue> said = ask_sentinel(clock, url, url.hosts.at(adviser), std::min(time_max, adviser_max));
  if (!said) return fail(Code::unavailable, "a Sentinel: " + said.error().detail);
  if (said->is_error()) return fail(Code::unavailable, "a Sentinel says: " + said->text);
  core::RedisHost host;
  const bool whole = said->items.size() == 2;
  if (whole) {
    host.host = said->items[0].text;
    const std::string_view port = said->items[1].text;
    std::from_chars(port.data(), port.data() + port.size(), host.port);
  }
  if (!whole || host.host.empty()) {
    return fail(Code::unavailable, "a Sentinel knows of no primary with the name that store.url has");
  }
  return host;
}

}  // namespace semel::store::redis
