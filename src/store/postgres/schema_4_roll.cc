// Version 4 of the schema: keys in the order in which they expire (store/key_roll.h).
#include <string_view>

#include "store/postgres/schema_4.h"

namespace semel::store::postgres {

// By the index on the expiry. Rows of one expiry are told apart by their ids.
const std::string_view roll_4 = R"sql(
CREATE FUNCTION semel.roll_4(
  believed text, patience_ms integer, first_ms bigint, end_ms bigint, the_space text, behind_ms bigint, behind_id bytea,
  count_max bigint)
RETURNS TABLE (id bytea, state bigint, claimed_ms bigint, expires_ms bigint, of_space boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  first_expiry timestamptz := to_timestamp(greatest(first_ms, behind_ms) / 1000.0);
  end_expiry timestamptz := to_timestamp(end_ms / 1000.0);
  behind timestamptz := to_timestamp(behind_ms / 1000.0);
BEGIN
  RETURN QUERY
    SELECT k.id,
           CASE k.state WHEN 'running' THEN 1 WHEN 'done' THEN 2 WHEN 'unknown' THEN 3 ELSE 4 END::bigint,
           floor(extract(epoch FROM k.claimed_at) * 1000)::bigint,
           floor(extract(epoch FROM k.expires_at) * 1000)::bigint,
           k.space = the_space
      FROM semel.keys k
     WHERE k.expires_at >= first_expiry AND k.expires_at < end_expiry AND (k.expires_at, k.id) > (behind, behind_id)
     ORDER BY k.expires_at, k.id LIMIT count_max;
END
$$;
)sql";

}  // namespace semel::store::postgres
