// Asking for an effect within your own transaction: a request to somebody else that is made once if you commit, and not
// at all if you do not.
//
//   BEGIN → your writes → send(effect) → COMMIT ──▶ a gateway moves it to its inbox ──▶ the request
//
// The database must have an outbox (`semel migrate --outbox`), and a gateway an [[outbox]] with its address; the store
// of that gateway may be another. docs/outbox.md says what is promised. In the library semel::postgres. For libpqxx,
// wrap your pqxx::work in a PqxxSession (semel/pqxx_transaction.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/clock.h>
#include <semel/postgres_transaction.h>
#include <semel/response.h>
#include <semel/result.h>

struct pg_conn;  // libpq's PGconn

namespace semel {

struct Effect {
  std::string destination;  // a [destination.NAME] of the gateway
  std::string key;          // names the effect, such as "order:42/receipt". The same again is asked for once
  std::string body;
  // Effects of one object go out one after the other, in the order in which their transactions commit. Until this
  // transaction ends, others that send for the same object wait. Empty: no order.
  std::string object{};
  std::optional<Time> not_before{};  // by the wall clock; none: at once
  // Each name once. `Content-Type` is application/json unless it is among them.
  std::vector<Field> headers{};
};

// Sends within the transaction that is open on `connection`, or on `session`. The connection stays yours.
// Code::invalid: an argument cannot be, or the connection is in no transaction; the detail says what to do.
// Code::unavailable: the statement failed. After an error the transaction can only be rolled back.
// If [[outbox]] has `doorbell = true`, `NOTIFY semel_outbox` after the commit lets it go out at once. Never before it.
Result<void> send(pg_conn* connection, const Effect& effect);
Result<void> send(SqlSession& session, const Effect& effect);

}  // namespace semel
