#include "store/postgres/known_server.h"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <string>

#include "store/postgres/seen.h"
#include "store/postgres/seen_file.h"
#include "store/postgres/server.h"
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

// Where the pulse was raised to that number, by what this server knows.
std::string place_of(const Server& server, std::int64_t pulse) {
  std::string place;
  for (const auto& [since, where] : server.reigns) {
    if (since <= pulse) place = where;
  }
  return place;
}

// Whether it lacks what was there when `seen` was: it is behind, or was behind and has been written to since.
bool lacks(const Server& server, const Reached& seen) {
  if (server.timeline != seen.timeline) return server.timeline < seen.timeline;
  return server.pulse < seen.pulse || (!seen.place.empty() && place_of(server, seen.pulse) != seen.place);
}

}  // namespace

// What is in the file counts also later: another gateway may have written it.
Result<Reached> KnownServer::newest(const std::string& database) const {
  if (folder_.empty() || database.empty()) return newest_->get();
  Result<Reached> kept = load_seen(folder_, database);
  if (!kept) return kept;
  return std::max(newest_->get(), *kept);
}

Result<void> KnownServer::admit(const Server& server) {
  const Result<Reached> newest = this->newest(server.name);
  if (!newest) return std::unexpected(newest.error());
  const Reached here{.timeline = server.timeline, .pulse = server.pulse, .place = place_of(server, server.pulse)};
  Result<void> usable = postgres::admit(server, newest->timeline);
  // The pulse of another one means nothing.
  if (usable && !name_.empty() && name_ != server.name) {
    return fail(Code::unavailable, "the address leads to another database than before, which has none of the keys");
  }
  if (usable && lacks(server, *newest)) {
    usable =
        fail(Code::unavailable,
             "the address leads to an older copy of the database, which lacks keys of the time since; lead it back "
             "to the original, or promote the copy (pg_promote) if that is lost");
  }
  if (!usable && lacks(server, *newest) && !folder_.empty()) {
    usable.error().detail +=
        "; if the database was moved to this server on purpose, remove the note in " + folder_.string();
  }
  if (!usable) return usable;
  if (name_.empty()) {
    name_ = server.name;
    home_ = server.home;
    set_ = server.set;
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
  if (!folder_.empty() && server.timeline > newest->timeline) {
    const Result<void> kept = save_seen(folder_, server.name, here);
    if (!kept) return kept;
  }
  newest_->raise(here);
  return {};
}

}  // namespace semel::store::postgres
