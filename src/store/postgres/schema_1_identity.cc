// Version 1 of the schema: by what the keys of this database are named (core/identity.h).
//
// One row, which is settled once and never unsettled. The first gateway settles it, before it writes a key. All others
// go by what the row says: a gateway when it is started and whenever it connects, a transaction of the library with
// every claim. So all agree, in whatever order they start.
//
// A transaction of the library settles nothing, because all others would have to wait for its end. It holds a shared
// lock. A gateway that settles waits for all holders of that lock, and then sees their keys.
#include <string_view>

#include "store/postgres/schema_1.h"

namespace semel::store::postgres {

const std::string_view identity_1 = R"sql(
CREATE TABLE semel.identity (
  one        boolean PRIMARY KEY DEFAULT true CHECK (one),
  settled_at timestamptz,
  mark       bytea,
  wrapped    bytea,
  CHECK ((mark IS NULL) = (wrapped IS NULL)),
  CHECK (settled_at IS NOT NULL OR mark IS NULL)
);
COMMENT ON TABLE semel.identity IS
  'One row: the secret by which keys and scopes are named, or that they are plain hashes. Never changed once settled';
COMMENT ON COLUMN semel.identity.settled_at IS 'When the database was first used; absent: it was not';
COMMENT ON COLUMN semel.identity.mark IS 'Hash of the secret, the same in every shard; absent: plain hashes';
COMMENT ON COLUMN semel.identity.wrapped IS 'The secret, encrypted by one of store.encryption_keys';
INSERT INTO semel.identity DEFAULT VALUES;

CREATE FUNCTION semel.identity_1() RETURNS TABLE (settled boolean, mark bytea, wrapped bytea)
LANGUAGE plpgsql STABLE
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT i.settled_at IS NOT NULL, i.mark, i.wrapped FROM semel.identity i;
END
$$;

-- Settles on the secret, or without one on plain hashes, and answers what holds: this, or what another settled on
-- before. Where there are keys that nobody settled anything for, plain hashes are what they have.
CREATE FUNCTION semel.settle_1(new_mark bytea, new_wrapped bytea)
RETURNS TABLE (settled boolean, mark bytea, wrapped bytea)
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  fresh boolean;
BEGIN
  IF EXISTS (SELECT FROM semel.identity i WHERE i.settled_at IS NULL) THEN
    PERFORM set_config('lock_timeout', '4000', true);
    PERFORM pg_advisory_xact_lock(7309455313);
    fresh := NOT EXISTS (SELECT FROM semel.keys) AND NOT EXISTS (SELECT FROM semel.objects);
    UPDATE semel.identity i
       SET settled_at = clock_timestamp(),
           mark = CASE WHEN fresh THEN new_mark END, wrapped = CASE WHEN fresh THEN new_wrapped END
     WHERE i.settled_at IS NULL;
  END IF;
  RETURN QUERY SELECT i.settled_at IS NOT NULL, i.mark, i.wrapped FROM semel.identity i;
END
$$;

-- The same secret, encrypted by another key; false: somebody else was first.
CREATE FUNCTION semel.rewrap_1(known_wrapped bytea, new_wrapped bytea) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
  UPDATE semel.identity i SET wrapped = new_wrapped WHERE i.wrapped = known_wrapped;
  RETURN FOUND;
END
$$;
)sql";

}  // namespace semel::store::postgres
