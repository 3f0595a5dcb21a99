#include "store/postgres_pipe.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <postgres_ext.h>

#include "core/check.h"
#include "store/postgres_connection.h"
#include "store/postgres_statement.h"
#include <semel/clock.h>

namespace semel::postgres {
namespace {

std::string_view field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string_view{} : std::string_view(text);
}

}  // namespace

Pipe::Pipe(Connection connection) : connection_(std::move(connection)) {
  PQsetNoticeReceiver(connection_.get(), &Pipe::notice, this);
  check(PQenterPipelineMode(connection_.get()) == 1, "an idle connection can be pipelined");
}

Pipe::~Pipe() = default;

void Pipe::notice(void* pipe, const PGresult* notice) {
  // By its severity, not by its words: those may be in any language. Our own functions warn of nothing.
  if (field(notice, PG_DIAG_SEVERITY_NONLOCALIZED) == "WARNING") static_cast<Pipe*>(pipe)->warned_ = true;
}

bool Pipe::send(std::unique_ptr<Statement> statement, Millis patience) {
  const Statement& sent = *statement;
  under_way_.push_back(
      {.statement = std::move(statement), .ending = Ending::durable, .reply = nullptr, .state = {}, .message = {}});
  return sent.send(connection_.get(), patience) && PQpipelineSync(connection_.get()) == 1 && flush();
}

bool Pipe::flush() {
  const int left = PQflush(connection_.get());
  unsent_ = left == 1;
  return left >= 0;
}

Time Pipe::deadline() const {
  return under_way_.front().statement->deadline();
}

bool Pipe::advance(std::vector<Ended>& ended) {
  if (PQconsumeInput(connection_.get()) == 0 || !flush()) return false;
  while (!under_way_.empty() && PQisBusy(connection_.get()) == 0) {
    Reply reply(PQgetResult(connection_.get()));
    if (PQstatus(connection_.get()) == CONNECTION_BAD) return false;
    if (reply != nullptr && !take(std::move(reply), ended)) return false;
  }
  return PQstatus(connection_.get()) == CONNECTION_OK;
}

bool Pipe::take(Reply reply, std::vector<Ended>& ended) {
  Ended& batch = under_way_.front();
  switch (PQresultStatus(reply.get())) {
    case PGRES_TUPLES_OK:
      batch.reply = std::move(reply);
      return true;
    case PGRES_PIPELINE_SYNC:
      if (std::exchange(warned_, false) && batch.ending == Ending::durable) batch.ending = Ending::not_durable;
      if (batch.statement != nullptr) ended.push_back(std::move(batch));
      under_way_.pop_front();
      return true;
    case PGRES_FATAL_ERROR:
      batch.ending = Ending::failed;
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
  statements.reserve(under_way_.size());
  for (Ended& batch : under_way_) {
    if (batch.statement != nullptr) statements.push_back(std::move(batch.statement));
  }
  return statements;
}

}  // namespace semel::postgres
