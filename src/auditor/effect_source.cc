// The query stands in every statement as it was written, in parentheses; what is around it is ours.
#include "auditor/effect_source.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include <fmt/format.h>

#include "auditor/finding.h"
#include "auditor/role_check.h"
#include "config/audit.h"
#include "store/postgres/connection.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::auditor {
namespace {

using store::postgres::Row;

constexpr Millis connect_max{5'000};
constexpr Millis answer_slack{5'000};  // beside the time limit of the statement itself
constexpr std::size_t piece = 5'000;   // rows

// A replica that has applied all it received from a primary that it is connected to is up to date, however long ago the
// last transaction was.
constexpr const char* standing_sql = R"sql(
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_is_in_recovery(),
       CASE WHEN NOT pg_is_in_recovery() THEN 0
            WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN 0
            ELSE coalesce(floor(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000), 1e12)
       END::bigint)sql";

// In front of a statement with the query in it: the window is two instants, also where the query compares them with
// columns without a time zone. The server then takes those for times of its own zone, as it does when they are written.
constexpr std::string_view instants = "WITH semel_window AS (SELECT $1::timestamptz, $2::timestamptz) ";

constexpr std::array<std::string_view, 5> wanted{"key", "scope", "effect", "at", "value"};

// Of text that says nothing else, what a server would have taken for the default: it may be a replica.
std::string address_of(const std::string& url) {
  std::string address = url;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (address.find(std::string(name) + "=") != std::string::npos) return;
    address.append(address.find('?') == std::string::npos ? "?" : "&").append(name).append("=").append(value);
  };
  add("target_session_attrs", "any");
  add("application_name", "semel-audit");
  return address;
}

std::int64_t number_in(const std::optional<std::string>& text) {
  std::int64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

EffectRow row_of(Row& row) {
  return {.key = std::move(row[0]),
          .scope = std::move(row[1]),
          .effect = row[2].value_or(std::string()),
          .at = Time{Millis{number_in(row[3])}},
          .value = std::move(row[4])};
}

// What is handed to PQcancel lives on its own: the connection may be gone by then.
struct FreeCancel {
  void operator()(PGcancel* cancel) const { PQfreeCancel(cancel); }
};

}  // namespace

struct EffectSource::Connected {
  const Clock& clock;
  config::AuditConfig audit;
  store::postgres::DatabaseConnection connection;

