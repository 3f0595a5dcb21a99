// The functions of the schema, called inside the caller's own transaction.
//
// The functions set lock_timeout for the rest of the transaction. Here that is the caller's, so each statement puts the
// old value back. A database whose keys have other names is refused (semel.plain_1): a key that is claimed here under
// one name would run again elsewhere under the other. So is one of several shards, because a key that lives in another
// one would be claimed here as well. Parameters and results are texts, because every client library can carry those.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/codec.h"
#include "core/decision.h"
#include "core/encoding.h"
#include "core/terms.h"
#include "store/postgres/failure.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/once.h>
#include <semel/postgres_transaction.h>
#include <semel/problem.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {
namespace {

constexpr int claim_tries = 5;  // of a key that changes hands while it is looked at
constexpr std::string_view lock_not_available = "55P03";
constexpr std::string_view not_serializable = "40001";
constexpr std::string_view deadlock = "40P01";

// The server makes the owner: only this transaction can see the row before the claim has ended.
const std::string claim_text = R"sql(
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout),
claimed AS MATERIALIZED (
  SELECT c.* FROM before, LATERAL semel.claim_2(
    CASE WHEN before.lock_timeout IS NOT NULL AND semel.plain_1() THEN semel.standing_2() END, $1::integer,
    ARRAY[decode($2::text, 'hex')], ARRAY[$3::text], ARRAY[decode($4::text, 'hex')], ARRAY[decode($5::text, 'hex')],
    ARRAY[('x' || substr(md5(random()::text || clock_timestamp()::text || pg_backend_pid()), 1, 16))::bit(64)::bigint],
    ARRAY[$6::bigint], ARRAY[$6::bigint], ARRAY[$7::boolean], ARRAY[NULL]::bigint[], ARRAY[NULL]::bigint[]) AS c)
SELECT claimed.mine::text, claimed.state::text, claimed.fence::text, claimed.owner::text,
       encode(claimed.fingerprint, 'hex'), encode(claimed.response, 'hex'),
       (extract(epoch FROM claimed.claimed_at) * 1000)::bigint::text,
       (extract(epoch FROM claimed.lease_until) * 1000)::bigint::text,
       (extract(epoch FROM claimed.expires_at) * 1000)::bigint::text,
       (extract(epoch FROM claimed.at) * 1000)::bigint::text,
       set_config('lock_timeout', before.lock_timeout, true)
  FROM before LEFT JOIN claimed ON true ORDER BY claimed.mine DESC
)sql";

const std::string complete_text = R"sql(
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout),
completed AS MATERIALIZED (
  SELECT count(c.id) AS keys FROM before, LATERAL semel.complete_2(
    CASE WHEN before.lock_timeout IS NOT NULL THEN semel.standing_2() END, $1::integer,
    ARRAY[decode($2::text, 'hex')], ARRAY[$3::bigint], ARRAY[$4::bigint], ARRAY[decode($5::text, 'hex')]) AS c)
SELECT completed.keys::text, set_config('lock_timeout', before.lock_timeout, true) FROM before, completed
)sql";

enum ClaimColumn : std::uint8_t {
  mine,
  state,
  fence,
  owner,
  fingerprint,
  response,
  claimed_at,
  lease_until,
  expires_at,
  at
};

// A bigint, which holds our unsigned numbers bit by bit.
std::int64_t number(const std::optional<std::string>& text) {
  std::int64_t value = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

Time time_at(const std::optional<std::string>& text) {
  return Time(Millis(number(text)));
}

Granted granted(const SqlSession::Row& row) {
  return {.fence = {.number = static_cast<std::uint64_t>(number(row[fence])),
                    .owner = static_cast<std::uint64_t>(number(row[owner]))},
          .expires_at = time_at(row[expires_at])};
}

std::unexpected<Error> damaged(const char* what) {
  return fail(Code::corrupt, std::string("the row of the key in PostgreSQL is damaged: ") + what);
}

// What holds the key, from a row that is not ours.
Result<Claim> held(const SqlSession::Row& row, const Key& key) {
  Held found;
  Record& record = found.record;
  record.key = key;
  record.fence = granted(row).fence;
  record.claimed_at = time_at(row[claimed_at]);
  record.lease_until = time_at(row[lease_until]);
  record.expires_at = time_at(row[expires_at]);
  const auto print = core::from_hex(row[fingerprint].value_or(""));
  if (!print || print->size() != record.fingerprint.digest.size()) return damaged("fingerprint");
  for (std::size_t i = 0; i < print->size(); ++i) record.fingerprint.digest[i] = static_cast<std::uint8_t>((*print)[i]);
  if (row[state] == "done") {
    const auto bytes = core::from_hex(row[response].value_or(""));
    if (!bytes) return damaged("response");
    Result<Record> kept = core::decode(*bytes, key.id);
    if (!kept) return std::unexpected(std::move(kept.error()));
    if (kept->response == nullptr || kept->fence != record.fence) return damaged("response of another claim");
    record.state = Record::State::done;
    record.response = std::move(kept->response);
  } else if (row[state] == "running" && record.lease_until > time_at(row[at])) {
    record.state = Record::State::running;
    found.lease_left = record.lease_until - time_at(row[at]);
  } else {
    record.state = Record::State::unknown;
  }
  return found;
}

Answer answer_of(const core::Decision& decision) {
  if (const auto* replay = std::get_if<core::Replay>(&decision)) {
    return Replayed{.response = replay->response, .fence = replay->fence, .expires_at = replay->expires_at};
  }
  if (const auto* reject = std::get_if<core::Reject>(&decision)) {
    return Refused{.problem = reject->problem, .retry_after = reject->retry_after, .detail = {}};
  }
  return Refused{.problem = Problem::of(ProblemType::outcome_unknown),
                 .retry_after = Millis{0},
                 .detail = "the key was left unknown outside of a transaction, and there is no probe here"};
}

}  // namespace

