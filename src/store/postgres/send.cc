// semel.send() with the caller's own connection. Parameters are texts, because every client library can carry those.
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "core/printable.h"
#include "store/postgres/failure.h"
#include "store/postgres/libpq.h"
#include <semel/outbox.h>
#include <semel/postgres_transaction.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel {
namespace {

constexpr const char* send_text =
    "SELECT semel.send($1::text, $2::text, decode($3::text, 'hex'), nullif($4::text, ''), "
    "to_timestamp(nullif($5::text, '')::double precision / 1000), $6::jsonb)";

// The body goes as bytes, which a text might not be; so what kind of text it is has to be said.
std::string headers_of(const Effect& effect) {
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object();
  bool typed = false;
  for (const Field& field : effect.headers) {
    json.escaped_name(field.name).bytes(field.value);
    typed = typed || core::equal_ignoring_case(field.name, "Content-Type");
  }
  if (!typed) json.text("Content-Type", "application/json");
  json.end_object();
  return text;
}

// A name that is there twice; null if none is. A JSON object would keep the last one only.
const Field* doubled_in(const std::vector<Field>& headers) {
  std::set<std::string> names;
  for (const Field& field : headers) {
    if (!names.insert(core::to_lower(field.name)).second) return &field;
  }
  return nullptr;
}

Error error_of(const SqlSession::Failure& failure) {
  const bool argument = failure.state == "22023";  // invalid_parameter_value: semel.send() says what is wrong
  const bool no_outbox = failure.state == "42883" || failure.state == "3F000";  // no such function, no such schema
  if (argument) return {.code = Code::invalid, .detail = failure.message};
  if (no_outbox) return {.code = Code::invalid, .detail = "the database has no outbox; run: semel migrate --outbox"};
  return store::postgres::refusal(failure.state, failure.message);
}

}  // namespace

Result<void> send(SqlSession& session, const Effect& effect) {
  if (const Field* const doubled = doubled_in(effect.headers)) {
    return fail(Code::invalid, "the header " + core::printable(doubled->name) + " is there twice: send it once");
  }
  const std::string wait =
      effect.not_before ? std::to_string(effect.not_before->time_since_epoch().count()) : std::string();
  const std::vector<std::string> parameters{effect.destination, effect.key, core::to_hex(effect.body),
                                            effect.object,      wait,       headers_of(effect)};
  const SqlSession::Rows sent = session.run(send_text, parameters);
  if (!sent) return std::unexpected(error_of(sent.error()));
  return {};
}

Result<void> send(pg_conn* connection, const Effect& effect) {
  if (PQtransactionStatus(connection) != PQTRANS_INTRANS) {
    return fail(Code::invalid, "send() needs a transaction: begin one, write, send, commit");
  }
  store::postgres::LibpqSession session(connection);
  return send(session, effect);
}

}  // namespace semel
