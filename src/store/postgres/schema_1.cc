// Version 1 of the schema.
//
//   semel.keys            one row per key, as `psql` shows it
//   semel.schema_version  which versions have been applied
//   semel.shards          which databases belong together
//   semel.identity        by what keys and scopes are named (schema_1_identity.cc)
//   semel.objects         objects whose events are ordered (schema_1_ordered.cc)
//   semel.claim_1 …       the calls of the store; a gateway needs no right but to execute them
//
// A row is written twice in its life: inserted by the claim, updated once by its end. The end touches no indexed column
// and finds room on its page, so it is a HOT update: no index entry, and the page cleans itself. The fillfactor is low
// because a batch of ends needs room for the old rows and the new ones, which carry the responses, at the same time;
// the table does not become larger, since a row without room would go to another page and leave a hole. Replays and
// refusals write nothing. Rows are deleted in the order of `expires_at`, in batches, by an index on it. Vacuum leaves
// the empty end of the table alone: to cut it off it would lock all others out, and the room is soon used again.
//
// Every time is the server's, cut to milliseconds, and is read again after a lock was waited for. Rows are locked in
// the order of their ids, which is the order in which they are sent: the settings of the functions leave the planner no
// way but to look each row up by its id in turn, whatever it believes about the size of the table.
#include "store/postgres/schema_1.h"

#include <string_view>

