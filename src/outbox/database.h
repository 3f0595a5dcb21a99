// The database of an outbox, as its mover uses it. Calls wait for the server, so they are made on a thread that may.
//
// Nothing is kept in a session between two transactions, so a pooler may stand in front of the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/postgres/connection.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::outbox {

// What a program has sent.
struct OutboxRow {
  std::uint64_t seq = 0;
  std::string destination;
  std::string key;
  std::string object;   // empty if there is none
  std::string headers;  // a JSON object; empty if there are none
  bool raw = false;     // the body was given as bytes
  std::string body;
  Millis wait{0};  // until it may be delivered
};

struct OutboxBacklog {
  std::uint64_t waiting = 0;  // about so many
  std::uint64_t oldest_ms = 0;
};

enum class OutboxLook : std::uint8_t { elsewhere, nothing, something };  // elsewhere: another process moves
enum class TableTurn : std::uint8_t { turned, blocked, elsewhere };

class OutboxDatabase {
 public:
  // `me` is random, of this process.
  OutboxDatabase(Clock& clock, std::string url, std::uint64_t me) : clock_(clock), url_(std::move(url)), me_(me) {}

  [[nodiscard]] bool is_open() const { return link_ != nullptr; }
  // Code::invalid: the database has no outbox of this version; the detail says what to do.
  Result<void> open();
  // After a failure: the next open() begins anew.
  void close();

  Result<OutboxLook> look();
  // Begins a transaction. The rows are gone when it commits.
  Result<std::vector<OutboxRow>> take(std::size_t rows_max);
  Result<void> commit();
  void roll_back();
  Result<TableTurn> turn();
  Result<OutboxBacklog> backlog();
  // Another one may move from now on.
  void leave();

 private:
  Result<std::vector<store::postgres::Row>> run(const std::string& sql);

  Clock& clock_;
  const std::string url_;
  const std::uint64_t me_;
  store::postgres::DatabaseConnection link_;
};

}  // namespace semel::outbox
