// Version 5 of the schema: where the queues of the inbox begin.
//
// What was removed from the front of a queue lies there until the server has cleaned up, and it cannot while anybody
// holds an old snapshot. Who looks from the start steps over all of it, each time. So a row for each queue says where
// to begin. It is moved every two seconds at most, and stays twenty seconds behind: what is put into a queue is due
// then or later, so only a commit that takes longer can come before the beginning. For the sake of that one, all is
// looked at every five minutes.
#include <string_view>

#include "store/postgres/schema_5.h"

namespace semel::store::postgres {

const std::string_view begins_5 = R"sql(
CREATE TABLE semel.inbox_begins (
  begins   bigint NOT NULL,
  moved    bigint NOT NULL,
  searched bigint NOT NULL,
  urgency  smallint NOT NULL,
  queue    text NOT NULL,
  CONSTRAINT inbox_begins_pkey PRIMARY KEY (queue, urgency)
) WITH (fillfactor = 20);
COMMENT ON TABLE semel.inbox_begins IS 'Where to begin to look in inbox_due (by destination), inbox_drops and inbox_figures';
COMMENT ON COLUMN semel.inbox_begins.searched IS 'When all of it was last looked at, from the start';

CREATE FUNCTION semel.inbox_begin_5(the_queue text, the_urgency bigint) RETURNS bigint
LANGUAGE sql STABLE
AS $$
  SELECT coalesce((SELECT b.begins FROM semel.inbox_begins b WHERE b.queue = the_queue AND b.urgency = the_urgency), 0)
$$;

-- Whether it is time to move the beginning; then its row is locked. Nobody waits for that.
CREATE FUNCTION semel.inbox_may_move_5(the_queue text, the_urgency bigint, t bigint) RETURNS semel.inbox_begins
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  b semel.inbox_begins;
BEGIN
  SELECT * INTO b FROM semel.inbox_begins a WHERE a.queue = the_queue AND a.urgency = the_urgency;
  IF NOT FOUND THEN
    INSERT INTO semel.inbox_begins (queue, urgency, begins, moved, searched) VALUES (the_queue, the_urgency, 0, t, t)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
  END IF;
  IF b.moved BETWEEN t - 2000 AND t THEN RETURN NULL; END IF;
  SELECT * INTO b FROM semel.inbox_begins a
   WHERE a.queue = the_queue AND a.urgency = the_urgency FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF b.searched NOT BETWEEN t - 300000 AND t THEN
    b.begins := 0;
    b.searched := t;
  END IF;
  RETURN b;
END
$$;

-- `first` is the first that is there, from the beginning on that inbox_may_move_5 has answered.
CREATE FUNCTION semel.inbox_move_5(b semel.inbox_begins, first bigint, t bigint) RETURNS void
LANGUAGE sql VOLATILE
AS $$
  UPDATE semel.inbox_begins a SET begins = least(first, t - 20000), moved = t, searched = b.searched
   WHERE a.queue = b.queue AND a.urgency = b.urgency
$$;

-- Which events of an object run is asked again and again; without this, all that stand in its line would be looked at.
CREATE INDEX inbox_lines_runs ON semel.inbox_lines (dest, object) WHERE runs;
-- What a turn took is asked first; by its holder alone, all that it took since the server last cleaned up would be
-- looked at.
CREATE INDEX inbox_taken_turn ON semel.inbox_taken (holder, turn);
-- Places of events that were dropped though they held up their object. The auditor wakes those behind them.
DELETE FROM semel.inbox_lines l
 WHERE NOT EXISTS (SELECT FROM semel.inbox_deliveries d WHERE d.id = l.id AND d.place = l.place);
)sql";

}  // namespace semel::store::postgres
