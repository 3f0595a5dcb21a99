// Version 6 of the schema: claims, renewals and ends of different requests in one transaction.
//
// Claims come first, and only those of keys that nobody has, or that are held and stay so. Such a claim waits for a row
// that somebody is writing, also for one that is being ended, because the unique index has to know what becomes of it.
// A transaction that waits so holds nothing but rows that it has inserted. Renewals and ends wait only for rows that
// carry their own owner. So batches do not wait for each other in a circle; with ends first two of them would, each of
// which ends what the other claims (docs/adr/0033-one-transaction.md). Renewals and ends are one statement, so that
// they lock in one order.
//
// And what becomes of events whose acceptance was not heard of (schema_6_accept.cc, schema_6_reclaim.cc). Gateways of
// the version before go on with the functions that they know.
#include "store/postgres/schema_6.h"

#include <string_view>

namespace semel::store::postgres {

// Answers claims as claim_2 does, if they need no more than its first two steps. The others get no row, and are asked
// for again: taking over a row can lock one that somebody else has just taken over and is about to end. The answers to
// renewals and ends are the rows without a time (`at`): the ids for which what was asked is done, now or before. In
// them `mine` says whether a caller waits for the end.
const std::string_view batch_6 = R"sql(
CREATE FUNCTION semel.batch_6(
  believed text, patience_ms integer, ids bytea[], spaces text[], scopes bytea[], fingerprints bytea[], owners bigint[],
  leases_ms bigint[], ttls_ms bigint[], takes boolean[], over_fences bigint[], over_owners bigint[],
  held_ids bytea[], held_fences bigint[], held_owners bigint[], renewals_ms bigint[], releases boolean[],
  responses bytea[])
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
  IF wanted > 0 THEN
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
  END IF;
  IF wanted > 0 THEN
    RETURN QUERY
      SELECT k.id, false, k.space, k.scope,
             CASE WHEN k.state = 'released' AND k.owner <> i.owner THEN 'unknown' ELSE k.state END, k.fence, k.owner,
             k.fingerprint, k.claimed_at, k.lease_until, k.expires_at, k.response,
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
  END IF;

  -- A running row has no response, so renewals and releases leave it without one.
  RETURN QUERY
    UPDATE semel.keys k
       SET state = CASE WHEN i.renewal IS NOT NULL THEN 'running'
                        WHEN i.releases THEN CASE WHEN k.doubted THEN 'unknown' ELSE 'released' END
                        WHEN i.response IS NULL THEN 'unknown' ELSE 'done' END::semel.key_state,
           response = i.response,
           lease_until = CASE WHEN i.renewal IS NULL THEN k.lease_until
                              ELSE date_trunc('milliseconds', clock_timestamp()) + i.renewal * interval '1 millisecond' END
      FROM unnest(held_ids, held_fences, held_owners, renewals_ms, releases, responses)
        AS i(id, fence, owner, renewal, releases, response)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id, i.renewal IS NULL AND k.waited, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint,
              NULL::bigint, NULL::bytea, NULL::timestamptz, NULL::timestamptz, NULL::timestamptz, NULL::bytea,
              NULL::timestamptz;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = cardinality(held_ids) THEN RETURN; END IF;
  -- Ends that are asked for again after a lost answer: as in complete_2 and release_2.
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(held_ids, held_fences, held_owners, renewals_ms, releases, responses)
        AS i(id, fence, owner, renewal, releases, response)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND i.renewal IS NULL AND k.expires_at > clock_timestamp()
       AND CASE WHEN i.releases THEN k.state = 'released' OR (k.doubted AND k.state = 'unknown')
                ELSE k.state = CASE WHEN i.response IS NULL THEN 'unknown' ELSE 'done' END::semel.key_state END
    RETURNING k.id, k.waited, NULL::text, NULL::bytea, NULL::semel.key_state, NULL::bigint, NULL::bigint, NULL::bytea,
              NULL::timestamptz, NULL::timestamptz, NULL::timestamptz, NULL::bytea, NULL::timestamptz;
END
$$;
)sql";

// As in schema_2.cc.
const std::string_view settings_6 = R"sql(
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'semel'::regnamespace
             AND p.proname IN ('batch_6', 'standing_6', 'see_pulse_6', 'raise_pulse_6', 'raise_pulse_4', 'reigns_6',
                               'accept_3', 'reclaim_6', 'reclaim_3') LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
         SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off', f);
  END LOOP;
END
$$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA semel FROM PUBLIC;
INSERT INTO semel.schema_version (version) VALUES (6);
)sql";

}  // namespace semel::store::postgres
