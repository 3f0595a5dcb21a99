// Scheme, credentials, hosts or socket, path and options, in the order in which they stand.
#include "core/redis_url.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/ascii.h"
#include <semel/result.h>

namespace semel::core {
namespace {

struct RedisScheme {
  std::string_view begin;
  RedisUrl::Setup setup;
  RedisUrl::Privacy privacy;
  std::uint16_t port;
};
constexpr std::array schemes{
    RedisScheme{"redis://", RedisUrl::Setup::single, RedisUrl::Privacy::plain, 6379},
    RedisScheme{"rediss://", RedisUrl::Setup::single, RedisUrl::Privacy::encrypted, 6379},
    RedisScheme{"redis+sentinel://", RedisUrl::Setup::sentinel, RedisUrl::Privacy::plain, 26379},
    RedisScheme{"rediss+sentinel://", RedisUrl::Setup::sentinel, RedisUrl::Privacy::encrypted, 26379},
    RedisScheme{"redis+cluster://", RedisUrl::Setup::cluster, RedisUrl::Privacy::plain, 6379},
    RedisScheme{"rediss+cluster://", RedisUrl::Setup::cluster, RedisUrl::Privacy::encrypted, 6379},
};

std::unexpected<Error> wrong(std::string_view what) {
  return fail(Code::invalid, std::string(what));
}

// What stands before `mark`, which is taken away with it; everything, if it does not occur.
std::string_view cut(std::string_view& rest, char mark) {
  const std::size_t at = rest.find(mark);
  const std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return part;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || !is_hex_digit(text[i + 1]) || !is_hex_digit(text[i + 2])) return std::nullopt;
    out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
    i += 2;
  }
  return out;
}

template <class Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Result<RedisHost> host_of(std::string_view text, std::uint16_t port) {
  RedisHost host{.host = {}, .port = port};
  std::string_view rest = text;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong("an IPv6 address needs its ]");
    host.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return wrong("behind ] comes : and the port");
    if (!rest.empty()) rest.remove_prefix(1);
    if (rest.empty() && text.back() == ':') return wrong("there is a : and no port");
  } else {
    const bool has_port = text.find(':') != std::string_view::npos;
    host.host = cut(rest, ':');
    if (has_port && rest.empty()) return wrong("there is a : and no port");
  }
  if (host.host.empty()) return wrong("it names no server");
  if (!rest.empty() && (!parse_whole(rest, host.port) || host.port == 0)) return wrong("a port is 1 to 65535");
  return host;
}

Result<void> read_credentials(std::string_view text, RedisUrl& url) {
  std::string_view rest = text;
  const std::optional<std::string> user = decoded(cut(rest, ':'));
  const std::optional<std::string> password = decoded(rest);
  if (!user || !password) return wrong("a % in the user or the password needs two hexadecimal digits behind it");
  if (!user->empty() && password->empty()) return wrong("a user needs a password: user:password@");
  url.user = *user;
  url.password = *password;
  return {};
}

Result<void> read_options(std::string_view text, RedisUrl& url) {
  while (!text.empty()) {
    std::string_view value = cut(text, '&');
    const std::string_view name = cut(value, '=');
    const std::optional<std::string> plain = decoded(value);
    if (!plain || plain->empty()) return wrong("an option is written name=value");
    if (name == "database") {
      if (!parse_whole(std::string_view(*plain), url.database)) return wrong("database is a number");
      continue;
    }
    std::string* const file = name == "ca" ? &url.ca : name == "cert" ? &url.cert : name == "key" ? &url.key : nullptr;
    if (file == nullptr) return wrong("its options are database, ca, cert and key");
    if (url.privacy == RedisUrl::Privacy::plain) return wrong("ca, cert and key are for TLS: rediss://");
    *file = *plain;
  }
  if (url.cert.empty() != url.key.empty()) return wrong("cert and key come together");
  return {};
}

// What stands behind the hosts: a database, the name of a primary, or the path of a socket.
Result<void> read_path(std::string_view path, RedisUrl& url) {
  if (url.setup == RedisUrl::Setup::sentinel) {
    url.name = cut(path, '/');
    if (url.name.empty()) return wrong("Sentinels need the name of the primary: redis+sentinel://a,b,c/name");
  }
  if (path.empty()) return {};
  if (!parse_whole(path, url.database)) return wrong("the database behind / is a number");
  return {};
}

Result<void> read_hosts(std::string_view hosts, std::uint16_t port, RedisUrl& url) {
  if (hosts.ends_with(',')) return wrong("there is a comma, and no server behind it");
  do {
    Result<RedisHost> host = host_of(cut(hosts, ','), port);
    if (!host) return std::unexpected(std::move(host.error()));
    url.hosts.push_back(*std::move(host));
  } while (!hosts.empty());
  if (url.setup == RedisUrl::Setup::single && url.hosts.size() > 1) {
    return wrong("several servers are redis+sentinel:// or redis+cluster://");
  }
  return {};
}

Result<void> read_place(std::string_view authority, std::string_view path, std::uint16_t port, RedisUrl& url) {
  if (authority.empty() && url.setup == RedisUrl::Setup::single) {
    if (path.empty() || path.find_first_not_of("0123456789") == std::string_view::npos) {
      return wrong("it names no server; a socket is redis:///path/of/the/socket");
    }
    if (url.privacy == RedisUrl::Privacy::encrypted) return wrong("a socket needs no TLS: redis:///path");
    url.socket = "/" + std::string(path);
    return {};
  }
  Result<void> hosts = read_hosts(authority, port, url);
  return hosts ? read_path(path, url) : hosts;
}

}  // namespace

Result<RedisUrl> parse_redis_url(std::string_view text) {
  for (const RedisScheme& scheme : schemes) {
    if (!text.starts_with(scheme.begin)) continue;
    RedisUrl url{.setup = scheme.setup, .privacy = scheme.privacy};
    std::string_view options = text.substr(scheme.begin.size());
    std::string_view place = cut(options, '?');
    const std::size_t user_end = place.substr(0, place.find('/')).rfind('@');
    Result<void> good;
    if (user_end != std::string_view::npos) {
      good = read_credentials(place.substr(0, user_end), url);
      place.remove_prefix(user_end + 1);
    }
    std::string_view path = place;
    const std::string_view authority = cut(path, '/');
    if (good) good = read_place(authority, path, scheme.port, url);
    if (good) good = read_options(options, url);
    if (!good) return std::unexpected(std::move(good.error()));
    if (url.setup == RedisUrl::Setup::cluster && url.database != 0) return wrong("a cluster has no databases");
    return url;
  }
  return wrong("it must begin with redis://, rediss://, redis+sentinel:// or redis+cluster://");
}

}  // namespace semel::core
