// Version 3 of the schema: how deliveries that are due are taken, and how attempts end.
#include <string_view>

#include "store/postgres/schema_3.h"

namespace semel::store::postgres {

// A take does not wait for anybody: what another transaction holds is left for the next one. It is asked for again
// under the number of its turn: what that turn took is answered again, and nothing else is taken. The last row has no
// id: `status` 1 says that this holder is dead, `due` how long until the next is due, if one waits.
const std::string_view turns_3 = R"sql(
CREATE FUNCTION semel.take_3(
  believed text, patience_ms integer, me bigint, the_turn bigint, the_dest text, count_max bigint, replays_max bigint,
  retain_ms bigint)
RETURNS SETOF semel.inbox_row_3
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  alive boolean := semel.inbox_enter_3(believed, patience_ms, me);
  t bigint := semel.inbox_now_3();
  chosen bytea[];
  again boolean;
  wanted bigint;
  looked bigint;
  u smallint;
  w record;
  e semel.inbox_events;
  was semel.inbox_deliveries;
  became semel.inbox_deliveries;
  last semel.inbox_row_3;
BEGIN
  IF NOT alive THEN
    last.status := 1;
    RETURN NEXT last;
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(730945532, (me - 2147483648)::integer);
  SELECT coalesce(array_agg(x.id ORDER BY x.id), '{}') INTO chosen
    FROM semel.inbox_taken x WHERE x.holder = me AND x.turn = the_turn;
  again := cardinality(chosen) > 0;
  FOR u IN 0..2 LOOP
    EXIT WHEN again;
    LOOP
      wanted := count_max - cardinality(chosen);
      IF u = 2 THEN wanted := least(wanted, replays_max); END IF;
      looked := 0;
      FOR w IN
        SELECT q.at, q.id, q.place FROM semel.inbox_due q
         WHERE q.dest = the_dest AND q.urgency = u AND q.at <= t
         ORDER BY q.dest, q.urgency, q.at, q.id LIMIT wanted FOR UPDATE SKIP LOCKED
      LOOP
        SELECT * INTO was FROM semel.inbox_deliveries d WHERE d.id = w.id AND d.place = w.place FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN CONTINUE; END IF;
        IF was.state <> 1 OR was.in_line OR was.due <> w.at OR was.urgency <> u THEN
          DELETE FROM semel.inbox_due q WHERE q.dest = the_dest AND q.urgency = u AND q.at = w.at AND q.id = w.id;
          looked := looked + 1;
          CONTINUE;
        END IF;
        SELECT * INTO e FROM semel.inbox_events a WHERE a.id = w.id;
        became := was;
        became.changed := t;
        IF e.kind = 0 THEN
          became.state := 2;
        ELSE
          CONTINUE WHEN NOT pg_try_advisory_xact_lock(730945530, semel.inbox_bucket_3(the_dest, e.object));
          IF e.kind = 1 AND u <> 2 AND semel.inbox_overtaken_3(the_dest, e.object, e.stamp, t) THEN
            became.state := 5;
            became.drop_at := t + retain_ms;
          ELSIF semel.inbox_busy_3(the_dest, e.object)
                OR (e.kind = 2 AND semel.inbox_first_3(the_dest, e.object) <> e.id) THEN
            became.in_line := true;
          ELSE
            became.state := 2;
          END IF;
        END IF;
        looked := looked + 1;
        IF became.state = 2 THEN
          became.attempt := was.attempt + 1;
          became.taken := true;
          became.holder := me;
          INSERT INTO semel.inbox_taken (holder, turn, id, place) VALUES (me, the_turn, w.id, w.place);
          chosen := chosen || w.id;
        END IF;
        UPDATE semel.inbox_deliveries d
           SET state = became.state, in_line = became.in_line, attempt = became.attempt, taken = became.taken,
               holder = became.holder, changed = became.changed, drop_at = became.drop_at
         WHERE d.id = w.id AND d.place = w.place;
        PERFORM semel.inbox_moved_3(e, was, became, t);
      END LOOP;
      IF u = 2 THEN replays_max := replays_max - looked; END IF;
      EXIT WHEN looked = 0 OR wanted <= 0;
    END LOOP;
  END LOOP;
  RETURN QUERY SELECT * FROM semel.inbox_rows_3(chosen, the_dest);
  last.status := 0;
  SELECT min(f.at) - t INTO last.due
    FROM (VALUES (0), (1), (2)) AS v(urgency)
    CROSS JOIN LATERAL (SELECT q.at FROM semel.inbox_due q WHERE q.dest = the_dest AND q.urgency = v.urgency
                         ORDER BY q.dest, q.urgency, q.at, q.id LIMIT 1) AS f;
  -- What is due and was left is held by others, or there was no room for it.
  IF cardinality(chosen) = 0 THEN last.due := greatest(last.due, 100); END IF;
  RETURN NEXT last;
END
$$;
)sql";

