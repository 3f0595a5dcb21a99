// Version 2 of the schema: how claims are renewed and ended.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

// Each returns the ids for which it did what was asked, now or before; the others are fenced. For the end of a key it
// says whether a caller waits for it.
const std::string_view holders_2 = R"sql(
CREATE FUNCTION semel.complete_2(
  believed text, patience_ms integer, ids bytea[], fences bigint[], owners bigint[], responses bytea[])
RETURNS TABLE (id bytea, waited boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  n bigint;
BEGIN
  RETURN QUERY
    UPDATE semel.keys k
       SET state = CASE WHEN i.response IS NULL THEN 'unknown' ELSE 'done' END::semel.key_state,
           response = i.response
      FROM unnest(ids, fences, owners, responses) AS i(id, fence, owner, response)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id, k.waited;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = cardinality(ids) THEN RETURN; END IF;
  -- Asked again after a lost answer. The first response stays; it is written again, as a claim is.
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(ids, fences, owners, responses) AS i(id, fence, owner, response)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND k.state = CASE WHEN i.response IS NULL THEN 'unknown' ELSE 'done' END::semel.key_state
       AND k.expires_at > clock_timestamp()
    RETURNING k.id, k.waited;
END
$$;

CREATE FUNCTION semel.release_2(believed text, patience_ms integer, ids bytea[], fences bigint[], owners bigint[])
RETURNS TABLE (id bytea, waited boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  n bigint;
BEGIN
  RETURN QUERY
    UPDATE semel.keys k
       SET state = CASE WHEN k.doubted THEN 'unknown' ELSE 'released' END::semel.key_state
      FROM unnest(ids, fences, owners) AS i(id, fence, owner)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id, k.waited;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = cardinality(ids) THEN RETURN; END IF;
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(ids, fences, owners) AS i(id, fence, owner)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND (k.state = 'released' OR (k.doubted AND k.state = 'unknown')) AND k.expires_at > clock_timestamp()
    RETURNING k.id, k.waited;
END
$$;

CREATE FUNCTION semel.renew_2(
  believed text, patience_ms integer, ids bytea[], fences bigint[], owners bigint[], leases_ms bigint[])
RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
BEGIN
  RETURN QUERY
    UPDATE semel.keys k
       SET lease_until = date_trunc('milliseconds', clock_timestamp()) + i.lease * interval '1 millisecond'
      FROM unnest(ids, fences, owners, leases_ms) AS i(id, fence, owner, lease)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id;
END
$$;

-- An operator lets keys that have ended run again; answers those that had. The key gets the owner of the reopening, so
-- that one whose answer was lost, and which is asked for again, finds its own work.
CREATE FUNCTION semel.reopen_2(believed text, patience_ms integer, ids bytea[], owners bigint[])
RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  n bigint;
BEGIN
  RETURN QUERY
    UPDATE semel.keys k
       SET state = 'released', response = NULL, owner = i.owner, doubted = k.doubted OR k.state <> 'done'
      FROM unnest(ids, owners) AS i(id, owner)
     WHERE k.id = i.id AND k.expires_at > clock_timestamp()
       AND (k.state IN ('done', 'unknown') OR (k.state = 'running' AND k.lease_until <= clock_timestamp()))
    RETURNING k.id;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = cardinality(ids) THEN RETURN; END IF;
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(ids, owners) AS i(id, owner)
     WHERE k.id = i.id AND k.owner = i.owner
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND k.state = 'released' AND k.expires_at > clock_timestamp()
    RETURNING k.id;
END
$$;
)sql";

}  // namespace semel::store::postgres
