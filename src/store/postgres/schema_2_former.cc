// Version 2 of the schema: how claims are judged by a shard that their keys have moved away from.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

// As claim_2, but only for rows that exist and have not expired. Every other id is answered by a row whose state is
// NULL, and may be claimed where it belongs now. That answer stays true for ever: no such key is claimed here again,
// and a row that has expired cannot come back to life. Rows are locked before they are judged, so every change that was
// on its way to them has arrived. A claim that is taken over here expires when the first one would have.
const std::string_view former_2 = R"sql(
CREATE FUNCTION semel.claim_former_2(
  believed text, patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  here bigint[];
  lefts_ms bigint[];
BEGIN
  -- OFFSET 0 keeps the condition outside: every row is locked, also one that seems to have expired.
  SELECT array_agg(l.n ORDER BY l.n),
         array_agg(greatest(1, extract(epoch FROM l.expires_at - clock_timestamp()) * 1000)::bigint ORDER BY l.n)
    INTO here, lefts_ms
    FROM (SELECT i.n, k.state, k.lease_until, k.expires_at
            FROM unnest(ids) WITH ORDINALITY AS i(id, n) JOIN semel.keys k ON k.id = i.id
          OFFSET 0 FOR UPDATE OF k) AS l
   WHERE l.expires_at > clock_timestamp() OR (l.state = 'running' AND l.lease_until > clock_timestamp());

  RETURN QUERY
    SELECT i.id, false, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint, NULL::bigint, NULL::bytea,
           NULL::timestamptz, NULL::timestamptz, NULL::timestamptz, NULL::bytea, clock_timestamp()
      FROM unnest(ids) WITH ORDINALITY AS i(id, n)
     WHERE here IS NULL OR i.n <> ALL (here);
  IF here IS NULL THEN RETURN; END IF;

  RETURN QUERY
    SELECT c.*
      FROM (SELECT array_agg(ids[h.n] ORDER BY h.n) AS a_ids, array_agg(spaces[h.n] ORDER BY h.n) AS a_spaces,
                   array_agg(scopes[h.n] ORDER BY h.n) AS a_scopes,
                   array_agg(fingerprints[h.n] ORDER BY h.n) AS a_fingerprints,
                   array_agg(owners[h.n] ORDER BY h.n) AS a_owners, array_agg(leases_ms[h.n] ORDER BY h.n) AS a_leases,
                   array_agg(least(ttls_ms[h.n], h.left_ms) ORDER BY h.n) AS a_ttls,
                   array_agg(takes[h.n] ORDER BY h.n) AS a_takes, array_agg(over_fences[h.n] ORDER BY h.n) AS a_fences,
                   array_agg(over_owners[h.n] ORDER BY h.n) AS a_over_owners
              FROM unnest(here, lefts_ms) AS h(n, left_ms)) AS a,
           LATERAL semel.claim_2(believed, patience_ms, a.a_ids, a.a_spaces, a.a_scopes, a.a_fingerprints, a.a_owners, a.a_leases,
                                 a.a_ttls, a.a_takes, a.a_fences, a.a_over_owners) AS c;
END
$$;
)sql";

}  // namespace semel::store::postgres