// Each row: its number, and a verdict: 0 ended, now or before · 1 no such event · 2 no such destination · 3 another
// attempt has begun · 4 this attempt has ended in another way.
const std::string_view settle_3 = R"sql(
CREATE FUNCTION semel.settle_3(
  believed text, patience_ms integer, ids bytea[], dests text[], attempts bigint[], states bigint[], waits_ms bigint[],
  statuses bigint[], whys bytea[], tried bigint[], retains_ms bigint[], fences bigint[], owners bigint[],
  responses bytea[])
RETURNS TABLE (n bigint, verdict bigint)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint;
  ended bigint[];
  r record;
  e semel.inbox_events;
  was semel.inbox_deliveries;
  became semel.inbox_deliveries;
BEGIN
  PERFORM semel.inbox_lock_3(ids);
  -- The last of several deliveries must see the ends of the others.
  PERFORM FROM semel.inbox_events e WHERE e.id = ANY (ids) AND e.width > 1 ORDER BY e.id FOR UPDATE;
  t := semel.inbox_now_3();
  WITH i AS MATERIALIZED (
    SELECT * FROM unnest(ids, dests, attempts, states, waits_ms, statuses, whys, tried, retains_ms)
      WITH ORDINALITY AS i(id, dest, attempt, state, wait, status, why, tried, retain, n)),
  moved AS (
    UPDATE semel.inbox_deliveries d
       SET state = i.state, changed = t, status = i.status, why = i.why, tries = d.tries + i.tried,
           urgency = CASE WHEN i.state = 1 AND d.urgency <> 2 THEN 1 ELSE d.urgency END,
           due = CASE WHEN i.state = 1 THEN t + i.wait ELSE d.due END,
           drop_at = CASE WHEN i.state IN (1, 2, 8) THEN 0 ELSE t + i.retain END
      FROM i JOIN semel.inbox_events e ON e.id = i.id
     WHERE d.id = i.id AND d.dest = i.dest AND d.state = 2 AND d.attempt = i.attempt AND e.kind = 0
    RETURNING i.n, d.id, d.place, d.dest, d.state, d.taken, d.holder, d.urgency, d.due, e.source),
  untaken AS (
    DELETE FROM semel.inbox_taken x USING moved m
     WHERE m.taken AND x.holder = m.holder AND x.id = m.id AND x.place = m.place),
  later AS (
    INSERT INTO semel.inbox_due (dest, urgency, at, id, place)
    SELECT m.dest, m.urgency, m.due, m.id, m.place FROM moved m WHERE m.state = 1 ON CONFLICT DO NOTHING),
  counted AS (
    INSERT INTO semel.inbox_counts (source, dest, waiting, running, done, dead, superseded, skipped, discarded, unknown)
    SELECT m.source, m.dest, count(*) FILTER (WHERE m.state = 1), -count(*), count(*) FILTER (WHERE m.state = 3),
           count(*) FILTER (WHERE m.state = 4), count(*) FILTER (WHERE m.state = 5),
           count(*) FILTER (WHERE m.state = 6), count(*) FILTER (WHERE m.state = 7),
           count(*) FILTER (WHERE m.state = 8)
      FROM moved m GROUP BY m.source, m.dest)
  SELECT coalesce(array_agg(m.n), '{}') INTO ended FROM moved m;
  IF cardinality(ended) > 0 THEN
    PERFORM semel.inbox_plan_drop_3((SELECT array_agg(DISTINCT i.id)
                                       FROM unnest(ids, states) WITH ORDINALITY AS i(id, state, n)
                                      WHERE i.n = ANY (ended) AND i.state NOT IN (1, 2, 8)));
  END IF;

  IF cardinality(ended) < cardinality(ids) THEN
    FOR r IN
      SELECT * FROM unnest(ids, dests, attempts, states, waits_ms, statuses, whys, tried, retains_ms)
        WITH ORDINALITY AS i(id, dest, attempt, state, wait, status, why, tried, retain, n)
       WHERE NOT i.n = ANY (ended)
    LOOP
      n := r.n;
      SELECT * INTO e FROM semel.inbox_events a WHERE a.id = r.id;
      IF NOT FOUND THEN verdict := 1; RETURN NEXT; CONTINUE; END IF;
      SELECT * INTO was FROM semel.inbox_deliveries d WHERE d.id = r.id AND d.dest = r.dest FOR UPDATE;
      IF NOT FOUND THEN verdict := 2; RETURN NEXT; CONTINUE; END IF;
      IF was.attempt <> r.attempt THEN verdict := 3; RETURN NEXT; CONTINUE; END IF;
      IF was.state = r.state THEN  -- written again, so that it is as durable as it was then
        UPDATE semel.inbox_deliveries d SET changed = d.changed WHERE d.id = was.id AND d.place = was.place;
        verdict := 0; RETURN NEXT; CONTINUE;
      END IF;
      IF was.state <> 2 THEN verdict := 4; RETURN NEXT; CONTINUE; END IF;
      UPDATE semel.inbox_deliveries d
         SET state = r.state, changed = t, status = r.status, why = r.why, tries = d.tries + r.tried,
             urgency = CASE WHEN r.state = 1 AND d.urgency <> 2 THEN 1 ELSE d.urgency END,
             due = CASE WHEN r.state = 1 THEN t + r.wait ELSE d.due END,
             drop_at = CASE WHEN r.state IN (1, 2, 8) THEN 0 ELSE t + r.retain END
       WHERE d.id = was.id AND d.place = was.place RETURNING * INTO became;
      PERFORM semel.inbox_moved_3(e, was, became, t);
      ended := ended || r.n;
    END LOOP;
  END IF;

  -- What duplicates are told from now on. A key that has expired meanwhile may belong to another event.
  UPDATE semel.keys k SET response = i.response
    FROM unnest(ids, fences, owners, responses) WITH ORDINALITY AS i(id, fence, owner, response, n)
    JOIN semel.inbox_events e ON e.id = i.id
   WHERE i.response IS NOT NULL AND i.n = ANY (ended) AND k.id = e.key AND k.state = 'done' AND k.fence = i.fence
     AND k.owner = i.owner AND floor(extract(epoch FROM k.expires_at) * 1000) = e.expires_at;
  RETURN QUERY SELECT i.n, 0::bigint FROM unnest(ended) AS i(n);
