#include "store/redis/identity.h"

#include <algorithm>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/crypto.h"
#include "core/encoding.h"
#include "core/identity.h"
#include "store/identity.h"
#include "store/redis/connection.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::redis {
namespace {

// Another gateway may have rewrapped it meanwhile: what was read must still be there.
constexpr const char* rewrap =
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'm' end redis.call('SET', KEYS[1], ARGV[2]) return 'o'";
constexpr int rewrap_tries = 8;

std::string proposal(const std::vector<core::AesKey>& keys) {
  if (keys.empty()) return plain_names;
  const Newborn made = new_identity(keys);
  const Digest mark = core::mark_of(made.identity);
  return core::to_hex(mark) + " " + core::to_hex(made.wrapped);
}

}  // namespace

Result<NamedBy> settle_names(const Clock& clock, RedisConnection& connection, const std::vector<core::AesKey>& keys,
                             Millis time_max) {
  for (int tries = 0; tries < rewrap_tries; ++tries) {
    const std::string proposed = proposal(keys);
    const Result<RespValue> reply = connection.ask(clock, {"SET", identity_name, proposed, "NX", "GET"}, time_max);
    if (!reply) return std::unexpected(reply.error());
    if (reply->is_error()) return std::unexpected(refusal_of(*reply));
    const std::string settled = reply->kind == RespValue::Kind::text ? reply->text : proposed;
    NamedBy named{.name = settled.substr(0, settled.find(' ')), .identity = std::nullopt};
    if (named.name == plain_names) return named;
    const std::string wrapped = settled.substr(std::min(settled.find(' '), settled.size() - 1) + 1);
    Result<Known> known = open_identity(core::from_hex(wrapped).value_or(""), keys, "the Redis store");
    if (!known) return std::unexpected(std::move(known.error()));
    const Digest mark = core::mark_of(known->identity);
    if (core::to_hex(mark) != named.name) {
      return fail(Code::corrupt, "the identity of the keys in Redis was altered; restore it from a backup");
    }
    named.identity = known->identity;
    const std::optional<std::string>& again = known->rewrapped;
    if (!again) return named;
    const std::string next = named.name + " " + core::to_hex(*again);
    const Result<RespValue> changed =
        connection.ask(clock, {"EVAL", rewrap, "1", identity_name, settled, next}, time_max);
    if (!changed) return std::unexpected(changed.error());
    if (changed->is_error()) return std::unexpected(refusal_of(*changed));
  }
  return fail(Code::unavailable, "gateways with different first keys in store.encryption_keys keep changing Redis");
}

}  // namespace semel::store::redis
