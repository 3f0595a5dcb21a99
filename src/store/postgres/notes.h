// The notes of a PostgreSQL store. They have a connection of their own, made when it is first used. See
// schema_4_notes.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/notes.h"
#include "store/postgres/driver.h"
#include "store/postgres/late_driver.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::store::postgres {

class PostgresNotes : public Notes {
 public:
  PostgresNotes(const Clock& clock, DriverOptions options) : driver_(clock, std::move(options)) {}

  Async<std::optional<StoredNote>> read(std::string name) override;
  Async<std::uint64_t> write(NoteChange change) override;
  Async<NotePage> list(std::string prefix, std::string cursor, std::size_t limit) override;

 private:
  struct NameRange {
    std::string first;
    std::string last;
    std::string behind;
  };
  Async<std::vector<StoredNote>> ask(NameRange names, std::size_t limit);

  LateDriver driver_;
};

}  // namespace semel::store::postgres
