// All work is done on a thread of its own. One transaction sees one moment: how far that is behind is asked first, in
// the same transaction, because a pooler may give the next one to another replica.
#include "resolver/sql_source.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/encoding.h"
#include "resolver/answer_rows.h"
#include "resolver/ruling.h"
#include "resolver/source.h"
#include "store/aside.h"
#include "store/postgres/connection.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::resolver {
namespace {

namespace postgres = store::postgres;

constexpr std::size_t keys_at_once = 500;
constexpr std::size_t columns = 6;
constexpr int halves_time = 4;  // so many timeouts for all halves of one question

// In milliseconds; null if the replica cannot tell. A replica that has replayed all it received from a primary that
// still sends is as old as the last message. Otherwise it is as old as the last transaction that it replayed, which is
// too old where the primary is idle; a role that may not look at pg_stat_wal_receiver sees only that.
constexpr const char* lag_sql = R"sql(
SELECT CASE
  WHEN NOT pg_is_in_recovery() THEN 0
  WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
   AND EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming' AND last_msg_receipt_time IS NOT NULL)
  THEN (SELECT ceil(extract(epoch FROM clock_timestamp() - last_msg_receipt_time) * 1000) FROM pg_stat_wal_receiver)
  ELSE ceil(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)
END::bigint
)sql";

std::string array_of(std::span<const KeyQuestion> questions) {
  std::string array = "{";
  for (const KeyQuestion& question : questions) {
    if (array.size() > 1) array.push_back(',');
    array.push_back('"');
    for (const char c : question.key) {
      if (c == '"' || c == '\\') array.push_back('\\');
      array.push_back(c);
    }
    array.push_back('"');
  }
  return array + "}";
}

// The query as a table, so that the database itself looks for the columns.
std::string wrapped(const SqlQuestion& question) {
  std::string_view query = question.query;
  const std::size_t last = query.find_last_not_of(" \t\r\n;");
  query = query.substr(0, last == std::string_view::npos ? 0 : last + 1);
  return fmt::format(
      "SELECT q.key::text, q.status::text, q.body::text, pg_typeof(q.body)::text, {}, {} FROM (\n{}\n) q",
      question.scoped ? "q.scope::text" : "NULL", question.typed ? "q.content_type::text" : "NULL", query);
}

// Bytes are written as \x and digits.
std::optional<std::string> body_of(std::optional<std::string> text, const std::optional<std::string>& type) {
  if (!text || type != "bytea" || !text->starts_with("\\x")) return text;
  return core::from_hex(std::string_view(*text).substr(2));
}

std::vector<AnswerRow> rows_of(std::vector<postgres::Row> rows) {
  std::vector<AnswerRow> answers;
  answers.reserve(rows.size());
  for (postgres::Row& row : rows) {
    if (row.size() < columns) continue;
    answers.push_back({.key = std::move(row[0]),
                       .status = std::move(row[1]),
                       .body = body_of(std::move(row[2]), row[3]),
                       .scope = std::move(row[4]),
                       .content_type = std::move(row[5])});
  }
  return answers;
}

std::vector<Testimony> nothing(std::size_t count, const std::string& why) {
  return {count, Testimony{.said = SourceSaid::nothing, .detail = why}};
}

class SqlSource : public Source {
 public:
  SqlSource(const Clock& clock, SqlQuestion question, AnswerRules rules)
      : clock_(clock), question_(std::move(question)), rules_(std::move(rules)), sql_(wrapped(question_)) {}

  [[nodiscard]] std::size_t questions_max() const override { return keys_at_once; }

  Task<std::vector<Testimony>> ask(std::vector<KeyQuestion> questions) override {
    std::vector<Testimony> said;
    const auto work = [&] { said = ask_now(questions); };
    co_await aside_.run(work);
    co_return said;
  }

 private:
  std::vector<Testimony> ask_now(std::span<const KeyQuestion> questions);
  std::vector<Testimony> ask_in_halves(std::span<const KeyQuestion> questions, Time until);
  Result<std::vector<Testimony>> ask_together(std::span<const KeyQuestion> questions);
  Result<Millis> begin();
  Result<std::vector<postgres::Row>> send(const std::string& sql, std::span<const std::string> parameters = {});

  const Clock& clock_;
  const SqlQuestion question_;
  const AnswerRules rules_;
  const std::string sql_;
  postgres::DatabaseConnection connection_;
  store::Aside aside_;  // last: its thread uses the above
};

