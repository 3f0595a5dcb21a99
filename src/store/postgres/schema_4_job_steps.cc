// Version 4 of the schema: how a job is moved on. The rules are those of store/inbox_job_rules.cc and
// store/inbox_job_steps.cc.
//
// A step first searches without locks, then takes all locks that it needs in the order of schema_3.cc, and asks again
// of each delivery whether it is still one of the job's. How far the job is moves in the same transaction.
#include <string_view>

#include "store/postgres/schema_4.h"

namespace semel::store::postgres {

const std::string_view job_steps_4 = R"sql(
-- Whether the job does something to a delivery of an event that its filter takes.
CREATE FUNCTION semel.inbox_job_takes_4(j semel.inbox_jobs, d semel.inbox_deliveries) RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $$
  SELECT CASE j.action WHEN 1 THEN d.state <> 2 WHEN 2 THEN d.state IN (1, 4, 8) ELSE true END
         AND (j.only_state IS NULL OR d.state = j.only_state) AND (j.only_dest IS NULL OR d.dest = j.only_dest)
         AND (j.only_why IS NULL OR d.why = j.only_why)
$$;

-- How many deliveries of the event are the job's; of erase, 1 for the event.
CREATE FUNCTION semel.inbox_job_targets_4(j semel.inbox_jobs, e semel.inbox_events) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  IF (j.only_source IS NOT NULL AND e.source <> j.only_source) OR (j.only_type IS NOT NULL AND e.type <> j.only_type)
     OR (j.only_object IS NOT NULL AND e.object <> j.only_object) OR (e.bytes = 0 AND j.action <> 2) THEN
    RETURN 0;
  END IF;
  IF j.action = 4 THEN RETURN 1; END IF;
  IF j.action = 3 THEN
    RETURN (NOT EXISTS (SELECT FROM semel.inbox_deliveries d WHERE d.id = e.id AND d.dest = j.only_dest))::int;
  END IF;
  RETURN (SELECT count(*) FROM semel.inbox_deliveries d
           WHERE d.id = e.id AND d.job <> j.number AND semel.inbox_job_takes_4(j, d));
END
$$;

-- Sends one delivery again, or discards it. Returns what it has become.
CREATE FUNCTION semel.inbox_job_change_4(
  j semel.inbox_jobs, e semel.inbox_events, was semel.inbox_deliveries, retain_ms bigint, t bigint)
RETURNS semel.inbox_deliveries
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  became semel.inbox_deliveries;
  again boolean := j.action = 1;
BEGIN
  UPDATE semel.inbox_deliveries d
     SET state = CASE WHEN again THEN 1 ELSE 7 END, urgency = CASE WHEN again THEN 2 ELSE d.urgency END,
         due = CASE WHEN again THEN t ELSE d.due END, since = CASE WHEN again THEN t ELSE d.since END,
         tries = CASE WHEN again THEN 0 ELSE d.tries END, drop_at = CASE WHEN again THEN 0 ELSE t + retain_ms END,
         changed = t, in_line = false, job = j.number,
         why = convert_to('job ' || j.number || ': ', 'UTF8') || j.reason
   WHERE d.id = was.id AND d.place = was.place RETURNING * INTO became;
  PERFORM semel.inbox_moved_3(e, was, became, t);
  RETURN became;
END
$$;

-- Gives the event to the destination of the job, behind all that is new. Returns the state of its delivery.
CREATE FUNCTION semel.inbox_job_give_4(j semel.inbox_jobs, e semel.inbox_events, me bigint, t bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  next_place bigint := (SELECT max(d.place) + 1 FROM semel.inbox_deliveries d WHERE d.id = e.id);
  code bigint := 1;
BEGIN
  IF e.kind <> 0 THEN code := semel.inbox_place_3(e, j.only_dest, next_place, false, t); END IF;
  INSERT INTO semel.inbox_deliveries
    (id, place, dest, state, urgency, in_line, holder, attempt, due, since, changed, why, job)
  VALUES (e.id, next_place, j.only_dest, abs(code), 2, code = -1, me, 0, t, t, t,
          convert_to('job ' || j.number || ': ', 'UTF8') || j.reason, j.number);
  UPDATE semel.inbox_events a SET width = next_place + 1 WHERE a.id = e.id;
  IF code = 1 THEN
    INSERT INTO semel.inbox_due (dest, urgency, at, id, place) VALUES (j.only_dest, 2, t, e.id, next_place);
  END IF;
  INSERT INTO semel.inbox_counts (source, dest, accepted, waiting, superseded)
  VALUES (e.source, j.only_dest, 1, (code <> 5)::int, (code = 5)::int);
  RETURN abs(code);
END
$$;

-- The locks of all lines that a step changes.
CREATE FUNCTION semel.inbox_job_lock_4(j semel.inbox_jobs, ids bytea[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  IF j.action <> 3 THEN
    PERFORM semel.inbox_lock_3(ids);
  ELSE
    PERFORM pg_advisory_xact_lock(730945530, b.bucket)
       FROM (SELECT DISTINCT semel.inbox_bucket_3(j.only_dest, e.object) AS bucket
               FROM unnest(ids) AS i(id) JOIN semel.inbox_events e ON e.id = i.id
              WHERE e.kind <> 0 ORDER BY 1) AS b;
  END IF;
  PERFORM FROM semel.inbox_events e WHERE e.id = ANY (ids) ORDER BY e.id FOR UPDATE;
END
$$;

-- The next part of a job: about `count_max` deliveries, of at most `looks_max` events that are looked at for `time_ms`.
-- It goes no further than events that some holder may still be accepting: those could not be seen, and would be passed.
-- Of this holder that is `my_floor`; of the others, what they said with their last beat.
--
-- `verdict`: 0 as the row says · 1 another holder, which lives, moves it on · 2 this holder is dead. No row: there is no
-- such job. Behind its row, one for each destination for which something waits now, with `due` and nothing else.
CREATE FUNCTION semel.advance_job_4(
  believed text, patience_ms integer, me bigint, my_floor bytea, the_number bigint, count_max bigint, looks_max bigint,
  time_ms bigint, retain_ms bigint)
RETURNS SETOF semel.inbox_job_4
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  alive boolean := semel.inbox_enter_3(believed, patience_ms, me);
  until timestamptz := clock_timestamp() + time_ms * interval '1 millisecond';
  t bigint := semel.inbox_now_3();
  j semel.inbox_jobs;
  e semel.inbox_events;
  d semel.inbox_deliveries;
  low bytea;
  high bytea;
  bound bytea;
  bounded boolean := false;
  complete boolean := true;
  looked bigint := 0;
  targets bigint := 0;
  more bigint;
  hits bytea[] := '{}';
  upto bytea;
  event bytea;
  dest text;
  dests text[] := '{}';
  last semel.inbox_job_4;
BEGIN
  SELECT * INTO j FROM semel.inbox_jobs a WHERE a.number = the_number FOR UPDATE SKIP LOCKED;
  IF NOT FOUND OR NOT alive OR (j.state = 2 AND j.runner <> me AND EXISTS (
       SELECT FROM semel.inbox_holders h WHERE h.holder = j.runner AND NOT h.dead AND h.alive_until > t)) THEN
    RETURN QUERY SELECT * FROM semel.inbox_jobs_4(the_number, CASE WHEN alive THEN 1 ELSE 2 END);
    RETURN;
  END IF;
  IF j.state <> 2 THEN
    RETURN QUERY SELECT * FROM semel.inbox_jobs_4(the_number, 0);
    RETURN;
  END IF;

  low := decode(lpad(to_hex(coalesce(j.only_from, 0)), 12, '0'), 'hex');
  high := decode(lpad(to_hex(coalesce(j.only_until, 281474976710655)), 12, '0'), 'hex');
  upto := j.searched;
  FOR bound IN SELECT coalesce(h.floor, h.mark) FROM semel.inbox_holders h WHERE h.holder <> me AND NOT h.dead
              UNION ALL SELECT my_floor LOOP
    IF bound < high THEN high := bound; bounded := true; END IF;
  END LOOP;
  FOR e IN SELECT * FROM semel.inbox_events a WHERE a.id > upto AND a.id >= low AND a.id < high ORDER BY a.id LOOP
    IF targets >= count_max OR looked >= looks_max OR (looked > 0 AND clock_timestamp() > until) THEN
      complete := false;
      EXIT;
    END IF;
    looked := looked + 1;
    more := semel.inbox_job_targets_4(j, e);
    IF more > 0 THEN hits := hits || e.id; END IF;
    targets := targets + more;
    upto := e.id;
  END LOOP;

  PERFORM semel.inbox_job_lock_4(j, hits);
  t := semel.inbox_now_3();
  FOREACH event IN ARRAY hits LOOP
    SELECT * INTO e FROM semel.inbox_events a WHERE a.id = event;
    CONTINUE WHEN NOT FOUND OR semel.inbox_job_targets_4(j, e) = 0;
    IF j.action = 4 THEN
      IF semel.erase_3(believed, patience_ms, event, convert_to('job ' || j.number || ': ', 'UTF8') || j.reason) = 2 THEN
        complete := false;
        upto := j.searched;  -- an attempt runs: the job waits in front of this event
        EXIT;
      END IF;
      j.taken := j.taken + 1;
    ELSIF j.action = 3 THEN
      j.taken := j.taken + 1;
      IF semel.inbox_job_give_4(j, e, me, t) <> 1 THEN
        j.other := j.other + 1;
      ELSIF NOT j.only_dest = ANY (dests) THEN
        dests := dests || j.only_dest;
      END IF;
    ELSE
      FOR d IN SELECT * FROM semel.inbox_deliveries a WHERE a.id = event ORDER BY a.place FOR UPDATE LOOP
        CONTINUE WHEN d.job = j.number OR NOT semel.inbox_job_takes_4(j, d);
        d := semel.inbox_job_change_4(j, e, d, retain_ms, t);
        j.taken := j.taken + 1;
        IF d.state = 1 AND NOT d.dest = ANY (dests) THEN dests := dests || d.dest; END IF;
      END LOOP;
    END IF;
    j.searched := event;
  END LOOP;

  UPDATE semel.inbox_jobs a
     SET searched = upto, taken = j.taken, other = j.other, runner = me,
         state = CASE WHEN complete AND NOT bounded THEN 3 ELSE 2 END,
         ended_at = CASE WHEN complete AND NOT bounded THEN t ELSE 0 END,
         folded_at = CASE WHEN j.folded_at + 250 <= t THEN t ELSE j.folded_at END
   WHERE a.number = the_number;
  IF j.folded_at + 250 <= t THEN PERFORM semel.inbox_fold_job_4(the_number); END IF;
  RETURN QUERY SELECT * FROM semel.inbox_jobs_4(the_number, 0);
  FOREACH dest IN ARRAY dests LOOP last.due := dest; RETURN NEXT last; END LOOP;
END
$$;
)sql";

}  // namespace semel::store::postgres
