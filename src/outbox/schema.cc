// Version 1 of an outbox.
//
// What changes often is the value of a sequence, which is changed in place: a snapshot that somebody holds for hours
// makes none of it slower.
//
//   semel.outbox_seq     the next number; with an object it is taken under the object's lock, which is held until the
//                        transaction ends. So for each object the order of the numbers is the order of the commits
//   semel.outbox_turn    which table is written to
//   semel.outbox_holder  who moves, and semel.outbox_until: until when, in milliseconds since 1970
//
// A table is truncated under an exclusive lock, which nobody gets while a transaction that has written to the table is
// open; and only if it is empty then. So no row is lost, also not one of a writer that took the table's name long ago.
#include "outbox/schema.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace semel::outbox {
namespace {

constexpr std::string_view begin_text = R"sql(-- The outbox of Semel, version 1. Run it as the owner of the database.
BEGIN;
SELECT pg_advisory_xact_lock(7309455312);
CREATE SCHEMA IF NOT EXISTS semel;
CREATE TABLE IF NOT EXISTS semel.outbox_version (
  version    integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);
DO $outbox$
BEGIN
IF EXISTS (SELECT FROM semel.outbox_version v WHERE v.version > 1) THEN
  RAISE EXCEPTION 'the outbox in the database is newer than this version of Semel';
END IF;
IF EXISTS (SELECT FROM semel.outbox_version v WHERE v.version = 1) THEN RETURN; END IF;

CREATE SEQUENCE semel.outbox_seq;
CREATE SEQUENCE semel.outbox_turn MINVALUE 0 START 0;
CREATE SEQUENCE semel.outbox_holder MINVALUE 0 START 0;
CREATE SEQUENCE semel.outbox_until MINVALUE 0 START 0;
CREATE TABLE semel.outbox_0 (
  seq         bigint NOT NULL DEFAULT nextval('semel.outbox_seq') PRIMARY KEY,
  sent_at     timestamptz NOT NULL,
  not_before  timestamptz,
  raw         boolean NOT NULL,
  destination text NOT NULL,
  key         text NOT NULL,
  object      text NOT NULL,
  headers     jsonb,
  body        bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000);
ALTER TABLE semel.outbox_0 ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON TABLE semel.outbox_0 IS 'Effects that were asked for and have not been moved to Semel''s inbox yet';
CREATE TABLE semel.outbox_1 (LIKE semel.outbox_0 INCLUDING ALL);
CREATE TABLE semel.outbox_2 (LIKE semel.outbox_0 INCLUDING ALL);
)sql";

