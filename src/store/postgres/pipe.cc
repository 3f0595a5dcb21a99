// Sending as far as the socket takes it, and sorting what comes back by batch.
#include "store/postgres/pipe.h"

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <postgres_ext.h>

#include "core/check.h"
#include "runtime/failpoint.h"
#include "store/postgres/connection.h"
#include "store/postgres/statement.h"
#include <semel/clock.h>

namespace semel::store::postgres {
namespace {

std::string_view field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string_view{} : std::string_view(text);
}

}  // namespace

Pipe::Pipe(Link link) : link_(std::move(link)) {
  PQsetNoticeReceiver(link_.connection.get(), &Pipe::notice, this);
  core::check(PQenterPipelineMode(link_.connection.get()) == 1, "an idle connection can be pipelined");
}

Pipe::~Pipe() = default;

void Pipe::notice(void* pipe, const PGresult* notice) {
  // By its severity, not by its words: those may be in any language. Our own functions warn of nothing.
  if (field(notice, PG_DIAG_SEVERITY_NONLOCALIZED) == "WARNING") static_cast<Pipe*>(pipe)->warned_ = true;
}

bool Pipe::send(std::unique_ptr<Statement> statement, Millis patience, std::chrono::nanoseconds now) {
  const Statement& sent = *statement;
  Ended& batch = under_way_.emplace_back();
  batch.statement = std::move(statement);
  batch.ending = BatchEnding::durable;
  batch.sent_at = now;
  const bool gone = sent.send(link_, patience) && PQpipelineSync(link_.connection.get()) == 1 && flush();
  if (sent.completes()) runtime::failpoint("completion-begun");
  return gone;
}

bool Pipe::flush() {
  const int left = PQflush(link_.connection.get());
  unsent_ = left == 1;
  return left >= 0;
}

Time Pipe::deadline() const {
  return under_way_.front().statement->deadline();
}

bool Pipe::advance(std::vector<Ended>& ended) {
  if (PQconsumeInput(link_.connection.get()) == 0 || !flush()) return false;
  while (!under_way_.empty() && PQisBusy(link_.connection.get()) == 0) {
    Reply reply(PQgetResult(link_.connection.get()));
    if (PQstatus(link_.connection.get()) == CONNECTION_BAD) return false;
    if (reply != nullptr && !take(std::move(reply), ended)) return false;
  }
  return PQstatus(link_.connection.get()) == CONNECTION_OK;
}

bool Pipe::take(Reply reply, std::vector<Ended>& ended) {
  Ended& batch = under_way_.front();
  switch (PQresultStatus(reply.get())) {
    case PGRES_TUPLES_OK:
      batch.reply = std::move(reply);
      return true;
    case PGRES_PIPELINE_SYNC:
      core::check(batch.ending != BatchEnding::durable || batch.reply != nullptr,
                  "what was committed has been answered");
      if (std::exchange(warned_, false) && batch.ending == BatchEnding::durable)
        batch.ending = BatchEnding::not_durable;
      if (batch.statement != nullptr) ended.push_back(std::move(batch));
      under_way_.pop_front();
      return true;
    case PGRES_FATAL_ERROR:
      batch.ending = BatchEnding::failed;
      batch.state = field(reply.get(), PG_DIAG_SQLSTATE);
      batch.message = one_line(PQresultErrorField(reply.get(), PG_DIAG_MESSAGE_PRIMARY));
      // The server is going away, and what it had committed when it said so is not known.
      return field(reply.get(), PG_DIAG_SEVERITY_NONLOCALIZED) == "ERROR";
    default:
      return false;
  }
}

std::vector<std::unique_ptr<Statement>> Pipe::give_up() {
  std::vector<std::unique_ptr<Statement>> statements;
  for (Ended& batch : under_way_) {
    if (batch.statement != nullptr) statements.push_back(std::move(batch.statement));
  }
  return statements;
}

}  // namespace semel::store::postgres
