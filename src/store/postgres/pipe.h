// A connection in pipeline mode, and the batches that are under way on it, each a transaction of its own.
//
// A batch has ended when its Sync has been answered, not when its rows have come: the server sends those before it
// commits. A warning with it means that the commit did not wait for its standbys (an operator cancelled the wait). The
// rows are written, but may be lost with this server, so nobody is told of them before they have been written again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <libpq-fe.h>

#include "store/postgres/connection.h"
#include "store/postgres/seen.h"
#include "store/postgres/statement.h"
#include <semel/clock.h>

namespace semel::store::postgres {

enum class BatchEnding : std::uint8_t {
  durable,      // `reply` holds
  not_durable,  // committed, but perhaps only here
  failed,       // nothing was applied; `state` is the SQLSTATE
};

struct Ended {
  std::unique_ptr<Statement> statement;
  BatchEnding ending = BatchEnding::failed;
  Reply reply;
  std::string state;
  std::string message;
  std::chrono::nanoseconds sent_at{};  // by the stopwatch of the clock
};

class Pipe {
 public:
  // The connection is idle and does not block.
  explicit Pipe(Link link);
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // False if the connection is lost. The batch is then among those that give_up() hands out.
  [[nodiscard]] bool send(std::unique_ptr<Statement> statement, Millis patience, std::chrono::nanoseconds now);

  // Reads and writes as much as it can without waiting. False if the connection is lost.
  [[nodiscard]] bool advance(std::vector<Ended>& ended);

  [[nodiscard]] int socket() const { return PQsocket(link_.connection.get()); }
  [[nodiscard]] const Greeted& greeted() const { return link_.greeted; }
  [[nodiscard]] bool unsent() const { return unsent_; }  // wait for writing, too
  [[nodiscard]] std::size_t under_way() const { return under_way_.size(); }
  [[nodiscard]] std::chrono::nanoseconds sent_at() const { return under_way_.front().sent_at; }  // there is something
  [[nodiscard]] Time deadline() const;  // of what is first in line; there is something

  // Hands out the batches that are under way; whether they were applied is not known. The connection may still be read:
  // it can be used again when their answers, which nobody waits for any more, have come.
  std::vector<std::unique_ptr<Statement>> give_up();

 private:
  [[nodiscard]] bool flush();
  [[nodiscard]] bool take(Reply reply, std::vector<Ended>& ended);
  static void notice(void* pipe, const PGresult* notice);

  Link link_;
  std::deque<Ended> under_way_;
  bool unsent_ = false;
  bool warned_ = false;
};

}  // namespace semel::store::postgres