// Of the mover. What it takes is deleted in its own transaction, which it commits when all of it has been accepted.
constexpr std::string_view mover_text = R"sql(
-- 0 another one moves · 1 there is nothing · 2 there is something. Whoever has the lease keeps it by asking.
CREATE FUNCTION semel.outbox_look_v1(me bigint, lease_ms bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  t bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
BEGIN
  IF NOT (SELECT h.last_value = me FROM semel.outbox_holder h)
     OR (SELECT u.last_value FROM semel.outbox_until u) < t + lease_ms * 2 / 3 THEN
    IF NOT semel.outbox_enter_v1(me, lease_ms) THEN RETURN 0; END IF;
  END IF;
  IF EXISTS (SELECT FROM semel.outbox_0 ORDER BY seq LIMIT 1) OR EXISTS (SELECT FROM semel.outbox_1 ORDER BY seq LIMIT 1)
     OR EXISTS (SELECT FROM semel.outbox_2 ORDER BY seq LIMIT 1) THEN
    RETURN 2;
  END IF;
  RETURN 1;
END
$$;

-- True if `me` moves, and nobody else does until this transaction has ended.
CREATE FUNCTION semel.outbox_enter_v1(me bigint, lease_ms bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  t bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
BEGIN
  IF (SELECT h.last_value <> me FROM semel.outbox_holder h) AND (SELECT u.last_value > t FROM semel.outbox_until u) THEN
    RETURN false;
  END IF;
  IF NOT pg_try_advisory_xact_lock(730945534, 0) THEN RETURN false; END IF;
  IF (SELECT h.last_value <> me FROM semel.outbox_holder h) AND (SELECT u.last_value > t FROM semel.outbox_until u) THEN
    RETURN false;
  END IF;
  PERFORM setval('semel.outbox_holder', me), setval('semel.outbox_until', t + lease_ms);
  RETURN true;
END
$$;

-- The next rows, which are gone when the transaction commits. None if another one moves. The first is there however
-- large it is.
CREATE FUNCTION semel.outbox_take_v1(me bigint, lease_ms bigint, row_max integer, byte_max bigint)
RETURNS TABLE (seq bigint, destination text, key text, object text, headers text, raw boolean, body bytea,
               wait_ms bigint, age_ms bigint)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  IF NOT semel.outbox_enter_v1(me, lease_ms) THEN RETURN; END IF;
  RETURN QUERY
    WITH next AS MATERIALIZED (
      SELECT s.child, s.seq FROM (
        SELECT a.child, a.seq, a.bytes, sum(a.bytes) OVER (ORDER BY a.seq) AS up_to FROM (
          SELECT r.* FROM (
            (SELECT 0 AS child, o.seq, octet_length(o.body) AS bytes FROM semel.outbox_0 o ORDER BY o.seq LIMIT row_max)
            UNION ALL
            (SELECT 1, o.seq, octet_length(o.body) FROM semel.outbox_1 o ORDER BY o.seq LIMIT row_max)
            UNION ALL
            (SELECT 2, o.seq, octet_length(o.body) FROM semel.outbox_2 o ORDER BY o.seq LIMIT row_max)) r
           ORDER BY r.seq LIMIT row_max) a) s
       WHERE s.up_to <= byte_max OR s.up_to = s.bytes),
    gone_0 AS (DELETE FROM semel.outbox_0 o USING next n WHERE n.child = 0 AND o.seq = n.seq RETURNING o.*),
    gone_1 AS (DELETE FROM semel.outbox_1 o USING next n WHERE n.child = 1 AND o.seq = n.seq RETURNING o.*),
    gone_2 AS (DELETE FROM semel.outbox_2 o USING next n WHERE n.child = 2 AND o.seq = n.seq RETURNING o.*)
    SELECT g.seq, g.destination, g.key, g.object, g.headers::text, g.raw, g.body,
           CASE WHEN isfinite(g.not_before)
                THEN greatest(0, ceil(extract(epoch FROM g.not_before - clock_timestamp()) * 1000)) ELSE 0 END::bigint,
           greatest(0, floor(extract(epoch FROM clock_timestamp() - g.sent_at) * 1000))::bigint
      FROM (SELECT * FROM gone_0 UNION ALL SELECT * FROM gone_1 UNION ALL SELECT * FROM gone_2) g
     ORDER BY g.seq;
END
$$;

-- Empties what can be emptied, and lets the next table be written to. 0 done · 1 a transaction is in the way, or the
-- next table is not empty yet · 2 another one moves. It waits for a lock for 50 ms at most.
CREATE FUNCTION semel.outbox_turn_v1(me bigint, lease_ms bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  now_written bigint;
  child bigint;
  child_name text;
  filled boolean;
  next_is_empty boolean;
BEGIN
  -- A snapshot that is older than the lock would not see what was written last.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'semel.outbox_turn_v1 needs the isolation level READ COMMITTED' USING ERRCODE = 'active_sql_transaction';
  END IF;
  IF NOT semel.outbox_enter_v1(me, lease_ms) THEN RETURN 2; END IF;
  SELECT t.last_value INTO now_written FROM semel.outbox_turn t;
  FOR child IN now_written + 1 .. now_written + 2 LOOP
    child_name := format('semel.outbox_%s', child % 3);
    filled := pg_relation_size(child_name::regclass) > 0;
    IF filled THEN
      BEGIN
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', child_name);
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', child_name) INTO filled;
        IF NOT filled THEN EXECUTE format('TRUNCATE %s', child_name); END IF;
      EXCEPTION WHEN lock_not_available THEN
        filled := true;
      END;
    END IF;
    IF child = now_written + 1 THEN next_is_empty := NOT filled; END IF;
  END LOOP;
  IF NOT next_is_empty THEN RETURN 1; END IF;
  PERFORM setval('semel.outbox_turn', (now_written + 1) % 3);
  RETURN 0;
END
$$;

-- About how many wait, without counting them: what was sent, and what has been taken.
CREATE FUNCTION semel.outbox_waiting_v1() RETURNS TABLE (newest bigint, oldest bigint, oldest_ms bigint)
LANGUAGE sql VOLATILE
AS $$
  SELECT (SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END FROM semel.outbox_seq s), w.seq,
         greatest(0, floor(extract(epoch FROM clock_timestamp() - w.sent_at) * 1000))::bigint
    FROM (SELECT 1) AS one LEFT JOIN LATERAL (
      SELECT a.seq, a.sent_at FROM (
        (SELECT o.seq, o.sent_at FROM semel.outbox_0 o ORDER BY o.seq LIMIT 1) UNION ALL
        (SELECT o.seq, o.sent_at FROM semel.outbox_1 o ORDER BY o.seq LIMIT 1) UNION ALL
        (SELECT o.seq, o.sent_at FROM semel.outbox_2 o ORDER BY o.seq LIMIT 1)) a ORDER BY a.seq LIMIT 1) w ON true
$$;

-- Whoever stops lets another begin at once.
CREATE FUNCTION semel.outbox_leave_v1(me bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  IF (SELECT h.last_value = me FROM semel.outbox_holder h) AND pg_try_advisory_xact_lock(730945534, 0)
     AND (SELECT h.last_value = me FROM semel.outbox_holder h) THEN
    PERFORM setval('semel.outbox_until', 0);
  END IF;
END
$$;
)sql";

// TYPE is the type of the body, BYTES makes bytes of it, RAW is whether nothing is known of them.
constexpr std::string_view send_text = R"sql(
CREATE FUNCTION semel.send(destination text, key text, body TYPE, object text DEFAULT NULL,
                           not_before timestamptz DEFAULT NULL, headers jsonb DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_variable
DECLARE
  bytes bytea := BYTES;
  no_strings CONSTANT text := 'headers must be an object of strings, such as {"X-Tenant": "acme"}';
  wrong text;
  turn bigint;
BEGIN
  IF destination IS NULL OR destination !~ '^[A-Za-z0-9._-]{1,64}$' THEN
    RAISE EXCEPTION 'semel.send: destination must be 1 to 64 letters, digits, dots, - and _: the name of a [destination.NAME]'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF key IS NULL OR octet_length(key) NOT BETWEEN 1 AND 255 THEN
    RAISE EXCEPTION 'semel.send: key must be 1 to 255 bytes, such as order:42/receipt'
      USING ERRCODE = 'invalid_parameter_value', HINT = 'By the key a repetition is known; it names the effect.';
  END IF;
  IF bytes IS NULL OR octet_length(bytes) > 16777216 THEN
    RAISE EXCEPTION 'semel.send: body must be there, and at most 16 MiB' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF octet_length(object) > 255 THEN
    RAISE EXCEPTION 'semel.send: object must be at most 255 bytes' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF NOT isfinite(not_before) THEN
    RAISE EXCEPTION 'semel.send: not_before must be a time, not infinity' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF headers IS NOT NULL THEN
    IF octet_length(headers::text) > 65536 THEN
      RAISE EXCEPTION 'semel.send: headers must be at most 64 KiB' USING ERRCODE = 'invalid_parameter_value',
        HINT = 'Receivers refuse more than a few KiB; what is longer belongs in the body.';
    END IF;
    IF jsonb_typeof(headers) = 'object' THEN
      SELECT CASE
          WHEN bool_or(jsonb_typeof(h.value) <> 'string') THEN no_strings
          WHEN bool_or(h.name !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]+$'
                       OR h.value #>> '{}' ~ '[\u0001-\u0008\u000a-\u001f\u007f]|^[ \t]|[ \t]$')
            THEN 'a header needs a name of letters, digits and -, and a value without control characters and spaces around it'
          WHEN count(*) > count(DISTINCT lower(h.name))
            THEN 'headers has one name in two spellings, such as X-A and x-a'
          WHEN bool_or(lower(h.name) = 'idempotency-key' AND h.value #>> '{}' !~ '^(?!""$)[\u0020-\u007e]{1,255}$')
            THEN 'the header Idempotency-Key must have 1 to 255 characters, all of them ASCII; without it one is derived' END
        INTO wrong FROM jsonb_each(headers) h(name, value);
    ELSE
      wrong := no_strings;
    END IF;
    IF wrong IS NOT NULL THEN
      RAISE EXCEPTION 'semel.send: %', wrong USING ERRCODE = 'invalid_parameter_value';
    END IF;
  END IF;
  IF object <> '' THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(destination || chr(1) || object, 730945533));
  END IF;
  SELECT t.last_value INTO turn FROM semel.outbox_turn t;
  IF turn = 0 THEN
    INSERT INTO semel.outbox_0 (sent_at, not_before, raw, destination, key, object, headers, body)
    VALUES (clock_timestamp(), not_before, RAW, destination, key, coalesce(object, ''), headers, bytes);
  ELSIF turn = 1 THEN
    INSERT INTO semel.outbox_1 (sent_at, not_before, raw, destination, key, object, headers, body)
    VALUES (clock_timestamp(), not_before, RAW, destination, key, coalesce(object, ''), headers, bytes);
  ELSE
    INSERT INTO semel.outbox_2 (sent_at, not_before, raw, destination, key, object, headers, body)
    VALUES (clock_timestamp(), not_before, RAW, destination, key, coalesce(object, ''), headers, bytes);
  END IF;
END
$$;
COMMENT ON FUNCTION semel.send(text, text, TYPE, text, timestamptz, jsonb) IS
  'Asks for an effect: a request to a destination, made once if this transaction commits, and not if it does not';
)sql";

// Only what programs and movers call may be called by others than the owner, and only by roles that are named. Those
// functions run with the rights of the owner.
constexpr std::string_view end_text = R"sql(
DO $settings$
DECLARE
  f record;
BEGIN
  FOR f IN SELECT p.oid::regprocedure AS name, p.proname FROM pg_proc p
            WHERE p.pronamespace = 'semel'::regnamespace AND (p.proname = 'send' OR p.proname LIKE 'outbox\_%\_v1')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f.name);
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp', f.name);
    IF f.proname <> 'send' THEN
      EXECUTE format('ALTER FUNCTION %s SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
                        SET enable_mergejoin = off SET jit = off', f.name);
    END IF;
    IF f.proname = 'outbox_turn_v1' THEN EXECUTE format('ALTER FUNCTION %s SET lock_timeout = ''50ms''', f.name); END IF;
  END LOOP;
END
$settings$;
INSERT INTO semel.outbox_version (version) VALUES (1);
END
$outbox$;
COMMIT;
)sql";

std::string send_of(std::string_view type, std::string_view bytes, std::string_view raw) {
  std::string text(send_text);
  const auto replace = [&text](std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
      text.replace(at, what.size(), by);
    }
  };
  replace("TYPE", type);
  replace("BYTES", bytes);
  replace("RAW", raw);
  return text;
}

// As a name in SQL.
std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  return text + "\"";
}

}  // namespace

