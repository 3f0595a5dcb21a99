#include "store/postgres/known_server.h"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <string>

#include "store/postgres/server.h"
#include "store/postgres/timeline_file.h"
#include <semel/result.h>

namespace semel::store::postgres {

// What is in the file counts also later: another gateway may have written it.
Result<std::uint32_t> KnownServer::newest_timeline(const std::string& database) const {
  if (folder_.empty() || database.empty()) return timeline_;
  const Result<std::uint32_t> kept = load_timeline(folder_, database);
  if (!kept) return std::unexpected(kept.error());
  return std::max(timeline_, *kept);
}

Result<void> KnownServer::admit(const Server& server) {
  const Result<std::uint32_t> newest = newest_timeline(server.name);
  if (!newest) return std::unexpected(newest.error());
  Result<void> usable = postgres::admit(server, *newest);
  if (!usable && server.timeline < *newest && !folder_.empty()) {
    usable.error().detail +=
        "; if the database was moved to this server on purpose, remove the note in " + folder_.string();
  }
  if (!usable) return usable;
  if (name_.empty()) {
    name_ = server.name;
    home_ = server.home;
    set_ = server.set;
  }
  if (name_ != server.name) {
    return fail(Code::unavailable, "the address leads to another database than before, which has none of the keys");
  }
  if (home_ != server.home) {
    return fail(
        Code::unavailable,
        "the address leads to a copy of the database, which may lack keys; if the database was moved on purpose, "
        "with all its keys, restart this gateway");
  }
  if (set_ != server.set) {
    return fail(Code::unavailable, "the set of shards has changed since this gateway was started; restart it");
  }
  if (identity_ != server.identity) {
    return fail(Code::unavailable,
                "the identity of the database is not the one that this gateway was started with; restart it");
  }
  if (!folder_.empty() && server.timeline > *newest) {
    const Result<void> kept = save_timeline(folder_, server.name, server.timeline);
    if (!kept) return kept;
  }
  timeline_ = std::max(timeline_, server.timeline);
  return {};
}

}  // namespace semel::store::postgres
