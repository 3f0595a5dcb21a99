// Version 3 of the schema: the inbox (store/inbox.h), for several gateways on one database.
//
//   semel.inbox_events      what was accepted; written once
//   semel.inbox_parcels     what it came with; written once, deleted when its time has come
//   semel.inbox_deliveries  one row per event and destination; a healthy one is inserted as running, and updated once
//   semel.inbox_due         those that wait for a time: the one queue, and the smallest
//   semel.inbox_taken       those that run because they were taken from the queue, by holder
//   semel.inbox_lines       those that have not ended, in the order of their object (only if it has one)
//   semel.inbox_newest      the newest event of an object that is done (order = "latest")
//   semel.inbox_drops       what is to be dropped, and when
//   semel.inbox_counts      changes of the figures; added, never updated, and folded now and then
//   semel.inbox_controls    what operators have decided about destinations
//   semel.inbox_holders     gateways that accept and deliver, and until when each is taken to be alive
//
// Times are milliseconds since 1970 by the clock of the server. States and urgencies are the numbers of store/inbox.h.
//
// A holder that does not say in time that it lives is declared dead by another, which then puts back what it ran. The
// calls of a holder hold a shared lock with its number, and look whether it has been declared dead; who declares it
// dead takes that lock alone. So nothing is ever running under a holder that nobody looks after.
//
// Locks are taken in this order: keys, lines of objects (inbox_bucket_3, in their order), events, deliveries. What
// cannot keep to it (taking, adopting, auditing) does not wait for a lock.
#include "store/postgres/schema_3.h"

#include <string_view>