std::string outbox_sql() {
  return std::string(begin_text)
      .append(mover_text)
      .append(send_of("text", "convert_to(body, 'UTF8')", "false"))
      .append(send_of("jsonb", "convert_to(body::text, 'UTF8')", "false"))
      .append(send_of("bytea", "body", "true"))
      .append(end_text);
}

std::string grant_writer_sql(std::string_view role) {
  std::string text = "GRANT USAGE ON SCHEMA semel TO " + quoted(role) + ";\n";
  for (const std::string_view type : {"text", "jsonb", "bytea"}) {
    text.append("GRANT EXECUTE ON FUNCTION semel.send(text, text, ").append(type);
    text.append(", text, timestamptz, jsonb) TO ").append(quoted(role)).append(";\n");
  }
  return text;
}

std::string grant_mover_sql(std::string_view role) {
  return "GRANT USAGE ON SCHEMA semel TO " + quoted(role) + ";\nGRANT SELECT ON semel.outbox_version TO " +
         quoted(role) +
         ";\nGRANT EXECUTE ON FUNCTION semel.outbox_look_v1(bigint, bigint), "
         "semel.outbox_take_v1(bigint, bigint, integer, bigint), semel.outbox_turn_v1(bigint, bigint), "
         "semel.outbox_waiting_v1(), semel.outbox_leave_v1(bigint) TO " +
         quoted(role) + ";\n";
}

}  // namespace semel::outbox
