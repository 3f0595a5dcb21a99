// Version 2 of the schema: claims of events that run in the order of their object.
//
// They have a function and a table of their own, so that claims without order cost nothing more. All take locks in one
// order: first objects, by their ids, then keys, by theirs. So batches that meet cannot deadlock, and an object and the
// event that it names do not change while a claim is judged. Ending a claim touches no object: how far an object has
// come follows from how its last claim ended. This must behave like step_order() in core/transition.h.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

const std::string_view ordered_2 = R"sql(
-- As semel.claim_2, and two columns more: `verdict` is superseded, or busy, and then the row is that of `other`.
CREATE FUNCTION semel.claim_ordered_2(
  believed text, patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[],
  objects bytea[], stamps bytea[], companies bigint[])
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz, verdict text, other bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  t timestamptz;
  i record;
  k semel.keys;
  o semel.objects;
  h semel.keys;
  open_ids bytea[];
  had boolean;
  alive boolean;
  doubtful boolean;
  too_late boolean;
  runs boolean;
  reached bytea;
BEGIN
  -- What is held and stays so needs no lock, and writes nothing.
  open_ids := ARRAY(
    SELECT i.id FROM unnest(ids, owners) AS i(id, owner)
     WHERE NOT EXISTS (
       SELECT FROM semel.keys k
        WHERE k.id = i.id
          AND CASE k.state
                WHEN 'done' THEN k.expires_at > clock_timestamp()
                WHEN 'running' THEN k.lease_until > clock_timestamp() AND k.owner <> i.owner
                ELSE false
              END));
  IF cardinality(open_ids) > 0 THEN
    INSERT INTO semel.objects (id, space, scope, expires_at)
    SELECT DISTINCT ON (i.object) i.object, i.space, i.scope, clock_timestamp() + i.ttl * interval '1 millisecond'
      FROM unnest(ids, spaces, scopes, ttls_ms, objects) AS i(id, space, scope, ttl, object)
     WHERE i.id = ANY (open_ids)
     ORDER BY i.object
    ON CONFLICT (id) DO NOTHING;
    PERFORM FROM (SELECT DISTINCT i.object FROM unnest(ids, objects) AS i(id, object)
                   WHERE i.id = ANY (open_ids) ORDER BY i.object) AS i
            JOIN semel.objects o ON o.id = i.object
             FOR UPDATE OF o;
    -- The events, and those that ran last: whatever is on its way to them has come when they are locked.
    PERFORM FROM (SELECT e.id FROM unnest(open_ids) AS e(id)
                  UNION
                  SELECT o.event FROM unnest(ids, objects) AS i(id, object) JOIN semel.objects o ON o.id = i.object
                   WHERE i.id = ANY (open_ids) AND o.event IS NOT NULL
                   ORDER BY 1) AS e
            JOIN semel.keys k ON k.id = e.id
             FOR NO KEY UPDATE OF k;
  END IF;

  FOR i IN
    SELECT * FROM unnest(ids, spaces, scopes, fingerprints, owners, leases_ms, ttls_ms, takes, over_fences,
                         over_owners, objects, stamps, companies)
      AS i(id, space, scope, fingerprint, owner, lease, ttl, takes, over_fence, over_owner, object, stamp, company)
  LOOP
    t := date_trunc('milliseconds', clock_timestamp());
    SELECT k.* INTO k FROM semel.keys k WHERE k.id = i.id;
    had := FOUND;
    alive := had AND (k.expires_at > t OR (k.state = 'running' AND k.lease_until > t));
    doubtful := alive AND (k.state = 'unknown' OR (k.state = 'running' AND k.lease_until <= t));
    -- An id without a row is asked for again: its key changed while it was looked at.
    CONTINUE WHEN NOT (i.id = ANY (open_ids)) AND (NOT alive OR doubtful OR k.state = 'released');
    IF alive AND k.state = 'running' AND NOT doubtful AND k.owner = i.owner THEN
      -- Written again, as in claim_2: that it can be read does not say that it would survive a failover.
      UPDATE semel.keys k SET touched = k.touched + 1 WHERE k.id = i.id;
      RETURN QUERY SELECT i.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
                          k.lease_until, k.expires_at, NULL::bytea, t, NULL::text, NULL::bytea;
      CONTINUE;
    END IF;
    too_late := alive AND k.state IN ('released', 'unknown') AND k.owner = i.owner;
    IF alive AND (too_late OR k.state <> 'released' OR (k.doubted AND k.fingerprint <> i.fingerprint))
       AND NOT (doubtful AND NOT too_late AND i.takes AND k.fingerprint = i.fingerprint
                AND (i.over_fence IS NULL OR (k.fence = i.over_fence AND k.owner = i.over_owner))) THEN
      RETURN QUERY SELECT i.id, false, k.space, k.scope,
                          CASE WHEN k.state = 'released' AND NOT too_late THEN 'unknown' ELSE k.state END,
                          k.fence, k.owner, k.fingerprint, k.claimed_at, k.lease_until, k.expires_at, k.response, t,
                          NULL::text, NULL::bytea;
      CONTINUE;
    END IF;

    -- The key is free; now its object.
    SELECT o.* INTO o FROM semel.objects o WHERE o.id = i.object;
    CONTINUE WHEN NOT FOUND;
    reached := CASE WHEN o.expires_at > t THEN o.newest END;
    SELECT h.* INTO h FROM semel.keys h WHERE h.id = o.event AND h.fence = o.fence AND h.owner = o.owner;
    runs := FOUND AND h.state = 'running' AND h.lease_until > t;
    IF h.state = 'done' AND h.expires_at > t THEN reached := greatest(reached, o.stamp); END IF;
    IF i.stamp < reached THEN
      RETURN QUERY SELECT i.id, false, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint, NULL::bigint,
                          NULL::bytea, NULL::timestamptz, NULL::timestamptz, NULL::timestamptz, NULL::bytea, t,
                          'superseded', NULL::bytea;
      CONTINUE;
    END IF;
    IF runs AND NOT (i.company <> 0 AND i.company = o.company) THEN
      RETURN QUERY SELECT i.id, false, h.space, h.scope, h.state, h.fence, h.owner, h.fingerprint, h.claimed_at,
                          h.lease_until, h.expires_at, NULL::bytea, t, 'busy', h.id;
      CONTINUE;
    END IF;

    IF had THEN
      UPDATE semel.keys k
         SET space = i.space, scope = i.scope, state = 'running', owner = i.owner, fingerprint = i.fingerprint,
             fence = CASE WHEN alive THEN k.fence + 1 ELSE 1 END, claimed_at = t,
             lease_until = t + i.lease * interval '1 millisecond', expires_at = t + i.ttl * interval '1 millisecond',
             response = NULL, touched = 0, waited = false,
             doubted = alive AND (k.doubted OR k.state <> 'released')
       WHERE k.id = i.id
      RETURNING k.* INTO k;
    ELSE
      INSERT INTO semel.keys AS k
        (id, space, scope, state, fence, owner, fingerprint, claimed_at, lease_until, expires_at)
      VALUES (i.id, i.space, i.scope, 'running', 1, i.owner, i.fingerprint, t,
              t + i.lease * interval '1 millisecond', t + i.ttl * interval '1 millisecond')
      ON CONFLICT (id) DO NOTHING
      RETURNING k.* INTO k;
    END IF;
    CONTINUE WHEN NOT FOUND;
    UPDATE semel.objects o
       SET newest = reached, event = k.id, fence = k.fence, owner = k.owner,
           stamp = CASE WHEN runs THEN greatest(o.stamp, i.stamp) ELSE i.stamp END,
           company = CASE WHEN i.company <> 0 THEN i.company ELSE i.owner END,
           expires_at = greatest(o.expires_at, k.expires_at)
     WHERE o.id = i.object;
    RETURN QUERY SELECT i.id, true, NULL::text, NULL::bytea, k.state, k.fence, k.owner, NULL::bytea, k.claimed_at,
                        k.lease_until, k.expires_at, NULL::bytea, t, NULL::text, NULL::bytea;
  END LOOP;
END
$$;
)sql";

}  // namespace semel::store::postgres
