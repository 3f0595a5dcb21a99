// Rows that the functions of the schema answer with, as records.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <libpq-fe.h>

#include "store/call.h"
#include "store/cursor.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

// What a row answers: of semel.batch_6, whose answers to renewals and ends have no time, either may be.
enum class RowsOf : std::uint8_t { claims, holders };

// Which row answers which id, by its first column. A key that was held when the statement looked first, and then became
// free, has two rows: the grant counts.
class RowsById {
 public:
  explicit RowsById(const PGresult* reply, RowsOf of = RowsOf::claims);
  [[nodiscard]] std::optional<int> find(const Digest& id) const;

 private:
  std::unordered_map<std::string_view, int> rows_;
};

// What semel.complete_2, semel.release_2 and semel.batch_6 say of a key that has ended.
bool is_waited_for(const PGresult* reply, int row);

// What semel.claim_former_2 says of a key that it has no longer.
bool has_moved(const PGresult* reply, int row);

// What semel.claim_2 says of a key: who holds it now. `mine`: the caller does, from this claim on.
struct ClaimRow {
  bool mine;
  Result<Record> record;  // Code::corrupt: it cannot be read; the key stays blocked
  Time at;                // the server's time
};
ClaimRow claim_row(const PGresult* reply, int row, const Key& key, const ClaimCall& asked);

// What semel.find_2 and semel.list_2 say of a key. None if it has expired. Code::corrupt: it cannot be read.
Result<std::optional<Held>> seen_row(const PGresult* reply, int row);

// The last row of semel.list_2: how far it has come, and where to go on. None if the row is one of a key.
struct ListEnd {
  Time searched_to;
  std::int64_t stage = 0;
  std::optional<ListPlace> next;  // none: that was all
};
std::optional<ListEnd> list_end(const PGresult* reply, int row);

// What semel.claim_ordered_2 says of a key.
Result<Claim> ordered_answer(const PGresult* reply, int row, const Key& key, const ClaimCall& asked);

// What a look finds in the row of a key: none if it has expired.
Result<std::optional<Held>> look_answer(const PGresult* reply, int row, const Key& key);

}  // namespace semel::store::postgres
