// Version 4 of the schema: deliveries that are dead from the beginning.
//
// They are accepted as skipped ones are, which no queue ever holds, and become dead in the same transaction.
#include <string_view>

#include "store/postgres/schema_4.h"

namespace semel::store::postgres {

// As semel.accept_3. Of the destinations, `to_deads` says which are dead; `to_skips` says why.
const std::string_view dead_4 = R"sql(
CREATE FUNCTION semel.accept_4(
  believed text, patience_ms integer, me bigint, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[],
  owners bigint[], ttls_ms bigint[], fences bigint[], responses bytea[], events bytea[], sources text[], types bytea[],
  kinds bigint[], objects bytea[], stamps bytea[], sorts bytea[], reorders_ms bigint[], blocking boolean[],
  parcels bytea[], sizes bigint[], depths_max bigint[], bytes_max bigint[], retains_ms bigint[], widths bigint[],
  to_rows bigint[], to_dests text[], to_rooms boolean[], to_skips bytea[], to_deads boolean[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz, n bigint, verdict bigint, expires_ms bigint, states text)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT a.* FROM semel.accept_3(
    believed, patience_ms, me, ids, spaces, scopes, fingerprints, owners, ttls_ms, fences, responses, events, sources,
    types, kinds, objects, stamps, sorts, reorders_ms, blocking, parcels, sizes, depths_max, bytes_max, retains_ms,
    widths, to_rows, to_dests, to_rooms, to_skips) a;
  WITH buried AS (
    UPDATE semel.inbox_deliveries d SET state = 4
      FROM unnest(to_rows, to_dests, to_deads) AS b(row, dest, dead)
     WHERE b.dead AND d.id = events[b.row] AND d.dest = b.dest AND d.state = 6
    RETURNING d.id, d.dest)
  INSERT INTO semel.inbox_counts (source, dest, skipped, dead)
  SELECT e.source, b.dest, -count(*), count(*)
    FROM buried b JOIN semel.inbox_events e ON e.id = b.id
   GROUP BY e.source, b.dest;
END
$$;
)sql";

}  // namespace semel::store::postgres