namespace semel::store::postgres {

const std::string_view tables_1 = R"sql(
CREATE SCHEMA IF NOT EXISTS semel;
COMMENT ON SCHEMA semel IS 'Semel: which keys are claimed, and how each claim ended';

CREATE TABLE semel.schema_version (
  version    integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE semel.shards (
  shard        uuid PRIMARY KEY,
  here         boolean NOT NULL,
  former_until timestamptz
);
COMMENT ON TABLE semel.shards IS 'The databases that share out the keys; this one is the one that is here';
COMMENT ON COLUMN semel.shards.former_until IS
  'Set while keys are still looked for where the smaller set of before, which this shard was one of, had put them';
INSERT INTO semel.shards (shard, here) VALUES (gen_random_uuid(), true);

CREATE TYPE semel.key_state AS ENUM ('running', 'done', 'unknown', 'released');

CREATE TABLE semel.keys (
  claimed_at  timestamptz NOT NULL,
  lease_until timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,
  fence       bigint NOT NULL,
  owner       bigint NOT NULL,
  state       semel.key_state NOT NULL,
  touched     integer NOT NULL DEFAULT 0,
  waited      boolean NOT NULL DEFAULT false,
  space       text NOT NULL,
  scope       bytea NOT NULL,
  id          bytea NOT NULL,
  fingerprint bytea NOT NULL,
  response    bytea,
  CONSTRAINT keys_pkey PRIMARY KEY (id)
) WITH (
  fillfactor = 25,
  vacuum_truncate = off,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 1,
  autovacuum_vacuum_cost_limit = 2000,
  toast.vacuum_truncate = off,
  toast.autovacuum_vacuum_scale_factor = 0.02,
  toast.autovacuum_vacuum_cost_delay = 1,
  toast.autovacuum_vacuum_cost_limit = 2000
);
CREATE INDEX keys_expires_at ON semel.keys (expires_at);
ALTER TABLE semel.keys
  ALTER COLUMN id SET STORAGE PLAIN,
  ALTER COLUMN scope SET STORAGE PLAIN,
  ALTER COLUMN fingerprint SET STORAGE PLAIN,
  ALTER COLUMN space SET STORAGE PLAIN,
  ALTER COLUMN response SET STORAGE EXTERNAL;

COMMENT ON TABLE semel.keys IS 'One row per key that is claimed or has ended and not yet expired';
COMMENT ON COLUMN semel.keys.claimed_at IS 'When the present claim was made';
COMMENT ON COLUMN semel.keys.lease_until IS 'A running row is of unknown outcome from here on';
COMMENT ON COLUMN semel.keys.expires_at IS 'The row counts as absent from here on; fixed by the claim';
COMMENT ON COLUMN semel.keys.fence IS 'Number of the claim; grows with each one';
COMMENT ON COLUMN semel.keys.owner IS 'Random token of the claim, so that a lost answer can be asked for again';
COMMENT ON COLUMN semel.keys.touched IS 'Counts writes that only made sure that the row is durable';
COMMENT ON COLUMN semel.keys.waited IS 'Somebody on another gateway waits for the end';
COMMENT ON COLUMN semel.keys.space IS 'Namespace of the key';
COMMENT ON COLUMN semel.keys.scope IS 'Hash of the scope (tenant); the same for every key of one scope';
COMMENT ON COLUMN semel.keys.id IS 'Hash of namespace, scope and key';
COMMENT ON COLUMN semel.keys.fingerprint IS 'Hash of the request';
COMMENT ON COLUMN semel.keys.response IS 'The answer to replay, as in docs/record-format.md';
)sql";

// Each returns the ids for which it did what was asked, now or before; the others are fenced. For the end of a key it
// says whether a caller waits for it.
const std::string_view holders_1 = R"sql(
CREATE FUNCTION semel.complete_1(
  patience_ms integer, ids bytea[], fences bigint[], owners bigint[], responses bytea[])
RETURNS TABLE (id bytea, waited boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  patience text := set_config('lock_timeout', patience_ms::text, true);  -- cheaper than PERFORM, which starts a plan
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

CREATE FUNCTION semel.release_1(patience_ms integer, ids bytea[], fences bigint[], owners bigint[])
RETURNS TABLE (id bytea, waited boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  n bigint;
BEGIN
  PERFORM set_config('lock_timeout', patience_ms::text, true);
  RETURN QUERY
    UPDATE semel.keys k
       SET state = 'released'
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
       AND k.state = 'released' AND k.expires_at > clock_timestamp()
    RETURNING k.id, k.waited;
END
$$;

CREATE FUNCTION semel.renew_1(
  patience_ms integer, ids bytea[], fences bigint[], owners bigint[], leases_ms bigint[])
RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('lock_timeout', patience_ms::text, true);
  RETURN QUERY
    UPDATE semel.keys k
       SET lease_until = date_trunc('milliseconds', clock_timestamp()) + i.lease * interval '1 millisecond'
      FROM unnest(ids, fences, owners, leases_ms) AS i(id, fence, owner, lease)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner
       AND k.state = 'running' AND k.lease_until > clock_timestamp()
    RETURNING k.id;
END
$$;

-- Marks keys whose end is waited for, and answers those that do not run (any more): nobody would tell of them.
CREATE FUNCTION semel.await_1(patience_ms integer, ids bytea[]) RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('lock_timeout', patience_ms::text, true);
  UPDATE semel.keys k
     SET waited = true
    FROM (SELECT DISTINCT i.id FROM unnest(ids) AS i(id) ORDER BY i.id) AS i
   WHERE k.id = i.id AND k.state = 'running' AND NOT k.waited;
  RETURN QUERY
    SELECT i.id FROM unnest(ids) AS i(id)
     WHERE NOT EXISTS (SELECT FROM semel.keys k
                        WHERE k.id = i.id AND k.state = 'running' AND k.lease_until > clock_timestamp());
END
$$;

-- An operator lets keys that have ended run again; answers those that had.
CREATE FUNCTION semel.reopen_1(patience_ms integer, ids bytea[]) RETURNS TABLE (id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('lock_timeout', patience_ms::text, true);
  RETURN QUERY
    UPDATE semel.keys k
       SET state = 'released', response = NULL
      FROM unnest(ids) AS i(id)
     WHERE k.id = i.id AND k.expires_at > clock_timestamp()
       AND (k.state IN ('done', 'unknown') OR (k.state = 'running' AND k.lease_until <= clock_timestamp()))
    RETURNING k.id;
END
$$;

-- Deletes in the order of expiry. What another gateway is sweeping, or somebody is just claiming, is left to them.
CREATE FUNCTION semel.sweep_1(count_max bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
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

-- The settings of all of them: names mean what they meant here, and rows are looked up one by one, in the order given.
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'semel'::regnamespace LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
         SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off', f);
  END LOOP;
END
$$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA semel FROM PUBLIC;
INSERT INTO semel.schema_version (version) VALUES (1);
)sql";

}  // namespace semel::store::postgres
