// Version 2 of the schema: how rows that have expired are deleted.
//
// A row that was deleted stays in the index until the last snapshot from before is gone, and a scan from the start
// walks over it every time. So a sweep begins where the last one of the same gateway ended. It says how far it has
// come: up to the first row that it had to leave, because that was locked or still at work. What is committed after its
// expiry is left behind; a sweep of everything, now and then, finds that.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

const std::string_view sweep_2 = R"sql(
-- Deletes in the order of expiry. What another gateway is sweeping, or somebody is just claiming, is left to them.
CREATE FUNCTION semel.sweep_2(believed text, count_max bigint, keys_from timestamptz, objects_from timestamptz)
RETURNS TABLE (swept bigint, keys_upto timestamptz, objects_upto timestamptz, at timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, 1000);
  t timestamptz := clock_timestamp();
  gone bytea[];
  newest timestamptz;
BEGIN
  SELECT array_agg(e.id), max(e.expires_at) INTO gone, newest
    FROM (SELECT e.id, e.expires_at FROM semel.keys e
           WHERE e.expires_at >= least(keys_from, t) AND e.expires_at <= t
             AND (e.state <> 'running' OR e.lease_until <= t)
           ORDER BY e.expires_at LIMIT count_max FOR UPDATE SKIP LOCKED) AS e;
  swept := coalesce(cardinality(gone), 0);
  DELETE FROM semel.keys k WHERE k.id = ANY (gone);
  keys_upto := CASE WHEN swept < count_max THEN t ELSE newest END;
  keys_upto := coalesce((SELECT e.expires_at FROM semel.keys e
                          WHERE e.expires_at >= least(keys_from, t) AND e.expires_at <= keys_upto
                          ORDER BY e.expires_at LIMIT 1), keys_upto);
  objects_upto := objects_from;
  IF swept < count_max THEN
    SELECT array_agg(e.id), max(e.expires_at) INTO gone, newest
      FROM (SELECT e.id, e.expires_at FROM semel.objects e
             WHERE e.expires_at >= least(objects_from, t) AND e.expires_at <= t
               AND NOT EXISTS (SELECT FROM semel.keys k
                                WHERE k.id = e.event AND k.fence = e.fence AND k.owner = e.owner
                                  AND k.state = 'running' AND k.lease_until > t)
             ORDER BY e.expires_at LIMIT count_max - swept FOR UPDATE SKIP LOCKED) AS e;
    DELETE FROM semel.objects o WHERE o.id = ANY (gone);
    objects_upto := CASE WHEN coalesce(cardinality(gone), 0) < count_max - swept THEN t ELSE newest END;
    objects_upto := coalesce((SELECT e.expires_at FROM semel.objects e
                               WHERE e.expires_at >= least(objects_from, t) AND e.expires_at <= objects_upto
                               ORDER BY e.expires_at LIMIT 1), objects_upto);
    swept := swept + coalesce(cardinality(gone), 0);
  END IF;
  at := t;
  RETURN NEXT;
END
$$;
)sql";

}  // namespace semel::store::postgres
