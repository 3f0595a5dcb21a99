// Compares what a server says of itself with what was seen before: by this process, and by those that left a note.
#include "store/postgres/known_server.h"

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

// Judges the server by what was seen before. The keys of a copy elsewhere may be older whatever its timeline is: that
// counts the failovers of another cluster.
Result<void> KnownServer::compare(const Server& server, const Reached& seen) const {
  const bool elsewhere = !seen.home.empty() && seen.home != server.home;
  Result<void> usable = postgres::admit(server, elsewhere ? 0 : seen.timeline);
  // The pulse of another one means nothing.
  if (usable && !name_.empty() && name_ != server.name) {
    return fail(Code::unavailable, "the address leads to another database than before, which has none of the keys");
  }
  if (usable && elsewhere) {
    const std::string how = folder_.empty() ? "restart this gateway"
                                            : "stop the gateways that use " + folder_.string() +
                                                  ", remove the note there, and start them again";
    return fail(Code::unavailable,
                "the address leads to a copy of the database, which may lack keys; if the database was moved on "
                "purpose, with all its keys, " +
                    how);
  }
  if (usable && lacks(server, seen)) {
    usable =
        fail(Code::unavailable,
             "the address leads to an older copy of the database, which lacks keys of the time since; lead it back "
             "to the original, or promote the copy (pg_promote) if that is lost");
  }
  if (!usable && !elsewhere && lacks(server, seen) && !folder_.empty()) {
    usable.error().detail +=
        "; if the database was moved to this server on purpose, remove the note in " + folder_.string();
  }
  return usable;
}

Result<void> KnownServer::compare_settings(const Server& server) const {
  if (!set_.empty() && set_ != server.set) {
    return fail(Code::unavailable, "the set of shards has changed since this gateway was started; restart it");
  }
  if (identity_ != server.identity) {
    return fail(Code::unavailable,
                "the identity of the database is not the one that this gateway was started with; restart it");
  }
  return {};
}

// The note follows the pulse only now and then (pulse.h), but a failover at once.
Result<void> KnownServer::keep(const Server& server, const Reached& here, const Reached& noted) const {
  if (folder_.empty() || (here.timeline <= noted.timeline && !noted.home.empty())) return {};
  const Result<Reached> kept = raise_seen(folder_, server.name, here);
  return kept ? compare(server, *kept) : std::unexpected(kept.error());
}

// What is in the file counts also later: another gateway may have written it. What was seen while this went on counts,
// too: the last comparisons are with what others have seen by then.
Result<void> KnownServer::admit(const Server& server) {
  const Result<Reached> noted =
      folder_.empty() || server.name.empty() ? Result<Reached>(Reached{}) : load_seen(folder_, server.name);
  if (!noted) return std::unexpected(noted.error());
  const Reached here{
      .timeline = server.timeline, .pulse = server.pulse, .place = place_of(server, server.pulse), .home = server.home};
  Result<void> usable = compare(server, newest_->get());
  if (usable) usable = compare(server, *noted);
  if (usable) usable = compare_settings(server);
  if (usable) usable = keep(server, here, *noted);
  if (usable) usable = compare(server, newest_->raise(here));
  if (!usable) return usable;
  name_ = server.name;
  set_ = server.set;
  return {};
}

}  // namespace semel::store::postgres
