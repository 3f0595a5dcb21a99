// Version 5 of the schema: what is due is looked for from where its queue begins (schema_5_begins.cc).
#include <string_view>

#include "store/postgres/schema_5.h"

namespace semel::store::postgres {

const std::string_view take_5 = R"sql(
-- When the next of a queue is due.
CREATE FUNCTION semel.inbox_next_5(the_dest text, the_urgency bigint) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
  SELECT q.at FROM semel.inbox_due q
   WHERE q.dest = the_dest AND q.urgency = the_urgency
     AND q.at >= semel.inbox_begin_5('due ' || the_dest, the_urgency)
   ORDER BY q.dest, q.urgency, q.at, q.id LIMIT 1
$$;

CREATE OR REPLACE FUNCTION semel.inbox_next_4(the_dest text) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
  SELECT greatest(min(f.at) - semel.inbox_now_3(), 100)
    FROM (VALUES (semel.inbox_next_5(the_dest, 0)), (semel.inbox_next_5(the_dest, 1))) AS f(at)
   WHERE f.at IS NOT NULL
  HAVING count(*) > 0
$$;

CREATE OR REPLACE FUNCTION semel.inbox_oldest_3(the_source text, the_dest text) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
  SELECT min(d.since)
    FROM (SELECT q.id, q.place
            FROM generate_series(0, 2) AS u(urgency),
                 LATERAL (SELECT w.id, w.place FROM semel.inbox_due w
                           WHERE w.dest = the_dest AND w.urgency = u.urgency
                             AND w.at >= semel.inbox_begin_5('due ' || the_dest, u.urgency)
                           ORDER BY w.at LIMIT 100) q
          UNION ALL
          SELECT t.id, t.place FROM semel.inbox_taken t) o
    JOIN semel.inbox_deliveries d ON d.id = o.id AND d.place = o.place
    JOIN semel.inbox_events e ON e.id = o.id
   WHERE d.dest = the_dest AND e.source = the_source
$$;

CREATE OR REPLACE FUNCTION semel.take_3(
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
  begin_at bigint;
  b semel.inbox_begins;
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
    begin_at := semel.inbox_begin_5('due ' || the_dest, u);
    LOOP
      wanted := count_max - cardinality(chosen);
      IF u = 2 THEN wanted := least(wanted, replays_max); END IF;
      looked := 0;
      FOR w IN
        SELECT q.at, q.id, q.place FROM semel.inbox_due q
         WHERE q.dest = the_dest AND q.urgency = u AND q.at BETWEEN begin_at AND t
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
  FOR u IN 0..2 LOOP
    b := semel.inbox_may_move_5('due ' || the_dest, u, t);
    CONTINUE WHEN b.queue IS NULL;
    PERFORM semel.inbox_move_5(b, (SELECT q.at FROM semel.inbox_due q
                                    WHERE q.dest = the_dest AND q.urgency = u AND q.at >= b.begins
                                    ORDER BY q.dest, q.urgency, q.at, q.id LIMIT 1), t);
  END LOOP;
  last.status := 0;
  SELECT min(semel.inbox_next_5(the_dest, v.urgency)) - t INTO last.due FROM (VALUES (0), (1), (2)) AS v(urgency);
  -- What is due and was left is held by others, or there was no room for it.
  IF cardinality(chosen) = 0 THEN last.due := greatest(last.due, 100); END IF;
  RETURN NEXT last;
END
$$;
)sql";

}  // namespace semel::store::postgres
