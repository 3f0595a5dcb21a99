#include "http/http1_transaction.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "http/connection.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/ticker.h"
#include "http/transaction.h"
#include "http/tunnel.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

Http1Transaction::Http1Transaction(Connection& connection, RequestParser& parser, const Head& head, std::string& out,
                                   std::string_view peer, Millis patience, std::uint64_t rate_min)
    : Transaction({.head = head,
                   .peer = peer,
                   .client_subject = connection.client_subject(),
                   .encrypted = connection.encrypted(),
                   .executor = connection.executor()}),
      connection_(connection),
      deadline_(connection.deadline().ticker(), patience, rate_min,
                [&connection](Lateness then) { connection.miss(then); }),
      body_(connection, parser, head, deadline_),
      reply_(connection, head, out, deadline_) {}

Attempted<void> Http1Transaction::reply(std::uint16_t status, WriteFields fields, std::string_view body) {
  if (body_.awaits_invitation()) reply_.close_after();  // nobody can tell whether its body still comes
  return reply_.send(status, fields, body);
}

Attempted<void> Http1Transaction::start_reply(std::uint16_t status, WriteFields fields, Form form,
                                              std::string_view first) {
  return reply_.start(status, fields, form, first);
}

Task<void> Http1Transaction::switch_protocol(std::string_view protocol, WriteFields fields, Connection& other,
                                             Millis silence_max) {
  return carry(reply_.switch_protocol(protocol, fields), &other, silence_max);
}

Task<void> Http1Transaction::carry(Attempted<void> agreed, Connection* other, Millis silence_max) {
  const Try<void> told = co_await std::move(agreed);
  deadline_.silence();
  if (told) co_await tunnel(&connection_, other, silence_max);
}

}  // namespace semel::http
