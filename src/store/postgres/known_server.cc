#include "store/postgres/known_server.h"

#include <algorithm>

#include "store/postgres/server.h"
#include <semel/result.h>

namespace semel::store::postgres {

Result<void> KnownServer::admit(const Server& server) {
  Result<void> usable = postgres::admit(server, timeline_);
  if (!usable) return usable;
  if (name_.empty()) {
    name_ = server.name;
    set_ = server.set;
  }
  if (name_ != server.name) {
    return fail(Code::unavailable, "the address leads to another database than before, which has none of the keys");
  }
  if (set_ != server.set) {
    return fail(Code::unavailable, "the set of shards has changed since this gateway was started; restart it");
  }
  if (identity_ != server.identity) {
    return fail(Code::unavailable,
                "the identity of the database is not the one that this gateway was started with; restart it");
  }
  timeline_ = std::max(timeline_, server.timeline);
  return {};
}

}  // namespace semel::store::postgres