Result<std::vector<postgres::Row>> SqlSource::send(const std::string& sql, std::span<const std::string> parameters) {
  return postgres::ask(clock_, connection_.get(), sql, parameters, question_.timeout);
}

// A transaction that sees one moment; returns how far that is behind.
Result<Millis> SqlSource::begin() {
  if (connection_ == nullptr) {
    auto made = postgres::connect(clock_, question_.url, question_.timeout, {}, postgres::SessionNeeds::any);
    if (!made) return std::unexpected(std::move(made.error()));
    connection_ = *std::move(made);
  }
  const auto begun = send(fmt::format(
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {}", question_.timeout.count()));
  if (!begun) return std::unexpected(begun.error());
  const auto rows = send(lag_sql);
  if (!rows) return std::unexpected(rows.error());
  const bool one = rows->size() == 1 && rows->front().size() == 1;
  const std::optional<std::string> told = one ? rows->front().front() : std::nullopt;
  if (!told) return fail(Code::unavailable, "the replica does not tell how far it is behind");
  const std::string& text = *told;
  std::int64_t lag = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lag);
  if (error != std::errc()) return fail(Code::unavailable, "the replica does not tell how far it is behind");
  return Millis{std::max<std::int64_t>(lag, 0)};
}

// Code::invalid: the database has refused the question, and can be asked another one.
Result<std::vector<Testimony>> SqlSource::ask_together(std::span<const KeyQuestion> questions) {
  const Result<Millis> lag = begin();
  if (!lag) return std::unexpected(lag.error());
  const std::array<std::string, 1> parameters{array_of(questions)};
  auto rows = send(sql_, parameters);
  const bool ended = send("ROLLBACK").has_value();
  if (!rows && ended) return fail(Code::invalid, rows.error().detail);
  if (!rows || !ended) return fail(Code::unavailable, rows ? "the connection was lost" : rows.error().detail);
  return testify(questions, rows_of(*std::move(rows)), rules_, *lag);
}

std::vector<Testimony> SqlSource::ask_now(std::span<const KeyQuestion> questions) {
  Result<std::vector<Testimony>> said = ask_together(questions);
  if (said) return *std::move(said);
  if (said.error().code == Code::invalid) {
    // A query that cannot even be asked about no key is wrong itself.
    if (const auto sound = ask_together({}))
      return ask_in_halves(questions, clock_.now() + halves_time * question_.timeout);
  } else {
    connection_.reset();
  }
  return nothing(questions.size(), said.error().detail);
}

std::vector<Testimony> SqlSource::ask_in_halves(std::span<const KeyQuestion> questions, Time until) {
  Result<std::vector<Testimony>> said = ask_together(questions);
  if (said) return *std::move(said);
  if (said.error().code != Code::invalid) {
    connection_.reset();
    return nothing(questions.size(), said.error().detail);
  }
  if (questions.size() == 1) return {Testimony{.said = SourceSaid::unclear, .detail = said.error().detail}};
  if (clock_.now() > until) return nothing(questions.size(), "it refuses too many of the keys");
  const std::size_t half = questions.size() / 2;
  std::vector<Testimony> all = ask_in_halves(questions.first(half), until);
  std::ranges::move(ask_in_halves(questions.subspan(half), until), std::back_inserter(all));
  return all;
}

}  // namespace

// A transaction that can only read: a query that writes is refused, too, by whatever function it does.
Result<void> check_question(const Clock& clock, const SqlQuestion& question) {
  const auto made = postgres::connect(clock, question.url, question.timeout, {}, postgres::SessionNeeds::any);
  if (!made) return std::unexpected(made.error());
  const auto send = [&](const std::string& sql, std::span<const std::string> parameters) {
    return postgres::ask(clock, made->get(), sql, parameters, question.timeout);
  };
  const auto begun =
      send(fmt::format("BEGIN READ ONLY; SET LOCAL statement_timeout = {}", question.timeout.count()), {});
  if (!begun) return std::unexpected(begun.error());
  const std::array<std::string, 1> none{array_of({})};
  const auto rows = send(wrapped(question), none);
  if (rows) return {};
  const bool refused = send("ROLLBACK", {}).has_value();
  return fail(refused ? Code::invalid : Code::unavailable, rows.error().detail);
}

std::unique_ptr<Source> make_sql_source(const Clock& clock, SqlQuestion question, AnswerRules rules) {
  return std::make_unique<SqlSource>(clock, std::move(question), std::move(rules));
}

}  // namespace semel::resolver
