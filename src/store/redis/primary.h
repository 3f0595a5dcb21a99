// Where the primary is. An address may name it, or those who know it: Sentinels, which are asked for every connection.
//
// Whoever is asked may be behind. So what they name is only tried: the server itself must say that it is the primary.
#pragma once

#include <cstddef>

#include "core/redis_url.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store::redis {

// How many can be asked.
std::size_t advisers(const core::RedisUrl& url);
// What the adviser with that number says. Code::unavailable: it does not answer, or knows of no primary of that name.
Result<core::RedisHost> primary_by(const Clock& clock, const core::RedisUrl& url, std::size_t adviser, Millis time_max);

}  // namespace semel::store::redis
