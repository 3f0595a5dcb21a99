// Version 2 of the schema: a look at keys.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

// Returns the rows that there are, whatever their state. Nothing is written, and nothing is locked: it says what was
// committed when it looked.
const std::string_view look_2 = R"sql(
CREATE FUNCTION semel.look_2(believed text, patience_ms integer, ids bytea[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz, doubted boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
BEGIN
  RETURN QUERY
    SELECT k.id, false, k.space, k.scope, k.state, k.fence, k.owner, k.fingerprint, k.claimed_at, k.lease_until,
           k.expires_at, k.response, date_trunc('milliseconds', clock_timestamp()), k.doubted
      FROM unnest(ids) AS i(id) JOIN semel.keys k ON k.id = i.id;
END
$$;
)sql";

}  // namespace semel::store::postgres