TransactionClaim::TransactionClaim(SqlSession& session, Key key, Fingerprint fingerprint, Policy policy)
    : session_(session), key_(std::move(key)), fingerprint_(fingerprint), policy_(policy) {
  policy_.in_flight =
      Policy::InFlight::conflict;  // a committed claim is not held by a transaction, so waiting for one does not help
  claim();
}

void TransactionClaim::claim() {
  Terms terms = core::terms_of(policy_, 0);
  terms.lease = Millis{1};  // does not matter: only this transaction sees the claim before it has ended
  if (const Result<void> sound = core::check_terms(terms); !sound) {
    answer_ = core::refused_by(sound.error());
    return;
  }
  const std::string patience = std::to_string(std::max<std::int64_t>(1, policy_.wait_max.count()));
  const std::vector<std::string> parameters{patience,
                                            core::to_hex(key_.id),
                                            key_.space,
                                            core::to_hex(key_.scope),
                                            core::to_hex(fingerprint_.digest),
                                            std::to_string(terms.ttl.count()),
                                            terms.lapsed == Terms::Lapsed::taken_over ? "true" : "false"};
  for (int attempt = 1; attempt <= claim_tries; ++attempt) {
    const SqlSession::Rows rows = session_.run(claim_text, parameters);
    if (!rows) {
      fail_with(rows.error());
      return;
    }
    if (rows->empty() || rows->front().size() <= at || !rows->front()[mine]) continue;
    const SqlSession::Row& row = rows->front();
    if (row[mine] == "true") {
      granted_ = granted(row);
      open_ = true;
      return;
    }
    const Result<Claim> found = held(row, key_);
    answer_ = found ? answer_of(core::decide(*found, fingerprint_, policy_)) : Answer(core::refused_by(found.error()));
    return;
  }
  answer_ = Refused{.problem = Problem::of(ProblemType::in_flight),
                    .retry_after = Millis{1'000},
                    .detail = "the key keeps changing hands"};
}

void TransactionClaim::fail_with(const SqlSession::Failure& failure) {
  if (failure.state == lock_not_available) {
    answer_ = Refused{.problem = Problem::of(ProblemType::in_flight),
                      .retry_after = Millis{1'000},
                      .detail = "another transaction holds the key for longer than wait_max"};
    return;
  }
  collided_ = failure.state == not_serializable || failure.state == deadlock;
  answer_ = core::refused_by(store::postgres::refusal(failure.state, failure.message));
}

Result<Ran> TransactionClaim::complete(Response response) {
  if (!std::exchange(open_, false)) return fail(Code::fenced, "there is no claim, or it was completed before");
  Record record;
  record.key.id = key_.id;
  record.state = Record::State::done;
  record.fence = granted_.fence;
  record.response = std::make_shared<const Response>(std::move(response));
  const std::vector<std::string> parameters{
      "1000", core::to_hex(key_.id), std::to_string(static_cast<std::int64_t>(granted_.fence.number)),
      std::to_string(static_cast<std::int64_t>(granted_.fence.owner)), core::to_hex(core::encode(record))};
  const SqlSession::Rows rows = session_.run(complete_text, parameters);
  if (!rows) return std::unexpected(store::postgres::refusal(rows.error().state, rows.error().message));
  if (rows->empty() || rows->front().empty() || rows->front().front() != "1") {
    return fail(Code::fenced, "the transaction took longer than the key lives");
  }
  return Ran{.outcome = {.verdict = Verdict::keep, .response = std::move(record.response)},
             .fence = granted_.fence,
             .expires_at = granted_.expires_at};
}

}  // namespace semel