END
$$;

-- The key of an event, as a claim answers it: for an answer that is made for the record. No row: it is another's.
CREATE FUNCTION semel.event_key_3(believed text, patience_ms integer, event bytea)
RETURNS TABLE (
  id bytea, mine boolean, space text, scope bytea, state semel.key_state, fence bigint, owner bigint,
  fingerprint bytea, claimed_at timestamptz, lease_until timestamptz, expires_at timestamptz, response bytea,
  at timestamptz)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
BEGIN
  RETURN QUERY
    SELECT k.id, false, k.space, k.scope, k.state, k.fence, k.owner, k.fingerprint, k.claimed_at, k.lease_until,
           k.expires_at, k.response, date_trunc('milliseconds', clock_timestamp())
      FROM semel.inbox_events e JOIN semel.keys k ON k.id = e.key
     WHERE e.id = event AND k.state = 'done' AND floor(extract(epoch FROM k.expires_at) * 1000) = e.expires_at;
END
$$;

CREATE FUNCTION semel.load_3(believed text, patience_ms integer, event bytea) RETURNS TABLE (parcel bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
BEGIN
  RETURN QUERY SELECT p.parcel FROM semel.inbox_parcels p WHERE p.id = event;
END
$$;
)sql";

}  // namespace semel::store::postgres
