// Rows that the functions of the schema answer with, as records.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include <libpq-fe.h>

#include "store/call.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

// Which row answers which id, by its first column. A key that was held when the statement looked first, and then became
// free, has two rows: the grant counts.
class RowsById {
 public:
  explicit RowsById(const PGresult* reply);
  [[nodiscard]] std::optional<int> find(const Digest& id) const;

 private:
  std::unordered_map<std::string_view, int> rows_;
};

// What semel.complete_1 and semel.release_1 say of a key that has ended.
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

// What semel.claim_ordered_2 says of a key.
Result<Claim> ordered_answer(const PGresult* reply, int row, const Key& key, const ClaimCall& asked);

}  // namespace semel::store::postgres
