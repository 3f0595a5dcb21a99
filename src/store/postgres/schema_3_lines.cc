// Version 3 of the schema: the order of the events of an object, and what every change of a delivery brings along.
//
// The rules are those of store/inbox_book.h. Who changes a delivery of an object holds the lock of its bucket: then
// every statement sees all that was done to the line before.
#include <string_view>

#include "store/postgres/schema_3.h"

namespace semel::store::postgres {

const std::string_view lines_3 = R"sql(
-- The number of the lock under which the line of an object is changed. Two lines may share one.
CREATE FUNCTION semel.inbox_bucket_3(the_dest text, the_object bytea) RETURNS integer
LANGUAGE sql IMMUTABLE
AS $$ SELECT (hashtext(the_dest) & 16383) # (get_byte(the_object, 0) * 64 + (get_byte(the_object, 1) & 63)) $$;

CREATE FUNCTION semel.inbox_lock_3(ids bytea[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(730945530, b.bucket)
     FROM (SELECT DISTINCT semel.inbox_bucket_3(d.dest, e.object) AS bucket
             FROM unnest(ids) AS i(id) JOIN semel.inbox_events e ON e.id = i.id
             JOIN semel.inbox_deliveries d ON d.id = e.id
            WHERE e.kind <> 0 ORDER BY 1) AS b;
END
$$;

CREATE FUNCTION semel.inbox_overtaken_3(the_dest text, the_object bytea, the_stamp bytea, t bigint) RETURNS boolean
LANGUAGE sql VOLATILE
AS $$
  SELECT EXISTS (SELECT FROM semel.inbox_newest n
                  WHERE n.dest = the_dest AND n.object = the_object AND n.until > t AND the_stamp < n.stamp)
$$;

CREATE FUNCTION semel.inbox_busy_3(the_dest text, the_object bytea) RETURNS boolean
LANGUAGE sql VOLATILE
AS $$
  SELECT EXISTS (SELECT FROM semel.inbox_lines l WHERE l.dest = the_dest AND l.object = the_object AND l.runs)
$$;

CREATE FUNCTION semel.inbox_first_3(the_dest text, the_object bytea) RETURNS bytea
LANGUAGE sql VOLATILE
AS $$
  SELECT l.id FROM semel.inbox_lines l WHERE l.dest = the_dest AND l.object = the_object
   ORDER BY l.dest, l.object, l.sort, l.id LIMIT 1
$$;

-- The state of a new delivery of an object: 2 running, 1 waiting for its time, -1 waiting for its turn, 5 superseded.
CREATE FUNCTION semel.inbox_place_3(e semel.inbox_events, the_dest text, the_place bigint, room boolean, t bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  turn boolean;
BEGIN
  IF e.kind = 1 AND semel.inbox_overtaken_3(the_dest, e.object, e.stamp, t) THEN RETURN 5; END IF;
  turn := NOT semel.inbox_busy_3(the_dest, e.object);
  INSERT INTO semel.inbox_lines (dest, object, sort, id, place, runs)
  VALUES (the_dest, e.object, e.sort, e.id, the_place, false);
  turn := turn AND semel.inbox_first_3(the_dest, e.object) = e.id;
  IF NOT turn THEN RETURN -1; END IF;
  IF NOT room OR e.reorder_ms > 0 THEN RETURN 1; END IF;
  UPDATE semel.inbox_lines l SET runs = true
   WHERE l.dest = the_dest AND l.object = e.object AND l.sort = e.sort AND l.id = e.id;
  RETURN 2;
END
$$;

-- The first of a line that nobody runs becomes due.
CREATE FUNCTION semel.inbox_wake_3(the_dest text, the_object bytea, t bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  first bytea := semel.inbox_first_3(the_dest, the_object);
  d semel.inbox_deliveries;
BEGIN
  IF first IS NULL OR semel.inbox_busy_3(the_dest, the_object) THEN RETURN; END IF;
  UPDATE semel.inbox_deliveries w
     SET in_line = false, due = greatest(t, w.since + (SELECT e.reorder_ms FROM semel.inbox_events e WHERE e.id = first))
   WHERE w.id = first AND w.dest = the_dest AND w.state = 1 AND w.in_line
  RETURNING * INTO d;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO semel.inbox_due (dest, urgency, at, id, place) VALUES (d.dest, d.urgency, d.due, d.id, d.place)
  ON CONFLICT DO NOTHING;
END
$$;

-- A delivery was one thing, and has become another: queues, figures, retention and its line follow.
CREATE FUNCTION semel.inbox_moved_3(
  e semel.inbox_events, was semel.inbox_deliveries, became semel.inbox_deliveries, t bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  stood boolean;
  stands boolean;
BEGIN
  IF was.state = 1 AND NOT was.in_line THEN
    DELETE FROM semel.inbox_due w
     WHERE w.dest = was.dest AND w.urgency = was.urgency AND w.at = was.due AND w.id = was.id;
  END IF;
  IF was.state = 2 AND was.taken THEN
    DELETE FROM semel.inbox_taken x WHERE x.holder = was.holder AND x.id = was.id AND x.place = was.place;
  END IF;
  IF became.state = 1 AND NOT became.in_line THEN
    INSERT INTO semel.inbox_due (dest, urgency, at, id, place)
    VALUES (became.dest, became.urgency, became.due, became.id, became.place)
    ON CONFLICT DO NOTHING;
  END IF;
  IF was.state <> became.state THEN
    PERFORM semel.inbox_count_3(e.source, was.dest, was.state, became.state);
    PERFORM semel.inbox_plan_drop_3(ARRAY[e.id]);
  END IF;
  IF e.kind = 0 THEN RETURN; END IF;
  stood := was.state IN (1, 2, 8) OR (was.state = 4 AND e.blocks);
  stands := became.state IN (1, 2, 8) OR (became.state = 4 AND e.blocks);
  IF NOT stands THEN
    DELETE FROM semel.inbox_lines l
     WHERE l.dest = was.dest AND l.object = e.object AND l.sort = e.sort AND l.id = e.id;
  ELSIF NOT stood THEN
    INSERT INTO semel.inbox_lines (dest, object, sort, id, place, runs)
    VALUES (was.dest, e.object, e.sort, e.id, was.place, became.state = 2) ON CONFLICT DO NOTHING;
  ELSIF (was.state = 2) <> (became.state = 2) THEN
    UPDATE semel.inbox_lines l SET runs = (became.state = 2)
     WHERE l.dest = was.dest AND l.object = e.object AND l.sort = e.sort AND l.id = e.id;
  END IF;
  IF e.kind = 1 AND became.state = 3 AND was.state <> 3
     AND NOT semel.inbox_overtaken_3(was.dest, e.object, e.stamp, t) THEN
    INSERT INTO semel.inbox_newest AS n (dest, object, stamp, until)
    VALUES (was.dest, e.object, e.stamp, e.expires_at)
    ON CONFLICT ON CONSTRAINT inbox_newest_pkey DO UPDATE SET stamp = excluded.stamp, until = excluded.until;
  END IF;
  IF became.state <> 2 AND (was.state = 2 OR became.state NOT IN (1, 8)) THEN
    PERFORM semel.inbox_wake_3(was.dest, e.object, t);
  END IF;
END
$$;

-- Of these events, those whose deliveries have all ended are dropped when the last has been kept long enough.
CREATE FUNCTION semel.inbox_plan_drop_3(ids bytea[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  INSERT INTO semel.inbox_drops (at, id)
  SELECT max(d.drop_at), d.id
    FROM unnest(ids) AS i(id) JOIN semel.inbox_deliveries d ON d.id = i.id
   GROUP BY d.id
  HAVING bool_and(d.state NOT IN (1, 2, 8))
  ON CONFLICT DO NOTHING;
END
$$;
)sql";

}  // namespace semel::store::postgres
