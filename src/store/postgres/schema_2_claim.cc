// Version 2 of the schema: how a batch of claims is judged.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

// Returns a row for each id: `mine` means granted. An id without a row could not be settled, because the key changed
// hands in between: the caller asks again, and never runs without a row of its own. An id has two rows if its key was
// held at first and had become free a moment later: then the one that says `mine` counts.
const std::string_view claim_2 = R"sql(
CREATE FUNCTION semel.claim_2(
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
  t timestamptz;
  n bigint;
  wanted bigint := cardinality(ids);
BEGIN
  -- The unique index is the judge of keys that nobody has.
  t := date_trunc('milliseconds', clock_timestamp());
  RETURN QUERY
    INSERT INTO semel.keys AS k
      (id, space, scope, state, fence, owner, fingerprint, claimed_at, lease_until, expires_at)
    SELECT i.id, i.space, i.scope, 'running', 1, i.owner, i.fingerprint, t,
           t + i.lease * interval '1 millisecond', t + i.ttl * interval '1 millisecond'
      FROM unnest(ids, spaces, scopes, fingerprints, owners, leases_ms, ttls_ms)
        AS i(id, space, scope, fingerprint, owner, lease, ttl)
    ON CONFLICT (id) DO NOTHING
    RETURNING k.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
              k.lease_until, k.expires_at, NULL::bytea, t;
  GET DIAGNOSTICS n = ROW_COUNT;
  wanted := wanted - n;
  IF wanted = 0 THEN RETURN; END IF;

  -- What is held, and stays so whatever is on its way: an end, or another's living claim. Nothing is locked.
  RETURN QUERY
    SELECT k.id, false, k.space, k.scope,
           CASE WHEN k.state = 'released' AND k.owner <> i.owner THEN 'unknown' ELSE k.state END, k.fence, k.owner, k.fingerprint,
           k.claimed_at, k.lease_until, k.expires_at, k.response,
           date_trunc('milliseconds', clock_timestamp())
      FROM unnest(ids, fingerprints, owners, takes, over_fences, over_owners)
        AS i(id, fingerprint, owner, takes, over_fence, over_owner)
      JOIN semel.keys k ON k.id = i.id
     WHERE CASE k.state
             WHEN 'done' THEN k.expires_at > clock_timestamp()
             WHEN 'running' THEN k.lease_until > clock_timestamp() AND k.owner <> i.owner
             WHEN 'unknown' THEN k.expires_at > clock_timestamp()
               AND NOT (i.takes AND k.fingerprint = i.fingerprint AND k.owner <> i.owner
                        AND (i.over_fence IS NULL OR (k.fence = i.over_fence AND k.owner = i.over_owner)))
             WHEN 'released' THEN k.expires_at > clock_timestamp()
               AND (k.owner = i.owner OR (k.doubted AND k.fingerprint <> i.fingerprint))
             ELSE false
           END;
  GET DIAGNOSTICS n = ROW_COUNT;
  wanted := wanted - n;
  -- Those just granted are not among them: they run, and are the owner's own.
  IF wanted = 0 THEN RETURN; END IF;

  -- What is free although it has a row: expired, released, or of unknown outcome and to be taken over.
  t := date_trunc('milliseconds', clock_timestamp());
  RETURN QUERY
    UPDATE semel.keys k
       SET space = i.space, scope = i.scope, state = 'running', owner = i.owner, fingerprint = i.fingerprint,
           fence = CASE WHEN k.expires_at <= clock_timestamp()
                             AND (k.state <> 'running' OR k.lease_until <= clock_timestamp())
                        THEN 1 ELSE k.fence + 1 END,
           claimed_at = t, lease_until = t + i.lease * interval '1 millisecond',
           expires_at = t + i.ttl * interval '1 millisecond', response = NULL, touched = 0,
           waited = false,
           doubted = (k.doubted OR k.state <> 'released') AND k.expires_at > clock_timestamp()
      FROM unnest(ids, spaces, scopes, fingerprints, owners, leases_ms, ttls_ms, takes, over_fences, over_owners)
        AS i(id, space, scope, fingerprint, owner, lease, ttl, takes, over_fence, over_owner)
     WHERE k.id = i.id
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND ((k.expires_at <= clock_timestamp() AND (k.state <> 'running' OR k.lease_until <= clock_timestamp()))
            OR (k.state = 'released' AND k.owner <> i.owner AND (NOT k.doubted OR k.fingerprint = i.fingerprint))
            OR (((k.state = 'unknown' AND k.owner <> i.owner)
                 OR (k.state = 'running' AND k.lease_until <= clock_timestamp()))
                AND i.takes AND k.fingerprint = i.fingerprint
                AND (i.over_fence IS NULL OR (k.fence = i.over_fence AND k.owner = i.over_owner))))
    RETURNING k.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
              k.lease_until, k.expires_at, NULL::bytea, t;
  GET DIAGNOSTICS n = ROW_COUNT;
  wanted := wanted - n;
  IF wanted = 0 THEN RETURN; END IF;

  -- The same owner asks again: its first answer was lost. That the row can be read does not say that it would survive
  -- a failover, so it is written again; when that is durable, so is what came before it.
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(ids, owners) AS i(id, owner)
     WHERE k.id = i.id
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND k.owner = i.owner AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
              k.lease_until, k.expires_at, NULL::bytea, date_trunc('milliseconds', clock_timestamp());
  GET DIAGNOSTICS n = ROW_COUNT;
  wanted := wanted - n;
  IF wanted = 0 THEN RETURN; END IF;

  -- A lease that has lapsed and stands. The lock makes sure that no renewal is on its way.
  RETURN QUERY
    SELECT l.id, false, l.space, l.scope, l.state, l.fence, l.owner, l.fingerprint, l.claimed_at, l.lease_until,
           l.expires_at, l.response, date_trunc('milliseconds', clock_timestamp())
      FROM (SELECT k.*
              FROM unnest(ids) AS i(id) JOIN semel.keys k ON k.id = i.id
             WHERE k.state = 'running' AND k.lease_until <= clock_timestamp() AND k.expires_at > clock_timestamp()
               AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
               FOR SHARE OF k) AS l;
END
$$;
)sql";

}  // namespace semel::store::postgres
