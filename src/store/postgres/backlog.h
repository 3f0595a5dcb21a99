// The calls that wait to be sent, one queue per kind.
//
// The kinds take turns. Claims, renewals and ends share a transaction if several of them wait; the other kinds go by
// themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "store/postgres/statement.h"
#include <semel/clock.h>

namespace semel::store::postgres {

class Backlog {
 public:
  void add(Entry entry);
  // For a call that has been on its way already.
  void add_first(Entry entry);

  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t size() const;

  // What goes next, as one batch; null if there is nothing.
  [[nodiscard]] std::unique_ptr<Statement> next();
  // The same of those calls only that go alone.
  [[nodiscard]] std::unique_ptr<Statement> next_alone();
  // The same of those ends and renewals only that were held up by claims.
  [[nodiscard]] std::unique_ptr<Statement> next_apart();
  // Adds the call, and takes it with what can go with it.
  [[nodiscard]] std::unique_ptr<Statement> next_with(Entry entry);

  // The earliest deadline, if it is before `latest`; else `latest`.
  [[nodiscard]] Time next_deadline(Time latest) const;

  // Takes out the calls whose deadline has come.
  [[nodiscard]] std::vector<Entry> take_late(Time now);
  // Those whose callers are better served by a quick refusal than by waiting for the server to come back.
  [[nodiscard]] std::vector<Entry> take_impatient();
  [[nodiscard]] std::vector<Entry> take_all();

 private:
  Queues queues_;
  std::size_t next_kind_ = 0;
};

}  // namespace semel::store::postgres
