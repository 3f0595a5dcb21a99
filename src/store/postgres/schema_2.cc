// Version 2 of the schema: the calls of the store, each of which says what its gateway goes by.
//
//   standing = the timeline of the server + the generation of the database (semel.generation) + where it lives: the
//   system identifier of the server and the number of the database, which a copy does not have
//
// A connection is no proof of what is behind it: a pooler keeps it while servers and databases change places. So a
// gateway asks for the standing when it connects, looks whether this is its database, and sends the standing with every
// call. The function compares, in the same transaction, before it looks at a key. The generation is a random number
// that changes with the set of shards and with the identity, so that no two databases ever have the same.
//
// A change of the set must not slip in between the comparison and the write. Every call holds a lock, shared, until its
// transaction ends; a change takes the same lock for itself. So it waits for the calls that are under way, and every
// later one sees it. Such a lock is in memory, and costs no write.
//
// Every time is the server's, cut to milliseconds, and is read again after a lock was waited for. Rows are locked in
// the order of their ids, which is the order in which they are sent: the settings of the functions leave the planner no
// way but to look each row up by its id in turn, whatever it believes about the size of the table.
#include "store/postgres/schema_2.h"

#include <string_view>

namespace semel::store::postgres {

const std::string_view standing_2 = R"sql(
CREATE TABLE semel.generation (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  generation uuid NOT NULL DEFAULT gen_random_uuid(),
  since_1    boolean NOT NULL DEFAULT true
);
COMMENT ON TABLE semel.generation IS 'One row: what every call of a gateway is compared with';
COMMENT ON COLUMN semel.generation.generation IS 'Becomes another one when the set of shards or the identity changes';
COMMENT ON COLUMN semel.generation.since_1 IS
  'The set is the one that programs of version 1 were started with; they do not say what they go by';
INSERT INTO semel.generation DEFAULT VALUES;

ALTER TABLE semel.keys ADD COLUMN doubted boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN semel.keys.doubted IS
  'An earlier attempt under this key ended unknown: the key stays that request''s until it expires';

CREATE FUNCTION semel.shards_changed_2() RETURNS trigger
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7309455314);
  UPDATE semel.generation SET generation = gen_random_uuid(), since_1 = false;
  RETURN NULL;
END
$$;
CREATE TRIGGER changes_generation AFTER INSERT OR DELETE OR UPDATE OF shard, here ON semel.shards
  FOR EACH ROW EXECUTE FUNCTION semel.shards_changed_2();

CREATE FUNCTION semel.identity_changed_2() RETURNS trigger
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  UPDATE semel.generation SET generation = gen_random_uuid();
  RETURN NULL;
END
$$;
CREATE TRIGGER changes_generation AFTER UPDATE OF settled_at, mark ON semel.identity
  FOR EACH ROW EXECUTE FUNCTION semel.identity_changed_2();

-- Where this database lives. A standby and a primary have it in common, an original and its copy do not. It is read
-- from a file once for each process of the server, and kept in a setting of that process.
CREATE FUNCTION semel.home_2() RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN set_config('semel.home', (SELECT c.system_identifier || '.' || d.oid
                                     FROM pg_control_system() c, pg_database d
                                    WHERE d.datname = current_database()), false);
END
$$;

-- The name of a file of the log begins with the timeline.
CREATE FUNCTION semel.standing_2() RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
  RETURN (SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' || g.generation || ' ' || semel.home_2()
            FROM semel.generation g);
END
$$;

-- Called first by every other function, with the rights and settings of that. True, or an error.
-- An assignment is cheaper than PERFORM, which starts a plan.
CREATE FUNCTION semel.check_2(believed text, patience_ms integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  patience text := set_config('lock_timeout', patience_ms::text, true);
  home text := current_setting('semel.home', true);
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
  IF coalesce(home, '') = '' THEN home := semel.home_2(); END IF;
  SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' || g.generation || ' ' || home
    INTO standing FROM semel.generation g;
  IF standing IS DISTINCT FROM believed THEN
    RAISE EXCEPTION 'this is no longer the server or the database that the connection was made to'
      USING ERRCODE = 'SM001';
  END IF;
  RETURN true;
END
$$;
)sql";

// The settings of all functions: names mean what they meant here, and rows are looked up one by one, in the order
// given.
const std::string_view settings_2 = R"sql(
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'semel'::regnamespace AND p.proname <> 'check_2' LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp
         SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
         SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off', f);
  END LOOP;
END
$$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA semel FROM PUBLIC;
INSERT INTO semel.schema_version (version) VALUES (2);
)sql";

}  // namespace semel::store::postgres
