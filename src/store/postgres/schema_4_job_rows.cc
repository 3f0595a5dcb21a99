// Version 4 of the schema: calls of version 3 that now know of jobs. Each leaves the work to its former self.
#include <string_view>

#include "store/postgres/schema_4.h"

namespace semel::store::postgres {

const std::string_view job_rows_4 = R"sql(
CREATE TYPE semel.inbox_row_4 AS (
  id bytea, key bytea, source text, type bytea, kind bigint, object bytea, stamp bytea, reorder_ms bigint,
  blocks boolean, expires_at bigint, drop_at bigint, bytes bigint, place bigint, dest text, state bigint,
  urgency bigint, in_line boolean, taken boolean, attempt bigint, tries bigint, status bigint, due bigint,
  since bigint, changed bigint, why bytea, hit boolean, job bigint);

-- How long until the next is due that no operator has sent again.
CREATE FUNCTION semel.inbox_next_4(the_dest text) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
  SELECT greatest(min(f.at) - semel.inbox_now_3(), 100)
    FROM (VALUES (0), (1)) AS v(urgency)
    CROSS JOIN LATERAL (SELECT q.at FROM semel.inbox_due q WHERE q.dest = the_dest AND q.urgency = v.urgency
                         ORDER BY q.dest, q.urgency, q.at, q.id LIMIT 1) AS f
  HAVING count(*) > 0
$$;

-- Without room for what operators have sent again, nobody is told to come back for that.
CREATE FUNCTION semel.take_4(
  believed text, patience_ms integer, me bigint, the_turn bigint, the_dest text, count_max bigint, replays_max bigint,
  retain_ms bigint)
RETURNS SETOF semel.inbox_row_4
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY
    SELECT r.id, r.key, r.source, r.type, r.kind, r.object, r.stamp, r.reorder_ms, r.blocks, r.expires_at, r.drop_at,
           r.bytes, r.place, r.dest, r.state, r.urgency, r.in_line, r.taken, r.attempt, r.tries, r.status,
           CASE WHEN r.id IS NULL AND replays_max <= 0 THEN semel.inbox_next_4(the_dest) ELSE r.due END, r.since,
           r.changed, r.why, r.hit, d.job
      FROM semel.take_3(believed, patience_ms, me, the_turn, the_dest, count_max, replays_max, retain_ms)
        WITH ORDINALITY AS r
      LEFT JOIN semel.inbox_deliveries d ON d.id = r.id AND d.place = r.place
     ORDER BY r.ordinality;
END
$$;

CREATE FUNCTION semel.find_event_4(believed text, patience_ms integer, event bytea) RETURNS SETOF semel.inbox_row_4
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY
    SELECT r.id, r.key, r.source, r.type, r.kind, r.object, r.stamp, r.reorder_ms, r.blocks, r.expires_at, r.drop_at,
           r.bytes, r.place, r.dest, r.state, r.urgency, r.in_line, r.taken, r.attempt, r.tries, r.status, r.due,
           r.since, r.changed, r.why, r.hit, d.job
      FROM semel.find_event_3(believed, patience_ms, event) WITH ORDINALITY AS r
      LEFT JOIN semel.inbox_deliveries d ON d.id = r.id AND d.place = r.place
     ORDER BY r.ordinality;
END
$$;

CREATE FUNCTION semel.list_inbox_4(
  believed text, patience_ms integer, first_id bytea, end_id bytea, the_state bigint, the_source text, the_dest text,
  the_type bytea, the_object bytea, items_max bigint, looks_max bigint, time_ms bigint)
RETURNS SETOF semel.inbox_row_4
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY
    SELECT r.id, r.key, r.source, r.type, r.kind, r.object, r.stamp, r.reorder_ms, r.blocks, r.expires_at, r.drop_at,
           r.bytes, r.place, r.dest, r.state, r.urgency, r.in_line, r.taken, r.attempt, r.tries, r.status, r.due,
           r.since, r.changed, r.why, r.hit, d.job
      FROM semel.list_inbox_3(believed, patience_ms, first_id, end_id, the_state, the_source, the_dest, the_type,
                              the_object, items_max, looks_max, time_ms) WITH ORDINALITY AS r
      LEFT JOIN semel.inbox_deliveries d ON d.id = r.id AND d.place = r.place
     ORDER BY r.ordinality;
END
$$;

-- As semel.change_3. What an operator sends again is no job's any more.
CREATE FUNCTION semel.change_4(
  believed text, patience_ms integer, event bytea, the_dest text, what bigint, reason bytea, retain_ms bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
BEGIN
  IF what = 0 THEN
    PERFORM semel.inbox_lock_3(ARRAY[event]);
    PERFORM FROM semel.inbox_events e WHERE e.id = event FOR UPDATE;
    UPDATE semel.inbox_deliveries d SET job = 0
      FROM semel.inbox_events e
     WHERE d.id = event AND d.dest = the_dest AND d.job <> 0 AND d.state <> 2 AND e.id = d.id AND e.bytes > 0;
  END IF;
  RETURN semel.change_3(believed, patience_ms, event, the_dest, what, reason, retain_ms);
END
$$;

-- As semel.beat_3. Also: no event before `new_floor` is still to be accepted by this holder. Answers how many live, and
-- how many of those come before it; 0 live: it has been declared dead.
CREATE FUNCTION semel.beat_4(
  believed text, patience_ms integer, me bigint, new_mark bytea, new_floor bytea, alive_ms bigint)
RETURNS TABLE (alive bigint, before bigint)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint := semel.inbox_now_3();
BEGIN
  INSERT INTO semel.inbox_holders AS h (holder, alive_until, mark, floor) VALUES (me, t + alive_ms, new_mark, new_floor)
  ON CONFLICT (holder) DO UPDATE SET alive_until = excluded.alive_until, mark = excluded.mark, floor = excluded.floor
   WHERE NOT h.dead;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 0::bigint, 0::bigint;
    RETURN;
  END IF;
  RETURN QUERY
    SELECT count(*), count(*) FILTER (WHERE h.holder < me)
      FROM semel.inbox_holders h WHERE NOT h.dead AND h.alive_until > t;
END
$$;
)sql";

}  // namespace semel::store::postgres
