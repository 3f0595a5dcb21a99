// Version 2 of the schema: how rows that have expired are deleted.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

const std::string_view sweep_2 = R"sql(
-- Deletes in the order of expiry. What another gateway is sweeping, or somebody is just claiming, is left to them.
CREATE FUNCTION semel.sweep_2(believed text, count_max bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.check_2(believed, 1000);
  t timestamptz := clock_timestamp();
  n bigint;
  m bigint;
BEGIN
  DELETE FROM semel.keys k
   WHERE k.id = ANY (ARRAY(
     SELECT e.id FROM semel.keys e
      WHERE e.expires_at <= t AND (e.state <> 'running' OR e.lease_until <= t)
      ORDER BY e.expires_at LIMIT count_max FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = count_max THEN RETURN n; END IF;
  DELETE FROM semel.objects o
   WHERE o.id = ANY (ARRAY(
     SELECT e.id FROM semel.objects e
      WHERE e.expires_at <= t
        AND NOT EXISTS (SELECT FROM semel.keys k
                         WHERE k.id = e.event AND k.fence = e.fence AND k.owner = e.owner
                           AND k.state = 'running' AND k.lease_until > t)
      ORDER BY e.expires_at LIMIT count_max - n FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS m = ROW_COUNT;
  RETURN n + m;
END
$$;
)sql";

}  // namespace semel::store::postgres