  Result<std::vector<Row>> ask(const std::string& sql, const std::vector<std::string>& parameters) const {
    return store::postgres::ask(clock, connection.get(), sql, parameters, audit.statement_timeout + answer_slack);
  }
  [[nodiscard]] Result<void> check_role() const;
  [[nodiscard]] Result<void> check_query() const;
};

void EffectSource::Part::operator()(Connected* connected) const {
  delete connected;  // NOLINT(cppcoreguidelines-owning-memory): this is the owner
}

Result<EffectSource> EffectSource::open(const Clock& clock, const config::AuditConfig& audit) {
  Result<store::postgres::DatabaseConnection> connection =
      store::postgres::connect(clock, address_of(audit.database.reveal()), connect_max);
  if (!connection) return std::unexpected(std::move(connection.error()));
  std::unique_ptr<Connected, Part> connected(
      new Connected{.clock = clock, .audit = audit, .connection = *std::move(connection)});
  const auto set = connected->ask(fmt::format("SET statement_timeout = {}; SET DateStyle = 'ISO'; "
                                              "SET default_transaction_read_only = on; "
                                              "SET idle_in_transaction_session_timeout = '10min'",
                                              audit.statement_timeout.count()),
                                  {});
  if (!set) return std::unexpected(set.error());
  return EffectSource(std::move(connected));
}

Result<void> EffectSource::check() {
  Result<void> role = connected_->check_role();
  return role ? connected_->check_query() : role;
}

Result<void> EffectSource::Connected::check_role() const {
  const auto found = ask(writers_sql, {});
  if (!found) return std::unexpected(found.error());
  const std::string why = found->empty() ? std::string() : found->front()[0].value_or("");
  if (why.empty()) return {};
  return fail(Code::invalid,
              "an audit needs a role that cannot write: " + why + " (or make a role that has nothing but SELECT)");
}

// Nothing is run: the server says which columns the query would have.
Result<void> EffectSource::Connected::check_query() const {
  const std::string bare = std::string(instants) + "SELECT * FROM (\n" + audit.query + "\n) AS q WHERE false";
  const std::vector<std::string> window{audit_time(clock.wall()), audit_time(clock.wall())};
  const auto asked = ask(bare, window);
  if (!asked) return fail(Code::invalid, "the database does not take the query: " + asked.error().detail);
  std::string columns;
  for (const std::string_view column : wanted) columns.append(columns.empty() ? "q." : ", q.").append(column);
  const std::string typed = std::string(instants) + "SELECT " + columns +
                            ", extract(epoch FROM q.at::timestamptz) FROM (\n" + audit.query + "\n) AS q WHERE false";
  const auto named = ask(typed, window);
  if (named) return {};
  return fail(Code::invalid,
              "the query needs the columns key, scope, effect, at (a time) and value: " + named.error().detail);
}

Result<SourceStanding> EffectSource::standing() {
  const auto rows = connected_->ask(standing_sql, {});
  if (!rows) return std::unexpected(rows.error());
  const Row& row = rows->front();
  return SourceStanding{
      .now = Time{Millis{number_in(row[0])}}, .lag = Millis{number_in(row[2])}, .replica = row[1] == "t"};
}

Result<void> EffectSource::begin() {
  const auto begun = connected_->ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", {});
  if (!begun) return std::unexpected(begun.error());
  return {};
}

void EffectSource::end() {
  static_cast<void>(
      connected_->ask("ROLLBACK", {}));  // nothing was written; a connection that is broken is not used again
}

Result<std::uint64_t> EffectSource::estimate(const EffectSpan& span) {
  const auto rows = connected_->ask(
      "EXPLAIN (FORMAT JSON) " + std::string(instants) + "SELECT * FROM (\n" + connected_->audit.query + "\n) AS q",
      {audit_time(span.from), audit_time(span.to)});
  if (!rows) return std::unexpected(rows.error());
  constexpr std::string_view label = "\"Plan Rows\":";
  const std::string text = rows->empty() ? std::string() : rows->front()[0].value_or("");
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return 0;
  const std::size_t digits = text.find_first_not_of(' ', at + label.size());
  return static_cast<std::uint64_t>(number_in(text.substr(digits)));
}

Result<void> EffectSource::read(const EffectSpan& span, const EffectShare& share, const std::string& plant,
                                const Take& take) {
  std::string sql = "DECLARE effects NO SCROLL CURSOR FOR " + std::string(instants) +
                    "SELECT q.key::text, q.scope::text, q.effect::text, "
                    "floor(extract(epoch FROM q.at::timestamptz) * 1000)::bigint, q.value::text FROM (\n" +
                    connected_->audit.query + "\n) AS q";
  if (share.count > 1) {
    sql +=
        fmt::format(" WHERE hashtextextended(coalesce(q.key::text, ''), 0) & {} = {}", share.count - 1, share.number);
  }
  std::vector<std::string> parameters{audit_time(span.from), audit_time(span.to)};
  if (!plant.empty()) {
    sql +=
        " UNION ALL SELECT $3::text, '', p.effect, $4::bigint, NULL FROM (VALUES ('planted 1'), ('planted 2')) "
        "AS p(effect)";
    parameters.push_back(plant);
    parameters.push_back(std::to_string(span.from.time_since_epoch().count()));
  }
  const auto declared = connected_->ask(sql, parameters);
  if (!declared) return std::unexpected(declared.error());
  const std::string fetch = fmt::format("FETCH {} FROM effects", piece);
  Result<void> taken;
  for (std::size_t count = piece; count == piece && taken;) {
    auto rows = connected_->ask(fetch, {});
    if (!rows) return std::unexpected(rows.error());
    count = rows->size();
    for (auto row = rows->begin(); row != rows->end() && taken; ++row) taken = take(row_of(*row));
  }
  const auto closed = connected_->ask("CLOSE effects", {});
  if (!closed) return std::unexpected(closed.error());
  return taken;
}

std::function<void()> EffectSource::canceller() {
  const std::shared_ptr<PGcancel> cancel(PQgetCancel(connected_->connection.get()), FreeCancel{});
  return [cancel] {
    std::array<char, 256> why{};
    if (cancel != nullptr) PQcancel(cancel.get(), why.data(), static_cast<int>(why.size()));
  };
}

}  // namespace semel::auditor
