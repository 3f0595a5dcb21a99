// Version 3 of the schema: who lives, what a dead holder left, and whether every open delivery stands somewhere.
#include <string_view>

#include "store/postgres/schema_3.h"

namespace semel::store::postgres {

const std::string_view adopt_3 = R"sql(
-- A holder says that it lives, and that nothing before its mark runs since it was accepted. Answers how many live;
-- 0: it has been declared dead.
CREATE FUNCTION semel.beat_3(believed text, patience_ms integer, me bigint, new_mark bytea, alive_ms bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint := semel.inbox_now_3();
BEGIN
  INSERT INTO semel.inbox_holders AS h (holder, alive_until, mark) VALUES (me, t + alive_ms, new_mark)
  ON CONFLICT (holder) DO UPDATE SET alive_until = excluded.alive_until, mark = excluded.mark WHERE NOT h.dead;
  IF NOT FOUND THEN RETURN 0; END IF;
  RETURN (SELECT count(*) FROM semel.inbox_holders h WHERE NOT h.dead AND h.alive_until > t);
END
$$;

-- Lets a delivery that ran wait, or makes it unknown.
CREATE FUNCTION semel.inbox_put_back_3(
  event bytea, the_place bigint, rest_ms bigint, holding text[], reason text, t bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  e semel.inbox_events;
  was semel.inbox_deliveries;
  became semel.inbox_deliveries;
BEGIN
  SELECT * INTO e FROM semel.inbox_events a WHERE a.id = event;
  SELECT * INTO was FROM semel.inbox_deliveries d WHERE d.id = event AND d.place = the_place;
  UPDATE semel.inbox_deliveries d
     SET state = CASE WHEN d.dest = ANY (holding) THEN 8 ELSE 1 END,
         urgency = CASE WHEN d.urgency = 2 THEN 2 ELSE 1 END, due = t + rest_ms, changed = t,
         why = convert_to(reason, 'UTF8')
   WHERE d.id = event AND d.place = the_place RETURNING * INTO became;
  PERFORM semel.inbox_moved_3(e, was, became, t);
END
$$;

-- Whether this one can be changed now by somebody who does not wait for locks.
CREATE FUNCTION semel.inbox_try_3(event bytea, the_place bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  r record;
BEGIN
  SELECT a.kind, a.object, d.dest INTO r
    FROM semel.inbox_events a JOIN semel.inbox_deliveries d ON d.id = a.id WHERE a.id = event AND d.place = the_place;
  IF NOT FOUND THEN RETURN false; END IF;
  IF r.kind <> 0 AND NOT pg_try_advisory_xact_lock(730945530, semel.inbox_bucket_3(r.dest, r.object)) THEN
    RETURN false;
  END IF;
  PERFORM FROM semel.inbox_deliveries d WHERE d.id = event AND d.place = the_place FOR UPDATE SKIP LOCKED;
  RETURN FOUND;
END
$$;

-- A piece of what one dead holder left: first what it had taken, then what ran since it was accepted, from its mark on.
-- 0: nobody is dead, or all has been put back.
CREATE FUNCTION semel.adopt_3(
  believed text, patience_ms integer, me bigint, count_max bigint, rest_ms bigint, holding text[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint := semel.inbox_now_3();
  h semel.inbox_holders;
  looked bigint := 0;
  piece bigint := 0;
  upto bytea;
  r record;
BEGIN
  SELECT * INTO h FROM semel.inbox_holders o
   WHERE o.holder <> me AND (o.dead OR o.alive_until < t) ORDER BY o.holder LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN 0; END IF;
  IF NOT pg_try_advisory_xact_lock(730945531, (h.holder - 2147483648)::integer) THEN RETURN 0; END IF;
  IF NOT h.dead THEN UPDATE semel.inbox_holders o SET dead = true WHERE o.holder = h.holder; END IF;
  FOR r IN SELECT x.id, x.place FROM semel.inbox_taken x WHERE x.holder = h.holder
            ORDER BY x.holder, x.id LIMIT count_max LOOP
    looked := looked + 1;
    CONTINUE WHEN NOT semel.inbox_try_3(r.id, r.place);
    IF EXISTS (SELECT FROM semel.inbox_deliveries d
                WHERE d.id = r.id AND d.place = r.place AND d.state = 2 AND d.holder = h.holder) THEN
      PERFORM semel.inbox_put_back_3(r.id, r.place, rest_ms, holding, 'the process that ran it ended', t);
    END IF;
    DELETE FROM semel.inbox_taken x WHERE x.holder = h.holder AND x.id = r.id AND x.place = r.place;
  END LOOP;
  IF looked > 0 THEN RETURN looked; END IF;
  upto := h.mark;
  FOR r IN SELECT d.id, d.place, d.state, d.holder, d.taken FROM semel.inbox_deliveries d
            WHERE d.id >= h.mark ORDER BY d.id, d.place LIMIT count_max LOOP
    piece := piece + 1;
    upto := r.id;
    CONTINUE WHEN r.state <> 2 OR r.holder <> h.holder;
    IF NOT semel.inbox_try_3(r.id, r.place) THEN
      UPDATE semel.inbox_holders o SET mark = upto WHERE o.holder = h.holder;
      RETURN piece;
    END IF;
    IF EXISTS (SELECT FROM semel.inbox_deliveries d
                WHERE d.id = r.id AND d.place = r.place AND d.state = 2 AND d.holder = h.holder) THEN
      PERFORM semel.inbox_put_back_3(r.id, r.place, rest_ms, holding, 'the process that ran it ended', t);
    END IF;
  END LOOP;
  IF piece < count_max THEN
    DELETE FROM semel.inbox_holders o WHERE o.holder = h.holder;
    RETURN 1;  -- another may be dead, too
  END IF;
  UPDATE semel.inbox_holders o SET mark = upto WHERE o.holder = h.holder;
  RETURN piece;
END
$$;

-- Deliveries that run under this holder, though it does not know of them: they wait again, and nothing was sent.
CREATE FUNCTION semel.reclaim_3(believed text, patience_ms integer, me bigint, ids bytea[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  alive boolean := semel.inbox_enter_3(believed, patience_ms, me);
  t bigint := semel.inbox_now_3();
  found_count bigint := 0;
  r record;
BEGIN
  FOR r IN SELECT d.id, d.place FROM unnest(ids) AS i(id) JOIN semel.inbox_deliveries d ON d.id = i.id
            WHERE d.state = 2 AND d.holder = me LOOP
    CONTINUE WHEN NOT semel.inbox_try_3(r.id, r.place);
    CONTINUE WHEN NOT EXISTS (SELECT FROM semel.inbox_deliveries d
                               WHERE d.id = r.id AND d.place = r.place AND d.state = 2 AND d.holder = me);
    PERFORM semel.inbox_put_back_3(r.id, r.place, 0, '{}', 'the answer of the store was lost', t);
    found_count := found_count + 1;
  END LOOP;
  RETURN found_count;
END
$$;
)sql";

// A piece of all deliveries, in the order of their events. Each that has not ended must stand where its state says. One
// that waits and stands nowhere becomes due; one that runs under a holder that is gone waits for a lease. Answers the
// strays, with `status` 1. Those that have been running under this holder for a while, by `status` 0: it must know of
// them. The last row has no place: where to go on, no id if that was all.
const std::string_view inbox_audit_3 = R"sql(
CREATE FUNCTION semel.audit_inbox_3(
  believed text, patience_ms integer, me bigint, behind bytea, count_max bigint, rest_ms bigint, old_ms bigint)
RETURNS SETOF semel.inbox_row_3
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint := semel.inbox_now_3();
  piece bigint := 0;
  r record;
  d semel.inbox_deliveries;
  found semel.inbox_row_3;
  last semel.inbox_row_3;
BEGIN
  FOR r IN
    SELECT s.id, s.place, s.dest, s.state, s.holder, s.changed, e.source, e.object,
           CASE WHEN s.state = 1 AND NOT s.in_line
                THEN NOT EXISTS (SELECT FROM semel.inbox_due q WHERE q.dest = s.dest AND q.urgency = s.urgency
                                                                 AND q.at = s.due AND q.id = s.id)
                WHEN s.state = 1
                THEN NOT EXISTS (SELECT FROM semel.inbox_lines l WHERE l.dest = s.dest AND l.object = e.object
                                                                   AND l.sort = e.sort AND l.id = s.id)
                     OR (semel.inbox_first_3(s.dest, e.object) = s.id AND NOT semel.inbox_busy_3(s.dest, e.object))
                WHEN s.state = 2
                THEN NOT EXISTS (SELECT FROM semel.inbox_holders h WHERE h.holder = s.holder)
                     OR (s.taken AND NOT EXISTS (SELECT FROM semel.inbox_taken x WHERE x.holder = s.holder
                                                                                   AND x.id = s.id
                                                                                   AND x.place = s.place))
           END AS stray
      FROM (SELECT * FROM semel.inbox_deliveries a WHERE a.id > behind ORDER BY a.id, a.place LIMIT count_max) AS s
      JOIN semel.inbox_events e ON e.id = s.id
     ORDER BY s.id, s.place
  LOOP
    piece := piece + 1;
    last.id := r.id;
    found.id := r.id; found.place := r.place; found.dest := r.dest; found.source := r.source;
    IF r.state = 2 AND r.holder = me AND r.changed < t - old_ms THEN
      found.status := 0;
      RETURN NEXT found;
    END IF;
    -- What moved while it was looked at is not stray: it is the same, and nobody holds it.
    CONTINUE WHEN r.stray IS NOT true OR NOT semel.inbox_try_3(r.id, r.place);
    SELECT * INTO d FROM semel.inbox_deliveries a WHERE a.id = r.id AND a.place = r.place;
    CONTINUE WHEN d.state <> r.state OR d.changed <> r.changed;
    IF d.state = 2 THEN
      CONTINUE WHEN EXISTS (SELECT FROM semel.inbox_holders h WHERE h.holder = d.holder) AND NOT (
        d.taken AND NOT EXISTS (SELECT FROM semel.inbox_taken x
                                 WHERE x.holder = d.holder AND x.id = d.id AND x.place = d.place));
    ELSIF NOT d.in_line THEN
      CONTINUE WHEN EXISTS (SELECT FROM semel.inbox_due q WHERE q.dest = d.dest AND q.urgency = d.urgency
                                                            AND q.at = d.due AND q.id = d.id);
    ELSE
      CONTINUE WHEN semel.inbox_busy_3(d.dest, r.object)
                    OR semel.inbox_first_3(d.dest, r.object) IS DISTINCT FROM d.id
                   AND EXISTS (SELECT FROM semel.inbox_lines l
                                WHERE l.dest = d.dest AND l.object = r.object AND l.id = d.id);
    END IF;
    found.status := 1;
    RETURN NEXT found;
    IF d.state = 1 THEN
      UPDATE semel.inbox_deliveries a SET in_line = false, due = t, changed = t
       WHERE a.id = d.id AND a.place = d.place;
      INSERT INTO semel.inbox_due (dest, urgency, at, id, place) VALUES (d.dest, d.urgency, t, d.id, d.place)
      ON CONFLICT DO NOTHING;
    ELSIF NOT EXISTS (SELECT FROM semel.inbox_holders h WHERE h.holder = d.holder) THEN
      PERFORM semel.inbox_put_back_3(d.id, d.place, rest_ms, '{}', 'the process that ran it ended', t);
    END IF;
  END LOOP;
  IF piece < count_max THEN last.id := NULL; END IF;
  RETURN NEXT last;
END
$$;
)sql";

}  // namespace semel::store::postgres