namespace semel::store::postgres {

const std::string_view inbox_3 = R"sql(
CREATE TABLE semel.inbox_events (
  id         bytea NOT NULL,
  key        bytea NOT NULL,
  expires_at bigint NOT NULL,
  bytes      bigint NOT NULL,
  reorder_ms bigint NOT NULL,
  kind       smallint NOT NULL,
  width      smallint NOT NULL,
  blocks     boolean NOT NULL,
  source     text NOT NULL,
  type       bytea NOT NULL,
  object     bytea NOT NULL,
  stamp      bytea NOT NULL,
  sort       bytea NOT NULL,
  CONSTRAINT inbox_events_pkey PRIMARY KEY (id)
) WITH (fillfactor = 90);
COMMENT ON TABLE semel.inbox_events IS 'Events that were accepted by an inbox; the id begins with the time';
COMMENT ON COLUMN semel.inbox_events.bytes IS 'Of what came with it; 0 once that has been dropped';
COMMENT ON COLUMN semel.inbox_events.kind IS 'Of its order: 0 none, 1 latest, 2 fifo';
COMMENT ON COLUMN semel.inbox_events.width IS 'How many deliveries it has';
COMMENT ON COLUMN semel.inbox_events.sort IS 'Its place among the events of its object, as bytes that sort';

CREATE TABLE semel.inbox_parcels (
  id     bytea NOT NULL,
  parcel bytea NOT NULL,
  CONSTRAINT inbox_parcels_pkey PRIMARY KEY (id)
);
ALTER TABLE semel.inbox_parcels ALTER COLUMN parcel SET STORAGE EXTERNAL;
COMMENT ON TABLE semel.inbox_parcels IS 'What events came with, as in docs/record-format.md';

CREATE TABLE semel.inbox_deliveries (
  id      bytea NOT NULL,
  due     bigint NOT NULL,
  since   bigint NOT NULL,
  changed bigint NOT NULL,
  drop_at bigint NOT NULL DEFAULT 0,
  holder  bigint NOT NULL,
  attempt integer NOT NULL,
  tries   integer NOT NULL DEFAULT 0,
  status  integer NOT NULL DEFAULT 0,
  place   smallint NOT NULL,
  state   smallint NOT NULL,
  urgency smallint NOT NULL DEFAULT 0,
  in_line boolean NOT NULL DEFAULT false,
  taken   boolean NOT NULL DEFAULT false,
  dest    text NOT NULL,
  why     bytea NOT NULL,
  CONSTRAINT inbox_deliveries_pkey PRIMARY KEY (id, place)
) WITH (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 1,
  autovacuum_vacuum_cost_limit = 2000
);
COMMENT ON TABLE semel.inbox_deliveries IS 'One row per event and destination';
COMMENT ON COLUMN semel.inbox_deliveries.state IS
  '1 waiting, 2 running, 3 done, 4 dead, 5 superseded, 6 skipped, 7 discarded, 8 unknown';
COMMENT ON COLUMN semel.inbox_deliveries.holder IS 'Who runs it, or ran it last';
COMMENT ON COLUMN semel.inbox_deliveries.taken IS 'The last attempt was begun from the queue, not when it was accepted';

CREATE TABLE semel.inbox_due (
  at      bigint NOT NULL,
  urgency smallint NOT NULL,
  place   smallint NOT NULL,
  dest    text NOT NULL,
  id      bytea NOT NULL,
  CONSTRAINT inbox_due_pkey PRIMARY KEY (dest, urgency, at, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
COMMENT ON TABLE semel.inbox_due IS 'Deliveries that wait for a time';

CREATE TABLE semel.inbox_taken (
  holder bigint NOT NULL,
  turn   bigint NOT NULL,
  place  smallint NOT NULL,
  id     bytea NOT NULL,
  CONSTRAINT inbox_taken_pkey PRIMARY KEY (holder, id, place)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
COMMENT ON TABLE semel.inbox_taken IS 'Deliveries that run because a holder took them from the queue';

CREATE TABLE semel.inbox_lines (
  runs   boolean NOT NULL,
  place  smallint NOT NULL,
  dest   text NOT NULL,
  object bytea NOT NULL,
  sort   bytea NOT NULL,
  id     bytea NOT NULL,
  CONSTRAINT inbox_lines_pkey PRIMARY KEY (dest, object, sort, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
COMMENT ON TABLE semel.inbox_lines IS 'Deliveries that have not ended, in the order of the events of their object';

CREATE TABLE semel.inbox_newest (
  until  bigint NOT NULL,
  dest   text NOT NULL,
  object bytea NOT NULL,
  stamp  bytea NOT NULL,
  CONSTRAINT inbox_newest_pkey PRIMARY KEY (dest, object)
);
CREATE INDEX inbox_newest_until ON semel.inbox_newest (until);
COMMENT ON TABLE semel.inbox_newest IS 'The stamp of the newest event of an object that is done';

CREATE TABLE semel.inbox_drops (
  at bigint NOT NULL,
  id bytea NOT NULL,
  CONSTRAINT inbox_drops_pkey PRIMARY KEY (at, id)
);
COMMENT ON TABLE semel.inbox_drops IS 'Events whose body, or that themselves, are to be dropped then';

CREATE TABLE semel.inbox_counts (
  accepted bigint NOT NULL DEFAULT 0,
  waiting bigint NOT NULL DEFAULT 0, running bigint NOT NULL DEFAULT 0, done bigint NOT NULL DEFAULT 0,
  dead bigint NOT NULL DEFAULT 0, superseded bigint NOT NULL DEFAULT 0, skipped bigint NOT NULL DEFAULT 0,
  discarded bigint NOT NULL DEFAULT 0, unknown bigint NOT NULL DEFAULT 0,
  bytes    bigint NOT NULL DEFAULT 0,
  source   text NOT NULL,
  dest     text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 1);
COMMENT ON TABLE semel.inbox_counts IS 'How many deliveries are in which state: the sum of all rows';

CREATE TABLE semel.inbox_controls (
  dest   text PRIMARY KEY,
  paused boolean NOT NULL,
  until  bigint,
  reason bytea NOT NULL
);
COMMENT ON TABLE semel.inbox_controls IS 'What operators have decided about destinations';

CREATE TABLE semel.inbox_holders (
  holder      bigint PRIMARY KEY,
  alive_until bigint NOT NULL,
  mark        bytea NOT NULL,
  dead        boolean NOT NULL DEFAULT false
) WITH (fillfactor = 20);
COMMENT ON TABLE semel.inbox_holders IS 'The processes that accept and deliver';
COMMENT ON COLUMN semel.inbox_holders.mark IS
  'No event before this runs since it was accepted by this holder; what was taken from the queue is in inbox_taken';

-- An event and one of its deliveries, as calls answer them. `hit` says which delivery is meant.
CREATE TYPE semel.inbox_row_3 AS (
  id bytea, key bytea, source text, type bytea, kind bigint, object bytea, stamp bytea, reorder_ms bigint,
  blocks boolean, expires_at bigint, drop_at bigint, bytes bigint, place bigint, dest text, state bigint,
  urgency bigint, in_line boolean, taken boolean, attempt bigint, tries bigint, status bigint, due bigint,
  since bigint, changed bigint, why bytea, hit boolean);

CREATE FUNCTION semel.inbox_now_3() RETURNS bigint
LANGUAGE sql VOLATILE
AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- Called first by every other function.
CREATE FUNCTION semel.inbox_check_3(believed text, patience_ms integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'the inbox needs transactions that are read committed' USING ERRCODE = 'feature_not_supported';
  END IF;
  RETURN checked;
END
$$;

-- The same for a holder. False: it has been declared dead, and must go by another number.
CREATE FUNCTION semel.inbox_enter_3(believed text, patience_ms integer, me bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.inbox_check_3(believed, patience_ms);
  locked text := pg_advisory_xact_lock_shared(730945531, (me - 2147483648)::integer);
BEGIN
  RETURN EXISTS (SELECT FROM semel.inbox_holders h WHERE h.holder = me AND NOT h.dead);
END
$$;

-- All rows of these events, in their order.
CREATE FUNCTION semel.inbox_rows_3(ids bytea[], the_dest text) RETURNS SETOF semel.inbox_row_3
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT e.id, e.key, e.source, e.type, e.kind::bigint, e.object, e.stamp, e.reorder_ms, e.blocks, e.expires_at,
           d.drop_at, e.bytes, d.place::bigint, d.dest, d.state::bigint, d.urgency::bigint, d.in_line, d.taken,
           d.attempt::bigint, d.tries::bigint, d.status::bigint, d.due, d.since, d.changed, d.why,
           the_dest IS NULL OR d.dest = the_dest
      FROM unnest(ids) WITH ORDINALITY AS i(id, n)
      JOIN semel.inbox_events e ON e.id = i.id
      JOIN semel.inbox_deliveries d ON d.id = e.id
     ORDER BY i.n, d.place;
END
$$;

CREATE FUNCTION semel.inbox_count_3(the_source text, the_dest text, was bigint, became bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  INSERT INTO semel.inbox_counts
    (source, dest, waiting, running, done, dead, superseded, skipped, discarded, unknown)
  VALUES (the_source, the_dest,
          (became = 1)::int - (was = 1)::int, (became = 2)::int - (was = 2)::int,
          (became = 3)::int - (was = 3)::int, (became = 4)::int - (was = 4)::int,
          (became = 5)::int - (was = 5)::int, (became = 6)::int - (was = 6)::int,
          (became = 7)::int - (was = 7)::int, (became = 8)::int - (was = 8)::int);
END
$$;
)sql";

// Functions that only others call run with the rights and settings of those.
const std::string_view settings_3 = R"sql(
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p
            WHERE p.pronamespace = 'semel'::regnamespace AND p.proname LIKE '%\_3' AND p.proname NOT LIKE 'inbox\_%'
  LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
         SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off', f);
  END LOOP;
END
$$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA semel FROM PUBLIC;
INSERT INTO semel.schema_version (version) VALUES (3);
)sql";

}  // namespace semel::store::postgres
