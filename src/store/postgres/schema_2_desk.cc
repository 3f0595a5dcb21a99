// Version 2 of the schema: what an operator sees and settles.
//
// Keys that ended unknown stand in a table of their own, semel.doubts, so that a list of them costs what it shows. A
// trigger keeps it, whoever changes the key; an index by the state would cost every key its HOT update. A claim whose
// lease has run out changes nothing in the database, so it is not in that table. For those, and for what is running, a
// list walks along the index by expiry, a bounded piece at a time.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

const std::string_view desk_2 = R"sql(
CREATE TABLE semel.doubts (
  claimed_at timestamptz NOT NULL,
  id         bytea NOT NULL,
  CONSTRAINT doubts_pkey PRIMARY KEY (claimed_at, id)
);
COMMENT ON TABLE semel.doubts IS 'The keys whose state is unknown, in the order of their claims; kept by triggers';

CREATE FUNCTION semel.doubts_changed_2() RETURNS trigger
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  IF OLD.state = 'unknown' THEN
    DELETE FROM semel.doubts d WHERE d.claimed_at = OLD.claimed_at AND d.id = OLD.id;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF NEW.state = 'unknown' THEN
      INSERT INTO semel.doubts (claimed_at, id) VALUES (NEW.claimed_at, NEW.id) ON CONFLICT DO NOTHING;
    END IF;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER notes_doubts AFTER UPDATE OF state ON semel.keys
  FOR EACH ROW WHEN (OLD.state = 'unknown' OR NEW.state = 'unknown') EXECUTE FUNCTION semel.doubts_changed_2();
CREATE TRIGGER forgets_doubts AFTER DELETE ON semel.keys
  FOR EACH ROW WHEN (OLD.state = 'unknown') EXECUTE FUNCTION semel.doubts_changed_2();

-- The keys between two ids. As a claim answers, but also those that were released. One id may be that of an object: then
-- the event of it that had its turn last.
CREATE FUNCTION semel.find_2(believed text, patience_ms integer, first_id bytea, last_id bytea, count_max bigint)
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
BEGIN
  RETURN QUERY
    SELECT k.id, false, k.space, k.scope, k.state, k.fence, k.owner, k.fingerprint, k.claimed_at, k.lease_until,
           k.expires_at, k.response, date_trunc('milliseconds', clock_timestamp())
      FROM semel.keys k
     WHERE k.id >= first_id AND k.id <= last_id
     ORDER BY k.id LIMIT count_max;
  IF first_id = last_id THEN
    RETURN QUERY
      SELECT k.id, false, k.space, k.scope, k.state, k.fence, k.owner, k.fingerprint, k.claimed_at, k.lease_until,
             k.expires_at, k.response, date_trunc('milliseconds', clock_timestamp())
        FROM semel.objects o JOIN semel.keys k ON k.id = o.event
       WHERE o.id = first_id;
  END IF;
END
$$;

-- A piece of a list. A last row without an id says where to go on: stage 0 walks over semel.doubts, stage 1 along the
-- expiry; no stage: that was all.
CREATE FUNCTION semel.list_2(
  believed text, patience_ms integer, unknown_only boolean, space_only text, scope_only bytea, older_ms bigint,
  from_stage bigint, from_at timestamptz, from_id bytea, items_max bigint, looks_max bigint, time_ms bigint)
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz, next_stage bigint, next_at timestamptz, next_id bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  began timestamptz := clock_timestamp();
  t timestamptz := date_trunc('milliseconds', began);
  latest timestamptz := t - older_ms * interval '1 millisecond';
  looked bigint := 0;
  found_count bigint := 0;
  piece bigint;
  piece_at timestamptz;
  piece_id bytea;
  hits bytea[];
  r record;
