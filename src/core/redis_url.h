// The address of a Redis store, taken apart; and what else a configuration says of its server.
//
//   redis://[user[:password]@]host[:port][/database]        rediss:// with TLS
//   redis://[user[:password]@]/path/of/the/socket[?database=1]
//   redis+sentinel://[user[:password]@]host[:port],…/name[/database]     the primary that Sentinels call `name`
//   redis+cluster://[user[:password]@]host[:port],…
//
// What stands behind ? are options, joined by &. User and password may be written with %XX.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <semel/result.h>

namespace semel::core {

struct RedisHost {
  std::string host;
  std::uint16_t port = 6379;

  friend bool operator==(const RedisHost&, const RedisHost&) = default;
};

struct RedisUrl {
  enum class Setup : std::uint8_t { single, sentinel, cluster };
  enum class Privacy : std::uint8_t { plain, encrypted };

  Setup setup = Setup::single;
  Privacy privacy = Privacy::plain;
  std::vector<RedisHost> hosts{};  // one of a single server; empty if there is a socket
  std::string socket{};            // path
  std::string user{};              // empty: the default one
  std::string password{};          // empty: none
  std::string name{};              // of the primary, for Sentinels
  std::uint32_t database = 0;
  // Of an encrypted one: files in PEM. Without `ca` the authorities that this machine trusts.
  std::string ca{};
  std::string cert{};
  std::string key{};
};

// How the server syncs its append-only file. `unknown`: it does not tell, and nothing is said about a restart.
enum class RedisFsync : std::uint8_t { always, everysec, unknown };
// What follows when calls that were acknowledged are lost: they are reported; or no claims until an operator has
// looked.
enum class RedisOnLoss : std::uint8_t { report, stop };

// Code::invalid: says what is wrong, and never repeats the address, which may hold a password.
Result<RedisUrl> parse_redis_url(std::string_view url);

}  // namespace semel::core
