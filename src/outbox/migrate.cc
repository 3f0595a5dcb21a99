#include "outbox/migrate.h"

#include <charconv>
#include <expected>
#include <string>

#include <libpq-fe.h>

#include "outbox/schema.h"
#include "store/postgres/connection.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::outbox {
namespace {

constexpr Millis connect_max{10'000};
constexpr Millis answer_max{60'000};

// 0 if there is none.
Result<int> version_of(Clock& clock, PGconn* link) {
  const auto there = store::postgres::ask(clock, link, "SELECT to_regclass('semel.outbox_version')", {}, answer_max);
  if (!there) return std::unexpected(there.error());
  if (!there->front()[0]) return 0;
  const auto rows =
      store::postgres::ask(clock, link, "SELECT coalesce(max(version), 0) FROM semel.outbox_version", {}, answer_max);
  if (!rows) return std::unexpected(rows.error());
  const std::string text = rows->front()[0].value_or("0");
  int version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

}  // namespace

std::string outbox_script(const OutboxRoles& roles) {
  std::string text = outbox_sql();
  if (!roles.writer.empty()) text += grant_writer_sql(roles.writer);
  if (!roles.mover.empty()) text += grant_mover_sql(roles.mover);
  return text;
}

Result<OutboxMigrated> migrate_outbox(Clock& clock, const std::string& url, const OutboxRoles& roles) {
  const auto connection = store::postgres::connect(clock, url, connect_max);
  if (!connection) return std::unexpected(connection.error());
  PGconn* const link = connection->get();
  const Result<int> before = version_of(clock, link);
  if (!before) return std::unexpected(before.error());
  const auto done = store::postgres::ask(clock, link, outbox_script(roles), {}, answer_max);
  if (!done) return std::unexpected(done.error());
  return OutboxMigrated{.from = *before, .to = outbox_version};
}

}  // namespace semel::outbox