BEGIN
  at := t;
  mine := false;
  IF from_stage = 0 THEN
    next_stage := 0;
    FOR r IN
      SELECT d.claimed_at AS place_at, d.id AS place_id, k.*
        FROM semel.doubts d JOIN semel.keys k ON k.id = d.id
       WHERE (d.claimed_at, d.id) > (from_at, from_id) AND d.claimed_at <= latest
       ORDER BY d.claimed_at, d.id
    LOOP
      looked := looked + 1;
      IF r.state = 'unknown' AND r.expires_at > t AND (space_only IS NULL OR r.space = space_only)
         AND (scope_only IS NULL OR r.scope = scope_only) THEN
        id := r.id; space := r.space; scope := r.scope; state := r.state; fence := r.fence; owner := r.owner;
        fingerprint := r.fingerprint; claimed_at := r.claimed_at; lease_until := r.lease_until;
        expires_at := r.expires_at;
        RETURN NEXT;
        found_count := found_count + 1;
      END IF;
      IF found_count >= items_max OR looked >= looks_max
         OR clock_timestamp() > began + time_ms * interval '1 millisecond' THEN
        id := NULL; claimed_at := r.place_at; next_at := r.place_at; next_id := r.place_id;
        RETURN NEXT;
        RETURN;
      END IF;
    END LOOP;
    from_at := '-infinity';
    from_id := '';
  END IF;
  -- A holder that goes on after its key would have expired is still running.
  from_at := greatest(from_at, CASE WHEN unknown_only THEN t ELSE t - interval '10 minutes' END);
  next_stage := 1;
  -- Some rows at a time: a loop over each of them in this language would cost several times as much, and of rows that
  -- nobody has read for long a thousand take longer than a page may.
  LOOP
    SELECT count(*), max(s.expires_at), (array_agg(s.id))[count(*)],
           array_agg(s.id) FILTER (WHERE s.state = 'running' AND (s.lease_until <= t) = unknown_only
             AND (s.expires_at > t OR NOT unknown_only) AND s.claimed_at <= latest
             AND (space_only IS NULL OR s.space = space_only) AND (scope_only IS NULL OR s.scope = scope_only))
      INTO piece, piece_at, piece_id, hits
      FROM (SELECT k.id, k.state, k.space, k.scope, k.claimed_at, k.lease_until, k.expires_at
              FROM semel.keys k
             WHERE k.expires_at >= from_at AND (k.expires_at > from_at OR k.id > from_id)
             ORDER BY k.expires_at, k.id LIMIT 250) AS s;
    FOR r IN
      SELECT k.* FROM unnest(hits) WITH ORDINALITY AS h(id, place) JOIN semel.keys k ON k.id = h.id
       WHERE k.state = 'running' ORDER BY h.place
    LOOP
      id := r.id; space := r.space; scope := r.scope; state := r.state; fence := r.fence; owner := r.owner;
      fingerprint := r.fingerprint; claimed_at := r.claimed_at; lease_until := r.lease_until;
      expires_at := r.expires_at;
      RETURN NEXT;
      found_count := found_count + 1;
      IF found_count >= items_max THEN
        id := NULL; next_at := r.expires_at; next_id := r.id;
        RETURN NEXT;
        RETURN;
      END IF;
    END LOOP;
    EXIT WHEN piece < 250;
    looked := looked + piece;
    from_at := piece_at;
    from_id := piece_id;
    IF looked >= looks_max OR clock_timestamp() > began + time_ms * interval '1 millisecond' THEN
      SELECT k.claimed_at INTO claimed_at FROM semel.keys k WHERE k.id = piece_id;
      claimed_at := coalesce(claimed_at, t);
      id := NULL; next_at := piece_at; next_id := piece_id;
      RETURN NEXT;
      RETURN;
    END IF;
  END LOOP;
  id := NULL; claimed_at := t; next_stage := NULL; next_at := NULL; next_id := NULL;
  RETURN NEXT;
END
$$;

-- An operator settles keys: 0 as done, 1 as not done, 2 opens a finished one again. Answers those that were settled, now
-- or before by the same act, which becomes the owner of the key.
CREATE FUNCTION semel.settle_2(
  believed text, patience_ms integer, ids bytea[], fences bigint[], owners bigint[], verdicts bigint[],
  responses bytea[], acts bigint[])
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
       SET state = CASE i.verdict WHEN 0 THEN 'done' ELSE 'released' END::semel.key_state,
           response = i.response, owner = i.act, doubted = k.doubted OR k.state <> 'done'
      FROM unnest(ids, fences, owners, verdicts, responses, acts) AS i(id, fence, owner, verdict, response, act)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.owner AND k.expires_at > clock_timestamp()
       AND CASE i.verdict
             WHEN 2 THEN k.state = 'done'
             ELSE k.state = 'unknown' OR (k.state = 'running' AND k.lease_until <= clock_timestamp())
           END
    RETURNING k.id, true;
  GET DIAGNOSTICS n = ROW_COUNT;
  IF n = cardinality(ids) THEN RETURN; END IF;
  RETURN QUERY
    UPDATE semel.keys k
       SET touched = k.touched + 1
      FROM unnest(ids, fences, verdicts, acts) AS i(id, fence, verdict, act)
     WHERE k.id = i.id AND k.fence = i.fence AND k.owner = i.act
       AND k.xmin IS DISTINCT FROM pg_current_xact_id_if_assigned()::xid
       AND k.state = CASE i.verdict WHEN 0 THEN 'done' ELSE 'released' END::semel.key_state
       AND k.expires_at > clock_timestamp()
    RETURNING k.id, true;
END
$$;
)sql";

}  // namespace semel::store::postgres
