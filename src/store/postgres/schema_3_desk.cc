// Version 3 of the schema: the operator's view of the inbox, and what is dropped.
#include <string_view>

#include "store/postgres/schema_3.h"

namespace semel::store::postgres {

const std::string_view inbox_desk_3 = R"sql(
CREATE FUNCTION semel.find_event_3(believed text, patience_ms integer, event bytea) RETURNS SETOF semel.inbox_row_3
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
BEGIN
  RETURN QUERY SELECT * FROM semel.inbox_rows_3(ARRAY[event], NULL);
END
$$;

-- A piece of a list, in the order of the events. Where it goes on is in a last row without a place.
CREATE FUNCTION semel.list_inbox_3(
  believed text, patience_ms integer, first_id bytea, end_id bytea, the_state bigint, the_source text, the_dest text,
  the_type bytea, the_object bytea, items_max bigint, looks_max bigint, time_ms bigint)
RETURNS SETOF semel.inbox_row_3
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  until timestamptz := clock_timestamp() + time_ms * interval '1 millisecond';
  looked bigint := 0;
  items bigint := 0;
  hits bigint;
  r record;
  row semel.inbox_row_3;
  last semel.inbox_row_3;
BEGIN
  FOR r IN
    SELECT e.id, e.source, e.type, e.object FROM semel.inbox_events e
     WHERE e.id >= first_id AND e.id < end_id ORDER BY e.id
  LOOP
    IF items >= items_max OR looked >= looks_max OR (looked > 0 AND clock_timestamp() > until) THEN
      last.id := r.id;
      RETURN NEXT last;
      RETURN;
    END IF;
    looked := looked + 1;
    CONTINUE WHEN (the_source IS NOT NULL AND r.source <> the_source) OR (the_type IS NOT NULL AND r.type <> the_type)
                  OR (the_object IS NOT NULL AND r.object <> the_object);
    SELECT count(*) INTO hits FROM semel.inbox_deliveries d
     WHERE d.id = r.id AND (the_state IS NULL OR d.state = the_state) AND (the_dest IS NULL OR d.dest = the_dest);
    CONTINUE WHEN hits = 0;
    items := items + hits;
    FOR row IN SELECT * FROM semel.inbox_rows_3(ARRAY[r.id], NULL) LOOP
      row.hit := (the_state IS NULL OR row.state = the_state) AND (the_dest IS NULL OR row.dest = the_dest);
      RETURN NEXT row;
    END LOOP;
  END LOOP;
  RETURN NEXT last;
END
$$;

-- What an operator does to one delivery: 0 sends it again, 1 discards it, 2 says that it took effect. A verdict:
-- 0 done · 1 no such event · 2 no such destination · 3 its body is gone · 10 and its state: not in that state.
CREATE FUNCTION semel.change_3(
  believed text, patience_ms integer, event bytea, the_dest text, what bigint, reason bytea, retain_ms bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint;
  e semel.inbox_events;
  was semel.inbox_deliveries;
  became semel.inbox_deliveries;
BEGIN
  PERFORM semel.inbox_lock_3(ARRAY[event]);
  SELECT * INTO e FROM semel.inbox_events a WHERE a.id = event FOR UPDATE;
  IF NOT FOUND THEN RETURN 1; END IF;
  SELECT * INTO was FROM semel.inbox_deliveries d WHERE d.id = event AND d.dest = the_dest FOR UPDATE;
  IF NOT FOUND THEN RETURN 2; END IF;
  t := semel.inbox_now_3();
  IF (what = 0 AND was.state = 2) OR (what = 1 AND was.state NOT IN (1, 4, 8)) OR (what = 2 AND was.state <> 8) THEN
    RETURN 10 + was.state;
  END IF;
  IF what = 0 AND e.bytes = 0 THEN RETURN 3; END IF;
  became := was;
  became.changed := t;
  became.why := reason;
  became.in_line := false;
  IF what = 0 THEN
    became.state := 1; became.urgency := 2; became.due := t; became.since := t; became.tries := 0; became.drop_at := 0;
  ELSE
    became.state := CASE what WHEN 1 THEN 7 ELSE 3 END;
    became.drop_at := t + retain_ms;
  END IF;
  UPDATE semel.inbox_deliveries d
     SET state = became.state, urgency = became.urgency, due = became.due, since = became.since, tries = became.tries,
         changed = t, why = reason, in_line = false, drop_at = became.drop_at
   WHERE d.id = event AND d.place = was.place;
  PERFORM semel.inbox_moved_3(e, was, became, t);
  RETURN 0;
END
$$;

-- Drops the body; 0 done · 1 there is none · 2 one of its deliveries runs.
CREATE FUNCTION semel.erase_3(believed text, patience_ms integer, event bytea, reason bytea) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint;
  e semel.inbox_events;
  was semel.inbox_deliveries;
  became semel.inbox_deliveries;
BEGIN
  PERFORM semel.inbox_lock_3(ARRAY[event]);
  SELECT * INTO e FROM semel.inbox_events a WHERE a.id = event FOR UPDATE;
  IF NOT FOUND OR e.bytes = 0 THEN RETURN 1; END IF;
  PERFORM FROM semel.inbox_deliveries d WHERE d.id = event ORDER BY d.place FOR UPDATE;
  IF EXISTS (SELECT FROM semel.inbox_deliveries d WHERE d.id = event AND d.state = 2) THEN RETURN 2; END IF;
  t := semel.inbox_now_3();
  UPDATE semel.inbox_deliveries d SET drop_at = greatest(e.expires_at, t) WHERE d.id = event;
  FOR was IN SELECT * FROM semel.inbox_deliveries d WHERE d.id = event AND d.state IN (1, 8) LOOP
    UPDATE semel.inbox_deliveries d SET state = 7, in_line = false, changed = t, why = reason
     WHERE d.id = event AND d.place = was.place RETURNING * INTO became;
    PERFORM semel.inbox_moved_3(e, was, became, t);
  END LOOP;
  PERFORM semel.inbox_drop_body_3(e);
  PERFORM semel.inbox_plan_drop_3(ARRAY[event]);
  RETURN 0;
END
$$;

CREATE FUNCTION semel.control_3(
  believed text, patience_ms integer, the_dest text, pauses boolean, until_ms bigint, the_reason bytea)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
BEGIN
  INSERT INTO semel.inbox_controls (dest, paused, until, reason) VALUES (the_dest, pauses, until_ms, the_reason)
  ON CONFLICT (dest) DO UPDATE SET paused = excluded.paused, until = excluded.until, reason = excluded.reason;
  RETURN 0;
END
$$;

CREATE FUNCTION semel.controls_3(believed text, patience_ms integer)
RETURNS TABLE (dest text, paused boolean, until bigint, reason bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
BEGIN
  RETURN QUERY SELECT c.dest, c.paused, c.until, c.reason FROM semel.inbox_controls c ORDER BY c.dest;
END
$$;

-- When the oldest was accepted that had to wait: of those that are due first, and of those that are tried again just now.
-- There may be an older one that is due later; nothing counts rows.
CREATE FUNCTION semel.inbox_oldest_3(the_source text, the_dest text) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
  SELECT min(d.since)
    FROM (SELECT q.id, q.place
            FROM generate_series(0, 2) AS u(urgency),
                 LATERAL (SELECT w.id, w.place FROM semel.inbox_due w
                           WHERE w.dest = the_dest AND w.urgency = u.urgency ORDER BY w.at LIMIT 100) q
          UNION ALL
          SELECT t.id, t.place FROM semel.inbox_taken t) o
    JOIN semel.inbox_deliveries d ON d.id = o.id AND d.place = o.place
    JOIN semel.inbox_events e ON e.id = o.id
   WHERE d.dest = the_dest AND e.source = the_source
$$;

CREATE FUNCTION semel.status_3(believed text, patience_ms integer)
RETURNS TABLE (source text, dest text, accepted bigint, waiting bigint, running bigint, done bigint, dead bigint,
               superseded bigint, skipped bigint, discarded bigint, unknown bigint, bytes bigint, oldest bigint)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
BEGIN
  RETURN QUERY
    SELECT c.source, c.dest, sum(c.accepted)::bigint, sum(c.waiting)::bigint, sum(c.running)::bigint,
           sum(c.done)::bigint, sum(c.dead)::bigint, sum(c.superseded)::bigint, sum(c.skipped)::bigint,
           sum(c.discarded)::bigint, sum(c.unknown)::bigint, sum(c.bytes)::bigint,
           CASE WHEN sum(c.waiting) + sum(c.running) > 0 THEN semel.inbox_oldest_3(c.source, c.dest) END
      FROM semel.inbox_counts c GROUP BY c.source, c.dest ORDER BY c.source, c.dest;
END
$$;
)sql";

const std::string_view inbox_sweep_3 = R"sql(
CREATE FUNCTION semel.inbox_drop_body_3(e semel.inbox_events) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  DELETE FROM semel.inbox_parcels p WHERE p.id = e.id;
  UPDATE semel.inbox_events a SET bytes = 0 WHERE a.id = e.id;
  INSERT INTO semel.inbox_counts (source, dest, bytes)
  SELECT e.source, d.dest, -e.bytes FROM semel.inbox_deliveries d WHERE d.id = e.id AND d.place = 0;
END
$$;

-- Drops bodies whose time has come, and then, when their keys have expired, the events. Folds the figures: one gateway
-- at a time, and the rows of transactions that are still under way are left for the next time.
CREATE FUNCTION semel.sweep_inbox_3(believed text, patience_ms integer, count_max bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint := semel.inbox_now_3();
  dropped bigint := 0;
  r record;
  e semel.inbox_events;
BEGIN
  FOR r IN SELECT q.at, q.id FROM semel.inbox_drops q WHERE q.at <= t
            ORDER BY q.at, q.id LIMIT count_max FOR UPDATE SKIP LOCKED LOOP
    SELECT * INTO e FROM semel.inbox_events a WHERE a.id = r.id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      CONTINUE WHEN EXISTS (SELECT FROM semel.inbox_events a WHERE a.id = r.id);
      DELETE FROM semel.inbox_drops q WHERE q.at = r.at AND q.id = r.id;
      CONTINUE;
    END IF;
    DELETE FROM semel.inbox_drops q WHERE q.at = r.at AND q.id = r.id;
    dropped := dropped + 1;
    -- It has been sent again since.
    CONTINUE WHEN EXISTS (SELECT FROM semel.inbox_deliveries d WHERE d.id = r.id AND d.state IN (1, 2, 8));
    CONTINUE WHEN e.bytes > 0 AND (SELECT max(d.drop_at) FROM semel.inbox_deliveries d WHERE d.id = r.id) > r.at;
    IF e.bytes > 0 THEN PERFORM semel.inbox_drop_body_3(e); END IF;
    IF e.expires_at <= t THEN
      DELETE FROM semel.inbox_deliveries d WHERE d.id = r.id;
      DELETE FROM semel.inbox_events a WHERE a.id = r.id;
    ELSE
      INSERT INTO semel.inbox_drops (at, id) VALUES (e.expires_at, r.id) ON CONFLICT DO NOTHING;
    END IF;
  END LOOP;
  DELETE FROM semel.inbox_newest n WHERE (n.dest, n.object) IN (
    SELECT o.dest, o.object FROM semel.inbox_newest o WHERE o.until <= t ORDER BY o.until LIMIT count_max
       FOR UPDATE SKIP LOCKED);
  IF (SELECT count(*) - count(DISTINCT (c.source, c.dest)) >= 64 FROM semel.inbox_counts c)
     AND pg_try_advisory_xact_lock(730945533, 0) THEN
    WITH gone AS (DELETE FROM semel.inbox_counts RETURNING *)
    INSERT INTO semel.inbox_counts
      (source, dest, accepted, waiting, running, done, dead, superseded, skipped, discarded, unknown, bytes)
    SELECT g.source, g.dest, sum(g.accepted), sum(g.waiting), sum(g.running), sum(g.done), sum(g.dead),
           sum(g.superseded), sum(g.skipped), sum(g.discarded), sum(g.unknown), sum(g.bytes)
      FROM gone g GROUP BY g.source, g.dest;
  END IF;
  RETURN dropped;
END
$$;
)sql";

}  // namespace semel::store::postgres
