// Version 2 of the schema: what was seen over time (store/history.h).
//
// The primary key begins with the kind and the day, so that a day is found, read and dropped as one range. Nothing
// waits for the disk: these transactions do not wait for their commit record.
#include <string_view>

#include "store/postgres/schema_2.h"

namespace semel::store::postgres {

const std::string_view history_2 = R"sql(
CREATE TABLE semel.history (
  kind    smallint NOT NULL,
  day     integer NOT NULL,
  subject bytea NOT NULL,
  at      bigint NOT NULL,
  number  bigint NOT NULL,
  value   bytea NOT NULL,
  CONSTRAINT history_pkey PRIMARY KEY (kind, day, subject, at, number)
);
COMMENT ON TABLE semel.history IS 'Telemetry of the gateways: sightings of keys, tallies, findings. No promise needs it';
COMMENT ON COLUMN semel.history.day IS 'at / 86400000';
COMMENT ON COLUMN semel.history.at IS 'Milliseconds since 1970, by the clock of the gateway';

CREATE FUNCTION semel.note_2(
  believed text, patience_ms integer, kinds bigint[], subjects bytea[], ats bigint[], numbers bigint[], contents bytea[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  lazy text := set_config('synchronous_commit', 'off', true);
  n bigint;
BEGIN
  INSERT INTO semel.history (kind, day, subject, at, number, value)
  SELECT DISTINCT ON (i.kind, i.subject, i.at, i.number) i.kind, i.at / 86400000, i.subject, i.at, i.number, i.content
    FROM unnest(kinds, subjects, ats, numbers, contents)
         WITH ORDINALITY AS i(kind, subject, at, number, content, ordinal)
   ORDER BY i.kind, i.subject, i.at, i.number, i.ordinal DESC
  ON CONFLICT ON CONSTRAINT history_pkey DO UPDATE SET value = excluded.value;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END
$$;

-- The rows of one subject, from day to day.
CREATE FUNCTION semel.past_2(
  believed text, patience_ms integer, the_kind bigint, the_subject bytea, from_ms bigint, to_ms bigint,
  items_max bigint)
RETURNS TABLE (subject bytea, at bigint, number bigint, value bytea, more boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  k smallint := the_kind;
  d integer := from_ms / 86400000;
  last_day integer := least(to_ms / 86400000, 2147483647);
  items_left bigint := items_max;
  n bigint;
BEGIN
  LOOP
    RETURN QUERY
      SELECT h.subject, h.at, h.number, h.value, false FROM semel.history h
       WHERE h.kind = k AND h.day = d AND h.subject = the_subject AND h.at >= from_ms AND h.at < to_ms
       ORDER BY h.at, h.number LIMIT items_left;
    GET DIAGNOSTICS n = ROW_COUNT;
    items_left := items_left - n;
    EXIT WHEN items_left <= 0;
    SELECT h.day INTO d FROM semel.history h WHERE h.kind = k AND h.day > d ORDER BY h.kind, h.day LIMIT 1;
    EXIT WHEN NOT FOUND OR d > last_day;
  END LOOP;
END
$$;

-- A piece of all rows of a kind. A last row with `more` says where it ended before the end.
CREATE FUNCTION semel.scan_2(
  believed text, patience_ms integer, the_kind bigint, from_ms bigint, to_ms bigint, behind_at bigint,
  behind_subject bytea, behind_number bigint, items_max bigint, looks_max bigint, time_ms bigint)
RETURNS TABLE (subject bytea, at bigint, number bigint, value bytea, more boolean)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  until timestamptz := clock_timestamp() + time_ms * interval '1 millisecond';
  k smallint := the_kind;
  behind_day integer := behind_at / 86400000;
  last_day integer := least(to_ms / 86400000, 2147483647);
  looked bigint := 0;
  found_count bigint := 0;
  r record;
BEGIN
  FOR r IN
    SELECT h.* FROM semel.history h
     WHERE h.kind = k AND h.day <= last_day
       AND (h.day, h.subject, h.at, h.number) > (behind_day, behind_subject, behind_at, behind_number)
     ORDER BY h.kind, h.day, h.subject, h.at, h.number
  LOOP
    IF looked > 0 AND (found_count >= items_max OR looked >= looks_max OR clock_timestamp() > until) THEN
      value := ''; more := true;
      RETURN NEXT;
      RETURN;
    END IF;
    looked := looked + 1;
    subject := r.subject; at := r.at; number := r.number;
    IF r.at >= from_ms AND r.at < to_ms THEN
      value := r.value; more := false;
      RETURN NEXT;
      found_count := found_count + 1;
    END IF;
  END LOOP;
END
$$;

-- A piece of what is too old; answers how many rows that were.
CREATE FUNCTION semel.prune_2(
  believed text, patience_ms integer, the_kind bigint, before_ms bigint, count_max bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  lazy text := set_config('synchronous_commit', 'off', true);
  k smallint := the_kind;
  before_day integer := before_ms / 86400000;
  n bigint;
BEGIN
  DELETE FROM semel.history h
   WHERE h.ctid = ANY (ARRAY(SELECT o.ctid FROM semel.history o WHERE o.kind = k AND o.day < before_day
                              ORDER BY o.kind, o.day LIMIT count_max FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END
$$;
)sql";

}  // namespace semel::store::postgres
