// Version 4 of the schema: jobs of the inbox (store/inbox_jobs.h) as rows: kept, started, cancelled, told.
//
//   semel.inbox_jobs        one row per job: what it is about, how far it is, and which holder moves it on
//   semel.inbox_job_counts  how what jobs sent has ended: added, never updated, and folded by the one who moves a job
//   on
//
// A delivery carries the number of the newest job that has changed it. How it ends is counted by a trigger, whatever
// statement ends it. States and actions are the numbers of store/inbox_jobs.h.
#include <string_view>

#include "store/postgres/schema_4.h"

namespace semel::store::postgres {

const std::string_view jobs_4 = R"sql(
ALTER TABLE semel.inbox_deliveries ADD COLUMN job bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN semel.inbox_deliveries.job IS 'The newest job that has changed it; 0 if none has';
ALTER TABLE semel.inbox_holders ADD COLUMN floor bytea;
COMMENT ON COLUMN semel.inbox_holders.floor IS
  'No event before this is still to be accepted by this holder; none from an older version: then the mark says so';

CREATE TABLE semel.inbox_jobs (
  number      bigint PRIMARY KEY,
  state       smallint NOT NULL,
  action      smallint NOT NULL,
  only_state  smallint,
  only_source text,
  only_dest   text,
  only_type   bytea,
  only_object bytea,
  only_from   bigint,
  only_until  bigint,
  only_why    bytea,
  rate        bigint NOT NULL,
  rate_ms     bigint NOT NULL,
  token       text NOT NULL,
  planned     bigint NOT NULL,
  at_least    boolean NOT NULL,
  reason      bytea NOT NULL DEFAULT '',
  who         bytea NOT NULL DEFAULT '',
  planned_at  bigint NOT NULL,
  started_at  bigint NOT NULL DEFAULT 0,
  ended_at    bigint NOT NULL DEFAULT 0,
  searched    bytea NOT NULL DEFAULT '',
  taken       bigint NOT NULL DEFAULT 0,
  done        bigint NOT NULL DEFAULT 0,
  dead        bigint NOT NULL DEFAULT 0,
  other       bigint NOT NULL DEFAULT 0,
  folded_at   bigint NOT NULL DEFAULT 0,
  runner      bigint,
  CONSTRAINT inbox_jobs_token UNIQUE (token)
) WITH (fillfactor = 50);
COMMENT ON TABLE semel.inbox_jobs IS 'Bulk work on the inbox';
COMMENT ON COLUMN semel.inbox_jobs.state IS '1 planned, 2 running, 3 done, 4 cancelled';
COMMENT ON COLUMN semel.inbox_jobs.action IS '1 replay, 2 discard, 3 backfill, 4 erase';
COMMENT ON COLUMN semel.inbox_jobs.planned IS 'How many deliveries there were when it was planned';
COMMENT ON COLUMN semel.inbox_jobs.searched IS 'Events up to this one have been looked at';
COMMENT ON COLUMN semel.inbox_jobs.runner IS 'The holder that moves it on, as long as that lives';

CREATE TABLE semel.inbox_job_counts (
  number bigint NOT NULL,
  done   bigint NOT NULL,
  dead   bigint NOT NULL,
  other  bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
COMMENT ON TABLE semel.inbox_job_counts IS 'How deliveries that a job sent have ended, to be added to its row';

CREATE FUNCTION semel.inbox_job_ended_4() RETURNS trigger
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  counts boolean := NEW.job = OLD.job;
BEGIN
  INSERT INTO semel.inbox_job_counts (number, done, dead, other)
  VALUES (OLD.job, (counts AND NEW.state = 3)::int, (counts AND NEW.state = 4)::int,
          (NOT counts OR NEW.state NOT IN (3, 4))::int);
  RETURN NULL;
END
$$;
-- Its end, or another job or an operator takes it out of the job's hands.
CREATE TRIGGER inbox_job_ended AFTER UPDATE OF state, job ON semel.inbox_deliveries FOR EACH ROW
WHEN (OLD.job <> 0 AND OLD.state IN (1, 2) AND (NEW.job <> OLD.job OR NEW.state NOT IN (1, 2)))
EXECUTE FUNCTION semel.inbox_job_ended_4();

-- A job as calls answer it. `verdict` and `due`: see semel.advance_job_4.
CREATE TYPE semel.inbox_job_4 AS (
  number bigint, state bigint, action bigint, only_state bigint, only_source text, only_dest text, only_type bytea,
  only_object bytea, only_from bigint, only_until bigint, only_why bytea, rate bigint, rate_ms bigint, token text,
  planned bigint, at_least boolean, reason bytea, who bytea, planned_at bigint, started_at bigint, ended_at bigint,
  searched bytea, taken bigint, done bigint, dead bigint, other bigint, verdict bigint, due text);

-- These jobs, or all of them, oldest first.
CREATE FUNCTION semel.inbox_jobs_4(the_number bigint, the_verdict bigint) RETURNS SETOF semel.inbox_job_4
LANGUAGE sql VOLATILE
AS $$
  SELECT j.number, j.state::bigint, j.action::bigint, j.only_state::bigint, j.only_source, j.only_dest, j.only_type,
         j.only_object, j.only_from, j.only_until, j.only_why, j.rate, j.rate_ms, j.token, j.planned, j.at_least,
         j.reason, j.who, j.planned_at, j.started_at, j.ended_at, j.searched, j.taken,
         j.done + coalesce(c.done, 0), j.dead + coalesce(c.dead, 0), j.other + coalesce(c.other, 0), the_verdict,
         NULL::text
    FROM semel.inbox_jobs j
    LEFT JOIN (SELECT a.number, sum(a.done)::bigint AS done, sum(a.dead)::bigint AS dead, sum(a.other)::bigint AS other
                 FROM semel.inbox_job_counts a GROUP BY a.number) AS c ON c.number = j.number
   WHERE the_number IS NULL OR j.number = the_number
   ORDER BY j.number
$$;

CREATE FUNCTION semel.inbox_fold_job_4(the_number bigint) RETURNS void
LANGUAGE sql VOLATILE
AS $$
  WITH gone AS (DELETE FROM semel.inbox_job_counts c WHERE c.number = the_number RETURNING *)
  UPDATE semel.inbox_jobs j SET done = j.done + s.done, dead = j.dead + s.dead, other = j.other + s.other
    FROM (SELECT sum(g.done) AS done, sum(g.dead) AS dead, sum(g.other) AS other FROM gone g HAVING count(*) > 0) AS s
   WHERE j.number = the_number
$$;

-- All jobs. What ends after a job has, is folded here.
CREATE FUNCTION semel.jobs_4(believed text, patience_ms integer) RETURNS SETOF semel.inbox_job_4
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  n bigint;
BEGIN
  FOR n IN SELECT c.number FROM semel.inbox_job_counts c GROUP BY c.number HAVING count(*) >= 64 LOOP
    PERFORM FROM semel.inbox_jobs j WHERE j.number = n AND j.state IN (3, 4) FOR UPDATE SKIP LOCKED;
    IF FOUND THEN PERFORM semel.inbox_fold_job_4(n); END IF;
  END LOOP;
  RETURN QUERY SELECT * FROM semel.inbox_jobs_4(NULL, 0);
END
$$;

-- Keeps a plan under the next number, which is at least `lowest`. Or, in another database of the same set, under
-- `exactly`: then plans stay as long as they are among `known`. No row: there are too many jobs.
CREATE FUNCTION semel.plan_job_4(
  believed text, patience_ms integer, lowest bigint, exactly bigint, known bigint[], the_action bigint,
  the_state bigint, the_source text, the_dest text, the_type bytea, the_object bytea, from_ms bigint, until_ms bigint,
  the_why bytea, the_rate bigint, the_rate_ms bigint, the_token text, the_count bigint, more boolean, kept_max bigint,
  plan_ms bigint)
RETURNS SETOF semel.inbox_job_4
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  locked text := pg_advisory_xact_lock(730945534, 0);
  t bigint := semel.inbox_now_3();
  made bigint := (SELECT j.number FROM semel.inbox_jobs j WHERE j.token = the_token);
BEGIN
  IF made IS NOT NULL THEN  -- the answer to an earlier call was lost
    UPDATE semel.inbox_jobs j SET planned = j.planned WHERE j.number = made;
    RETURN QUERY SELECT * FROM semel.inbox_jobs_4(made, 0);
    RETURN;
  END IF;
  made := coalesce(exactly, greatest(lowest, (SELECT coalesce(max(j.number), 0) + 1 FROM semel.inbox_jobs j)));
  DELETE FROM semel.inbox_jobs j
   WHERE j.state = 1 AND j.number < made
     AND CASE WHEN exactly IS NULL THEN j.planned_at + plan_ms <= t ELSE NOT j.number = ANY (known) END;
  DELETE FROM semel.inbox_jobs j WHERE j.number IN (
    SELECT o.number FROM semel.inbox_jobs o WHERE o.state IN (3, 4) ORDER BY o.number
     LIMIT greatest(0, (SELECT count(*) FROM semel.inbox_jobs) - kept_max + 1));
  DELETE FROM semel.inbox_job_counts c WHERE NOT EXISTS (SELECT FROM semel.inbox_jobs j WHERE j.number = c.number);
  IF (SELECT count(*) FROM semel.inbox_jobs) >= kept_max THEN RETURN; END IF;
  INSERT INTO semel.inbox_jobs
    (number, state, action, only_state, only_source, only_dest, only_type, only_object, only_from, only_until, only_why,
     rate, rate_ms, token, planned, at_least, planned_at)
  VALUES (made, 1, the_action, the_state, the_source, the_dest, the_type, the_object, from_ms, until_ms, the_why,
          the_rate, the_rate_ms, the_token, the_count, more, t);
  RETURN QUERY SELECT * FROM semel.inbox_jobs_4(made, 0);
END
$$;

-- `verdict`: 0 started, now or before · 1 another count · 2 the plan is too old. No row: there is no such plan.
CREATE FUNCTION semel.start_job_4(
  believed text, patience_ms integer, the_token text, the_count bigint, the_reason bytea, by_whom bytea, plan_ms bigint)
RETURNS SETOF semel.inbox_job_4
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  t bigint := semel.inbox_now_3();
  j semel.inbox_jobs;
  verdict bigint := 0;
BEGIN
  SELECT * INTO j FROM semel.inbox_jobs a WHERE a.token = the_token FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF j.planned <> the_count THEN
    verdict := 1;
  ELSIF j.state = 1 AND j.planned_at + plan_ms <= t THEN
    verdict := 2;
  ELSIF j.state = 1 THEN
    UPDATE semel.inbox_jobs a SET state = 2, started_at = t, reason = the_reason, who = by_whom
     WHERE a.number = j.number;
  ELSE  -- written again, so that it is as durable as it was then
    UPDATE semel.inbox_jobs a SET started_at = a.started_at WHERE a.number = j.number;
  END IF;
  RETURN QUERY SELECT * FROM semel.inbox_jobs_4(j.number, verdict);
END
$$;

-- `verdict`: 0 cancelled · 1 it has ended already. No row: there is no such job.
CREATE FUNCTION semel.cancel_job_4(believed text, patience_ms integer, the_number bigint)
RETURNS SETOF semel.inbox_job_4
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
BEGIN
  UPDATE semel.inbox_jobs j SET state = 4, ended_at = semel.inbox_now_3()
   WHERE j.number = the_number AND j.state IN (1, 2);
  RETURN QUERY SELECT * FROM semel.inbox_jobs_4(the_number, CASE WHEN FOUND THEN 0 ELSE 1 END);
END
$$;
)sql";

}  // namespace semel::store::postgres
