// Version 6 of the schema: a copy is told from its original also after it was written to.
//
// The pulse of a copy goes on from where the copy was made, and after a while it is higher than any that the original
// had. So each place at which the pulse was raised is noted with the first number there: who has seen a number at one
// place finds that number under another place in a copy that went its own way. A place is a server since its last
// start, and the tables as they were made there: a dump that is restored in the same database is another place, too.
#include <string_view>

#include "store/postgres/schema_6.h"

namespace semel::store::postgres {

const std::string_view reigns_6 = R"sql(
CREATE TABLE semel.reigns (
  since bigint PRIMARY KEY,
  place text NOT NULL
);
COMMENT ON TABLE semel.reigns IS 'Where the pulse was raised, from which number on: a row for each start of the server';

-- As standing_2, and with the start of the server, which a copy of it does not share, and with the tables: those of a
-- restored dump have other numbers.
CREATE FUNCTION semel.standing_6() RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN (SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' || g.generation || ' ' || g.tableoid || '.' || g.xmin
                 || ' ' || semel.place_4()
            FROM semel.generation g);
END
$$;

-- Gateways of version 3, and transactions, believe what standing_2 says: timeline, generation and home, the words 1, 2
-- and 5 of a standing. A gateway of this version always says all five, so it is promised no less for that.
CREATE OR REPLACE FUNCTION semel.check_2(believed text, patience_ms integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  patience text := set_config('lock_timeout', patience_ms::text, true);
  place text := current_setting('semel.place', true);
  locked text;
  standing text;
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'this server is a replica' USING ERRCODE = 'read_only_sql_transaction';
  END IF;
  locked := pg_advisory_xact_lock_shared(7309455314);
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    -- A transaction that sees only what was there when it began notices in this way that there is something newer.
    PERFORM FROM semel.generation FOR SHARE;
  END IF;
  IF coalesce(place, '') = '' THEN place := semel.place_4(); END IF;
  SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' || g.generation || ' ' || g.tableoid || '.' || g.xmin
         || ' ' || place
    INTO standing FROM semel.generation g;
  IF standing IS DISTINCT FROM believed
     AND concat_ws(' ', split_part(standing, ' ', 1), split_part(standing, ' ', 2), split_part(standing, ' ', 5))
         IS DISTINCT FROM believed THEN
    RAISE EXCEPTION 'this is no longer the server or the database that the connection was made to'
      USING ERRCODE = 'SM001';
  END IF;
  RETURN true;
END
$$;

CREATE FUNCTION semel.see_pulse_6(believed text, patience_ms integer)
RETURNS TABLE (timeline text, number bigint, place text)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
BEGIN
  RETURN QUERY
    SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8), p.number,
           (SELECT r.place FROM semel.reigns r ORDER BY r.since DESC LIMIT 1)
      FROM semel.pulse p;
END
$$;

-- Its number is on disk when this is answered, also where others are not: what it tells must not be lost by a restart.
CREATE FUNCTION semel.raise_pulse_6(believed text, patience_ms integer)
RETURNS TABLE (timeline text, number bigint, place text)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  checked boolean := semel.check_2(believed, patience_ms);
  here text := md5(semel.standing_6());
  synced text;
  raised bigint;
BEGIN
  IF current_setting('synchronous_commit') = 'off' THEN synced := set_config('synchronous_commit', 'local', true); END IF;
  UPDATE semel.pulse p SET number = p.number + 1 RETURNING p.number INTO raised;
  INSERT INTO semel.reigns (since, place)
  SELECT raised, here
   WHERE here IS DISTINCT FROM (SELECT r.place FROM semel.reigns r ORDER BY r.since DESC LIMIT 1);
  IF FOUND THEN
    DELETE FROM semel.reigns r
     WHERE r.since < (SELECT o.since FROM semel.reigns o ORDER BY o.since DESC OFFSET 999 LIMIT 1);
  END IF;
  RETURN QUERY SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8), raised, here;
END
$$;

-- For gateways of the version before.
CREATE OR REPLACE FUNCTION semel.raise_pulse_4(believed text, patience_ms integer)
RETURNS TABLE (timeline text, number bigint)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN QUERY SELECT r.timeline, r.number FROM semel.raise_pulse_6(believed, patience_ms) r;
END
$$;

-- "since place" of each, the oldest first; empty if it was never raised.
CREATE FUNCTION semel.reigns_6() RETURNS text
LANGUAGE sql STABLE
AS $$ SELECT coalesce(string_agg(r.since || ' ' || r.place, E'\n' ORDER BY r.since), '') FROM semel.reigns r $$;
)sql";

}  // namespace semel::store::postgres
